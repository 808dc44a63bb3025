from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from docflat.support.text_ranges import join_ranges
from docflat.translation.placeholders import find_again, find_joints, find_placeholders
from docflat.translation.sentences import split_sentences

# Written by hand, with the cuts a reader would make.
SPLITS = [
    ["Mr. Smith went to Washington, D.C. on Jan. 5th.", "He met Dr. Jones."],
    ['"Is it ready?" she asked.', '"Yes," he said.'],
    ["The price is $3.50.", "That is 5.5% more."],
    ["I waited... and waited.", "Nothing came...", "Then it did."],
    ["See Fig. 3 and Sec. 2.1 for details.", "It works, e.g. with U.S. data, i.e. ours."],
    ["He works at Google Inc. and Apple Ltd. in the U.K.", "She does not."],
    ["It was 5 p.m. when we left.", "We arrived at 6 a.m."],
    ["J. R. R. Tolkien wrote it.", "So did C. S. Lewis et al. in 1950."],
    ["Use Python 3.11.", "It is fast.", "Version 2.0.1 is old."],
    ['She said, "Stop. Go home."', "Then she left."],
    ["Wait… what?", "That's it!"],
    ["iPhone sales rose.", "iPad sales fell."],
    ["1. First do this.", "2. Then do that."],
    ["Gen. Lee lost on p. 55, vol. 3."],
]


# By language: texts with "|" for the cuts that a reader makes.
HARD: dict[str, list[str]] = yaml.safe_load((Path(__file__).parents[2] / "data/sentences.yaml").read_text("utf-8"))
CUT_OTHERWISE = {"It lies 5 km from Mt. Fuji and Ft. Worth."}

IBAN = "GB82WEST12345698765432"


@pytest.mark.parametrize("sentences", SPLITS, ids=lambda sentences: sentences[0][:20])
@pytest.mark.parametrize("blank", [" ", "\n", "  \t"])
def test_sentences_are_cut_where_a_reader_would(sentences: list[str], blank: str):
    text = f" {blank.join(sentences)}\n"
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


def test_hard_cases_are_cut_where_a_reader_would():
    wrong = set()
    for language, cases in HARD.items():
        cut, between = ("|", "") if language in ("zh", "ja") else (" | ", " ")
        for case in cases:
            sentences = case.split(cut)
            text = between.join(sentences)
            if [text[start:end] for start, end in split_sentences(text, language)] != sentences:
                wrong.add(case)
    assert wrong == CUT_OTHERWISE
    assert len(HARD) >= 50


@given(st.text(st.sampled_from("aB1.?! \n\t\"'(){}%…。中ä\U0001f600\u0301"), max_size=60))
def test_only_blanks_lie_between_sentences(text: str):
    ranges = split_sentences(text)
    edges = [0, *(edge for pair in ranges for edge in pair), len(text)]
    assert edges == sorted(edges)
    assert all(not text[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True))
    assert all(text[a:b].strip() == text[a:b] != "" for a, b in ranges)


@pytest.mark.parametrize("sentences", [["A\u00a0."], ["We took plan B\u3000.", "It worked."]], ids=ascii)
def test_an_odd_blank_may_stand_before_a_full_stop(sentences: list[str]):
    """sentencex 1.0.32 panics on it."""
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


def test_a_panic_of_the_cutter_leaves_the_text_whole(monkeypatch: pytest.MonkeyPatch):
    import sentencex

    class PanicException(BaseException):
        pass

    def panics(language: str, text: str) -> None:
        raise PanicException

    monkeypatch.setattr(sentencex, "segment", panics)
    assert split_sentences("One. Two.") == [(0, 9)]


