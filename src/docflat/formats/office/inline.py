"""What stands inside a paragraph of an office file: as segments to be translated, and as XML again.

A format turns a paragraph into items: text with its look, raw XML that is kept, and wraps around other items. Here
they become segments: text of the same look is one, however many runs it was cut into; the look that most of the text
has needs no span, any other is one; what stands before the first word and after the last stays where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from docflat.formats.office.laying_back import LayingBack, Tag, is_narrow
from docflat.formats.office.packages import Place
from docflat.formats.office.paragraph_pieces import (
    Item,
    Look,
    Piece,
    Raw,
    Text,
    Wrap,
    has_text,
    items_text,
    join_code,
    walk_text,
)
from docflat.formats.positioned_xml import Xml
from docflat.formats.segments import LINE_BREAK, Segment, Span

Write = Callable[[Look, str], bytes]  # text in its look, as XML


class Paragraph:
    """The content of a paragraph, bytes start:end of its part."""

    __slots__ = ("_chunks", "_layout", "_write", "copy_of", "end", "segments", "start", "typed", "xml")

    def __init__(
        self, xml: Xml, start: int, end: int, items: Sequence[Item], plain: Look, write: Write, skip_reason: str = ""
    ) -> None:
        self.xml, self.start, self.end, self._write = xml, start, end, write
        self.copy_of: Place | None = None
        looks = {text.look.typed for text in walk_text(items) if text.text.strip()}
        self.typed = looks == {True}
        self._layout = list(_lay_out(join_code(items, typed=len(looks) > 1), plain))
        self._chunks = [part for part in self._layout if isinstance(part, Chunk)]
        self.segments = [
            replace(chunk.segment, skip_reason=skip_reason or chunk.segment.skip_reason) for chunk in self._chunks
        ]

    def render(self, segments: Sequence[Segment]) -> bytes:
        new = dict(zip(map(id, self._chunks), segments, strict=True))
        parts = [
            self._written(part.laid_back(new[id(part)]) if isinstance(part, Chunk) else [part]) for part in self._layout
        ]
        return b"".join(parts)

    def _written(self, items: Iterable[Item | Piece]) -> bytes:
        return b"".join(map(self._one_written, items))

    def _one_written(self, item: Item | Piece) -> bytes:
        if isinstance(item, Text):
            return self._write(item.look, item.text)
        if isinstance(item, Raw):
            return self._written(item.pieces)
        if isinstance(item, Wrap):
            return self._written([*item.opening, *item.items, *item.closing])
        inside = self.xml.now(item.start, item.end)
        return item.look.opening + inside + item.look.closing if item.look else inside


def _lay_out(items: Sequence[Item], plain: Look) -> Iterator[Item | Piece | Chunk]:
    """Chunks to be translated, and what stays between them."""
    rest: list[Item] = []
    for item in items:
        if isinstance(item, Raw) and item.kind == "split":
            yield from _lay_out_one(rest, plain)
            yield item
            rest = []
        else:
            rest.append(item)
    yield from _lay_out_one(rest, plain)


def _lay_out_one(items: Sequence[Item], plain: Look) -> Iterator[Item | Piece | Chunk]:
    """One chunk, without what stands before and after its words."""
    # A field or code before the first word is part of its sentence; an image, a bookmark or a blank is not.
    inside = [i for i, item in enumerate(items) if has_text(item) or (isinstance(item, Raw) and item.text)]
    if not any(map(has_text, items)):
        yield from items
        return
    first, last = inside[0], inside[-1]
    yield from items[:first]
    body = list(items[first : last + 1])
    if len(body) == 1 and isinstance(body[0], Wrap):
        yield from body[0].opening
        yield from _lay_out(body[0].items, plain)
        yield from body[0].closing
    else:
        blank_before, blank_after = _strip(body)
        yield from blank_before
        yield Chunk(body, plain)
        yield from blank_after
    yield from items[last + 1 :]


def _strip(body: list[Item]) -> tuple[list[Item], list[Item]]:
    """Cut the blanks at both ends off, and give them back."""
    before: list[Item] = []
    after: list[Item] = []
    if isinstance(first := body[0], Text) and (short := first.text.lstrip()) != first.text:
        before = [Text(first.text[: len(first.text) - len(short)], first.look)]
        body[0] = Text(short, first.look)
    if isinstance(last := body[-1], Text) and (short := last.text.rstrip()) != last.text:
        after = [Text(last.text[len(short) :], last.look)]
        body[-1] = Text(short, last.look)
    return before, after


class Chunk:
    """Items that are one segment; the tag of a span is a number into `tags`, in the order they start."""

    __slots__ = ("_base", "_length", "_parents", "_parts", "_path", "_plain", "_shares", "_spans", "segment", "tags")

    def __init__(self, items: Sequence[Item], plain: Look) -> None:
        self._plain = plain
        self._parts: list[str] = []
        self._length = 0
        self._spans: list[Span] = []
        self._parents: list[int] = []  # of each span: the wrap or look that it is in
        self._path: list[int] = []  # wraps and looks that are open
        self.tags: list[Tag] = []
        self._base = self._add(items)
        text = "".join(self._parts)
        self._shares = [span.start / max(1, len(text)) for span in self._spans]
        spans = tuple(self._nested(text))
        only_opaque = any(map(str.isalpha, text)) and not _has_letters(items)
        self.segment = Segment(text, spans, "no letters" if only_opaque else "")

    def _add(self, items: Sequence[Item]) -> Look:
        """Add items; what most of their text looks like needs no span, and is given back."""
        items = _without_blank_looks(items)
        lengths: Counter[Hashable] = Counter()
        looks: dict[Hashable, Look] = {}
        for item in items:
            if isinstance(item, Text):
                # However long a link is, what stands around it is no part of it.
                lengths[item.look.key] += 0 if item.look.link else len(item.text.strip())
                looks.setdefault(item.look.key, item.look)
        base = looks[max(lengths, key=lambda key: lengths[key])] if lengths else self._plain
        span, look = None, base  # the span of this look that is not closed yet
        for item in items:
            changed = item.look if isinstance(item, Text) else base if isinstance(item, Wrap) else look
            if changed.key != look.key:
                self._close(span)
                look = changed
                span = self._open(look, holds=True) if look.key != base.key else None
            self._add_one(item)
        self._close(span)
        return base

    def _add_one(self, item: Item) -> None:
        if isinstance(item, Text):
            self._say(item.text)
        elif has_text(item):
            assert isinstance(item, Wrap)
            span = self._open(item, holds=True)
            self.tags[span] = (item, self._add(item.items))
            self._close(span)
        elif text := items_text([item]):
            span = self._open(item)
            self._say(text)
            self._spans[span] = replace(self._spans[span], end=self._length, opaque=True)
        else:
            # The words on both sides of a break are two, unless they are written without blanks.
            breaks = isinstance(item, Raw) and item.kind in ("break", "split")
            before = "".join(self._parts[-1:])[-1:]
            spaced = breaks and (is_narrow(before) or before.isspace())
            self._say(LINE_BREAK if spaced else "")
            self._open(replace(item, spaced=spaced) if isinstance(item, Raw) else item)

    def _say(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)

    def _open(self, tag: Raw | Wrap | Look, holds: bool = False) -> int:
        """A new span, which holds what follows until it is closed."""
        number = len(self._spans)
        self.tags.append(tag)
        self._parents.append(self._path[-1] if self._path else -1)
        self._spans.append(Span(self._length, self._length, number))
        if holds:
            self._path.append(number)
        return number

    def _close(self, span: int | None) -> None:
        if span is not None:
            self._path.pop()
            self._spans[span] = replace(self._spans[span], end=self._length)

    def _nested(self, text: str) -> list[Span]:
        """The spans without blanks at their ends; a wrap holds what is in it, a look only what is between its words."""
        spans = [_trimmed(span, text) for span in self._spans]
        for span, parent in zip(reversed(spans), reversed(self._parents), strict=True):
            if parent >= 0 and isinstance(self.tags[parent], tuple):
                outer = spans[parent]
                spans[parent] = replace(outer, start=min(outer.start, span.start), end=max(outer.end, span.end))
        depths: list[int] = []
        for span, parent in zip(spans, self._parents, strict=True):
            outer = spans[parent]
            if parent >= 0 and not (outer.start <= span.start and span.end <= outer.end):
                parent = self._parents[parent]
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        nested = [replace(span, depth=depth) for span, depth in zip(spans, depths, strict=True)]
        return sorted(nested, key=lambda span: (span.start, span.tag))

    def laid_back(self, segment: Segment) -> list[Item | Piece]:
        """The items of the segment, translated."""
        return LayingBack(self.tags, segment, self._shares).items(self._base)


def _has_letters(items: Iterable[Item]) -> bool:
    """In what is to be translated."""
    return any(
        _has_letters(item.items) if isinstance(item, Wrap) else any(map(str.isalpha, item.text))
        for item in items
        if not isinstance(item, Raw)
    )


def _trimmed(span: Span, text: str) -> Span:
    """Without the blanks at its ends, which look alike everywhere."""
    start, end = span.start, span.end
    while not span.opaque and start < end and text[start].isspace():
        start += 1
    while not span.opaque and start < end and text[end - 1].isspace():
        end -= 1
    return replace(span, start=start, end=end)


def _without_blank_looks(items: Sequence[Item]) -> list[Item]:
    """A blank between two texts of one look has that look too."""
    result = list(items)
    for i in range(1, len(result) - 1):
        before, here, after = result[i - 1 : i + 2]
        if isinstance(before, Text) and isinstance(here, Text) and isinstance(after, Text) and here.text.isspace():
            result[i] = Text(here.text, before.look) if before.look.key == after.look.key else here
    return result
