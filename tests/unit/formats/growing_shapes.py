"""Files that grow: each shape makes one of a size, and an attack or a careless program could make it of any."""

from __future__ import annotations

import json
from collections.abc import Callable

from office_files import STYLES, field, odt, paragraph, run, word

XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en" original="a" '
    'datatype="plaintext"><body>{}</body></file></xliff>'
)


def unit(source: str) -> str:
    return f'<trans-unit id="1"><source>{source}</source></trans-unit>'


def one_cue(text: str) -> str:
    return f"1\n00:00:01,000 --> 00:00:09,000\n{text}\n"


def chained_styles(size: int) -> str:
    return "".join(
        f'<w:style w:type="paragraph" w:styleId="s{n}"><w:name w:val="n{n}"/><w:basedOn w:val="s{n + 1}"/></w:style>'
        for n in range(size)
    )


def chained(size: int) -> bytes:
    body = "".join(paragraph(run("One."), style=f"s{n}") for n in range(size))
    return word(body, styles=STYLES + chained_styles(size))


SHAPES: dict[str, tuple[str, Callable[[int], str | bytes]]] = {
    # Inline codes and elements
    "codes beside each other": ("x.xlf", lambda n: XLIFF.format(unit("a <x/>" * n))),
    "codes that are words": ("x.xlf", lambda n: XLIFF.format(unit("Read <ph/> now. " * n))),
    "pairs of codes": ("x.xlf", lambda n: XLIFF.format(unit("<g>one</g> two " * n))),
    "halves of codes": ("x.xlf", lambda n: XLIFF.format(unit('a <bx id="1"/>' * n))),
    "other halves of codes": ("x.xlf", lambda n: XLIFF.format(unit('a <ex id="1"/>' * n))),
    "units": ("x.xlf", lambda n: XLIFF.format(unit("One.") * n)),
    "tags in a message": ("x.json", lambda n: json.dumps({"text": "<b>one</b> two " * min(n, 600)})),
    "strings": ("x.json", lambda n: json.dumps([{"text": "One."}] * n)),
    "open tags of a message": ("x.json", lambda n: json.dumps({"text": "<b>" * min(n, 3000) + "</b> one"})),
    # HTML
    "elements beside each other": ("x.html", lambda n: "<p>" + "<b>one</b> two " * n),
    "elements in each other": ("x.html", lambda n: "<p>" + "<b>a " * n + "</b>" * n),
    "empty elements in each other": ("x.html", lambda n: "<p>One" + "<b>" * n + "</b>" * n),
    "elements that stay open": ("x.html", lambda n: "<p>" + "<b>one " * n),
    "elements that were not open": ("x.html", lambda n: "<p>" + "<i>" * n + "one </b>" * n),
    "code that stays open": ("x.html", lambda n: "<p>" + "<code>one " * n),
    "code that stays open in blocks": ("x.html", lambda n: "<p><code>one " * n),
    "links that touch": ("x.html", lambda n: "<p>" + "<a>One</a>" * n),
    "line breaks": ("x.html", lambda n: "<p><b>" + "one<br>" * n),
    "bare signs": ("x.html", lambda n: "<p>" + "< a & b " * n),
    "comments that stay open": ("x.html", lambda n: "<p>One" + "<!--" * n),
    "attributes": ("x.html", lambda n: "<p " + "a='b' " * n + ">One"),
    "attributes that stay open": ("x.html", lambda n: "<p " + "a='b " * n + ">One"),
    "rules of style": ("x.html", lambda n: "<style>" + ".a, .b { display: x } /* " * n + "</style><p>One"),
    "scripts that stay open": ("x.html", lambda n: "<p>One" + "<script>" * n),
    "titles that stay open": ("x.html", lambda n: "<title>One" * n),
    # Markdown
    "notes that stay open": ("x.md", lambda n: "One [^" * n),
    "images that stay open": ("x.md", lambda n: "One ![" * n),
    "instructions that stay open": ("x.md", lambda n: "One <?" * n),
    "declarations that stay open": ("x.md", lambda n: "One <!A " * n),
    "comments of Markdown that stay open": ("x.md", lambda n: "One <!-- " * n),
    "sections of data that stay open": ("x.md", lambda n: "One <![CDATA[ " * n),
    "code of Markdown that stays open": ("x.md", lambda n: "One <code> " * n),
    "code of Markdown": ("x.md", lambda n: "One <code>a</code> " * n),
    "bold of Markdown that stays open": ("x.md", lambda n: "One **two " * n),
    "bold of Markdown": ("x.md", lambda n: "One **two** " * n),
    "formulas that stay open": ("x.md", lambda n: "One $two " * n),
    "brackets": ("x.md", lambda n: "[" * n + "One"),
    "links": ("x.md", lambda n: "[one](two) " * n),
    "cells": ("x.md", lambda n: "|a" * n + "\n" + "|-" * n + "\n" + "|b" * n),
    "paragraphs": ("x.md", lambda n: "One.\n\n" * n),
    "tags of templates that stay open": ("x.md", lambda n: "{{< highlight >}}\n" * n),
    "fences of containers that stay open": ("x.md", lambda n: "```{note}\n\nOne.\n" * n),
    "containers that stay open": ("x.md", lambda n: ":::note\nOne.\n" * n),
    "imports that stay open": ("x.md", lambda n: "import {\n\n" * n),
    "components that stay open": ("x.md", lambda n: "<Card a={\n" * n),
    "attributes of Markdown that stay open": ("x.md", lambda n: "One {.a " * n),
    "front matter": ("x.md", lambda n: "---\n" + "title: a: b # c\n" * n + "---\nOne."),
    "front matter that stays open": ("x.md", lambda n: "---\n" + "title:   \n" * n + "One."),
    "blanks of front matter": ("x.md", lambda n: "---\ntitle: a" + " " * n + "b: c\n---\nOne."),
    "definitions": ("x.md", lambda n: "One\n" + ": two\n" * n),
    # Text
    "blanks": ("x.txt", lambda n: "One" + " " * n + "two"),
    "blank lines": ("x.txt", lambda n: "One" + " \n" * n + "two"),
    "blanks before a line's end": ("x.txt", lambda n: ("One two three four five six seven" + " " * n + "\n") * 3),
    "no-break blanks": ("x.txt", lambda n: "One" + "\u00a0" * n + "two"),
    "lines of text": ("x.txt", lambda n: "One two three four.\n" * n),
    "words": ("x.txt", lambda n: "one two " * n),
    "sentences": ("x.txt", lambda n: "One two. " * n),
    "addresses": ("x.txt", lambda n: "See http://" + ")" * n),
    "columns": ("x.txt", lambda n: "one\t" * n + "two"),
    "messages that choose": ("x.txt", lambda n: "{a, plural, one {b}" * n),
    "placeholders": ("x.txt", lambda n: "one {x} " * n),
    "braces": ("x.txt", lambda n: "{ a" * n),
    "underscores": ("x.txt", lambda n: "One" + "_" * n),
    "digits": ("x.txt", lambda n: "One" + "1" * n),
    "dots": ("x.txt", lambda n: "One" + ". " * n),
    # Catalogues
    "messages": ("x.po", lambda n: "".join(f'msgid "One {i}"\nmsgstr ""\n\n' for i in range(n))),
    "lines of a message": ("x.po", lambda n: 'msgid ""\n' + '"one\\n"\n' * min(n, 1500) + 'msgstr ""\n'),
    "comments of PO": ("x.po", lambda n: "# a\n" * n + 'msgid "One"\nmsgstr ""\n'),
    "blanks of properties": ("x.properties", lambda n: "  \n" * n + " a = One"),
    "lines of properties": ("x.properties", lambda n: "a = One\\\n" * n + "b"),
    "comments of properties": ("x.properties", lambda n: "# a\n" * n + "a = One"),
    "comments of .strings": ("x.strings", lambda n: "/* a */" * n + '"a" = "One";'),
    "strings of Android": ("x.xml", lambda n: "<resources>" + '<string name="a">One</string>' * n + "</resources>"),
    # Subtitles
    "cues": ("x.srt", lambda n: one_cue("One.") * n),
    "lines of a cue": ("x.srt", lambda n: one_cue("- One.\n" * min(n, 1000))),
    "tags of a cue": ("x.srt", lambda n: one_cue("<i>One</i> " * min(n, 800))),
    "tags of a cue that stay open": ("x.srt", lambda n: one_cue("<i>One " * min(n, 1200))),
    "cues of WebVTT": ("x.vtt", lambda n: "WEBVTT\n\n" + "00:01.000 --> 00:02.000\nOne.\n\n" * n),
    "notes of WebVTT": ("x.vtt", lambda n: "WEBVTT\n\n" + "NOTE a\n" * n + "\n00:01.000 --> 00:02.000\nOne.\n"),
    # Office
    "runs": ("x.docx", lambda n: word(paragraph((run("One ") + run("two ", "<w:b/>")) * n))),
    "runs with bookmarks": ("x.docx", lambda n: word(paragraph((run("One ") + '<w:bookmarkStart w:id="1"/>') * n))),
    "links of Word": (
        "x.docx",
        lambda n: word(paragraph(f"<w:hyperlink>{run('One ')}</w:hyperlink>{run('two ')}" * n)),
    ),
    "fields": ("x.docx", lambda n: word(paragraph((field("PAGE", run("1")) + run(" one ")) * n))),
    "paragraphs of Word": ("x.docx", lambda n: word(paragraph(run("One.")) * n)),
    "chained styles": ("x.docx", chained),
    "spans of OpenDocument": (
        "x.odt",
        lambda n: odt("<text:p>" + '<text:span text:style-name="T1">One</text:span> two ' * n + "</text:p>"),
    ),
    "tabs": ("x.odt", lambda n: odt("<text:p>" + "one<text:tab/>" * n + "</text:p>")),
}
