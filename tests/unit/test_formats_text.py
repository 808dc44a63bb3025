"""Plain text, Markdown, HTML and JSON: what is read as text, and that all the rest comes back byte for byte."""

from __future__ import annotations

import json
import re
import site
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from test_files import Stub

from docflat.errors import InputError
from docflat.files import FileReport, translate_segments
from docflat.formats import FORMATS, find_format
from docflat.formats.html_tokens import cut_html
from docflat.formats.limits import MOST_BYTES, MOST_TEXT, parse_xml, read_file
from docflat.formats.segments import ParsedFile, Segment

TEXT_FORMATS = [".txt", ".md", ".html", ".json", ".jsonl"]


def read(name: str, text: str | bytes, **options: Any) -> ParsedFile:
    return find_format(name, **options).read(text.encode() if isinstance(text, str) else text, name)


def shouted(name: str, text: str, **options: Any) -> str:
    """Translated by a stub that shouts, and breaks what is to be kept."""
    parsed = read(name, text, **options)
    return parsed.render(translate_segments(parsed.segments, Stub(str.upper), FileReport(name))).decode()


def texts(name: str, text: str, **options: Any) -> list[str]:
    return [segment.text for segment in read(name, text, **options).segments if not segment.kept]


def test_what_has_no_format_and_what_lacks_a_package(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match=r"x\.doc: no format for files ending in '\.doc'; there are \.txt, "):
        find_format("x.doc")
    monkeypatch.delitem(sys.modules, "docflat.formats.markdown", raising=False)
    monkeypatch.delitem(sys.modules, "docflat.formats.markdown_inline", raising=False)
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(InputError, match=r"x\.md: \.md files need markdown_it: pip install 'docflat\[files\]'"):
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


def test_wrapped_text_is_wrapped_again():
    text = "\ufeff  Some words that go on to the next\r\n  line, and end here.\r\n\r\n* item"
    assert shouted("x.txt", text) == text.upper()
    parsed = read("x.txt", text)
    new = parsed.render([Segment("These are many more words than there were before"), Segment("*")]).decode()
    assert new == "\ufeff  These are many more words than\r\n  there were before\r\n\r\n*"


def test_plain_text_that_is_not_utf8():
    with pytest.raises(InputError, match=r"x\.txt:2: not UTF-8"):
        read("x.txt", b"a\n\xff")


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


def test_json_without_text():
    with pytest.raises(InputError, match=r"x\.json: no text under the keys source, text; --keys names others"):
        read("x.json", '{"title": "a"}')


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
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


# HTML

PAGE = """<!DOCTYPE html>
<html><head><title>Cats &amp; dogs</title><meta name="description" content="All of them">
<style>p { a: "b" }</style></head>
<body><!-- a note --><h1 id=x>Hello <em class="y">dear</em> world</h1>
<p title='It&#39;s'>See <a href="a?b&amp;c"><b>our</b> page</a> &lt;now&gt; or run <code>x &amp; y</code>.<br>Next
 line <img src="i.png" alt="a cat"> with <a href="b"><img src="j.png"></a> and <i translate="no">Keep Me</i> here.</p>
<pre>some code</pre><ul><li>one<li>two</ul><div class="a notranslate">Not this</div>
<script>if (a < b) { "text" }</script><input type="submit" value="Send"><textarea>mine</textarea></body></html>
"""


def test_texts_of_html():
    assert texts("x.html", PAGE) == [
        "Cats & dogs",
        "All of them",
        "Hello dear world",
        "It's",
        "See our page <now> or run x & y.",
        "a cat",
        "Next\n line with and Keep Me here.",
        "one",
        "two",
        "Send",
    ]


def test_html_is_translated_around_its_markup():
    found = shouted("x.html", PAGE)
    for part in (
        "<title>CATS &amp; DOGS</title>",
        'content="ALL OF THEM"',
        '<h1 id=x>HELLO <em class="y">DEAR</em> WORLD</h1>',
        "<p title='IT&#39;S'>",
        '<a href="a?b&amp;c"><b>OUR</b> PAGE</a> &lt;NOW&gt; OR RUN <code>x &amp; y</code>.<br>NEXT LINE',
        '<img src="i.png" alt="A CAT"> WITH <a href="b"><img src="j.png"></a> AND ',
        '<i translate="no">Keep Me</i> HERE.</p>',
        "<pre>some code</pre><ul><li>ONE<li>TWO</ul>",
        "Not this",
        '{ "text" }',
        'value="SEND"',
        ">mine<",
        "<!-- a note -->",
    ):
        assert part in found


@pytest.mark.parametrize("data", ["caf\xe9".encode("cp1252"), b'<meta charset="koi8-r"><p>\xcb\xcf\xd4</p>'])
def test_html_in_other_encodings(data: bytes):
    parsed = read("x.html", data)
    assert parsed.render(parsed.segments) == data
    new = parsed.render([Segment("我")])  # in none of these encodings
    assert b"&#25105;" in new


@pytest.mark.parametrize("data", [b"\xff\xfea\0", b"<meta charset=nonsense>", b"<meta charset=utf-8>\xff"])
def test_html_that_cannot_be_read(data: bytes):
    with pytest.raises(InputError, match=r"x\.html"):
        read("x.html", data)


