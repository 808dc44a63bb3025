"""What stands inside a paragraph of an office file: as segments to be translated, and as XML again.

A format turns a paragraph into items: text with its look, raw XML that is kept, and wraps around other items. Here
they become segments: text of the same look is one, however many runs it was cut into; the look that most of the text
has needs no span, any other is one; what stands before the first word and after the last stays where it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

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

_BLANKS = (" ", LINE_BREAK)
Write = Callable[[Look, str], bytes]  # text in its look, as XML


class Paragraph:
    """The content of a paragraph, bytes start:end of its part."""

    __slots__ = ("_chunks", "_layout", "_write", "copy_of", "end", "segments", "start", "typed", "xml")

    def __init__(
        self, xml: Xml, start: int, end: int, items: Sequence[Item], plain: Look, write: Write, kept: str = ""
    ) -> None:
        self.xml, self.start, self.end, self._write = xml, start, end, write
        self.copy_of: Place | None = None
        looks = {text.look.typed for text in walk_text(items) if text.text.strip()}
        self.typed = looks == {True}
        self._layout = list(_lay_out(join_code(items, typed=len(looks) > 1), plain))
        self._chunks = [part for part in self._layout if isinstance(part, Chunk)]
        self.segments = [replace(chunk.segment, kept=kept or chunk.segment.kept) for chunk in self._chunks]

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


Tag = Raw | Wrap | Look | tuple[Wrap, Look]  # kept, kept, a look, a wrap around text that mostly looks like this


class Chunk:
    """Items that are one segment; the tag of a span is a number into `tags`, in the order they start."""

    __slots__ = ("_base", "_length", "_parts", "_plain", "_shares", "_spans", "segment", "tags")

    def __init__(self, items: Sequence[Item], plain: Look) -> None:
        self._plain = plain
        self._parts: list[str] = []
        self._length = 0
        self._spans: list[Span] = []
        self.tags: list[Tag] = []
        self._base = self._add(items)
        text = "".join(self._parts)
        self._shares = [span.start / max(1, len(text)) for span in self._spans]
        spans = tuple(sorted((_trimmed(span, text) for span in self._spans), key=lambda span: (span.start, span.tag)))
        only_kept = any(map(str.isalpha, text)) and not _has_letters(items)
        self.segment = Segment(text, spans, "no letters" if only_kept else "")

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
                span = self._open(look) if look.key != base.key else None
            self._add_one(item)
        self._close(span)
        return base

    def _add_one(self, item: Item) -> None:
        if isinstance(item, Text):
            self._say(item.text)
        elif has_text(item):
            assert isinstance(item, Wrap)
            span = self._open(item)
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
            spaced = breaks and (_narrow(before) or before.isspace())
            self._say(LINE_BREAK if spaced else "")
            self._open(replace(item, spaced=spaced) if isinstance(item, Raw) else item)

    def _say(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)

    def _open(self, tag: Raw | Wrap | Look) -> int:
        self.tags.append(tag)
        self._spans.append(Span(self._length, self._length, len(self._spans)))
        return len(self._spans) - 1

    def _close(self, span: int | None) -> None:
        if span is not None:
            self._spans[span] = replace(self._spans[span], end=self._length)

    def laid_back(self, segment: Segment) -> list[Item | Piece]:
        """The items of the segment, translated."""
        return _LayingBack(self.tags, segment, self._shares).items(self._base)


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
    found = list(items)
    for i in range(1, len(found) - 1):
        before, here, after = found[i - 1 : i + 2]
        if isinstance(before, Text) and isinstance(here, Text) and isinstance(after, Text) and here.text.isspace():
            found[i] = Text(here.text, before.look) if before.look.key == after.look.key else here
    return found


def _narrow(char: str) -> bool:
    """Of a script that puts blanks between words."""
    return char.strip() != "" and char < "\u2e80"


class _LayingBack:
    """From a translated segment to items, whatever was done to its spans: nothing that is kept gets lost."""

    def __init__(self, tags: Sequence[Tag], segment: Segment, shares: Sequence[float]) -> None:
        self._tags, self._text = tags, segment.text
        self._spans = self._mended(segment.spans, shares)
        self._next = 0
        self._items: list[Item | Piece] = []
        # A break brings the space that stood for it.
        left_out: set[int] = set()
        for span in self._spans:
            if isinstance(tag := tags[span.tag], Raw) and tag.spaced:
                near = [i for i in (span.start - 1, span.start) if i >= 0 and self._text[i : i + 1] in _BLANKS]
                left_out |= set(near[:1])
        self._left_out = sorted(left_out)

    def items(self, base: Look) -> list[Item | Piece]:
        self._level(0, len(self._text), base, outermost=True)
        return self._items

    def _mended(self, spans: Sequence[Span], shares: Sequence[float]) -> list[Span]:
        """One span for all that is kept, not inside a word, invisible marks in their order."""
        found: dict[int, Span] = {}
        others: list[tuple[int, Span]] = []
        order: dict[int, int] = {}
        for i, span in enumerate(spans):
            if not isinstance(self._tags[span.tag], Raw | Wrap):
                others.append((i, span))
            elif span.tag not in found:
                found[span.tag], order[span.tag] = span, i
        last_mark = 0
        for number, tag in enumerate(self._tags):
            if not isinstance(tag, Raw | Wrap):
                continue
            kind = tag.kind if isinstance(tag, Raw) else "object"
            if number not in found and kind != "break":  # whoever translated has lost it
                place = round(shares[number] * len(self._text))
                found[number], order[number] = Span(place, place, number), len(spans) + number
            if number in found and found[number].start == found[number].end:
                place = found[number].start
                if kind == "mark":
                    last_mark = place = max(last_mark, place)
                else:
                    place = self._after_word(place)
                found[number] = Span(place, place, number)
        kept = [(order[number], span) for number, span in found.items()]
        return [span for _, span in sorted([*others, *kept], key=lambda item: (item[1].start, item[0]))]

    def _after_word(self, place: int) -> int:
        while 0 < place < len(self._text) and all(
            char.isalnum() and _narrow(char) for char in self._text[place - 1 : place + 1]
        ):
            place += 1
        return place

    def _level(self, at: int, end: int, look: Look, outermost: bool = False) -> None:
        """The items of text[at:end], which looks so; spans that cross its end are cut short."""
        while self._next < len(self._spans) and (outermost or self._spans[self._next].start < end):
            span = self._spans[self._next]
            self._next += 1
            start = max(at, min(span.start, end))
            stop = max(start, min(span.end, end))
            self._say(at, start, look)
            tag = self._tags[span.tag]
            if isinstance(tag, Raw | Wrap):
                self._items.append(tag)
            elif isinstance(tag, Look):
                self._level(start, stop, tag)
            elif stop > start:
                wrap, inner = tag
                self._items += wrap.opening
                self._level(start, stop, inner)
                self._items += wrap.closing
            at = stop
        self._say(at, end, look)

    def _say(self, start: int, end: int, look: Look) -> None:
        out = self._left_out[bisect_left(self._left_out, start) : bisect_left(self._left_out, end)]
        text = "".join(self._text[a:b] for a, b in zip([start, *(i + 1 for i in out)], [*out, end], strict=True))
        if text:
            self._items.append(Text(text, look))
