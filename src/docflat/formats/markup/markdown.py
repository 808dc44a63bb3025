"""Markdown: the text of paragraphs, headings and table cells; all the rest stays as it was, byte for byte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from docflat.formats.markup.front_matter import FrontMatter
from docflat.formats.markup.html import ParsedHtml
from docflat.formats.markup.markdown_inline import InlineReader, LostPlace, escape_markdown, escape_start, inline_parser
from docflat.formats.markup.tags import Tag, Template, write_markup
from docflat.formats.safe_reading import Encoding, check_text, read_text
from docflat.formats.segments import Segment, Span
from docflat.support.errors import InputError

_NEWLINE = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)(?:.*?(?:\r\n?|\n))??\1[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL)
_ALERT = re.compile(r"\[![\w-]+\][+-]?(?:[ \t]+|$)", re.MULTILINE)
MOST_MARKDOWN = 2 << 20  # the parser needs time and memory
_TITLES = ("title", "value", "attribute")  # of lines that are markup otherwise
_MARKS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "s"}  # the elements that they are
VERBATIM = {"fence": "code", "code_block": "code", "site_code": "code"}


@dataclass(frozen=True)
class _Block:
    """text[start:end] of the file is a segment."""

    start: int
    end: int
    number: int  # of the segment
    kind: str  # of the block: "p", "h1", "td", "title", "value", "attribute"
    prefix: str = ""  # of its lines after the first, such as "> "


@dataclass(frozen=True)
class _Part:
    """text[start:end] of the file has a format of its own, with the segments from `first` on."""

    start: int
    end: int
    first: int
    parsed: ParsedHtml | FrontMatter


class ParsedMarkdown:
    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text, self.encoding = text, encoding
        self.ending = "\r\n" if "\r\n" in text else "\n"
        self.segments: list[Segment] = []
        self.escaped: dict[int, str] = {}  # of segments that stand in markup: what must not be in them as it is
        self.blocks: list[_Block | _Part] = []
        front = _FRONT_MATTER.match(text)
        self.body = front.end() if front else 0
        if front is not None:
            self._add_part(0, self.body, FrontMatter(front[0]))
        self.starts = [self.body, *(match.end() for match in _NEWLINE.finditer(text, self.body))]
        self._read()

    def _read(self) -> None:
        parser = inline_parser()
        known: dict[str, Any] = {}  # definitions of links
        tokens = parser.parse(self.text[self.body :], known)
        self.searched = 0  # cells of a line are found one after the other
        for before, token in zip([None, *tokens], tokens, strict=False):
            if token.type in VERBATIM:
                self.segments.append(Segment(token.content, skip_reason=VERBATIM[token.type]))
            elif token.type == "html_block":
                self._read_html(token)
            elif token.type in _TITLES:
                for part in parser.parseInline(token.content, known) if token.type == "title" else [token]:
                    part = part.copy(map=token.map, content=token.content)
                    self._try_block(part, Token("", token.type, 0, markup=token.markup))
            elif token.type == "inline" and before is not None:
                for part in _parts(token, parser, known):
                    self._try_block(part, before)

    def _try_block(self, token: Token, parent: Token) -> None:
        try:
            self._read_block(token, parent)
        except LostPlace:
            self.segments.append(Segment(token.content, skip_reason="Markdown that is not understood"))

    def _add_part(self, start: int, end: int, parsed: ParsedHtml | FrontMatter) -> None:
        self.blocks.append(_Part(start, end, len(self.segments), parsed))
        self.segments += parsed.segments

    def _read_html(self, token: Token) -> None:
        assert token.map is not None
        start, end = (self.starts[min(line, len(self.starts) - 1)] for line in token.map)
        end = len(self.text) if token.map[1] >= len(self.starts) else end
        if _NEWLINE.sub("\n", self.text[start:end]).strip("\n") == token.content.strip("\n"):
            self._add_part(start, end, ParsedHtml(self.text[start:end], "utf-8", b""))
        else:  # in a quote or a list its lines start with other things
            self.segments.append(Segment(token.content, skip_reason="HTML"))

    def _read_block(self, token: Token, parent: Token) -> None:
        start, end, prefix = self._locate(token, parent)
        alone: list[Segment] = []
        escaped: dict[int, str] = {}

        def add_segment(text: str, signs: str) -> int:
            alone.append(Segment(text))
            number = len(self.segments) + len(alone)
            escaped[number] = signs
            return number

        if parent.tag in ("value", "attribute"):
            segment = Segment(token.content)
        else:
            segment = InlineReader(token.content, add_segment).read(token.children or [])
        self.blocks.append(_Block(start, end, len(self.segments), parent.tag, prefix))
        self.segments += [segment, *alone]
        self.escaped |= escaped

    def _locate(self, token: Token, parent: Token) -> tuple[int, int, str]:
        """Where the content of a block is in the file: its start, its end, what its second line starts with."""
        assert token.map is not None
        lines = token.content.split("\n")
        if parent.tag in ("td", "th"):
            return (*self._find(token.map[0], lines[0].replace("|", "\\|"), ""), "")
        if parent.tag in _TITLES or parent.markup.startswith("#"):
            return (*self._find(token.map[0], lines[0], parent.markup), "")
        places = [self._suffix(token.map[0] + number, line) for number, line in enumerate(lines)]
        prefix = self.text[self.starts[token.map[0] + 1] : places[1][0]] if len(lines) > 1 else ""
        return places[0][0], places[-1][1], prefix

    def _line(self, number: int) -> tuple[int, str]:
        if number + 1 >= len(self.starts):
            raw = self.text[self.starts[number] :] if number < len(self.starts) else ""
            return self.starts[min(number, len(self.starts) - 1)], raw.rstrip("\r\n")
        return self.starts[number], self.text[self.starts[number] : self.starts[number + 1]].rstrip("\r\n")

    def _find(self, number: int, content: str, after: str) -> tuple[int, int]:
        start, line = self._line(number)
        place = line.find(content, max(line.find(after) + len(after), self.searched - start))
        if place < 0:
            raise LostPlace
        self.searched = start + place + len(content)
        return start + place, self.searched

    def _suffix(self, number: int, content: str) -> tuple[int, int]:
        """The content of a line is its end; blanks after it may be missing."""
        start, line = self._line(number)
        if not line.endswith(content):
            line = line.rstrip()
            content = content.rstrip()
        if not line.endswith(content):
            raise LostPlace
        return start + len(line) - len(content), start + len(line)

    def render(self, segments: Sequence[Segment]) -> bytes:
        def fill(template: Template) -> str:
            return "".join(part if isinstance(part, str) else inside(part) for part in template)

        def inside(number: int) -> str:
            signs = re.escape(self.escaped[number])
            return re.sub(rf"[{signs}\\]", lambda match: "\\" + match[0], segments[number].text)

        parts, end, parser = [], 0, inline_parser()
        for block in self.blocks:
            if isinstance(block, _Part):
                translated = segments[block.first : block.first + len(block.parsed.segments)]
                parts += [self.text[end : block.start], block.parsed.render(translated).decode()]
                end = block.end
                continue
            source, new = self.segments[block.number], segments[block.number]
            markup = [part for span in source.spans for part in (*span.tag.before, *span.tag.after)]
            inner = [part for part in markup if isinstance(part, int)]
            parts.append(self.text[end : block.start])
            if block.kind in ("value", "attribute"):
                parts.append(_quoted(new.text, block.kind) if new != source else source.text)
            elif new == source and all(segments[number] == self.segments[number] for number in inner):
                parts.append(self.text[block.start : block.end])
            else:
                parts.append(self._written(block, _write(_without_empty_marks(new), fill, parser)))
            end = block.end
        return self.encoding.write("".join([*parts, self.text[end:]]))

    def _written(self, block: _Block, text: str) -> str:
        if block.kind in ("td", "th"):
            return text.replace("|", "\\|").replace("\n", " ")
        if block.kind == "title":
            return text.replace("\n", " ")
        text = escape_start(text) if block.kind == "p" else text
        return re.sub(r"\n ?", lambda _: self.ending + block.prefix, text)


def _parts(token: Token, parser: MarkdownIt, known: dict[str, Any]) -> Iterator[Token]:
    """The texts of a paragraph: one, but for an alert, `[!NOTE] Title`, whose first line is by itself."""
    alert = _ALERT.match(token.content)
    if alert is None:
        yield from [token] if token.content else []
        return
    assert token.map is not None
    lines = token.content[alert.end() :].partition("\n")
    for number, content in enumerate(lines[::2]):
        for part in parser.parseInline(content, known) if content else ():
            yield part.copy(map=[token.map[0] + number, token.map[1]], content=content)


def _quoted(text: str, kind: str) -> str:
    """A text between double quotes, as a tag of a template or an element of HTML has it."""
    return re.sub(r'[\\"]', r"\\\g<0>", text) if kind == "value" else escape(text)


def _is_mark(span: Span) -> bool:
    return len(span.tag.before) == 1 and span.tag.before[0] in _MARKS and bool(span.tag.after)


def _without_empty_marks(segment: Segment) -> Segment:
    """Stars around nothing would be read as stars."""
    spans = tuple(
        replace(span, tag=Tag(())) if span.start == span.end and _is_mark(span) else span for span in segment.spans
    )
    return replace(segment, spans=spans)


def _write(segment: Segment, fill: Callable[[Template], str], parser: MarkdownIt) -> str:
    """A segment as Markdown. Stars cannot stand everywhere, as in `a**(b)**c`: there HTML says the same."""
    text = write_markup(segment, escape_markdown, fill)
    wanted = Counter(_MARKS[str(span.tag.before[0])] for span in segment.spans if _is_mark(span))
    if not wanted:
        return text
    tokens = parser.parseInline(text)[0].children or []
    if not wanted - Counter(token.tag for token in tokens if token.nesting == 1):
        return text
    spans = []
    for span in segment.spans:
        name = _MARKS[str(span.tag.before[0])] if _is_mark(span) else ""
        spans.append(replace(span, tag=Tag((f"<{name}>",), (f"</{name}>",))) if name else span)
    return write_markup(replace(segment, spans=tuple(spans)), escape_markdown, fill)


class Markdown:
    name = "Markdown"

    def read(self, data: bytes, file: str) -> ParsedMarkdown:
        check_text(data, file, MOST_MARKDOWN)
        try:
            return ParsedMarkdown(*read_text(data, file))
        except RecursionError:
            raise InputError("is nested too deep", file) from None
