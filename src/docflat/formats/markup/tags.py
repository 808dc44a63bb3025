"""Text with markup around it: what HTML and Markdown have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from docflat.formats.nesting import walk_edges
from docflat.formats.segments import Segment, Span

DEEPEST = 100  # spans in each other; nobody formats so, and what is deeper stays points
Template = tuple[str | int, ...]  # markup as it is in the file; a number: the text of that segment, such as an alt text


@dataclass(frozen=True)
class Tag:
    """The markup of a span; of an opaque span, all of it is in `before`."""

    before: Template
    after: Template = ()


def write_markup(segment: Segment, escape: Callable[[str], str], fill: Callable[[Template], str]) -> str:
    """A segment as it stands in its file. fill: writes a template."""
    parts: list[str] = []
    place = 0
    for at, span, starts in walk_edges(segment.spans, len(segment.text)):
        parts.append(escape(segment.text[place:at]))
        place = max(place, at)
        parts.append(fill(span.tag.before if starts else span.tag.after))
        if starts and span.opaque:  # all of it is in the markup
            place = max(place, span.end)
    parts.append(escape(segment.text[place:]))
    return "".join(parts)


class SpanBuilder:
    """Puts together the text and the spans of a segment, from left to right."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0  # of the text so far
        self.spans: list[Span] = []
        self.path: list[int] = []  # spans that are open, by their place in the list
        self.ended = -1  # the span that ended last, unless text came after it

    def add(self, text: str) -> None:
        if self._after_point() and self.parts and self.parts[-1][-1:].isspace():
            # Of the blanks around a point, a translation keeps those before it; the others are its own.
            blanks, last = text[: len(text) - len(text.lstrip())], self.spans[-1]
            self.spans[-1] = replace(last, tag=Tag((*last.tag.before, blanks), last.tag.after))
            text = text[len(blanks) :]
        self.parts.append(text)
        self.length += len(text)
        self.ended = -1

    def _after_point(self) -> bool:
        if not self.spans or (self.path and self.path[-1] == len(self.spans) - 1):  # one that is open
            return False
        return self.spans[-1].start == self.spans[-1].end == self.length

    def point(self, markup: Template) -> None:
        self.spans.append(Span(self.length, self.length, Tag(markup), depth=min(len(self.path), DEEPEST)))
        self.ended = len(self.spans) - 1

    def attach(self, markup: str) -> None:
        """Markup that belongs to what it touches, such as the attributes of a link."""
        if self.ended < 0:
            self.point((markup,))
            return
        span = self.spans[self.ended]
        before, after = span.tag.before, span.tag.after
        tag = Tag(before, (*after, markup)) if after else Tag((*before, markup))
        self.spans[self.ended] = replace(span, tag=tag)

    def opaque(self, text: str, markup: Template) -> None:
        """Text that stays; a reader sees it, so that the sentence around it is whole."""
        start = self.length
        self.add(text)
        self.spans.append(Span(start, self.length, Tag(markup), opaque=True, depth=min(len(self.path), DEEPEST)))
        self.ended = len(self.spans) - 1

    def open(self, markup: Template) -> None:
        """Until it is closed, a point."""
        self.point(markup)
        self.path.append(len(self.spans) - 1 if len(self.path) < DEEPEST else -1)
        self.ended = -1

    def close(self, markup: Template) -> None:
        """The innermost one that is open."""
        which = self.path.pop()
        if which < 0:
            self.point(markup)
            return
        start, tag = self.spans[which].start, self.spans[which].tag
        if start < self.length:
            self.spans[which] = replace(self.spans[which], end=self.length, tag=Tag(tag.before, markup))
            self.ended = which
            return
        # A span without text is a point with all that is in it: an image stays in its link.
        inner = [part for span in self.spans[which + 1 :] for part in (*span.tag.before, *span.tag.after)]
        self.spans[which:] = [replace(self.spans[which], tag=Tag((*tag.before, *inner, *markup)))]
        self.ended = which

    def segment(self) -> Segment:
        return Segment("".join(self.parts), tuple(self.spans))
