"""Segments: what a file format hands over to be translated, and takes back.

A segment is a stretch of text that stands by itself in its file: a paragraph, a heading, a table cell, a message. Its
formatting lies beside the text, as spans. The segments of a file, in reading order, are one document to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

LINE_BREAK = "\u2028"  # stands in a segment's text, beside the point of it, for a line break that a reader sees


@dataclass(frozen=True)
class Span:
    """A stretch text[start:end] of a segment that has something of its own."""

    start: int
    end: int  # the same as start: a point, such as a line break or an image
    tag: Any  # whatever the format needs to write it again
    opaque: bool = False  # what it covers is kept as it is: code, a placeholder, a URL
    depth: int = -1  # in how many others it is, for a point at the edge of one; -1: as its range says


@dataclass(frozen=True)
class Segment:
    text: str
    spans: tuple[Span, ...] = ()  # nested or apart, in the order they start; outer ones first
    skip_reason: str = ""  # why it is not to be translated: "code", "no letters"; empty: it is to be, if it has words


class ParsedFile(Protocol):
    """A file that was read: its segments, and all that is needed to write it again."""

    segments: Sequence[Segment]  # in reading order

    def render(self, segments: Sequence[Segment]) -> bytes:
        """The whole file with these in the place of its own: as many, in the same order.

        With its own segments it gives back the file, byte for byte where the format allows. A translated segment
        has the same spans, in each other as they were; they may have moved, and one may cover nothing any more.
        """


@runtime_checkable
class Reviewed(Protocol):
    """A file whose format can say what a translation made worse for those who read it."""

    def review(self, segments: Sequence[Segment]) -> list[str]: ...


class Format(Protocol):
    """How files of one kind are read."""

    name: str

    def read(self, data: bytes, file: str) -> ParsedFile:
        """Parse a file; `file` is its name, for messages. What is broken, encrypted or hostile is an InputError."""
