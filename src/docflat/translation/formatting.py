"""Formatting carried over to a translation: where the spans of a segment are in its new text.

A segment is cut into pieces: blanks and placeholders that stay as they are, and sentences that were translated, with
links between their words. A span goes to the words that its own words are linked to, from the first to the last, but
for those that lie behind more words of others than there are of them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from docflat.decoding.alignment import Links, find_words
from docflat.formats.segments import Segment, Span
from docflat.support.text_ranges import Range


@dataclass(frozen=True)
class Piece:
    """A stretch of a segment's text, and what stands there now. The pieces of a segment cover all of it."""

    source: Range
    text: str
    links: Links | None = None  # of its words; None: it is as it was
    fixed: tuple[tuple[Range, int], ...] = ()  # ranges of the source, and where they start in the new text


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


def project(segment: Segment, pieces: Sequence[Piece]) -> Segment | None:
    """The segment with its new text. None: what cannot move stands in an order that the spans cannot follow."""
    text = "".join(piece.text for piece in pieces)
    image = _Image(segment.text, pieces)
    roots = _tree(segment.spans)
    for node in roots:
        _place(node, image)
    if not _settle(roots, 0, len(text), text):
        return None
    spans = [Span(node.start, node.end, node.span.tag, node.span.opaque) for node in _walk(roots)]
    return Segment(text, tuple(spans), segment.kept)


def _tree(spans: Sequence[Span]) -> list[_Node]:
    roots: list[_Node] = []
    path: list[_Node] = []
    for span in spans:
        # A point at the end of a span stands after it, unless it is the span's own.
        while path and span.start >= path[-1].span.end and not _within(span, path[-1].span):
            path.pop()
        node = _Node(span)
        (path[-1].children if path else roots).append(node)
        path.append(node)
    return roots


def _within(span: Span, outer: Span) -> bool:
    return outer.start <= span.start and span.end <= outer.end and outer.start == outer.end and span.start == span.end


def _walk(nodes: Sequence[_Node]) -> list[_Node]:
    """In the order they start; outer ones first."""
    nodes_in_order = []
    for node in nodes:
        nodes_in_order += [node, *_walk(node.children)]
    return nodes_in_order


def _place(node: _Node, image: _Image) -> None:
    """Where a span goes by itself, large enough for what is in it."""
    span = node.span
    node.start, node.end = image.point(span.start) if span.start == span.end else image.stretch(span)
    if span.opaque and span.start < span.end:
        node.core = (node.start, node.end)
    for child in node.children:
        _place(child, image)
    if span.opaque:
        return
    inner = [child for child in node.children if child.start < child.end]
    if inner:
        node.start = min(node.start, *(child.start for child in inner))
        node.end = max(node.end, *(child.end for child in inner))
    cores = [child.core for child in node.children if child.core is not None]
    if cores:
        node.core = (min(start for start, _ in cores), max(end for _, end in cores))


def _settle(nodes: list[_Node], start: int, end: int, text: str) -> bool:
    """Move spans that stand beside each other until none overlap, all within start:end. False: they cannot."""
    for node in nodes:
        node.start, node.end = (min(max(place, start), end) for place in (node.start, node.end))
    solid = sorted((node for node in nodes if node.start < node.end), key=lambda node: node.centre)
    if any(a[1] > b[0] for a, b in pairwise(node.core for node in solid if node.core)):
        return False
    for left, right in pairwise(solid):
        if left.end > right.start:
            _part(left, right, text)
    for point in (node for node in nodes if node.start == node.end):
        around = next((node for node in solid if node.start < point.start < node.end), None)
        if around is not None:
            edge = around.start if 2 * point.start < around.start + around.end else around.end
            point.start = point.end = edge
    nodes.sort(key=lambda node: (node.start, node.end))  # a point before what starts there, as it is not in it
    return all(_settle(node.children, node.start, node.end, text) for node in nodes)


def _part(left: _Node, right: _Node, text: str) -> None:
    """Of two that overlap, end the first where the second starts, or the other way round."""
    lowest = left.core[1] if left.core else left.start
    highest = right.core[0] if right.core else right.end
    if right.start > left.start:
        cut = right.start
    elif left.end < right.end:
        cut = left.end
    else:  # both want the same words
        middle = (left.start + right.end) / 2
        edges = [edge for word in find_words(text[left.start : right.end]) for edge in word]
        cut = min((left.start + edge for edge in edges), key=lambda edge: abs(edge - middle), default=right.end)
    cut = max(lowest, min(cut, highest))
    if right.core:  # what cannot move goes first
        cut = min(cut, highest)
    left.start, left.end = min(left.start, cut), cut
    right.start, right.end = cut, max(cut, right.end)
    lowest, highest = min(lowest, cut), max(highest, cut)  # one that can move may be beyond where it was
    left.end = max(lowest, left.start, left.start + len(text[left.start : left.end].rstrip()))
    if not right.core or right.core[0] > right.start:
        blank = text[right.start : right.end]
        right.start = min(highest, right.end, right.start + len(blank) - len(blank.lstrip()))


