"""Where places of a segment's text are in its translation.

A segment is cut into pieces: blanks and placeholders that stay as they are, and sentences that were translated, with
links between their words.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from docflat.decoding.alignment import Links, find_words
from docflat.formats.segments import Span
from docflat.support.text_ranges import Range


@dataclass(frozen=True)
class Piece:
    """A stretch of a segment's text, and what stands there now. The pieces of a segment cover all of it."""

    source: Range
    text: str
    links: Links | None = None  # of its words; None: it is as it was
    fixed: tuple[tuple[Range, int], ...] = ()  # ranges of the source in order, and where they start in the new text


class Projection:
    """Places of a text in its translation."""

    def __init__(self, source: str, pieces: Sequence[Piece]) -> None:
        self.text = "".join(piece.text for piece in pieces)
        self._pieces = [_TranslatedPiece(source, piece) for piece in pieces]
        self._sources = [piece.source[0] for piece in pieces]
        self._offsets = [0, *accumulate(len(piece.text) for piece in pieces)]

    def stretch(self, span: Span) -> Range:
        """Where the words of a span are; one without words is a point."""
        first = max(0, bisect_right(self._sources, span.start) - 1)
        last = bisect_left(self._sources, span.end) - 1
        starts, ends = [], []
        # Of the pieces between the first and the last, all is in the span.
        for number in sorted({first, min(first + 1, last), max(first, last - 1), last} if last >= first else ()):
            inside = self._pieces[number].stretch(span.start, span.end)
            if inside is not None:
                starts.append(self._offsets[number] + inside[0])
                ends.append(self._offsets[number] + inside[1])
        return (min(starts), max(ends)) if starts else self.point(span.start)

    def point(self, place: int) -> Range:
        number = bisect_right(self._sources, place) - 1
        if number < 0 or place > self._pieces[-1].end:
            return self._offsets[-1], self._offsets[-1]
        if number and place == self._sources[number] and self._pieces[number - 1].piece.links is None:
            number -= 1  # it stays at the end of what is as it was
        point = self._offsets[number] + self._pieces[number].point(place)
        return point, point


