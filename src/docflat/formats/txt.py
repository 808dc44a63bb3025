"""Plain text: paragraphs between empty lines. A paragraph that was wrapped to a width is wrapped again to it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docflat.formats.inline_codes import skip_reason
from docflat.formats.safe_reading import Encoding, read_text
from docflat.formats.segments import Segment
from docflat.support.punctuation import CLOSING, SENTENCE_ENDS

_MARK = re.compile(r"(?:[-*+•–]|\(?\w{1,3}[.)])\s")  # of a list
_ENDS = tuple(SENTENCE_ENDS + ":;" + CLOSING)
_Line = tuple[int, int, str]  # without the blanks around it: its start and end; the blanks before it
NARROWEST = 30  # nobody wraps prose to less; shorter lines are verse, lists, addresses
EARLIEST = 0.75  # of the width, where a line may end


@dataclass(frozen=True)
class _Block:
    """Lines that are one segment, without the blanks around them."""

    start: int
    end: int
    width: int = 0  # to wrap to; 0: it is one line
    prefix: str = ""  # of lines after the first


class ParsedTxt:
    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text, self.encoding = text, encoding
        self.blocks = [block for lines in _paragraphs(text) for block in _blocks(text, lines)]
        self.segments: Sequence[Segment] = [
            Segment(text, skip_reason=skip_reason(text)) for text in map(self._joined, self.blocks)
        ]

    def _joined(self, block: _Block) -> str:
        raw = self.text[block.start : block.end]
        return " ".join(line.strip() for line in raw.split("\n")) if block.width else raw

    def render(self, segments: Sequence[Segment]) -> bytes:
        parts, end = [], 0
        for block, source, new in zip(self.blocks, self.segments, segments, strict=True):
            raw = self.text[block.start : block.end]
            parts += [self.text[end : block.start], raw if new.text == source.text else self._wrapped(block, new.text)]
            end = block.end
        return self.encoding.write("".join([*parts, self.text[end:]]))

    def _wrapped(self, block: _Block, text: str) -> str:
        if not block.width:
            return text
        ending = "\r\n" if "\r\n" in self.text[block.start : block.end] else "\n"
        first = block.start - (self.text.rfind("\n", 0, block.start) + 1)  # what stands before it in its line
        wrapper = textwrap.TextWrapper(block.width, break_long_words=False, break_on_hyphens=False)
        wrapper.initial_indent, wrapper.subsequent_indent = "x" * first, block.prefix
        return ending.join(wrapper.wrap(text))[first:]


def _paragraphs(text: str) -> Iterator[list[_Line]]:
    """Lines with no empty one between them."""
    lines: list[_Line] = []
    place = 0
    for line in text.split("\n"):
        if words := line.strip():
            indent = line[: len(line) - len(line.lstrip())]
            start = place + len(indent)
            lines.append((start, start + len(words), indent))
        elif lines:
            yield lines
            lines = []
        place += len(line) + 1
    if lines:
        yield lines


def _blocks(text: str, lines: Sequence[_Line]) -> list[_Block]:
    """The segments of a paragraph: all of it if it was wrapped, else every line."""
    if not _is_wrapped(text, lines):
        return [_Block(first, last) for first, last, _ in lines]
    width = max(len(indent) + last - first for first, last, indent in lines)
    return [_Block(lines[0][0], lines[-1][1], width, lines[1][2])]


def _is_wrapped(text: str, lines: Sequence[_Line]) -> bool:
    """Whether lines end where a width made them end: the next word would not have fitted, or hardly."""
    if len(lines) == 1:
        return False
    texts = [indent + text[first:last] for first, last, indent in lines]
    width = max(map(len, texts))
    if width < NARROWEST or any(_MARK.match(line.lstrip()) for line in texts[1:]):
        return False
    if len({indent for _, _, indent in lines[1:]}) > 1 or all(line.endswith(_ENDS) for line in texts):
        return False
    full = [len(line) + 1 + len(after.split()[0]) > width for line, after in pairwise(texts)]
    # By hand a line is ended a word too early, now and then; a list or verse begins its lines anew.
    early = [len(line) >= EARLIEST * width and not after.lstrip()[0].isupper() for line, after in pairwise(texts)]
    return 2 * sum(full) >= len(full) and all(map(any, zip(full, early, strict=True)))


class Txt:
    name = "plain text"

    def read(self, data: bytes, file: str) -> ParsedTxt:
        return ParsedTxt(*read_text(data, file))