def _densest(words: list[int], others: set[int]) -> list[int]:
    """Of a span's words, those of the stretch in which they most outnumber the words of others.

    A verb that goes to the end of the sentence does not take all that is before it into the bold.
    """
    ranks = sorted(others)
    best, start, total = (0, 0, 0), 0, 0
    for end, word in enumerate(words):
        if end:
            total -= bisect(ranks, word) - bisect(ranks, words[end - 1])
        if total <= 0:
            total, start = 0, end
        total += 1
        best = max(best, (total, -start, -end))
    return words[-best[1] : -best[2] + 1]


class _Image:
    """Where places of a segment's text are in its translation."""

    def __init__(self, source: str, pieces: Sequence[Piece]) -> None:
        self.source, self.pieces = source, pieces
        self.starts: list[int] = [0]
        for piece in pieces:
            self.starts.append(self.starts[-1] + len(piece.text))

    def stretch(self, span: Span) -> Range:
        images = []
        for piece, offset in zip(self.pieces, self.starts, strict=False):
            start, end = max(span.start, piece.source[0]), min(span.end, piece.source[1])
            if start < end:
                inside = self._inside(piece, start, end)
                if inside is not None:
                    images.append((offset + inside[0], offset + inside[1]))
        if images:
            return min(start for start, _ in images), max(end for _, end in images)
        return self.point(span.start)  # it has no words: blanks in bold

    def _inside(self, piece: Piece, start: int, end: int) -> Range | None:
        """What start:end is in the text of a piece."""
        first, last = piece.source
        if piece.links is None:
            return start - first, end - first
        for (a, b), place in piece.fixed:
            if a <= start and end <= b:
                return place + start - a, place + end - a
        if (start, end) == piece.source:
            return 0, len(piece.text)
        words = [(first + a, first + b) for a, b in find_words(self.source[first:last])]
        covered = [n for n, (a, b) in enumerate(words) if a < end and start < b]
        target = find_words(piece.text)
        if not covered or not target:
            return None
        linked = sorted({t for s, t in piece.links if covered[0] <= s <= covered[-1]})
        if not linked:  # by its place
            linked = [min(len(target) - 1, n * len(target) // len(words)) for n in (covered[0], covered[-1])]
        else:
            others = {t for s, t in piece.links if not covered[0] <= s <= covered[-1]}
            linked = _densest(linked, others.difference(linked))
        before, after = (self.source[words[n][0]].isalnum() for n in (covered[0], covered[-1]))
        # Without punctuation at an end where the source has none: bold does not take the full stop with it.
        while after and len(linked) > 1 and not piece.text[target[linked[-1]][0]].isalnum():
            linked.pop()
        while before and len(linked) > 1 and not piece.text[target[linked[0]][0]].isalnum():
            linked.pop(0)
        into, out = start - words[covered[0]][0], words[covered[-1]][1] - end  # letters of a word before it, after it
        left = self._cut(words[covered[0]], piece.text, target[linked[0]], max(0, into), after=False)
        right = self._cut(words[covered[-1]], piece.text, target[linked[-1]], max(0, out), after=True)
        return min(left, right), right

    def _cut(self, word: Range, text: str, linked: Range, letters: int, after: bool) -> int:
        """The edge of a span that leaves out so many letters at an end of a word, as in H2O with a small 2.

        The word it is linked to is cut likewise, if it has these letters there, or all others; else it is whole.
        """
        old, new = self.source[slice(*word)], text[slice(*linked)]
        if after:
            old, new = old[::-1], new[::-1]
        others = old[letters:]
        into = letters if old[:letters] == new[:letters] else len(new) - len(others) if new.endswith(others) else 0
        return linked[1] - into if after else linked[0] + into

    def point(self, place: int) -> Range:
        for piece, offset in zip(self.pieces, self.starts, strict=False):
            first, last = piece.source
            if first <= place <= last and (place < last or piece is self.pieces[-1] or piece.links is None):
                inside = self._point_inside(piece, place)
                return offset + inside, offset + inside
        return self.starts[-1], self.starts[-1]

    def _point_inside(self, piece: Piece, place: int) -> int:
        first, last = piece.source
        if piece.links is None or place == first:
            return place - first
        if place == last:
            return len(piece.text)
        words, target = find_words(self.source[first:last]), find_words(piece.text)
        touched = [char.isalnum() for char in (self.source[place - 1], self.source[place])]
        if touched[0] != touched[1]:  # a note goes where its word goes, and a mark with the word after it
            touching = next((n for n, word in enumerate(words) if first + word[touched[0]] == place), None)
            linked = [t for s, t in piece.links if s == touching]
            if linked:
                return target[max(linked)][1] if touched[0] else target[min(linked)][0]
        before = {n for n, (_, end) in enumerate(words) if first + end <= place}
        # Where the fewest links cross: what was before it stays before it.
        crossed = [sum((s in before) != (t < cut) for s, t in piece.links) for cut in range(len(target) + 1)]
        cut = crossed.index(min(crossed))
        if cut and not self.source[place - 1].isspace():  # a note stays at its word
            return target[cut - 1][1]
        return target[cut][0] if cut < len(target) else len(piece.text)
