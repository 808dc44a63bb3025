"""CSV, TSV and YAML messages: what Python's csv and ruamel read of what we wrote."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import example, given
from hypothesis import strategies as st

from docflat.formats import find_format
from docflat.formats.catalogues.yaml import write_scalar
from docflat.formats.segments import ParsedFile, Segment, Span
from docflat.support.errors import InputError

SALES = (
    'id,Name,"What it is",Price\r\n'
    '1,Anna\'s chair,"A chair, ""red"" and old",12.50\r\n'
    "2,table,A table of wood,7\r\n"
    '\r\n3,lamp,"Two lines.\r\nOf text",\r\n'
    '4,"=A1",,"1,200"'
)


def read(text: str, name: str, **options: Any) -> ParsedFile:
    return find_format(name, **options).read(text.encode(), name)


def shout(parsed: ParsedFile) -> str:
    return parsed.render([one if one.skip_reason else changed(one) for one in parsed.segments]).decode()


def changed(segment: Segment) -> Segment:
    """With a word before it that needs quotes."""
    word = "Ä\", 'é: #"
    n = len(word)
    return Segment(word + segment.text, tuple(Span(s.start + n, s.end + n, s.tag, s.opaque) for s in segment.spans))


def test_columns_of_sentences_are_translated_and_the_rest_stays() -> None:
    parsed = read(SALES, "x.csv")
    assert [one.text for one in parsed.segments] == [
        'A chair, "red" and old',
        "A table of wood",
        "Two lines.",
        "Of text",
    ]
    assert parsed.render(parsed.segments) == SALES.encode()
    own = list(csv.reader(io.StringIO(SALES, newline="")))
    new = list(csv.reader(io.StringIO(shout(parsed), newline="")))
    word = "Ä\", 'é: #"
    assert new[1] == ["1", "Anna's chair", f'{word}A chair, "red" and old', "12.50"]
    assert new[4][2] == f"{word}Two lines.\r\n{word}Of text"
    assert [[*row[:2], *row[3:]] for row in new] == [[*row[:2], *row[3:]] for row in own]
    assert new[0] == own[0]


@pytest.mark.parametrize("columns", [("Name", "What it is"), ("2", "3"), ("2", "What it is")])
def test_columns_by_name_and_number(columns: tuple[str, ...]) -> None:
    texts = [one.text for one in read(SALES, "x.csv", columns=columns).segments]
    assert texts[:3] == ["Anna's chair", 'A chair, "red" and old', "table"]
    assert "=A1" not in texts


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_the_delimiter_is_found_and_a_tsv_has_one_line_a_row(delimiter: str) -> None:
    text = delimiter.join(("key", "text")) + "\n" + delimiter.join(("a b", "Some, words; here"))
    name = "x.tsv" if delimiter == "\t" else "x.csv"
    text = text.replace("Some, words; here", "Some words here") if delimiter in ",;" else text
    (segment,) = read(text, name, columns=("text",)).segments
    assert segment.text.startswith("Some")
    rows = list(csv.reader(io.StringIO(shout(read(text, name, columns=("text",)))), delimiter=delimiter))
    assert [len(row) for row in rows] == [2, 2]
    told = "sep=|\r\na|b c\r\n1|Two words, and, more, commas\r\n"
    assert [one.text for one in read(told, "x.csv").segments] == ["Two words, and, more, commas"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_translation_becomes_no_formula(suffix: str) -> None:
    delimiter = "," if suffix == ".csv" else "\t"
    sources = ["one word", "- an item", "+ or two", '"quoted, and more"', "@ home", "five words"]
    texts = ["=1+2", "- =1+2", "@SUM(A1)", "=cmd|'/C calc'!A0", "@ Haus", "\u00a0+49 or more"]
    written = ["'=1+2", "- =1+2", "'@SUM(A1)", "'=cmd|'/C calc'!A0", "@ Haus", "'\u00a0+49 or more"]
    parsed = read(
        "\n".join(["id" + delimiter + "text", *(f"1{delimiter}{one}" for one in sources)]),
        f"x{suffix}",
        columns=("text",),
    )
    assert len(parsed.segments) == len(texts)
    new = parsed.render([Segment(text) for text in texts]).decode()
    assert [row[1] for row in csv.reader(io.StringIO(new), delimiter=delimiter)][1:] == written


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n", {}, "no column of it holds sentences; --columns names what to translate: a, b"),
        ("a,b\n1,2\n", {"columns": ("c",)}, "has no column 'c'; there are a, b"),
        ("a,b\n1,2\n", {"columns": ("3",)}, "has no column '3'"),
        ("a,b\n", {}, "no row below the names"),
        ('a,b\n1,"two\n', {}, "a quote that nothing ends"),
        ("a,b\n,\n", {"columns": ("a",)}, "nothing in these columns"),
    ],
)
def test_a_table_without_text_is_refused(text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read(text, "x.csv", **options)


def test_what_follows_the_quotes_of_a_cell_belongs_to_it() -> None:
    text = 'a,b\n"A ""red"", old" chair of wood,x\n1,2\n'
    parsed = read(text, "x.csv", columns=("a",))
    assert parsed.segments[0].text == list(csv.reader(io.StringIO(text)))[1][0] == 'A "red", old chair of wood'
    assert list(csv.reader(io.StringIO(shout(parsed))))[1] == ['Ä", \'é: #A "red", old chair of wood', "x"]


@given(st.lists(st.lists(st.text("ab ,;\"\n\r'", max_size=6), min_size=2, max_size=3), min_size=2, max_size=5))
def test_cells_are_those_that_pythons_reader_finds(rows: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["first", "second", "third"], *rows])
    text = "sep=,\r\n" + out.getvalue()
    expected = [cell.replace("\r\n", "\n") for row in rows for cell in row if cell.strip()]
    if not expected:
        with pytest.raises(InputError, match="nothing in these columns"):
            read(text, "x.csv", columns=("*",))
        return
    parsed: Any = read(text, "x.csv", columns=("*",))
    assert [one.value for one in parsed.places] == expected


RAILS = """\
# The messages
en:
  greeting: Good morning   # to all
  quoted: "Hello, %{name}!\\nSecond line"
  single: 'It''s late'
  block: |
    The first line
    and more

    The last
  folded: >-
    Some words that
    go on here
  yes_or_no: yes
  number: 12
  symbol: :year
  date: "%Y-%m-%d"
  list: [One thing, 'Another: thing', 3]
  html: &link Read <a href="/x">this page</a> now
  again: *link
  empty:
  tagged: !ruby/regexp /a b/