def test_a_range_that_must_stay_whole_is_not_cut():
    text = "Ask {the man. He knows} now. Do it."
    assert split_sentences(text, whole=[(4, 23)]) == [(0, 28), (29, 35)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello {name}, you have %d of %(total)s and ${more}.", ["{name}", "%d", "%(total)s", "${more}"]),
        ("See (https://a.b/c_(d)?e=f). Or www.x.org, or me@x.org.", ["https://a.b/c_(d)?e=f", "www.x.org", "me@x.org"]),
        ("100% sure, 5 % of it, a 100%discount", []),
        (
            "%1$s of %2$d, %.2f %5ld {} {0:>4} {{ user }}",
            ["%1$s", "%2$d", "%.2f", "%5ld", "{}", "{0:>4}", "{{ user }}"],
        ),
        ("Tom &amp; &#39;Jerry&#39;", ["&amp;", "&#39;", "&#39;"]),
        ("Error:\\nTwo in C:\\new", ["\\n", "C:\\new"]),
        ("Use {curly words} in { a } set.", []),
        (
            "Dear { user.name }, pay {sum, number, ::currency/EUR} now.",
            ["{ user.name }", "{sum, number, ::currency/EUR}"],
        ),
        (
            "{% include 'a note.md' %} See {{< ref \"page.md\" >}}.",
            ["{% include 'a note.md' %}", '{{< ref "page.md" >}}'],
        ),
        ("{n, plural, one {# cat} other {{n} cats}}", ["#", "{n}"]),
        ("-o, --out=FILE  file to write", ["-o, --out=FILE"]),
        ("-Where is it? --I do not know.", []),
        (r"Open C:\Program Files\A\x.ini, or D:\new.", [r"C:\Program Files\A\x.ini", r"D:\new"]),
        (r"Open C:\temp or the folder \data on C:\ or \x.", [r"C:\temp", "C:\\"]),
        ("%" + "0" * 20_000 + "d, %1$" + "0" * 20_000 + "d", []),  # without a limit, half a minute where no d comes
        ("Pay to DE89 3704 0044 0532 0130 00 or GB82WEST12345698765432.", ["DE89 3704 0044 0532 0130 00", IBAN]),
        ("from 2024-03-05T10:00:00Z to 2024-03-05T10:00+01:00", ["2024-03-05T10:00:00Z", "2024-03-05T10:00+01:00"]),
        ("rgba(0, 0, 0, 0.5) is a (1, 2) colour", ["rgba(0, 0, 0, 0.5)"]),
        ("Sign: ____ Page ...... 3", ["____", "......"]),
        ("AB12 THIS TEXT YELLS, on 2024-03-05 at 10:00, option C: no", []),
    ],
)
def test_placeholders(text: str, expected: list[str]):
    assert [text[start:end] for start, end in find_placeholders(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{n, plural, one {# cat} other {# cats}}", ["# cat", "# cats"]),
        ("{n,plural,offset:1 =0{none}=1{one {name}.}other{many}}", ["none", "one {name}.", "many"]),
        (
            "You {g, select, male {{n, plural, one {his cat} other {his cats}}} other {a {pet} and more}}!",
            ["You ", "his cat", "his cats", "a {pet} and more", "!"],
        ),
        ("{n, plural, one {# cat} other {# cats}", ["{n, plural, one {# cat} other {# cats}"]),  # is not closed
        ("{n, plural}", ["{n, plural}"]),
        ("Name:\tAnn Lee    Age:  40", ["Name:", "Ann Lee", "Age:  40"]),
        ("-h, --help  show this", ["-h, --help", "show this"]),
        ("Ann Lee\u20281 Long Street\u2028\u2028London", ["Ann Lee", "1 Long Street", "London"]),
        ("It is late.\u2028go home", ["It is late.", "go home"]),
        ("The History of\u2028London and\u2028so on", ["The History of\u2028London and\u2028so on"]),
    ],
)
def test_texts_between_joints(text: str, expected: list[str]):
    edges = [0, *(edge for joint in find_joints(text) for edge in joint), len(text)]
    parts = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    assert [part for part in parts if part] == expected


@given(st.text(st.sampled_from("{}, plural#otx=1\t-"), max_size=80))
def test_joints_are_in_order_and_apart(text: str):
    edges = [edge for joint in find_joints(text) for edge in joint]
    assert edges == sorted(edges)
    places = [edge for place in find_placeholders(text) for edge in place]
    assert places == sorted(places)


def test_ranges_that_overlap_are_one():
    assert join_ranges([(5, 7), (0, 3), (2, 4), (7, 8)]) == [(0, 4), (5, 7), (7, 8)]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("{a} of {b}", "{b} von {a}", [8, 0]),
        ("{a} of {a}", "{a} und {a}", [0, 8]),
        ("{a} of {b}", "{a} von {a}", None),
        ("{a} of {b}", "{a} von", None),
        ("{a} of {b}", "{a} {a} von {b}", None),
    ],
)
def test_placeholders_are_found_again(source: str, target: str, expected: list[int] | None):
    assert find_again(source, find_placeholders(source), target) == expected


def test_a_short_name_is_not_found_inside_words():
    assert find_again("the a of it", [(4, 5)], "das a davon") == [4]
    assert find_again("the a of it", [(4, 5)], "das davon") is None
