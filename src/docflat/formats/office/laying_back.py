"""From a translated segment of a paragraph to its items: nothing that is kept gets lost, whatever was done to spans."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from docflat.formats.nesting import add_spans, find_parents, walk_edges
from docflat.formats.office.paragraph_pieces import Item, Look, Piece, Raw, Text, Wrap
from docflat.formats.segments import LINE_BREAK, Segment, Span

Tag = Raw | Wrap | Look | tuple[Wrap, Look]  # kept, kept, a look, a wrap around text that mostly looks like this
_BLANKS = (" ", LINE_BREAK)


def is_narrow(char: str) -> bool:
    """Of a script that puts blanks between words."""
    return char.strip() != "" and char < "\u2e80"


class LayingBack:
    def __init__(self, tags: Sequence[Tag], segment: Segment, shares: Sequence[float]) -> None:
        """shares: where each tag was, as a part of the length of the text."""
        self._tags, self._text = tags, segment.text
        self._spans = self._with_all(segment.spans, shares)
        self._items: list[Item | Piece] = []
        # A break brings the space that stood for it.
        left_out: set[int] = set()
        for span in self._spans:
            if isinstance(tag := tags[span.tag], Raw) and tag.spaced:
                near = [i for i in (span.start - 1, span.start) if i >= 0 and self._text[i : i + 1] in _BLANKS]
                left_out |= set(near[:1])
        self._left_out = sorted(left_out)

    def items(self, base: Look) -> list[Item | Piece]:
        looks, counts = [base], [0]
        place, hidden = 0, 0
        for at, span, starts in walk_edges(self._spans, len(self._text)):
            if not hidden:
                self._say(place, at, looks[-1])
            place = at
            tag = self._tags[span.tag]
            if isinstance(tag, Raw | Wrap):  # all that is in it is written with it
                self._items += [tag] if starts else []
                hidden += 1 if starts else -1
            elif starts:
                self._items += tag[0].opening if isinstance(tag, tuple) else ()
                looks.append(tag[1] if isinstance(tag, tuple) else tag)
                counts.append(len(self._items))
            else:
                self._restore_link(looks.pop(), counts.pop())
                self._items += tag[0].closing if isinstance(tag, tuple) else ()
        self._say(place, len(self._text), base)
        self._restore_link(base, 0)
        return self._items

    def _restore_link(self, look: Look, count: int) -> None:
        """A link that is a look of text is lost with its last letter."""
        if look.link and not any(isinstance(item, Text) for item in self._items[count:]):
            self._items.append(Text("", look))

    def _with_all(self, spans: Sequence[Span], shares: Sequence[float]) -> list[Span]:
        """One span for each tag that is kept, not inside a word; invisible marks in their order."""
        parents = find_parents(spans)
        placed: dict[int, int] = {}  # where in the list the span of each tag is
        result: list[Span | None] = []
        for number, span in enumerate(spans):
            has_place = _has_place(self._tags[span.tag])
            if has_place and span.tag in placed:
                result.append(None)
                continue
            if span.start == span.end and _kind(self._tags[span.tag]) not in ("", "mark"):
                most = spans[parents[number]].end if parents[number] >= 0 else len(self._text)
                place = max(span.start, min(self._after_word(span.start), most))
                span = replace(span, start=place, end=place)
            placed[span.tag] = number
            result.append(span)
        moved: list[Span] = []
        last, last_number = 0, -1  # of the marks so far
        for tag_number, tag in enumerate(self._tags):
            kind = _kind(tag)
            number = placed.get(tag_number, -1)
            span_here = result[number] if number >= 0 else None
            if span_here is None and (not _has_place(tag) or kind == "break"):
                continue
            place = round(shares[tag_number] * len(self._text)) if span_here is None else span_here.start
            if span_here is None and kind != "mark":  # whoever translated has lost it
                place = self._after_word(place)
                moved.append(Span(place, place, tag_number))
            elif kind == "mark" and (span_here is None or place < last or number < last_number):
                place = max(last, place)
                moved.append(Span(place, place, tag_number))
                if number >= 0:
                    result[number] = None
                last = place
            elif kind == "mark":
                last, last_number = place, number
        return add_spans([span for span in result if span is not None], moved)

    def _after_word(self, place: int) -> int:
        while 0 < place < len(self._text) and all(
            char.isalnum() and is_narrow(char) for char in self._text[place - 1 : place + 1]
        ):
            place += 1
        return place

    def _say(self, start: int, end: int, look: Look) -> None:
        out = self._left_out[bisect_left(self._left_out, start) : bisect_left(self._left_out, end)]
        text = "".join(self._text[a:b] for a, b in zip([start, *(i + 1 for i in out)], [*out, end], strict=True))
        if text:
            self._items.append(Text(text, look))


def _has_place(tag: Tag) -> bool:
    return not isinstance(tag, Look) or tag.link


def _kind(tag: Tag) -> str:
    """Of what has no words of its own."""
    return tag.kind if isinstance(tag, Raw) else "object" if isinstance(tag, Wrap) else ""
