"""Markdown and HTML: what is read as text, and that markup survives what a translation does to it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from test_plain_text import read, real_files, shouted, texts

from docflat.formats.markup.html_tokens import cut_html
from docflat.formats.segments import Segment
from docflat.support.errors import InputError
from docflat.translation.files import translate_segments
from stubs import Stub

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


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<nav><a>Home</a> <a><b>About</b> us</a></nav>", ["Home", "About us"]),
        ("<p><span><a>One</a></span> | <a>two</a> · <a>3</a>", ["One", "two", "3"]),
        ("<p><a>One</a> and <a>two</a>", ["One and two"]),
        ("<p>See <a>one</a>, <a>two</a>.", ["See one, two."]),
        ("<p><a>One</a> <a><img></a><td><a>Two</a>", ["One ", "Two"]),
        ("<p><button>Save</button> <button>Delete all</button>", ["Save", "Delete all"]),
        ("<label>Name</label> <input> <label><input type=checkbox> I agree</label>", ["Name", " I agree"]),
        ("<p><input type='radio'> Yes <input type='RADIO'/> No", [" Yes ", " No"]),
        ("<p>Show <input type=text> results <input type=submit value=Go>", ["Show results ", "Go"]),
    ],
)
def test_what_a_menu_and_a_form_say_are_texts_of_their_own(page: str, expected: list[str]):
    assert [text for text in texts("x.html", page) if text.strip(" |·")] == expected
    parsed = read("x.html", page)
    assert parsed.render(parsed.segments).decode() == page
    words = re.compile(">[^<>]+")  # and the text of an attribute
    loud = words.sub(lambda match: match[0].upper(), page).replace("=Go", '="GO"')
    assert shouted("x.html", page) == loud


@pytest.mark.parametrize(
    "page",
    [
        "<meta charset=nonsense><p>é",
        "<meta charset=idna><p>é",
        "<meta charset=punycode><p>é",
        "<meta charset=unicode_escape><p>é\\n",
        "<meta charset=utf-16><p>é",
        "<meta charset='a\0b'><p>é",
        "<p>Put charset=koi8-r into the head. é",
        "<!-- <meta charset=koi8-r> --><p>é",
        "<meta name=description content='text/html; charset=koi8-r'><p>é",
        "<meta charset=nonsense><meta http-equiv=Content-Type content='text/html; charset=UTF-8'><p>é",
    ],
)
def test_a_page_that_names_no_charset_is_utf_8_whatever_else_it_says(page: str):
    parsed = read("x.html", page.encode())
    assert parsed.segments[-1].text.endswith(("é", "é\\n"))
    assert parsed.render(parsed.segments) == page.encode()


@pytest.mark.parametrize("data", [b"\xff\xfea", b"<meta charset=utf-8>\xff"])
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
title: A page
layout: page
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
        "A page",
        "A small title",
        "A quote that goes\non, with some code, a link here and https://x.org.\nEscapes: * & 2 * 3 snake_case ",
        "T",
        "a cat",
        "d",
        "one",
        "two | three",
        "x",
        "y",
        "do {this}\nwith ref or a text; note.",
        "first\u2028second",
        "HTML",
        "Under\nlined",
    ]
    kept = [segment.skip_reason for segment in read("x.md", NOTES).segments if segment.skip_reason]
    assert kept == ["front matter", "code"]


def test_markdown_is_translated_around_its_markup():
    found = shouted("x.md", NOTES)
    for part in (
        "---\ntitle: A PAGE\nlayout: page\n---\n# A *SMALL* TITLE #\n",
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
    ("text", "expected"),
    [
        ('[a](u "Tea time")', '[A](u "Der \\"Tee\\"")'),
        ("[a](u 'Tea time')", "[A](u 'Der \"Tee\"')"),
        ("[a](u (Tea time))", '[A](u (Der "Tee"))'),
        ('[a]( <u v>\n"Tea time" )', '[A]( <u v>\n"Der \\"Tee\\"" )'),
        ('![a](u "Tea time")', '![A](u "Der \\"Tee\\"")'),
        ('[![a](u "Tea time")](v "Tea time")', '[![A](u "Der \\"Tee\\"")](v "Der \\"Tee\\"")'),
        ('![*a*](u "Tea time")', '![*a*](u "Der \\"Tee\\"")'),
        ('[a](u "Tea\\" &amp; time")', '[A](u "Tea\\" &amp; time")'),
        ('[a](u "12")', '[A](u "12")'),
        ('[a]\n\n[a]: u "Tea time"', '[A][a]\n\n[a]: u "Tea time"'),
    ],
)
def test_titles_of_links_and_images(text: str, expected: str):
    parsed = read("x.md", text)
    assert parsed.render(parsed.segments).decode() == text
    stub = Stub(lambda line: 'Der "Tee"' if line == "Tea time" else line.upper())
    assert parsed.render(translate_segments(parsed.segments, stub)[0]).decode() == expected
    was, now = ([token.attrGet("title") for token in links(each)] for each in (text, expected))
    translated = "Tee" in expected
    assert now == ['Der "Tee"' if translated else title for title in was]


def links(text: str) -> list[Token]:
    """As a parser reads them."""
    tokens = [child for token in MarkdownIt().parse(text) for child in token.children or ()]
    return [token for token in tokens if token.type in ("link_open", "image")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("> [!NOTE]\n> one *two*\n> [ref]\n\n[ref]: x", "> [!NOTE]\n> ONE *TWO* [REF][ref]\n\n[ref]: x"),
        ("> [!tip]- a title\n> one\n", "> [!tip]- A TITLE\n> ONE\n"),
        ("> [!NOTE]\n>\n> one\n> two\n", "> [!NOTE]\n>\n> ONE TWO\n"),
        ("> - [!NOTE]  \n>   one\n", "> - [!NOTE]  \n>   ONE\n"),
        ("[!a](b) c", "[!A](b) C"),
    ],
)
def test_the_first_line_of_an_alert_is_markup(text: str, expected: str):
    assert shouted("x.md", text) == expected
    parsed = read("x.md", text)
    assert parsed.render(parsed.segments).decode() == text


BEYOND = """\
before it
:::tip The title
a tip *for* you
:::