"""


def load(text: str) -> Any:
    yaml = pytest.importorskip("ruamel.yaml").YAML()
    return yaml.load(text.replace("!ruby/regexp ", ""))


def test_values_below_a_language_are_translated() -> None:
    parsed = read(RAILS, "x.yml")
    assert [one.text for one in parsed.segments] == [
        "Good morning", "Hello, %{name}!", "Second line", "It's late", "The first line and more", "The last",
        "Some words that go on here", "One thing", "Another: thing", "Read this page now",
    ]  # fmt: skip
    assert parsed.render(parsed.segments) == RAILS.encode()


def test_another_reader_finds_the_same_keys_and_other_values() -> None:
    text = shout(read(RAILS, "x.yml", target_language="de"))
    assert 'Good morning"   # to all\n' in text
    own, new = load(RAILS)["en"], load(text)["de"]
    assert list(own) == list(new)
    word = "Ä\", 'é: #"
    assert new["greeting"] == f"{word}Good morning"
    assert new["quoted"] == f"{word}Hello, %{{name}}!\n{word}Second line"
    assert new["single"] == f"{word}It's late"
    assert new["folded"] == f"{word}Some words that go on here"
    assert new["block"].endswith(f"\n\n{word}The last\n")
    assert new["list"] == [f"{word}One thing", f"{word}Another: thing", 3]
    assert new["again"] == new["html"] == f'{word}Read <a href="/x">this page</a> now'
    kept = ("yes_or_no", "number", "symbol", "date", "empty", "tagged")
    assert [new[key] for key in kept] == [own[key] for key in kept]


def test_a_block_whose_first_line_is_indented_is_quoted() -> None:
    text = "en:\n  a: |\n    One {\n      two\n  b: |2\n      Deep in\n    it\n  c: x\n"
    parsed = read(text, "x.yml")
    new = [
        Segment(f"Ä {one.text}", tuple(Span(s.start + 2, s.end + 2, s.tag, s.opaque) for s in one.spans))
        for one in parsed.segments
    ]
    written = load(parsed.render(new).decode())["en"]
    assert (written["a"], written["b"]) == ("Ä One {\n  Ä two\n", "  Ä Deep in\nit\n")
    assert write_scalar("  a\nb", "|\n    old\n") == '"  a\\nb"\n'


def test_a_brace_at_the_start_of_a_plain_value_is_quoted() -> None:
    assert write_scalar("{0} ruby", "ruby {0}") == '"{0} ruby"'
    assert write_scalar("rubin {0}", "ruby {0}") == "rubin {0}"


def test_norwegian_is_not_written_as_false() -> None:
    for key in ("en", '"en"'):
        text = shout(read(f"{key}:\n  a: Hello there\n", "x.yml", target_language="no"))
        assert list(pyyaml.safe_load(text)) == ["no"]


def test_keys_say_what_is_translated_where_no_language_does() -> None:
    text = "image: nginx latest\nparts:\n  - title: A title\n    name: a name\n"
    with pytest.raises(InputError, match="neither its first key nor its name is a language"):
        read(text, "x.yaml")
    assert [one.text for one in read(text, "x.yaml", keys=("title",)).segments] == ["A title"]
    assert [one.text for one in read(text, "messages.en.yaml").segments] == ["nginx latest", "A title", "a name"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("en:\n  a: [b\n", "x.yml, line 3: is not YAML|x.yml:3: is not YAML"),
        ("en:\n  a: 12\n", "no text that is to be translated"),
        ("en: " + "[" * 300, "nested too deep|is not YAML"),
        ("en:\n  a: \x01b\n", "is not YAML"),
    ],
)
def test_what_is_broken_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text, "x.yml")


def test_aliases_are_not_followed() -> None:
    bomb = "en:\n  a: &a [one word, two]\n" + "".join(
        f"  {chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(20)
    )
    assert len(read(bomb, "x.yml").segments) == 2


RAWS = ["plain", "a, b", '"quoted"', "'single'", "|\n    old\n", ">-\n   old\n   text\n\n", "|+\n    old\n\n"]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1), st.sampled_from(RAWS))
@example("a: b", "plain")
@example("yes", "plain")
@example("- a", "plain")
@example("a #b", "a, b")
@example("\u2028\x85", "plain")
@example("{a}", "plain")
def test_whatever_is_written_is_read_back(value: str, raw: str) -> None:
    import yaml

    if raw[0] in "|>" and (value != value.strip() or not value.isprintable()):
        return  # blanks around a text are not translated
    written = write_scalar(value, raw)
    text = f"en:\n  a: {written}" + ("" if raw[0] in "|>" else "\n") + "  b: [x]\n"
    assert yaml.safe_load(text)["en"]["a"].rstrip("\n") == value
