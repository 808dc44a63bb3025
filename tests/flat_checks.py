"""Flat sides against a transcription that lays rows out one token at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from conftest import LiteralRow
from docflat.data.flat_layout import FlatBatch, FlatSegments, FlatSelection, FlatSide, Layout
from docflat.model.batch import Batch, Selection, Side
from docflat.model.segments import Segments

INDEXED = Layout(eos=2, bos=None, first_index=100, index_tokens=6)
PLAIN = Layout(eos=2, bos=1, first_index=100, index_tokens=6)
SOURCE_ONLY = replace(INDEXED, target_context=False)
SLOT = replace(INDEXED, vector_place=True)
SELECTIONS = replace(INDEXED, selections=("context", "previous", "recurrence"))
ENDS_ONLY = replace(SELECTIONS, source_starts=False)
LAYOUTS = {"index": INDEXED, "bos": PLAIN, "source only": SOURCE_ONLY, "slot": SLOT, "selections": SELECTIONS}


def bounds_of(lengths: Sequence[int]) -> list[int]:
    bounds = [0]
    for length in lengths:
        bounds.append(bounds[-1] + length)
    return bounds


def check_segments(segments: Segments | FlatSegments, lengths: Sequence[int]) -> None:
    assert segments.starts.tolist() == bounds_of(lengths)
    assert segments.longest == max(lengths)
    assert len(segments) == len(lengths)


def by_group(values: Sequence[int], groups: Sequence[object]) -> list[int]:
    """Totals of neighbours of the same group."""
    totals = [values[0]]
    for value, (left, right) in zip(values[1:], pairwise(groups), strict=True):
        if left == right:
            totals[-1] += value
        else:
            totals.append(value)
    return totals


def check_selection(selection: Selection | FlatSelection, segments: Sequence[Sequence[int]]) -> None:
    """segments: which tokens are in each."""
    assert selection.index.tolist() == [token for tokens in segments for token in tokens]
    check_segments(selection.segments, [len(tokens) for tokens in segments])


def check_selections(side: Side | FlatSide, spans: Sequence[Sequence[range]]) -> None:
    """spans: of each row, where its sentences are."""
    check_selection(side.selections["context"], [range(row[0].start, row[-1].start) for row in spans])
    most = max(1, *(len(row) - 1 for row in spans))
    previous = []
    for distance in range(1, most + 1):
        for row in spans:
            previous.append(row[-1 - distance] if distance < len(row) else [])
    check_selection(side.selections["previous"], previous)
    recurrence = []
    for row in spans:
        for number, own in enumerate(row):
            recurrence.append([*(row[number - 1] if number else []), *own])
    check_selection(side.selections["recurrence"], recurrence)


def check_side(
    side: Side | FlatSide, rows: Sequence[LiteralRow], which: str, groups: Sequence[object], layout: Layout = INDEXED
) -> None:
    """groups: one value a row; neighbouring rows with the same value see each other."""
    expected = []  # token, position in the row, place in the sentence, whether it is of the current sentence
    spans: list[list[range]] = []
    for row in rows:
        spans.append([])
        pieces = getattr(row, which + "_pieces")
        position = 0
        for number, piece in enumerate(pieces):
            begin = len(expected)
            if layout.vector_place and which == "target" and number == 0:
                expected.append(None)
            for place, token in enumerate(piece):
                expected.append((token, position, place, number == len(pieces) - 1))
                position += 1
            if layout.vector_place and which == "source" and number == len(pieces) - 1:
                expected.append(None)
            spans[-1].append(range(begin, len(expected)))
    assert len(side.tokens) == len(side.positions) == len(side.places) == len(expected)
    found = zip(side.tokens.tolist(), side.positions.tolist(), side.places.tolist(), strict=True)
    for wanted, values in zip(expected, found, strict=True):
        if wanted is not None:  # whatever stands in a slot, a vector takes its place
            assert values == wanted[:3]
    assert side.current.tolist() == [n for n, wanted in enumerate(expected) if wanted is not None and wanted[3]]

    lengths = [sum(len(piece) for piece in row) for row in spans]
    sentences = [len(getattr(row, which + "_pieces")[-1]) for row in rows]
    check_segments(side.rows, lengths)
    check_segments(side.pieces, [len(piece) for row in spans for piece in row])
    check_segments(side.row_pieces, [len(row) for row in spans])
    check_segments(side.sentences, sentences)
    check_segments(side.groups, by_group(sentences, groups))
    check_segments(side.group_rows, by_group([1] * len(rows), groups))
    check_segments(side.group_tokens, by_group(lengths, groups))
    assert len(side.mixed) == len(side.groups)
    assert set(side.selections) == set(layout.selections)
    if layout.selections:
        check_selections(side, spans)


def check_batch(
    batch: Batch | FlatBatch, rows: Sequence[LiteralRow], groups: Sequence[object], layout: Layout = INDEXED
) -> None:
    check_side(batch.source, rows, "source", groups, layout)
    check_side(batch.target, rows, "target", groups, layout)
    assert batch.labels.tolist() == [label for row in rows for label in row.labels]


def sentences_of(batch: Batch | FlatBatch) -> list[int]:
    """Which sentences a batch of numbered documents predicts, in order, told by the labels alone."""
    labels = batch.labels.tolist()
    firsts = [0, *(n + 1 for n, label in enumerate(labels[:-1]) if label == INDEXED.eos)]
    return [labels[n] // 10_000 - 1 for n in firsts]
