"""Catalogues that are text: strings somewhere in it, each written in the way of its format; the rest stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from docflat.formats.catalogues.messages import Message, read_message, write_message
from docflat.formats.safe_reading import Encoding
from docflat.formats.segments import Segment


class StringPlace(NamedTuple):
    """text[start:end] is a string as its format writes it; `value` is what it says."""

    start: int
    end: int
    value: str
    flags: tuple[str, ...] = ()  # what its placeholders are: "java-format"


class StringsInPlace:
    """A file that was read; each string is a message."""

    def __init__(
        self, text: str, encoding: Encoding, places: Sequence[StringPlace], write: Callable[[str, str], str]
    ) -> None:
        """write: what a string says, and how another one stood in its place, as the format writes it."""
        self.text, self.encoding, self.places, self.write = text, encoding, places, write
        self.messages: list[Message] = [read_message(place.value, place.flags, bars=True) for place in places]
        self.segments: Sequence[Segment] = [segment for message in self.messages for segment in message.segments]

    def render(self, segments: Sequence[Segment]) -> bytes:
        parts, end, first = [], 0, 0
        for place, message in zip(self.places, self.messages, strict=True):
            new = segments[first : first + len(message.segments)]
            first += len(new)
            raw = self.text[place.start : place.end]
            if any(a != b for a, b in zip(message.segments, new, strict=True)):
                raw = self.write(write_message(message, new), raw)
            parts += [self.text[end : place.start], raw]
            end = place.end
        return self.encoding.write("".join([*parts, self.text[end:]]))
