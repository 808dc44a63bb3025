"""Plain text, Markdown, HTML and JSON: what is read as text, and that all the rest comes back byte for byte."""

from __future__ import annotations

import json
import site
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docflat.formats import FORMATS, find_format
from docflat.formats.safe_reading import MOST_BYTES, MOST_TEXT, read_file
from docflat.formats.segments import ParsedFile, Segment
from docflat.support.errors import InputError
from docflat.translation.files import translate_segments
from stubs import Stub

TEXT_FORMATS = [".txt", ".md", ".html", ".json", ".jsonl"]


def read(name: str, text: str | bytes, **options: Any) -> ParsedFile:
    return find_format(name, **options).read(text.encode() if isinstance(text, str) else text, name)


def shouted(name: str, text: str, **options: Any) -> str:
    """Translated by a stub that shouts, and breaks what is to be kept."""
    parsed = read(name, text, **options)
    return parsed.render(translate_segments(parsed.segments, Stub(str.upper))[0]).decode()


def texts(name: str, text: str, **options: Any) -> list[str]:
    return [segment.text for segment in read(name, text, **options).segments if not segment.skip_reason]


def test_what_has_no_format_and_what_lacks_a_package(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match=r"x\.doc: no format for files ending in '\.doc'; there are \.txt, "):
        find_format("x.doc")
    monkeypatch.delitem(sys.modules, "docflat.formats.markup.markdown", raising=False)
    monkeypatch.delitem(sys.modules, "docflat.formats.markup.markdown_inline", raising=False)
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(
        InputError, match=r"x\.md: \.md files need markdown_it, which comes with docflat: pip install --upgrade docflat"
    ):
        find_format("x.md")


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_of_the_table_is_there(suffix: str):
    assert find_format("x" + suffix).name


# Plain text


def test_paragraphs_of_plain_text():
    text = "A title\n\nThis was wrapped by hand, as e-mail\noften is, to a width.\n\n  one\n  two\n"
    assert texts("x.txt", text) == [
        "A title",
        "This was wrapped by hand, as e-mail often is, to a width.",
        "one",
        "two",
    ]


def test_a_sentence_a_line_stays_so():
    text = "The first sentence is here and long.\nThe second one is too, a bit longer.\nThe third.\n"
    assert texts("x.txt", text) == text.splitlines()


def test_lines_that_a_hand_ended_a_word_too_early_are_one_paragraph():
    text = (
        "thank you for your letter of 12 June. We are sorry that your order (no.\n"
        "4711) has not arrived. It was sent on 3 June, and it should have been with you\n"
        "after two days. We will send you the brochures again.\n"
    )
    assert texts("x.txt", text) == [" ".join(text.split())]


@pytest.mark.parametrize(
    "text",
    [
        "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\n"
        "Rough winds do shake the darling buds of May,\nAnd summer's lease hath all too short a date;\n",
        "apple: a fruit that grows on trees, green or red\nbanana: a long yellow fruit of warm lands\n"
        "cherry: a small red one\ndate: it is dried\n",
        "Dr. Robert Smith\n12 Long Street, near the old town hall\nLondon\n",
    ],
)
def test_verse_lists_and_addresses_keep_their_lines(text: str):
    assert texts("x.txt", text) == text.splitlines()


def test_wrapped_text_is_wrapped_again():
    text = "\ufeff  Some words that go on to the next\r\n  line, and end here.\r\n\r\n* item"
    assert shouted("x.txt", text) == text.upper()
    parsed = read("x.txt", text)
    new = parsed.render([Segment("These are many more words than there were before"), Segment("*")]).decode()
    assert new == "\ufeff  These are many more words than\r\n  there were before\r\n\r\n*"


