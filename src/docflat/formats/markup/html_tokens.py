"""HTML cut into tags, comments and text, each with its place: parsers that build a tree forget how it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["open", "close", "text", "raw", "other"]


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = names("area base br col embed hr img input link meta param source track wbr")
# Their content is no markup; that of a title is text all the same.
RAW = names("title textarea script style xmp iframe noembed noframes")

# Elements that end the text before them; all others, unknown ones too, stand in it.
BLOCKS = names(
    "html head body title meta link base template noscript article aside section nav header footer main h1 h2 h3 h4 "
    "h5 h6 hgroup p div ul ol li dl dt dd figure figcaption blockquote hr br table caption colgroup col thead tbody "
    "tfoot tr td th form fieldset legend label button details summary dialog address center option select optgroup "
    "menu menuitem video audio source track canvas object embed param frameset frame map area"
)
CODE = names("code kbd samp var tt")
INLINE_VERBATIM = CODE | names("svg math")
VERBATIM = INLINE_VERBATIM | names("script style pre textarea xmp iframe noembed noframes listing")
APART = (BLOCKS | VERBATIM) - INLINE_VERBATIM  # these stand by themselves

CHOICES = names("checkbox radio submit button reset image")  # inputs with a text beside them, or on them

_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")
_XHTML = re.compile(r"""<\?xml\s|xmlns\s*=\s*["']http://www\.w3\.org/1999/xhtml""")
_HEAD = 2048  # characters in which a page says that it is XML
_TAG_END = re.compile(r"[\s/]*>")


@dataclass(frozen=True)
class Token:
    """text[start:end] of the file."""

    kind: Kind  # raw: the content of an element that has no markup in it; other: comments, declarations
    start: int
    end: int
    name: str = ""  # of a tag, in lower case
    attributes: tuple[tuple[str, int, int], ...] = ()  # name, and the place of the value with its quotes


def values_of(text: str, token: Token) -> dict[str, str]:
    """The attributes of a tag, in small letters."""
    return {name: text[start:end].strip("\"'").lower() for name, start, end in token.attributes}


def cut_html(text: str) -> Iterator[Token]:
    """All tokens in order; together they are the whole text."""
    start = place = 0
    is_xml = _XHTML.search(text, 0, _HEAD) is not None  # where <title/> is empty, and <script src="x"/> too
    while (place := text.find("<", place)) >= 0:
        token = _other(text, place) if text.startswith(("<!", "<?"), place) else _tag(text, place)
        if token is None:  # "a < b"
            place += 1
            continue
        if start < place:
            yield Token("text", start, place)
        yield token
        start = place = token.end
        if token.kind == "open" and token.name in RAW and not (is_xml and text.startswith("/>", token.end - 2)):
            end = re.compile(rf"</{re.escape(token.name)}(?=[\s/>])", re.IGNORECASE).search(text, place)
            place = end.start() if end else len(text)
            if start < place:
                yield Token("raw", start, place, token.name)
            start = place
    if start < len(text):
        yield Token("text", start, len(text))


def _other(text: str, start: int) -> Token:
    """A comment, a declaration, a processing instruction; one that does not end takes the rest, as in browsers."""
    opening, closing = ("<!--", "-->") if text.startswith("<!--", start) else ("<!", ">")
    if text.startswith("<![CDATA[", start):
        opening, closing = "<![CDATA[", "]]>"
    end = text.find(closing, start + len(opening))
    return Token("other", start, len(text) if end < 0 else end + len(closing))


def _tag(text: str, start: int) -> Token | None:
    name = _NAME.match(text, start)
    if name is None:
        return None
    attributes = []
    place = name.end()
    while (end := _TAG_END.match(text, place)) is None:
        attribute = _ATTRIBUTE.match(text, place)
        if attribute is None:  # it does not end: browsers drop the rest
            return Token("other", start, len(text))
        if attribute[2] is not None:
            attributes.append((attribute[1].lower(), *attribute.span(2)))
        place = attribute.end()
    kind: Kind = "close" if text.startswith("</", start) else "open"
    return Token(kind, start, end.end(), name[1].lower(), tuple(attributes))
