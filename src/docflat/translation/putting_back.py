"""Translated sentences put back into the segments of a file, with the formatting on their words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from docflat.decoding.alignment import Links, Weights, find_links
from docflat.formats.segments import Segment
from docflat.support.punctuation import between_sentences
from docflat.translation.formatting import project
from docflat.translation.outcomes import Outcome
from docflat.translation.projected_places import Piece
from docflat.translation.segment_plan import Sentence

Align = Callable[[Sequence[tuple[str, str]]], Sequence[Weights | None]]
Outcomes = list[Outcome]  # of the sentences of a segment, in order


def put_back(
    segments: Sequence[Segment],
    outcomes: Sequence[Outcomes],
    align: Align,
    in_parts: Callable[[Sequence[Sentence]], Outcomes],
) -> tuple[list[Segment], list[Outcomes]]:
    """The segments with their translations, and what became of their sentences in the end.

    A model may move code or placeholders so that no formatting can follow: in parts they keep their order.
    """
    writer = _Writer(align)
    written, final = list(segments), list(outcomes)
    todo = [number for number, group in enumerate(outcomes) if group]
    crossed = []
    for number, new in zip(todo, writer.write([(segments[n], outcomes[n]) for n in todo]), strict=True):
        if new is None:
            crossed.append(number)
        else:
            written[number] = new
    moved = [one for number in crossed for one in outcomes[number] if one.sentence.fixed and one.way != "parts"]
    parts = dict(zip(map(id, moved), in_parts([one.sentence for one in moved]) if moved else (), strict=True))
    for number in crossed:
        final[number] = [parts.get(id(one), one) for one in outcomes[number]]
    for number, new in zip(crossed, writer.write([(segments[n], final[n]) for n in crossed]), strict=True):
        assert new is not None, "fixed ranges in their own order never cross"
        written[number] = new
    return written, final


class _Writer:
    """Writes segments anew; what was aligned once is not aligned again."""

    def __init__(self, align: Align) -> None:
        self.align = align
        self.links: dict[tuple[str, str], Links] = {}

    def write(self, todo: Sequence[tuple[Segment, Outcomes]]) -> list[Segment | None]:
        """Segments with the translations of their sentences; None: the formatting cannot follow."""
        cut = [(segment, _cut(segment, group)) for segment, group in todo]
        self._link(cut)
        return [project(segment, [self._linked(segment.text, piece) for piece in pieces]) for segment, pieces in cut]

    def _link(self, cut: Iterable[tuple[Segment, list[Piece]]]) -> None:
        """Link the words of all pieces that have formatting inside."""
        pairs = dict.fromkeys(
            (segment.text[slice(*piece.source)], piece.text)
            for segment, pieces in cut
            for piece in _formatted(segment, pieces)
            if piece.links is not None
        )
        new = [pair for pair in pairs if pair not in self.links]
        if new:
            lines = [(" ".join(source.split()), target) for source, target in new]
            for pair, line, weights in zip(new, lines, self.align(lines), strict=True):
                self.links[pair] = find_links(*line, weights)

    def _linked(self, text: str, piece: Piece) -> Piece:
        if piece.links is None:
            return piece
        return replace(piece, links=self.links.get((text[slice(*piece.source)], piece.text), []))


def _cut(segment: Segment, outcomes: Outcomes) -> list[Piece]:
    """All of a segment: its sentences, and the blanks between them."""
    pieces: list[Piece] = []
    end = 0
    for outcome in outcomes:
        start, last = outcome.sentence.place
        new_pieces, gap = _pieces(outcome), segment.text[end:start]
        if pieces and new_pieces:
            before, now = (
                (segment.text[end - 1 : end], segment.text[start : start + 1]),
                (pieces[-1].text, new_pieces[0].text),
            )
            gap = between_sentences(gap, before, now)
            if start == end and gap:  # a piece of its own would be of nothing
                new_pieces[0] = _after_blank(new_pieces[0], gap)
                gap = ""
        pieces += [Piece((end, start), gap), *new_pieces]
        end = last
    pieces.append(Piece((end, len(segment.text)), segment.text[end:]))
    return [piece for piece in pieces if piece.source[0] < piece.source[1]]


def _after_blank(piece: Piece, blank: str) -> Piece:
    fixed = tuple((place, start + len(blank)) for place, start in piece.fixed)
    return replace(piece, text=blank + piece.text, fixed=fixed)


def _pieces(outcome: Outcome) -> list[Piece]:
    sentence = outcome.sentence
    if outcome.way == "parts":
        return list(outcome.parts)
    if outcome.text == sentence.line:  # blanks too stay as they were
        return [Piece(sentence.place, sentence.text)]
    fixed = tuple(zip(sentence.fixed, outcome.starts or (), strict=True))
    return [Piece(sentence.place, outcome.text, [], fixed)]


def _formatted(segment: Segment, pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Those inside which a span starts or ends."""
    spans = [span for span in segment.spans if not span.opaque or span.start == span.end]
    edges = sorted({edge for span in spans for edge in (span.start, span.end)})
    for piece in pieces:
        number = bisect_right(edges, piece.source[0])
        if number < len(edges) and edges[number] < piece.source[1]:
            yield piece