def test_plain_text_that_is_not_utf8():
    with pytest.raises(InputError, match=r"x\.txt:2: not UTF-8"):
        read("x.txt", b"a\n\xff")
    with pytest.raises(InputError, match=r"x\.txt: not UTF-16, as its first bytes say"):
        read("x.txt", "a".encode("utf-16") + b"b")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-8"])
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.txt", "Grüße 😀\r\n\r\none\r\n", "GRÜSSE 😀\r\n\r\nONE\r\n"),
        ("x.md", "# one\n\n`two`\n", "# ONE\n\n`two`\n"),
        ("x.html", "<meta charset=utf-16><p>one &amp; <b>zwölf</b>", "<meta charset=utf-16><p>ONE &amp; <b>ZWÖLF</b>"),
        ("x.json", '{"text": "é"}', '{"text": "É"}'),
    ],
)
def test_a_byte_order_mark_names_the_encoding(name: str, text: str, expected: str, encoding: str):
    parsed = read(name, f"\ufeff{text}".encode(encoding))
    assert parsed.render(parsed.segments) == f"\ufeff{text}".encode(encoding)
    new, _ = translate_segments(parsed.segments, Stub(str.upper))
    assert parsed.render(new) == f"\ufeff{expected}".encode(encoding)


# JSON


def test_json_strings_under_keys():
    text = '{"id": "a", "text": "Hi \\u00e4",\r\n "more": [{"source": ["one", {"x": "y", "text": "two"}, "three"]},'
    text += '"four"]}'
    assert texts("x.json", text) == ["Hi ä", "one", "two", "three"]
    assert texts("x.json", text, keys=["x"]) == ["y"]
    assert texts("x.json", text, keys=["*"]) == ["a", "Hi ä", "one", "y", "two", "three", "four"]
    assert json.loads(shouted("x.json", text)) == {
        "id": "a",
        "text": "HI Ä",
        "more": [{"source": ["ONE", {"x": "y", "text": "TWO"}, "THREE"]}, "four"],
    }
    assert shouted("x.json", text).isascii()


def test_tags_in_json_are_no_words():
    text = json.dumps({"text": 'Please <a href="x y">log in</a>\nor <b>leave</b>, a < b.', "source": "Use <name> here"})
    assert json.loads(shouted("x.json", text)) == {
        "text": 'PLEASE <a href="x y">LOG IN</a>\nOR <b>LEAVE</b>, A < B.',
        "source": "USE <name> HERE",
    }


def test_json_says_which_texts_it_left_under_other_keys():
    text = '{"text": "One text.", "title": ["Left here", "a-b"], "id": "x1", "note": {"body": "Two words"}}'
    parsed = find_format("x.json").read(text.encode(), "x.json")
    assert parsed.left_out == "texts left under other keys: 2 (title, body; --keys names what to translate)"
    assert find_format("x.json", keys=["*"]).read(text.encode(), "x.json").left_out == ""


def test_json_lines():
    assert shouted("x.jsonl", '{"text": "a ü"}\n\n{"text": "b"} \n') == '{"text": "A Ü"}\n\n{"text": "B"} \n'
    with pytest.raises(InputError, match=r"x\.jsonl:2: is not JSON: Expecting value"):
        read("x.jsonl", '{"text": "a"}\n{"text": }')


@pytest.mark.parametrize(
    "text", ["{", "", '{"text": "a",}', "{'text': 1}", "[" * 100_000, '{"text":' * 300 + "1" + "}" * 300]
)
def test_broken_json(text: str):
    with pytest.raises(InputError, match=r"x\.json"):
        read("x.json", text)


def test_json_that_holds_half_a_character_or_a_long_number_comes_back():
    text = '{"text": "One \\ud800 word.", "n": %s, "source": "Other words."}' % ("7" * 5000)
    assert texts("x.json", text) == ["Other words."]
    assert shouted("x.json", text) == text.replace("Other words.", "OTHER WORDS.")


def test_json_without_text():
    with pytest.raises(InputError, match=r"x\.json: no text under the keys source, text; --keys names others"):
        read("x.json", '{"title": "a"}')