class _TranslatedPiece:
    """The words of a piece on both sides."""

    def __init__(self, source: str, piece: Piece) -> None:
        self.source, self.piece = source, piece
        self.start, self.end = piece.source

    @cached_property
    def _words(self) -> list[Range]:
        """Of the source, as places in the segment."""
        return [(self.start + a, self.start + b) for a, b in find_words(self.source[self.start : self.end])]

    @cached_property
    def _edges(self) -> tuple[list[int], list[int]]:
        """Where words of the source start, and where they end."""
        return [a for a, _ in self._words], [b for _, b in self._words]

    @cached_property
    def _target(self) -> list[Range]:
        return find_words(self.piece.text)

    @cached_property
    def _linked(self) -> list[list[int]]:
        """The target words of each source word."""
        linked: list[list[int]] = [[] for _ in self._words]
        for source, target in self.piece.links or ():
            if source < len(linked) and target < len(self._target):
                linked[source].append(target)
        return linked

    @cached_property
    def _linked_before(self) -> list[int]:
        """How many target words before each have a link."""
        linked = {target for targets in self._linked for target in targets}
        return [0, *accumulate(int(word in linked) for word in range(len(self._target)))]

    @cached_property
    def _cuts(self) -> list[int]:
        """After each number of source words: the place among the target words over which the fewest links cross."""
        crossed = np.zeros(len(self._target) + 1, np.int64)  # (cuts), by links that reach back and forth over each
        for targets in self._linked:
            for target in targets:
                crossed[target + 1 :] += 1
        cuts = [int(crossed.argmin())]
        for targets in self._linked:
            for target in targets:
                crossed[: target + 1] += 1
                crossed[target + 1 :] -= 1
            cuts.append(int(crossed.argmin()))
        return cuts

    def stretch(self, start: int, end: int) -> Range | None:
        """What the part of start:end that lies in this piece is in its text; None: it has no words."""
        start, end = max(start, self.start), min(end, self.end)
        if self.piece.links is None:
            return (start - self.start, end - self.start) if start < end else None
        fixed = self.piece.fixed
        number = bisect_right(fixed, start, key=lambda one: one[0][0]) - 1
        if number >= 0 and end <= fixed[number][0][1]:
            (a, _), place = fixed[number]
            return place + start - a, place + end - a
        if (start, end) == self.piece.source:
            return 0, len(self.piece.text)
        first, last = bisect_right(self._edges[1], start), bisect_left(self._edges[0], end) - 1
        if first > last or not self._target:
            return None
        linked = sorted({target for targets in self._linked[first : last + 1] for target in targets})
        if not linked:  # by its place
            most = len(self._target)
            linked = [min(most - 1, word * most // len(self._words)) for word in (first, last)]
        else:
            linked = self._densest(linked)
        return self._letters(start, end, first, last, linked)

    def _densest(self, words: list[int]) -> list[int]:
        """Of a span's words, those of the stretch in which they most outnumber the words of others.

        A verb that goes to the end of the sentence does not take all that is before it into the bold.
        """
        before = self._linked_before
        best, start, total = (0, 0, 0), 0, 0
        for end, word in enumerate(words):
            if end:  # all that have links between two words of the span are others'
                total -= before[word] - before[words[end - 1] + 1]
            if total <= 0:
                total, start = 0, end
            total += 1
            best = max(best, (total, -start, -end))
        return words[-best[1] : -best[2] + 1]

    def _letters(self, start: int, end: int, first: int, last: int, linked: list[int]) -> Range:
        """From words to the letters at the edges of a span."""
        text, target, words = self.piece.text, self._target, self._words
        before, after = (self.source[words[word][0]].isalnum() for word in (first, last))
        # Without punctuation at an end where the source has none: bold does not take the full stop with it.
        left, right = 0, len(linked) - 1
        while after and right > left and not text[target[linked[right]][0]].isalnum():
            right -= 1
        while before and right > left and not text[target[linked[left]][0]].isalnum():
            left += 1
        into, out = start - words[first][0], words[last][1] - end  # letters of a word before it, after it
        a = self._cut(words[first], target[linked[left]], max(0, into), after=False)
        b = self._cut(words[last], target[linked[right]], max(0, out), after=True)
        return min(a, b), b

    def _cut(self, word: Range, linked: Range, letters: int, after: bool) -> int:
        """The edge of a span that leaves out so many letters at an end of a word, as in H2O with a small 2.

        The word it is linked to is cut likewise, if it has these letters there, or all others; else it is whole.
        """
        old, new = self.source[slice(*word)], self.piece.text[slice(*linked)]
        if after:
            old, new = old[::-1], new[::-1]
        others = old[letters:]
        into = letters if old[:letters] == new[:letters] else len(new) - len(others) if new.endswith(others) else 0
        return linked[1] - into if after else linked[0] + into

    def point(self, place: int) -> int:
        if self.piece.links is None or place == self.start:
            return place - self.start
        if place == self.end:
            return len(self.piece.text)
        target = self._target
        touched = [char.isalnum() for char in (self.source[place - 1], self.source[place])]
        if touched[0] != touched[1]:  # a note goes where its word goes, and a mark with the word after it
            edges = self._edges[touched[0]]
            word = bisect_left(edges, place)
            linked = self._linked[word] if word < len(edges) and edges[word] == place else []
            if linked:
                return target[max(linked)][1] if touched[0] else target[min(linked)][0]
        # Where the fewest links cross: what was before it stays before it.
        cut = self._cuts[bisect_right(self._edges[1], place)]
        if cut and not self.source[place - 1].isspace():  # a note stays at its word
            return target[cut - 1][1]
        return target[cut][0] if cut < len(target) else len(self.piece.text)
