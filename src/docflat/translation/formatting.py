"""Formatting carried over to a translation: where the spans of a segment are in its new text.

A span goes to the words that its own words are linked to, from the first to the last, but for those that lie behind
more words of others than there are of them. Every span stays in the one it is in, and none gets lost: one that had
words gets one of its own, as long as there are any.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from docflat.decoding.alignment import find_words
from docflat.formats.nesting import find_parents
from docflat.formats.segments import Segment, Span
from docflat.support.text_ranges import Range
from docflat.translation.projected_places import Piece, Projection


@dataclass(eq=False)
class _Node:
    """A span on its way."""

    span: Span
    children: list[_Node] = field(default_factory=list)
    start: int = 0
    end: int = 0
    core: Range | None = None  # of the opaque spans in it, which cannot move

    @property
    def centre(self) -> float:
        start, end = self.core or (self.start, self.end)
        return (start + end) / 2

    def had_words(self, text: str) -> bool:
        """Whether it was on more than a part of a word."""
        start, end = self.span.start, self.span.end
        inside = (text[start : start + 1] + text[end - 1 : end]).isalnum()
        part = (start > 0 and text[start - 1].isalnum()) or text[end : end + 1].isalnum()
        return start < end and not self.span.opaque and not (inside and part)


def project(segment: Segment, pieces: Sequence[Piece]) -> Segment | None:
    """The segment with its new text. None: what cannot move stands in an order that the spans cannot follow."""
    projection = Projection(segment.text, pieces)
    roots = _tree(segment.spans)
    for node in roots:
        _place(node, projection)
    if not _Settling(segment.text, projection.text).settle(roots, 0, len(projection.text)):
        return None
    spans = tuple(replace(node.span, start=node.start, end=node.end) for node in _walk(roots))
    return Segment(projection.text, spans, segment.skip_reason)


def _tree(spans: Sequence[Span]) -> list[_Node]:
    nodes = [_Node(span) for span in spans]
    roots: list[_Node] = []
    for node, parent in zip(nodes, find_parents(spans), strict=True):
        (nodes[parent].children if parent >= 0 else roots).append(node)
    return roots


def _walk(nodes: Sequence[_Node]) -> Iterator[_Node]:
    """In the order they start; outer ones first."""
    left = list(reversed(nodes))
    while left:
        node = left.pop()
        yield node
        left += reversed(node.children)


def _place(node: _Node, projection: Projection) -> None:
    """Where a span goes by itself, large enough for what is in it."""
    span = node.span
    node.start, node.end = projection.point(span.start) if span.start == span.end else projection.stretch(span)
    if span.opaque and span.start < span.end:
        node.core = (node.start, node.end)
    for child in node.children:
        _place(child, projection)
    if span.opaque:
        return
    inner = [child for child in node.children if child.start < child.end]
    if inner:
        node.start = min(node.start, *(child.start for child in inner))
        node.end = max(node.end, *(child.end for child in inner))
    cores = [child.core for child in node.children if child.core is not None]
    if cores:
        node.core = (min(start for start, _ in cores), max(end for _, end in cores))


class _Settling:
    """Spans that stand beside each other are moved until none overlap."""

    def __init__(self, source: str, text: str) -> None:
        self._source, self._text = source, text
        words = find_words(text)
        self._words = [word for word in words if text[word[0]].isalnum()] or words
        self._starts = [start for start, _ in self._words]
        self._edges = sorted({edge for word in words for edge in word})

    def settle(self, nodes: list[_Node], start: int, end: int) -> bool:
        """All go within start:end, and what is in them within them. False: they cannot."""
        for node in nodes:
            node.start, node.end = (min(max(place, start), end) for place in (node.start, node.end))
        solid = sorted((node for node in nodes if node.start < node.end), key=lambda node: node.centre)
        if any(a[1] > b[0] for a, b in pairwise(node.core for node in solid if node.core)):
            return False
        for left, right in pairwise(solid):
            if left.end > right.start:
                self._part(left, right)
        solid = [node for node in solid if node.start < node.end]
        empty = [node for node in nodes if node.start == node.end]
        starts = [node.start for node in solid]
        for point in empty:
            number = bisect_left(starts, point.start) - 1  # the last that starts before it
            if number >= 0 and point.start < solid[number].end:
                around = solid[number]
                # On the side where it stood: it may be the end of what was before, as where sentences are cut.
                edge = around.start if point.span.start <= around.span.start else around.end
                point.start = point.end = edge
        self._give_words([node for node in empty if node.had_words(self._source)], solid, start, end)
        nodes.sort(key=lambda node: (node.start, node.end))  # a point before what starts there, as it is not in it
        return all(self.settle(node.children, node.start, node.end) for node in nodes)

    def _part(self, left: _Node, right: _Node) -> None:
        """Of two that overlap, end the first where the second starts, or the other way round."""
        lowest = left.core[1] if left.core else left.start
        highest = right.core[0] if right.core else right.end
        if right.start > left.start:
            cut = right.start
        elif left.end < right.end:
            cut = left.end
        else:  # both want the same words
            cut = self._nearest_edge((left.start + right.end) / 2, left.start, right.end)
        cut = max(lowest, min(cut, highest))
        if right.core:  # what cannot move goes first
            cut = min(cut, highest)
        left.start, left.end = min(left.start, cut), cut
        right.start, right.end = cut, max(cut, right.end)
        lowest, highest = min(lowest, cut), max(highest, cut)  # one that can move may be beyond where it was
        while left.end > max(lowest, left.start) and self._text[left.end - 1].isspace():
            left.end -= 1
        while right.start < min(highest, right.end) and self._text[right.start].isspace():
            right.start += 1

    def _nearest_edge(self, place: float, start: int, end: int) -> int:
        """The edge of a word in start:end that is nearest to a place; without words, the end."""
        first, last = bisect_left(self._edges, start), bisect_right(self._edges, end)
        number = bisect_left(self._edges, place, first, last)
        near = self._edges[max(first, number - 1) : min(last, number + 1)]
        return min(near, key=lambda edge: abs(edge - place), default=end)

    def _give_words(self, empty: Sequence[_Node], solid: Sequence[_Node], start: int, end: int) -> None:
        """A link without a word is none to a reader: the next word that is in no other span becomes its own."""
        if not empty:
            return
        taken = [(node.start, node.end) for node in solid]
        ends = [b for _, b in taken]
        free = []
        for word in self._words[bisect_left(self._starts, start) : bisect_left(self._starts, end)]:
            number = bisect_right(ends, word[0])  # the first that ends behind its start
            if word[1] <= end and (number == len(taken) or taken[number][0] >= word[1]):
                free.append(word)
        for node in empty:
            if not free:
                return
            number = bisect_left(free, (node.start, 0))
            near = range(max(0, number - 1), min(len(free), number + 1))
            chosen = min(near, key=lambda place: abs(free[place][0] - node.start))
            node.start, node.end = free.pop(chosen)