class Oracle(HTMLParser):
    """The tags as the standard library sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, [name for name, value in attrs if value]))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(("/" + tag, []))

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)


def tags_of(text: str) -> list[tuple[str, Any]]:
    return [
        (
            "/" * (token.kind == "close") + token.name,
            [name for name, a, b in token.attributes if text[a:b].strip("\"'")],
        )
        for token in cut_html(text)
        if token.kind in ("open", "close")
    ]


HTML_PARTS = [
    *("<p>", "</p>", "<b a=1>", "<a href='x\"y'>", '<img alt="a > b"/>', "<br/>", "text", " &amp; ", "a < b", "\n"),
    *("<!-- <p> -->", "<script>if (a<b) '</p>'</script>", "<!doctype html>", "<title>a b</title>", "</b >"),
    *("<i\nclass = x\tid>", "<?x y?>"),
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(HTML_PARTS), max_size=12))
def test_tags_are_those_of_the_standard_library(parts: list[str]):
    text = "".join(parts)
    oracle = Oracle()
    oracle.feed(text)
    oracle.close()
    assert tags_of(text) == oracle.tags


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(HTML_PARTS), max_size=12))
def test_translated_html_has_the_same_tags(parts: list[str]):
    text = "".join(parts)
    assert sorted(map(str, tags_of(shouted("x.html", text)))) == sorted(map(str, tags_of(text)))


# Markdown

NOTES = """\
---
title: Not this
---
# A *small* title #

> A quote that goes
> on, with `some code`, a [link **here**](u_(v) "T") and <https://x.org>.
> Escapes: \\* &amp; 2 * 3 snake_case ![a cat](c.png) [![d](e)](f)

| one | two \\| three |
|-----|---|
| *x* | y |

- [ ] do {this}
  with [ref] or [a text][ref]; note[^1].
1. first\\
   second

```
code
```

<div>HTML</div>

Under
lined
=====

[ref]: https://x.org "T"
"""


def test_texts_of_markdown():
    assert texts("x.md", NOTES) == [
        "A small title",
        "A quote that goes\non, with some code, a link here and https://x.org.\nEscapes: * & 2 * 3 snake_case ",
        "a cat",
        "d",
        "one",
        "two | three",
        "x",
        "y",
        "do {this}\nwith ref or a text; note.",
        "first second",
        "Under\nlined",
    ]
    kept = [segment.kept for segment in read("x.md", NOTES).segments if segment.kept]
    assert kept == ["front matter", "code", "HTML"]


def test_markdown_is_translated_around_its_markup():
    found = shouted("x.md", NOTES)
    for part in (
        "---\ntitle: Not this\n---\n# A *SMALL* TITLE #\n",
        '> A QUOTE THAT GOES ON, WITH `some code`, A [LINK **HERE**](u_(v) "T") AND <https://x.org>.\n> ESCAPES: ',
        "![A CAT](c.png) [![D](e)](f)",
        "| ONE | TWO \\| THREE |\n|-----|---|\n| *X* | Y |",
        "- [ ] DO {this}",
        "WITH [REF][ref] OR [A TEXT][ref]; NOTE[^1].",
        "1. FIRST\\\n   SECOND\n",
        "```\ncode\n```\n\n<div>HTML</div>\n\nUNDER LINED\n=====\n",
    ):
        assert part in found


@pytest.mark.parametrize(
    "text", ["* a", "# b", "1. c", "> d", "- e", "a*b*c", "_x_", "`y`", "[a](b)", "<b>", "&amp;", "\\*", "+ f"]
)
def test_translations_that_look_like_markdown_are_text(text: str):
    """As an outside reader sees it."""
    parsed = read("x.md", "Word.\n")
    written = parsed.render([Segment(text)]).decode()
    shown = MarkdownIt().render(written)
    assert re.sub("<[^>]*>", "", shown).strip() == text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert shown.startswith("<p>")


MARKDOWN_PARTS = [
    *("# T\n", "a *b* c\n", "\n", "> q\n", "- i\n", "  - j `k`\n", "1. x\n", "```\nf\n```\n", "[l](u) w\n", "**b\n"),
    *("a\tb\n", "\tcode\n", "| a | b |\n|---|---|\n| c | d |\n", "![i](s)", "<b>h</b> t\n", "&lt; e\\_f\n"),
    *("w  \nx\n", "===\n", "[r]: u\n", "[r] s\n", "~~s~~\n"),
]


def shape(text: str) -> list[str]:
    """Blocks and inline elements in their order, but for what becomes of line breaks."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inline = [sorted(t.type for t in token.children or [] if t.type not in ("text", "softbreak")) for token in tokens]
    return [f"{token.type} {found}" for token, found in zip(tokens, inline, strict=True)]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(MARKDOWN_PARTS), max_size=8))
@example(["> q\n", "a *b* c\n"])
def test_translated_markdown_has_the_same_shape(parts: list[str]):
    text = "".join(parts)
    assert shape(shouted("x.md", text)) == shape(text)


# All of them


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([".txt", ".md", ".html"]),
    st.lists(st.sampled_from([*HTML_PARTS, *MARKDOWN_PARTS, "\r\n", "\r", "\0", "\u2028", "ä", "\ufeff"]), max_size=12),
)
def test_any_text_comes_back_as_it_was(suffix: str, parts: list[str]):
    data = "".join(parts).encode()
    parsed = read("x" + suffix, data)
    assert parsed.render(parsed.segments) == data


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
    translate_segments(parsed.segments, Stub(str.upper), FileReport(name))


@pytest.mark.parametrize(
    "data",
    [
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'.encode("utf-16"),
        b"<a>" * 3000 + b"</a>" * 3000,
        b"<a",
        b"",
    ],
)
def test_hostile_xml(data: bytes):
    with pytest.raises(InputError, match=r"^x: "):
        parse_xml(data, "x")


def test_xml_keeps_what_it_has():
    assert parse_xml(b"<a>x<!-- y --><b/></a>", "x").tag == "a"
