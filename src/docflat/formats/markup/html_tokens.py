"""HTML cut into tags, comments and text, each with its place: parsers that build a tree forget how it was written."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["open", "close", "text", "raw", "other"]


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = names("area base br col embed hr img input link meta param source track wbr")
# Their content is no markup; that of a title is text all the same.
RAW = names("title textarea script style xmp iframe noembed noframes")

CHOICES = names("checkbox radio submit button reset image")  # inputs with a text beside them, or on them

_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")
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


def find_apart(text: str, tokens: Sequence[Token], blocks: Collection[str]) -> set[int]:
    """Where tags start that stand in a line, but end a text: choices of a form, and the links of a list of links.

    To a model the words around them would be one sentence, whose words may change places: a menu leads elsewhere then.
    """
    found: set[int] = set()
    links: list[int] = []  # the tags of the links since the last block
    named = 0  # how many of these links have words
    inside = wordy = outside = False  # in a link; whether that has words; whether there are words outside of links
    for token in [*tokens, Token("open", len(text), len(text), next(iter(blocks)))]:
        is_choice = token.name == "input" and values_of(text, token).get("type") in CHOICES
        if is_choice:
            found.add(token.start)
        if is_choice or (token.kind in ("open", "close") and token.name in blocks):
            if named > 1 and not outside:
                found.update(links)
            links, named, inside, outside = [], 0, False, False
        elif token.kind in ("open", "close") and token.name == "a":
            links.append(token.start)
            inside, wordy = token.kind == "open", False
        elif token.kind == "text" and any(map(str.isalnum, text[token.start : token.end])):
            named += inside and not wordy
            wordy, outside = inside, outside or not inside
    return found


def cut_html(text: str) -> Iterator[Token]:
    """All tokens in order; together they are the whole text."""
    start = place = 0
    while (place := text.find("<", place)) >= 0:
        token = _other(text, place) if text.startswith(("<!", "<?"), place) else _tag(text, place)
        if token is None:  # "a < b"
            place += 1
            continue
        if start < place:
            yield Token("text", start, place)
        yield token
        start = place = token.end
        if token.kind == "open" and token.name in RAW:
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