!!! note "The title"
    a note with `code`

    - an item

        code of no list

[^1]: the text
    of a footnote

    its second paragraph

        code

term
: what it
  means
: or this

a formula $x_1 \\, y_1$ for $5 and $6; press <kbd>enter *now*</kbd> or <kbd>
"""


def test_markdown_beyond_commonmark():
    """Lines that are markup stay lines, what is indented below them is text, and formulas are none."""
    assert (
        shouted("x.md", BEYOND)
        == """\
BEFORE IT
:::tip THE TITLE
A TIP *FOR* YOU
:::

!!! note "THE TITLE"
    A NOTE WITH `code`

    - AN ITEM

        CODE OF NO LIST

[^1]: THE TEXT OF A FOOTNOTE

    ITS SECOND PARAGRAPH

        code

TERM
: WHAT IT MEANS
: OR THIS

A FORMULA $x_1 \\, y_1$ FOR $5 AND $6; PRESS <kbd>enter *now*</kbd> OR <kbd>
"""
    )


def test_html_in_markdown_is_html():
    text = '<div align="left">\r\n <b>a</b> word <img alt="a cat">\r\n</div>\r\n\r\n<!-- x -->\r\n\r\n> <p>q</p>\r\n'
    found = shouted("x.md", text)
    assert found == text.replace("<b>a</b> word", "<b>A</b> WORD").replace("a cat", "A CAT")


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ('title: "one: two"', 'A "b"', {"title": 'A "b"'}),
        ("title: 'one'", "it's", {"title": "it's"}),
        ("title: one two", "A: b", {"title": "A: b"}),
        ("title: one two", "- b", {"title": "- b"}),
        ("title: one two", "Ja", {"title": "Ja"}),
        ("title: one two", "no", {"title": "no"}),
        ("title: one # two", "A", {"title": "one"}),
        ("title: yes", "A", {"title": True}),
        ("title: |\n  one", "A", {"title": "one\n"}),
        ("lang: en\nx:\n  title: one", "A", {"lang": "en", "x": {"title": "one"}}),
    ],
)
def test_front_matter_as_yaml_reads_it(text: str, new: str, expected: dict[str, Any]):
    parsed = read("x.md", f"---\n{text}\n---\n")
    written = parsed.render([Segment(new) if not own.skip_reason else own for own in parsed.segments]).decode()
    assert yaml.safe_load(written.split("---\n")[1]) == expected


def test_front_matter_of_toml():
    found = shouted("x.md", '+++\ntitle = "a page"\ndraft = true\n[extra]\n+++\ntext\n')
    assert found == '+++\ntitle = "A PAGE"\ndraft = true\n[extra]\n+++\nTEXT\n'


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
BEYOND_PARTS = [":::t\n", "!!! n\n", "    i\n", ": d\n", "$x_1$\n", "[^1]: n\n", "<kbd>k</kbd>\n", "</kbd>", "---\n"]


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


# Both

ODD_PARTS = ["\r\n", "\r", "\0", "\u2028", "ä", "\ufeff"]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([".txt", ".md", ".html"]),
    st.lists(
        st.sampled_from([*HTML_PARTS, *MARKDOWN_PARTS, *BEYOND_PARTS, "\r\n", "\r", "\0", "\u2028", "ä", "\ufeff"]),
        max_size=12,
    ),
)
def test_any_text_comes_back_as_it_was(suffix: str, parts: list[str]):
    data = "".join(parts).encode()
    parsed = read("x" + suffix, data)
    assert parsed.render(parsed.segments) == data


@pytest.mark.parametrize(
    ("suffix", "structure"), [(".md", shape), (".html", lambda text: sorted(map(str, tags_of(text))))]
)
def test_translated_real_files_have_the_same_structure(suffix: str, structure: Any):
    files = real_files(suffix)[::2]
    if not files:
        pytest.skip(f"no {suffix} files here")
    for file in files:
        text = file.read_bytes().decode("utf-8", "replace")
        assert structure(shouted("x" + suffix, text)) == structure(text), file
