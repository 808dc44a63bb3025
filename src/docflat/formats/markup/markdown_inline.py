"""The inside of a Markdown block: which characters of it are text, and which are markup.

markdown-it-py says what there is, but not where. Its tokens are followed along the source; where that does not succeed,
nothing is guessed: the block is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.token import Token

from docflat.formats.markup.html_tokens import INLINE_VERBATIM
from docflat.formats.markup.markdown_blocks import add_blocks
from docflat.formats.markup.tags import SpanBuilder, Template
from docflat.formats.segments import LINE_BREAK, Segment

_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]", re.DOTALL)
_HTML_NAME = re.compile(r"</?([a-zA-Z][\w-]*)")
_VOID = re.compile(r"<(?:br|img|hr|wbr|input)\b|.*/>$", re.IGNORECASE | re.DOTALL)
_SPECIAL = re.compile(
    r"`|\\(?=[!-/:-@\[-`{-~])|~(?=~)"
    r"|\*(?!\s)|(?<!\s)\*"  # by itself it is a star
    r"|(?<!\w)_(?!\s)|(?<!\s)_(?!\w)"  # inside a word it is a letter
    r"|\[(?=[^\[\]]*\][(\[:])"  # what looks like a link
    r"|<(?=[a-zA-Z/!?])|&(?=#?\w+;)"  # or like HTML
)
_BLOCK_START = re.compile(r"(?m)^(?:#{1,6}(?=\s)|[-+*](?=\s)|>|=+$|-+$|\d{1,9}(?=[.)]\s))")
_TASK = re.compile(r"\[[ xX]\] ")
_FOOTNOTE = re.compile(r"(\[\^[^\[\]\s]+\])")


class LostPlace(Exception):
    """A token is not where it should be."""


def escape_markdown(text: str) -> str:
    """Text that reads as itself in Markdown."""
    return _SPECIAL.sub(lambda match: "\\" + match[0], text.replace(LINE_BREAK, " "))


def escape_start(text: str) -> str:
    """A text that starts a line must not start a list or a heading with it."""

    def escaped(match: re.Match[str]) -> str:
        return match[0] + "\\" if match[0].isdigit() else "\\" + match[0]

    return _BLOCK_START.sub(escaped, text)


class InlineReader:
    """Follows the tokens of one block along its content."""

    def __init__(self, content: str, add_segment: Callable[[str, str], int]) -> None:
        """add_segment: makes a segment of a text that stands in the markup, such as that of an image; its number.

        What is to be escaped in it comes with it.
        """
        self.content, self.add_segment = content, add_segment
        self.place = 0
        self.builder = SpanBuilder()
        self.html: list[str] = []  # inline elements that are open
        self.links: list[int] = []  # where the text of open links starts

    def read(self, tokens: Sequence[Token]) -> Segment:
        closing = _verbatim_elements(tokens)
        number = 0
        while number < len(tokens):
            last = closing.get(number, number)
            if number < last:
                self._take_verbatim(tokens[number], tokens[last])
            else:
                self._take(tokens[number])
            number = last + 1
        if self.place != len(self.content):
            raise LostPlace
        return self.builder.segment()

    def _expect(self, raw: str) -> str:
        if not raw or not self.content.startswith(raw, self.place):
            raise LostPlace
        self.place += len(raw)
        return raw

    def _take(self, token: Token) -> None:
        kind = token.type
        if kind == "text":
            self._text(token.content)
        elif kind == "text_special":  # an escape or an entity
            self._expect(token.markup)
            self.builder.add(token.content)
        elif kind == "softbreak":
            self._break()
            self.builder.add("\n")
        elif kind == "hardbreak":
            self.builder.point((self._break(),))
            self.builder.add(LINE_BREAK)
        elif kind == "code_inline":
            self._code(token)
        elif kind in ("formula", "keys"):
            self.builder.opaque(token.content, (self._expect(token.content),))
        elif kind == "comment":
            self.builder.point((self._expect(token.content),))
        elif kind == "attributes":
            self.builder.attach(self._expect(token.content))
        elif kind == "html_inline":
            self._html(self._expect(token.content))
        elif kind == "image":
            self._image(token)
        elif kind in ("em_open", "strong_open", "s_open"):
            self.builder.open((self._expect(token.markup),))
        elif kind in ("em_close", "strong_close", "s_close"):
            self._close((self._expect(token.markup),))
        elif kind == "link_open":
            self._open_link(token)
        elif kind == "link_close":
            self._close_link(token)
        else:
            raise LostPlace

    def _text(self, text: str) -> None:
        if not self.place and (task := _TASK.match(text)):
            self.builder.point((self._expect(task[0]),))
            text = text[task.end() :]
        for number, part in enumerate(_FOOTNOTE.split(text)):
            if number % 2:
                self.builder.point((self._expect(part),))
            elif part:
                self.builder.add(self._expect(part))

    def _break(self) -> str:
        match = re.compile(r"(?:\\|[ \t]*)\n[ \t]*").match(self.content, self.place)
        if match is None:
            raise LostPlace
        self.place = match.end()
        return match[0]

    def _close(self, markup: Template) -> None:
        if not self.builder.path:
            raise LostPlace
        self.builder.close(markup)

    def _code(self, token: Token) -> None:
        start = self.place
        self._expect(token.markup)
        fence = re.compile(rf"(?<!`){re.escape(token.markup)}(?!`)")
        end = fence.search(self.content, self.place)
        if end is None:
            raise LostPlace
        self.place = end.end()
        self.builder.opaque(token.content, (self.content[start : self.place],))

    def _html(self, raw: str) -> None:
        name = _HTML_NAME.match(raw)
        if name is None or _VOID.match(raw):
            self.builder.point((raw,))
            if name is not None and name[1].lower() == "br":
                self.builder.add(LINE_BREAK)
        elif not raw.startswith("</"):
            self.html.append(name[1].lower())
            self.builder.open((raw,))
        elif self.html and self.html[-1] == name[1].lower():
            self.html.pop()
            self._close((raw,))
        else:
            self.builder.point((raw,))

    def _take_verbatim(self, opening: Token, closing: Token) -> None:
        """An element whose text stays as it is, such as a key."""
        start = self.place
        self._expect(opening.content)
        end = self.content.find(closing.content, self.place)
        if end < 0:
            raise LostPlace
        shown = re.sub("<[^<>]*>", "", self.content[self.place : end])
        self.place = end + len(closing.content)
        raw = self.content[start : self.place]
        if shown.strip():
            self.builder.opaque(shown, (raw,))
        else:
            self.builder.point((raw,))

    def _open_link(self, token: Token) -> None:
        if token.markup == "autolink":
            self.builder.open((self._expect("<"),))
        else:
            self.builder.open((self._expect("["),))
        self.links.append(self.place)

    def _close_link(self, token: Token) -> None:
        start = self.links.pop()
        if token.markup == "autolink":
            which = self.builder.path[-1]
            self.builder.path.pop()
            span = self.builder.spans[which]
            raw = self.content[start - 1 : self.place] + self._expect(">")
            tag = replace(span.tag, before=(raw,))
            self.builder.spans[which] = replace(span, end=self.builder.length, tag=tag, opaque=True)
            return
        label = self.content[start : self.place]
        self._expect("]")
        self._close(self._target(label))

    def _target(self, label: str) -> Template:
        """What follows the text of a link or an image, from the bracket that ends it."""
        end, title = _inline_target(self.content, self.place)
        if end is None:
            reference = _LABEL.match(self.content, self.place)
            if reference is not None and reference[1].strip():
                end = reference.end()
            else:  # the text itself is the label: it must not change
                self.place = reference.end() if reference is not None else self.place
                return (f"][{label}]",)
        start, self.place = self.place, end
        text = self.content[slice(*title)]
        if not text.strip() or re.search(r"[\\&\n]", text):
            return ("]" + self.content[start:end],)
        quotes = "()" if self.content[title[1]] == ")" else self.content[title[1]]
        return ("]" + self.content[start : title[0]], self.add_segment(text, quotes), self.content[title[1] : end])

    def _image(self, token: Token) -> None:
        self._expect("![")
        start = self.place
        end = _label_end(self.content, start)
        self.place = end + 1
        label = self.content[start:end]
        plain = label == token.content and not re.search(r"[\\`*_\[\]<>&\n]", label)
        alt = self.add_segment(label, "[]") if plain and label.strip() else label
        self.builder.point(("![", alt, *self._target(label)))


def _verbatim_elements(tokens: Sequence[Token]) -> dict[int, int]:
    """Elements of HTML whose text is to stay: the number of the token that opens one, and of the one that closes it."""
    pairs: dict[int, int] = {}
    closing: dict[str, int] = {}  # the next of each name
    for number in range(len(tokens) - 1, -1, -1):
        raw = tokens[number].content
        name = _HTML_NAME.match(raw) if tokens[number].type == "html_inline" else None
        if name is None or name[1].lower() not in INLINE_VERBATIM or raw.endswith("/>"):
            continue
        if raw.startswith("</"):
            closing[name[1].lower()] = number
        elif name[1].lower() in closing:
            pairs[number] = closing[name[1].lower()]
    return pairs


def _label_end(content: str, start: int) -> int:
    """Of an image's text: the bracket that closes it."""
    depth = 0
    for match in re.compile(r"\\.|[\[\]]", re.DOTALL).finditer(content, start):
        if match[0] == "]" and not depth:
            return match.start()
        depth += {"[": 1, "]": -1}.get(match[0], 0)
    raise LostPlace


def _inline_target(content: str, place: int) -> tuple[int | None, tuple[int, int]]:
    """The end of `(url "title")`, if that is there, and the place of the title's words."""
    words = (place, place)
    if not content.startswith("(", place):
        return None, words
    blank = re.compile(r"\s*")

    def skip(start: int) -> int:
        blanks = blank.match(content, start)
        return blanks.end() if blanks else start

    end = skip(place + 1)
    destination = parseLinkDestination(content, end, len(content))
    if destination.ok:
        end = destination.pos
    after = skip(end)
    if after > end and after < len(content):
        title = parseLinkTitle(content, after, len(content))
        if title.ok:
            words = (after + 1, title.pos - 1)
            after = skip(title.pos)
    return (after + 1 if content.startswith(")", after) else None), words


def inline_parser() -> MarkdownIt:
    """Escapes and entities stay tokens of their own, so that they can be followed."""
    return add_blocks(MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join"))