# Bars part texts, which test_messages.py tests.
JSON_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="|"), max_size=5)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | JSON_TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "a", '"', "{"]), inner, max_size=3)
    ),
)


@settings(max_examples=100, deadline=None)
@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_any_json_is_found_as_the_library_finds_it(value: Any, ascii_only: bool, indent: int | None):
    """The strings under a key, by walking the value that json has read."""

    def walk(value: Any, key: str) -> list[str]:
        if isinstance(value, str):
            return [value] if key == "text" else []
        if isinstance(value, dict):
            return [found for name, inner in value.items() for found in walk(inner, name)]
        return [found for inner in value for found in walk(inner, key)] if isinstance(value, list) else []

    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    wanted = walk(value, "")
    if wanted:
        parsed = find_format("x.json").read(text.encode("utf-8", "surrogatepass"), "x.json")
        assert [segment.text for segment in parsed.segments] == wanted
        assert parsed.render(parsed.segments) == text.encode()


# All of them


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(TEXT_FORMATS), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(suffix: str, data: bytes):
    try:
        parsed = read("x" + suffix, data)
    except InputError:
        return
    assert parsed.render(parsed.segments) == data


def real_files(suffix: str) -> list[Path]:
    """Of this machine's own packages; some of the smaller ones."""
    roots = [Path(folder) for folder in (*site.getsitepackages(), "/usr/share/doc")]
    found = (file for root in roots if root.is_dir() for file in root.rglob(f"*{suffix}"))
    return sorted(file for file in found if file.is_file() and file.stat().st_size < 200_000)[:40]


@pytest.mark.parametrize(
    ("suffix", "name"),
    [(".md", "x.md"), (".rst", "x.txt"), (".rst", "x.md"), (".txt", "x.txt"), (".html", "x.html"), (".json", "x.json")],
)
def test_real_files_come_back_byte_for_byte(suffix: str, name: str):
    files = real_files(suffix)
    if not files:
        pytest.skip(f"no {suffix} files here")
    options = {"keys": ["*"]} if suffix == ".json" else {}
    read_at_all = 0
    for file in files:
        data = file.read_bytes()
        try:
            parsed = read(name, data, **options)
        except InputError:
            continue
        assert parsed.render(parsed.segments) == data, file
        read_at_all += 1
    assert 2 * read_at_all >= len(files)


def test_a_line_of_200_megabytes_is_refused_before_it_is_in_memory(tmp_path: Path):
    file = tmp_path / "x.txt"
    with open(file, "wb") as stream:
        stream.truncate(200 << 20)
    with pytest.raises(InputError, match=rf"x\.txt: is larger than {MOST_BYTES >> 20} MiB"):
        read_file(file)


@pytest.mark.parametrize("suffix", TEXT_FORMATS)
def test_more_text_than_a_document_has_is_refused(suffix: str):
    with pytest.raises(InputError, match=r"is larger than \d MiB, the most of one text"):
        read("x" + suffix, b" " * (MOST_TEXT + 1))


@pytest.mark.parametrize(
    ("name", "hostile"),
    [
        ("x.html", "<b>" * 5000 + "x"),
        ("x.html", "<div>" * 5000 + "x" + "</div>" * 5000),
        ("x.html", "<!--" * 5000),
        ("x.html", "<a b='" * 5000),
        ("x.html", "<a " * 5000),
        ("x.md", "> " * 5000 + "x"),
        ("x.md", "- " * 5000 + "x"),
        ("x.md", "*a " * 5000),
        ("x.md", "[" * 5000),
        ("x.txt", "a" * 100_000),
        ("x.txt", "{a}" * 5000 + " b"),
    ],
)
def test_deep_and_odd_files_are_no_trouble(name: str, hostile: str):
    parsed = read(name, hostile)
    assert parsed.render(parsed.segments) == hostile.encode()
    translate_segments(parsed.segments, Stub(str.upper))
