"""Translating segments: what must survive does, whatever a model writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docflat.decoding.alignment import find_words
from docflat.formats import find_format
from docflat.formats.segments import ParsedFile, Segment, Span
from docflat.support.errors import InputError
from docflat.translation.file_report import FileReport
from docflat.translation.files import translate_file, translate_segments
from docflat.translation.formatting import project
from docflat.translation.projected_places import Piece
from stubs import Stub


def shout(text: str) -> str:
    """All but placeholders."""
    return re.sub(r"\{\w*\}|[^{}]+", lambda part: part[0] if part[0].startswith("{") else part[0].upper(), text)


def translated(segment: Segment, change: Callable[[str], str]) -> tuple[Segment, FileReport]:
    (new,), report = translate_segments([segment], Stub(change), file="x")
    return new, report


def test_segments_are_one_document_and_blanks_stay():
    stub = Stub(str.upper)
    segments = [
        Segment(" One two.  Three\nfour.\n"),
        Segment("123 !"),
        Segment("code", skip_reason="code"),
        Segment("Five"),
    ]
    new, report = translate_segments(segments, stub, file="x")
    assert [segment.text for segment in new] == [" ONE TWO.  THREE FOUR.\n", "123 !", "code", "FIVE"]
    assert stub.documents == [["One two.", "Three four.", "Five"]]
    assert (report.segments, report.translated, report.sentences) == (4, 2, 3)
    assert report.skipped == {"no letters": 1, "code": 1}
    assert str(report) == "x: 2 of 4 segments translated; 1 kept: code; 1 kept: no letters"


TERMS = ["Ann", "Red Apple", "Apple Pie", ".NET", "C++", "naïve café", "Ann Lee"]


@given(st.lists(st.sampled_from([*TERMS, "red", "Annual", "it", "<b>", "4.", "Pie", "{x}"]), max_size=12), st.data())
@settings(max_examples=200, deadline=None)
def test_terms_are_kept_whatever_the_model_does(words: list[str], data: st.DataObject):
    """Each is as often in the translation as in the text, by a literal search for whole words."""
    text = "".join(word + data.draw(st.sampled_from([" ", "\n", ", ", ". "])) for word in words) + "End"
    changes = [str.upper, str.lower, lambda line: "X", lambda line: " ".join(reversed(line.split()))]
    change = data.draw(st.sampled_from(changes))
    (new,), _ = translate_segments([Segment(text)], Stub(change), terms=TERMS)

    def count(term: str, where: str) -> int:
        spaced = r"\s+".join(map(re.escape, term.split()))
        before, after = (r"(?<!\w)" if edge.isalnum() else "" for edge in (term[0], term[-1]))
        return len(re.findall(before + spaced + after.replace("<!", "!"), where))

    for term in TERMS:
        assert count(term, new.text) >= count(term, text)


def test_a_term_that_the_model_keeps_may_move():
    stub = Stub(lambda line: "Heute kam Ann Lee an." if line == "Ann Lee arrived today." else "?")
    (new,), report = translate_segments([Segment("Ann Lee arrived today.")], stub, terms=["Ann", "Ann Lee"])
    assert (new.text, report.in_parts) == ("Heute kam Ann Lee an.", 0)


GLOSSARY = {"red apple": "Roter Apfel", "apple": "Apfel", "apple pie": "Apfelkuchen", "help desk": "unser Dienst"}


def with_glossary(text: str, known: dict[str, str], **options: Any) -> tuple[str, FileReport, list[list[str]]]:
    """By a model that knows these sentences."""
    stub = Stub(known.__getitem__)
    (new,), report = translate_segments([Segment(text)], stub, **{"glossary": GLOSSARY, **options})
    return new.text, report, stub.documents


@pytest.mark.parametrize("own", ["Der Apfel fiel.", "Des Apfels Fall.", "Apfel fiel."])
def test_a_translation_that_has_what_the_glossary_wants_stays(own: str):
    text, report, asked = with_glossary("The apple fell.", {"The apple fell.": own})
    assert (text, asked) == (own, [["The apple fell."]])
    assert str(report).endswith(
        "1 of 1 sentences with terms of the glossary: 1 as the model has them, 0 put in, 0 translated otherwise"
    )


def test_a_translation_of_the_glossary_is_given_to_the_model_then_put_in_the_place_of_a_stand_in():
    known = {"The red apple fell, {x}.": "Die Frucht fiel, {x}."}
    known["The Roter Apfel fell, {x}."] = "Da fiel der Roter Apfel, {x}."
    text, report, _ = with_glossary("The red\n apple fell, {x}.", known)
    assert (text, report.put_in, report.other_terms) == ("Da fiel der Roter Apfel, {x}.", 1, [])
    assert report.rows[0][2] is False
    known |= {"The Roter Apfel fell, {x}.": "Der rote Apfel fiel, {x}.", "The XQ1 fell, XQ2.": "{} XQ2 fiel XQ1."}
    text, report, _ = with_glossary("The red apple fell, {x}.", known)
    assert (text, report.put_in, report.other_terms) == ("{} {x} fiel Roter Apfel.", 1, [])
    known["The XQ1 fell, XQ2."] = "Der XQ fiel, XQ2."
    text, report, _ = with_glossary("The red apple fell, {x}.", known)
    assert (text, report.put_in) == ("Die Frucht fiel, {x}.", 0)
    assert report.other_terms == [("The red apple fell, {x}.", "Die Frucht fiel, {x}.")]
    assert str(report).endswith("0 as the model has them, 0 put in, 1 translated otherwise")


@pytest.mark.parametrize(
    ("text", "masked", "model", "expected"),
    [
        ("Help desk is shut.", "XQ1 is shut.", "XQ1 ist zu.", "Unser Dienst ist zu."),
        ("Is help desk shut?", "Is XQ1 shut?", "Ist XQ1 zu?", "Ist unser Dienst zu?"),
        ("is help desk shut?", "is XQ1 shut?", "XQ1 zu?", "unser Dienst zu?"),
        ("A red apple pie, an apple.", "A XQ1 pie, an XQ2.", "XQ2 und XQ1 Torte.", "Apfel und Roter Apfel Torte."),
        ("An apple pie, no apples.", "An XQ1, no apples.", "Ein XQ1.", "Ein Apfelkuchen."),
    ],
)
def test_terms_of_a_glossary_are_whole_words_and_capitals_only_at_the_start(
    text: str, masked: str, model: str, expected: str
):
    def change(line: str) -> str:
        return model if line == masked else "?"

    (new,), report = translate_segments([Segment(text)], Stub(change), glossary=GLOSSARY)
    assert (new.text, report.put_in) == (expected, 1)


@pytest.mark.parametrize("text", ["My Apple is old.", "Pineapple and apples.", "An APPLE."])
def test_what_is_no_term_of_the_glossary(text: str):
    assert with_glossary(text, {text: "?"})[1].with_glossary == 0


def test_terms_that_are_kept_win_over_the_glossary():
    known = {"My red apple, her apple.": "Mein red apple, ihr Apfel."}
    text, report, _ = with_glossary("My red apple, her apple.", known, terms=["red apple"])
    assert (text, report.put_in, report.with_glossary) == ("Mein red apple, ihr Apfel.", 0, 1)


def test_one_word_does_not_count_for_two_terms():
    text = "A red apple, an apple."
    known = {text: "Ein Roter Apfel.", "A Roter Apfel, an Apfel.": "Ein Roter Apfel, ein Apfel."}
    assert with_glossary(text, known)[0] == "Ein Roter Apfel, ein Apfel."


def test_a_glossary_that_no_file_can_hold():
    for entries in ({"a": " "}, {" ": "b"}, {"a": "b\x01c"}):
        with pytest.raises(InputError):
            translate_segments([Segment("One.")], Stub(str.upper), glossary=entries)


def test_a_sentence_the_model_leaves_alone_keeps_its_blanks():
    new, report = translated(Segment("One\n  two. Three."), lambda text: text if "One" in text else "Drei.")
    assert new.text == "One\n  two. Drei."
    assert report.unchanged == 1


def test_data_is_left_alone_and_counted():
    long = "x" * 20_000
    new, report = translated(Segment(f"One two. {long}"), str.upper)
    assert new.text == f"ONE TWO. {long}"
    assert str(report) == "x: 1 of 1 segments translated; 1 sentences kept: longer than 10000 characters"
    _, report = translated(Segment(long), str.upper)
    assert report.skipped == {"longer than 10000 characters": 1}


def test_placeholders_the_model_keeps_stay_where_it_puts_them():
    new, report = translated(Segment("Hello {name}, bye."), lambda text: "Ade, {name}, hallo.")
    assert (new.text, report.in_parts) == ("Ade, {name}, hallo.", 0)


@pytest.mark.parametrize("broken", [lambda t: t.upper(), lambda t: t.replace("{", ""), lambda t: t + t, lambda t: "x"])
def test_placeholders_the_model_breaks_are_put_back(broken: Callable[[str], str]):
    def change(text: str) -> str:
        return broken(text) if "{" in text or "%" in text else text[::-1]

    new, report = translated(Segment("Say {name} has  %d cats."), change)
    assert (new.text, report.in_parts) == ("yaS {name} sah  %d .stac", 1)


def test_what_the_model_loses_is_put_where_its_stand_ins_are():
    """Not around it in parts, which would put an article into each."""

    def change(text: str) -> str:
        known = {
            "The Red Apple is as good as %s.": "Der Rote Apfel ist gut.",
            "The XQ1 is as good as XQ2.": "So gut wie XQ2 ist das XQ1.",
        }
        return known[text]

    text = "The Red Apple is as good as %s."
    (new,), report = translate_segments([Segment(text, (Span(4, 13, "b"),))], Stub(change), terms=["Red Apple"])
    assert new.text == "So gut wie %s ist das Red Apple."
    assert (report.stood_in, report.in_parts) == (1, 0)
    assert str(report).endswith("1 of 1 sentences with stand-ins, to keep placeholders, code or terms")
    assert report.rows == [(text, new.text, False)]


@pytest.mark.parametrize("text", ["XQ5 and {name} go.", "Go to {name}s place.", "Go to {a}{b} now."])
def test_where_no_word_can_stand_in(text: str):
    new, report = translated(Segment(text), str.upper)
    assert re.findall(r"\{\w+\}", new.text) == re.findall(r"\{\w+\}", text)
    assert (report.stood_in, report.in_parts) == (0, 1)


def test_numbers_are_written_as_the_language_writes_them():
    stub = Stub(lambda text: text.replace("It costs", "Es kostet").replace("1,200.50 here", "1,200,50 hier"))
    stub.languages = ("en", "de")
    texts = ["It costs 1,200.50 here.", "It costs 1,200.50 `1,200.50`.", "It costs 1,300 {x}s."]
    segments = [Segment(texts[0]), Segment(texts[1], (Span(19, 27, "code", opaque=True),)), Segment(texts[2])]
    new, report = translate_segments(segments, stub, file="x")
    assert [segment.text for segment in new] == [
        "Es kostet 1.200,50 hier.",
        "Es kostet 1,200.50 `1,200.50`.",  # which of them is the quote cannot be told
        "Es kostet 1,300 {x}s.",
    ]
    assert report.other_numbers == [(texts[2], "Es kostet 1,300 {x}s.")]  # to a German 1.3


@pytest.mark.parametrize(
    ("name", "text", "misread"),
    [
        ("x.html", "<td>It is<td><b>12,500</b><td>3.5", 1),
        ("x.md", "|It is|**12,500**|`1,200`|\n|-|-|-|", 1),
    ],
)
def test_cells_of_nothing_but_a_number_stay_and_are_counted(name: str, text: str, misread: int):
    stub = Stub(lambda text: text.replace("It is", "Es ist"))
    stub.languages = ("en", "de")
    parsed = find_format(name).read(text.encode(), name)
    segments, report = translate_segments(parsed.segments, stub)
    new = parsed.render(segments).decode()
    assert new == text.replace("It is", "Es ist")
    assert (report.translated, report.numbers) == (1, misread)
    assert "1 only numbers, written as in the source" in str(report)
    assert report.segments == report.translated + report.skipped.total()


def test_a_message_that_chooses_between_texts_keeps_its_frame():
    """What ICU reads is as it was; each text is a sentence of its own, and a program that loses braces harms none."""
    text = "You have {n, plural, =0 {none} one {# new cat} other {# new cats of {name}}}."
    new, report = translated(Segment(text), lambda text: text.upper().replace("{NAME}", "{name}"))
    assert new.text == "YOU HAVE {n, plural, =0 {NONE} one {# NEW CAT} other {# NEW CATS OF {name}}}."
    assert report.sentences == 4
    new, _ = translated(Segment(text), lambda text: re.sub("[{}#]", "", text))
    assert new.text == text


def test_columns_stay_columns():
    new, _ = translated(Segment("-v, --verbose     print more   messages"), str.upper)
    assert new.text == "-v, --verbose     PRINT MORE MESSAGES"
    new, _ = translated(Segment("Name:\t\tthe name of a person.  It is long."), str.upper)
    assert new.text == "NAME:\t\tTHE NAME OF A PERSON.  IT IS LONG."


def test_opaque_spans_are_found_again():
    text = "Call run() or stop() now."
    spans = (Span(5, 10, "code", opaque=True), Span(14, 20, "code", opaque=True))
    new, report = translated(Segment(text, spans), lambda _: "Jetzt stop() oder run() rufen.")
    assert [new.text[span.start : span.end] for span in new.spans] == ["stop()", "run()"]
    assert report.in_parts == 0


def test_formatting_follows_words_that_both_sides_have():
    text = "In 2023 Maria left."
    spans = (Span(3, 7, "bold"), Span(8, 13, "link"))
    new, _ = translated(Segment(text, spans), lambda _: "Maria ging 2023.")
    assert {span.tag: new.text[span.start : span.end] for span in new.spans} == {"bold": "2023", "link": "Maria"}


def test_formatting_of_what_is_kept_stays_on_it():
    """Whatever the words of an address are linked to."""
    source, target = "Go to www.x.org today!", "Heute auf www.x.org gehen!"
    piece = Piece((0, len(source)), target, [(n, 0) for n in range(2, 8)], (((6, 15), 10),))
    new = project(Segment(source, (Span(6, 15, "link"),)), [piece])
    assert new is not None
    assert target[slice(new.spans[0].start, new.spans[0].end)] == "www.x.org"


def test_lines_to_fill_in_are_kept():
    new, _ = translated(Segment("Name: ______   Date: ........ Yes... no."), lambda text: re.sub(r"[_.]+", "-", text))
    assert new.text == "Name: ______   Date: ........ Yes- no-"


def test_formatting_does_not_take_the_full_stop_with_it():
    new, _ = translated(Segment("It is very old.", (Span(6, 14, "bold"),)), lambda _: "Es ist sehr alt.")
    (span,) = new.spans
    assert new.text[span.start : span.end] == "sehr alt"


def test_formatting_does_not_follow_a_verb_to_the_end():
    """Linked as a reader would: a part of the bold that many other words part from the rest is given up."""
    source = "It must be signed by both parties before 31 December."
    target = "Es muss von beiden Parteien vor dem 31. Dezember unterzeichnet werden."
    pairs = "It Es must muss by von both beiden parties Parteien before vor before dem 31 31 December Dezember"
    pairs += " signed unterzeichnet be werden"

    def linked(bold: str) -> str:
        words = [[text[a:b] for a, b in find_words(text)] for text in (source, target)]
        found = pairs.split()
        links = [(words[0].index(a), words[1].index(b)) for a, b in zip(found[::2], found[1::2], strict=True)]
        start = source.index(bold)
        segment = Segment(source, (Span(start, start + len(bold), "b"),))
        new = project(segment, [Piece((0, len(source)), target, links)])
        assert new is not None
        return new.text[slice(new.spans[0].start, new.spans[0].end)]

    assert linked("signed by both parties") == "von beiden Parteien"
    assert linked("by both parties before 31 December") == "von beiden Parteien vor dem 31. Dezember"
    # A word is not worth as many of others between.
    assert linked("signed by both parties before 31") == "von beiden Parteien vor dem 31"
    assert linked("must be signed by both parties before") == "muss von beiden Parteien vor dem"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Water is H[2]O.", "Wasser ist H[2]O."),
        ("It is x[2y] today.", "Heute ist es x[2y]."),
        ("the 1[st] time", "das 1[]. Mal"),  # what was raised is gone, and the number is not raised instead
        ("[D]ocument", "[D]okument"),
        ("un[happy]", "un[glücklich]"),
        ("so un[happy and poor]", "so un[glücklich und arm]"),
        ("the c[at]", "das [Tier]"),  # nothing tells which letters
    ],
)
def test_formatting_of_a_part_of_a_word_stays_on_that_part(source: str, expected: str):
    text, start, end = source.replace("[", "").replace("]", ""), source.index("["), source.index("]") - 1
    target = expected.replace("[", "").replace("]", "")
    links = {
        "It is x2y today.": [(0, 2), (1, 1), (2, 3), (3, 0), (4, 4)],
        "the 1st time": [(0, 0), (1, 1), (1, 2), (2, 3)],
    }.get(text, [(n, n) for n in range(len(find_words(text)))])
    new = project(Segment(text, (Span(start, end, "b"),)), [Piece((0, len(text)), target, links)])
    assert new is not None
    (span,) = new.spans
    assert f"{target[: span.start]}[{target[span.start : span.end]}]{target[span.end :]}" == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Click to open the |settings.", "Zum Öffnen der |Einstellungen klicken."),
        ("Click| to open the settings.", "Zum Öffnen der Einstellungen klicken|."),
        ("Click to open| the settings.", "Zum Öffnen| der Einstellungen klicken."),
    ],
)
def test_a_point_goes_with_the_word_it_touches(source: str, expected: str):
    text, place = source.replace("|", ""), source.index("|")
    links = [(0, 4), (1, 0), (2, 1), (3, 2), (4, 3), (5, 5)]
    piece = Piece((0, len(text)), expected.replace("|", ""), links)
    new = project(Segment(text, (Span(place, place, "note"),)), [piece])
    assert new is not None
    start = new.spans[0].start
    assert f"{new.text[:start]}|{new.text[start:]}" == expected


def test_formatting_over_sentences_and_points_between_them():
    text = "One two. Three four.\nFive."
    spans = (Span(0, 20, "bold"), Span(20, 20, "break"), Span(21, 26, "link"))
    new, _ = translated(Segment(text, spans), lambda text: text.replace("Three", "33333333 33").lower())
    assert [(span.tag, new.text[span.start : span.end]) for span in new.spans] == [
        ("bold", "one two. 33333333 33 four."),
        ("break", ""),
        ("link", "five."),
    ]


def test_formatting_that_cannot_follow_moved_code():
    """Code of two bold parts is interleaved by the model: it is translated in parts, in its own order."""
    text = "a1 b2 xx c3 d4"
    spans = (
        Span(0, 5, "first"),
        Span(0, 2, "c", opaque=True),
        Span(3, 5, "c", opaque=True),
        Span(9, 14, "second"),
        Span(9, 11, "c", opaque=True),
        Span(12, 14, "c", opaque=True),
    )
    new, report = translated(Segment(text, spans), lambda text: "a1 c3 yy b2 d4" if "a1" in text else "yy")
    assert (new.text, report.in_parts) == ("a1 b2 yy c3 d4", 1)
    assert new.spans == spans


@pytest.mark.parametrize("text", ["Three one two. one", "Three one one two. one"])
def test_formatting_inside_what_cannot_move_makes_way_for_it(text: str):
    end = text.rindex(" ") + 1
    spans = (Span(0, 1, "a"), Span(1, end, "b"), Span(5, 6, "c", opaque=True), Span(end - 1, end, "d", opaque=True))
    new, _ = translated(Segment(text, spans), lambda text: " ".join(text.split()[::-1]))
    places = {span.tag: (span.start, span.end) for span in new.spans}
    assert places["a"][1] <= places["b"][0] or places["b"][1] <= places["a"][0]


WORDS = st.sampled_from(["one", "two.", "Three", "{x}", "(a)", "b,", "5", "%s", "Ü.", "\n", "  ", "end!"])


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """Any text with nested spans, some of them opaque or points."""
    text = " ".join(draw(st.lists(WORDS, max_size=12)))

    def inside(start: int, end: int, depth: int) -> list[Span]:
        edges = sorted(draw(st.lists(st.integers(start, end), max_size=6)))
        found: list[Span] = []
        for first, last in zip(edges[::2], edges[1::2], strict=False):
            opaque = draw(st.booleans())
            found.append(Span(first, last, object(), opaque))
            if depth and not opaque and first < last:
                found += inside(first, last, depth - 1)
        return found

    return Segment(text, tuple(inside(0, len(text), 2)))


def models() -> st.SearchStrategy[Callable[[str], str]]:
    def reverse(text: str) -> str:
        return " ".join(text.split()[::-1])

    return st.sampled_from(
        [
            str.upper,
            shout,
            reverse,
            lambda text: text,
            lambda text: "X",
            lambda text: text * 2,
            lambda text: "x y z" * 9,
        ]
    )


@settings(max_examples=300, deadline=None)
@given(segments(), models(), st.sampled_from([{}, {"one": "eins", "two.": "zwei", "b": "end", "three": "{x} 5"}]))
def test_whatever_happens_spans_are_valid_and_opaque_text_survives(
    segment: Segment, change: Callable[[str], str], glossary: dict[str, str]
):
    (new,), _ = translate_segments([segment], Stub(change), glossary=glossary)
    assert {id(span.tag) for span in new.spans} == {id(span.tag) for span in segment.spans}
    assert len(new.spans) == len(segment.spans)
    before = {id(span.tag): segment.text[span.start : span.end] for span in segment.spans if span.opaque}
    path: list[Span] = []
    for span in new.spans:
        assert 0 <= span.start <= span.end <= len(new.text)
        assert not path or path[-1].start <= span.start
        while path and path[-1].end <= span.start:
            path.pop()
        assert not path or span.end <= path[-1].end
        path.append(span)
        if span.opaque:
            assert new.text[span.start : span.end] == before[id(span.tag)]


class Lines:
    """A format of one segment a line."""

    name = "lines"
    segments: Sequence[Segment] = ()

    def read(self, data: bytes, file: str) -> ParsedFile:
        self.segments = [Segment(line) for line in data.decode().split("\n")]
        return self

    def render(self, segments: Sequence[Segment]) -> bytes:
        return "\n".join(segment.text for segment in segments).encode()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path):
    source, out = tmp_path / "a", tmp_path / "b"
    source.write_text("One.\n\nTwo.")
    report = translate_file(source, out, Lines(), Stub(str.upper))
    assert out.read_text() == "ONE.\n\nTWO."
    assert (report.translated, report.skipped) == (2, {"no letters": 1})
    with pytest.raises(InputError, match="a: nothing was translated: every sentence came back as it was"):
        translate_file(source, out, Lines(), Stub(str))
    source.write_text("1\n2")
    with pytest.raises(InputError, match=r"a: nothing to translate: no letters \(2\)"):
        translate_file(source, out, Lines(), Stub(str.upper))
    assert out.read_text() == "ONE.\n\nTWO."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
