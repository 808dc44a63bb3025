"""HTML: the text of blocks, with inline elements as spans; all the rest is written as it was read, byte for byte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape

from docflat.formats.markup.html_layout import find_apart
from docflat.formats.markup.html_tokens import (
    APART,
    BLOCKS,
    CODE,
    VERBATIM,
    VOID,
    Token,
    cut_html,
    names,
    values_of,
)
from docflat.formats.markup.tags import SpanBuilder, Template, write_markup
from docflat.formats.safe_reading import check_text, find_codec, find_mark
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

TEXTS = names("alt title placeholder aria-label aria-description summary")
META = names(
    "description keywords abstract headline alternativeheadline caption og:title og:description og:image:alt "
    "twitter:title twitter:description twitter:image:alt dc.title dc.description dcterms.title dcterms.description"
)
_READ_BY_OTHERS = names("meta input")  # where other attributes say whether one is a text
_LANGUAGE = re.compile(r"""(\s(?:xml:)?lang\s*=\s*["']?)[\w-]+""", re.IGNORECASE)
_CHARSET = re.compile(r"""charset\s*=[\s"']*([\w.:-]+)""")
_HEAD = 2048  # bytes in which a page must say its charset


@dataclass(frozen=True)
class _Block:
    number: int  # of its segment
    raw: Template


class ParsedHtml:
    def __init__(self, text: str, encoding: str, mark: bytes, target_language: str = "") -> None:
        self.encoding, self.mark, self.target_language = encoding, mark, target_language
        reader = _Reader(text)
        self.layout, self.segments, self.quotes = reader.layout, reader.segments, reader.quotes
        self.root = reader.root

    def render(self, segments: Sequence[Segment]) -> bytes:
        def fill(template: Template) -> str:
            return "".join(part if isinstance(part, str) else attribute(part) for part in template)

        def attribute(number: int) -> str:
            raw, quote = self.quotes[number]
            if segments[number].text == self.segments[number].text:
                return raw
            value = escape(segments[number].text, quote=False)
            return f"{quote}{value.replace(quote, '&quot;' if quote == chr(34) else '&#39;')}{quote}"

        parts = []
        speaks = self.target_language if list(segments) != list(self.segments) else ""
        for place, part in enumerate(self.layout):
            if speaks and place == self.root and isinstance(part, str):
                parts.append(_LANGUAGE.sub(rf"\g<1>{speaks}", part))
            elif isinstance(part, str | int):
                parts.append(fill((part,)))
            elif segments[part.number] == self.segments[part.number]:
                parts.append(fill(part.raw))
            else:
                parts.append(write_markup(segments[part.number], lambda text: escape(text, quote=False), fill))
        return self.mark + "".join(parts).encode(self.encoding, "xmlcharrefreplace")


class _Reader:
    """Tokens to segments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.layout: list[str | int | _Block] = []
        self.segments: list[Segment] = []
        self.quotes: dict[int, tuple[str, str]] = {}  # of attributes: their raw value, the quote around a new one
        self.builder = SpanBuilder()
        self.raw: list[str | int] = []  # of the block at hand
        self.names: list[str] = []  # of its open inline elements
        self.waiting: Counter[str] = Counter()  # how many of each name are open
        self.root = -1  # where in the layout the tag <html> is, which names the language
        # An element whose content stays: where it starts, its name, how deep in its like.
        self.verbatim: tuple[int, str, int] | None = None
        tokens = list(cut_html(text))
        self.apart = find_apart(text, tokens)
        for token in tokens:
            self._take(token)
        self._end()

    def _end(self) -> None:
        if self.verbatim is not None:  # it was never closed
            self._end_verbatim(len(self.text))
        self._end_block()

    def _take(self, token: Token) -> None:
        raw = self.text[token.start : token.end]
        if self.verbatim is not None and self.verbatim[1] in CODE and token.name in BLOCKS - {"br"}:
            self._end_verbatim(token.start)  # a closing tag was forgotten
        if self.verbatim is not None:
            start, name, depth = self.verbatim
            if token.name == name and token.kind in ("open", "close") and not raw.endswith("/>"):
                depth += 1 if token.kind == "open" else -1
                self.verbatim = (start, name, depth)
                if not depth:
                    self._end_verbatim(token.end)
            return
        if token.kind in ("open", "close") and (token.name in APART or token.start in self.apart):
            self._end_block()
        if token.kind == "text" or (token.kind == "raw" and token.name == "title"):
            self.raw.append(raw)
            self.builder.add(unescape(raw))
        elif token.kind == "open":
            self._open(token, raw)
        elif token.kind == "close" and self.waiting[token.name] and token.start not in self.apart:
            while (name := self.names.pop()) != token.name:
                self.waiting[name] -= 1
                self.builder.path.pop()  # it was not closed: it stays a point
            self.waiting[token.name] -= 1
            self.raw.append(raw)
            self.builder.close((raw,))
        elif token.name in BLOCKS or token.start in self.apart:
            self.layout.append(raw)
        else:
            self.raw.append(raw)
            self.builder.point((raw,))

    def _open(self, token: Token, raw: str) -> None:
        single = token.name in VOID or raw.endswith("/>")
        if not single and (token.name in VERBATIM or self._says_no(token)):
            if token.name in BLOCKS or token.start in self.apart:
                self._end_block()
            start = token.start
            if token.name in APART and not self._says_no(token):  # its tag may have texts
                self.layout += self._tag(token)
                start = token.end
            self.verbatim = (start, token.name, 1)
            return
        template = self._tag(token)
        if token.name == "html":
            self.root = len(self.layout)
        if token.name in BLOCKS or token.start in self.apart:
            self.layout += template
            return
        self.raw += template
        if single:
            self.builder.point(template)
        else:
            self.names.append(token.name)
            self.waiting[token.name] += 1
            self.builder.open(template)

    def _says_no(self, token: Token) -> bool:
        values = {name: unescape(self.text[start:end].strip("\"'")) for name, start, end in token.attributes}
        classes = values.get("class", "").split()  # a diagram that a script draws is a program
        return values.get("translate", "").lower() == "no" or "notranslate" in classes or "mermaid" in classes

    def _end_verbatim(self, end: int) -> None:
        """An element whose content stays is part of a sentence, or stands by itself."""
        assert self.verbatim is not None
        start, name, _ = self.verbatim
        self.verbatim = None
        raw = self.text[start:end]
        if name in APART:
            self.layout.append(raw)
            if name not in ("script", "style"):
                self.segments.append(Segment(raw, skip_reason="code" if name in VERBATIM else "translate=no"))
            return
        if start in self.apart:
            self.layout.append(raw)
            self.segments.append(Segment(raw, skip_reason="translate=no"))
            return
        self.raw.append(raw)
        shown = unescape(re.sub(r"<[^<>]*>", "", raw))
        if shown.strip():
            self.builder.opaque(shown, (raw,))
        else:
            self.builder.point((raw,))

    def _tag(self, token: Token) -> Template:
        """A start tag, with its texts taken out."""
        parts: list[str | int] = []
        end = token.start
        values = values_of(self.text, token) if token.name in _READ_BY_OTHERS else {}
        for name, start, stop in token.attributes:
            raw = self.text[start:stop]
            quote = raw[0] if raw[0] in "\"'" else ""
            value = unescape(raw[1:-1] if quote else raw)
            if value.strip() and _is_text(token, name, values):
                self.quotes[len(self.segments)] = (raw, quote or '"')
                parts += [self.text[end:start], len(self.segments)]
                self.segments.append(Segment(value))
                end = stop
        return (*parts, self.text[end : token.end])

    def _end_block(self) -> None:
        segment = self.builder.segment()
        if segment.text.strip():
            self.layout.append(_Block(len(self.segments), tuple(self.raw)))
            self.segments.append(segment)
        else:
            self.layout += self.raw
        self.builder, self.raw, self.names, self.waiting = SpanBuilder(), [], [], Counter()


def _is_text(token: Token, name: str, values: Mapping[str, str]) -> bool:
    """Whether an attribute is a text. values: of all attributes, where they matter."""
    if token.name == "meta":
        return name == "content" and any(values.get(said) in META for said in ("name", "property", "itemprop"))
    if token.name == "input" and name == "value":
        return values.get("type") in ("submit", "button", "reset")
    return name in TEXTS or (name == "label" and token.name in ("option", "optgroup", "track"))


class Html:
    """`target_language` is put in the place of the language that the page names."""

    name = "HTML"

    def __init__(self, target_language: str = "") -> None:
        self.target_language = target_language

    def read(self, data: bytes, file: str) -> ParsedHtml:
        check_text(data, file)
        if marked := find_mark(data):
            return self._parse(data[len(marked.mark) :], marked.name, file, marked.mark)
        if charset := find_charset(data[:_HEAD].decode("latin-1")):
            return self._parse(data, charset, file)
        try:
            return self._parse(data, "utf-8", file)
        except InputError:
            return self._parse(data, "cp1252", file)  # what browsers take it for

    def _parse(self, data: bytes, encoding: str, file: str, mark: bytes = b"") -> ParsedHtml:
        return ParsedHtml(_decode(data, encoding, file), encoding, mark, self.target_language)


def find_charset(head: str) -> str:
    """The codec that a page's own <meta> names; empty where there is none, or one that browsers do not know either."""
    for token in cut_html(head):
        if token.kind == "open" and token.name == "meta":
            values = values_of(head, token)
            content = values.get("content", "") if values.get("http-equiv") == "content-type" else ""
            said = _CHARSET.search(content)
            charset = values.get("charset") or (said[1] if said else "")
            if charset.startswith("utf-16"):  # it could not have been read so far: browsers take it for UTF-8
                return "utf-8"
            if codec := find_codec(charset):
                return codec
    return ""


def _decode(data: bytes, encoding: str, file: str) -> str:
    try:
        text = data.decode(encoding)
        if text.encode(encoding) != data:
            raise InputError(f"cannot be written as {encoding} again; save it as UTF-8", file)
    except UnicodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 if isinstance(error, UnicodeDecodeError) else None
        raise InputError(f"not {encoding}", file, line) from None
    return text
