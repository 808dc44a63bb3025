"""The flat layout: rows one after the other in one sequence of tokens, without padding. No torch here.

What attends to what is said by segments of that sequence: rows for self-attention, groups of rows (the current
sentences of one document) for flat-batch attention. `docflat.model.batch` makes tensors of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from docflat.data.rows import MIXED, Array, Rows, Sentences

SelectionName = Literal["context", "previous", "recurrence"]


@dataclass(frozen=True)
class Layout:
    """How rows of a system become flat sides: the ids they are built with, and what else its model reads."""

    eos: int
    bos: int | None  # the start symbol of every sentence; None: its index token instead
    first_index: int
    index_tokens: int
    target_context: bool = True  # target rows have the local context too
    vector_place: bool = False  # a place for a vector, after every source row and before every target row
    selections: tuple[SelectionName, ...] = ()  # of tokens, which sides keep at hand beside their rows
    source_starts: bool = True  # start symbols on the source side too; False: instead, </s> ends every sentence there

    def starts(self, places: Array) -> Array:
        """The start symbols of sentences at these places of their documents."""
        if self.bos is not None:
            return np.full(len(places), self.bos)
        return self.first_index + np.clip(places, 0, self.index_tokens - 1)

    def target_rows(self, rows: Rows) -> Rows:
        """Rows as their target side has them."""
        return rows if self.target_context else replace(rows, context=np.zeros_like(rows.context))


@dataclass(frozen=True)
class FlatSegments:
    """Consecutive stretches of a flat sequence: segment n is starts[n]:starts[n + 1]."""

    starts: Array  # (segments + 1,) int32
    longest: int

    @classmethod
    def of_lengths(cls, lengths: Array) -> FlatSegments:
        return cls(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), int(lengths.max(initial=0)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Array:
        return np.diff(self.starts)  # (segments,)


@dataclass(frozen=True)
class FlatSelection:
    """Some tokens of a side, in an order and in segments of their own."""

    index: Array  # (selected tokens,) where they are among the tokens of the side
    segments: FlatSegments  # over index

    @classmethod
    def of_ranges(cls, starts: Array, lengths: Array, per_segment: int = 1) -> FlatSelection:
        """Stretches of the side's tokens; every `per_segment` of them make a segment."""
        total = np.cumsum(lengths)
        index = np.arange(total[-1] if len(total) else 0) + np.repeat(starts - (total - lengths), lengths)
        return cls(index, FlatSegments.of_lengths(lengths.reshape(-1, per_segment).sum(1)))


@dataclass(frozen=True)
class FlatSide:
    """One side of a batch. A piece is one sentence of one row."""

    tokens: Array  # (tokens,)
    positions: Array  # (tokens,) place in the row
    places: Array  # (tokens,) place in the sentence
    rows: FlatSegments  # over tokens
    pieces: FlatSegments  # over tokens: the sentences of the rows
    row_pieces: FlatSegments  # over pieces: one segment a row, its last piece is the current sentence
    piece_places: Array  # (pieces,) place in the document
    current: Array  # (current,) where the tokens of the current sentences are
    sentences: FlatSegments  # over current: one segment a row
    groups: FlatSegments  # over current: rows that see each other
    group_rows: FlatSegments  # over rows: the same groups
    group_tokens: FlatSegments  # over tokens: the same groups
    mixed: Array  # (groups,) True where they were put together from several documents
    selections: dict[SelectionName, FlatSelection]  # as the layout asks


@dataclass(frozen=True)
class FlatBatch:
    source: FlatSide
    target: FlatSide
    labels: Array  # (target current,) what follows each token of the target's current sentences


# Long: one pass over a batch, whose arrays all of its steps share.
def flatten_side(
    sentences: Sentences,
    rows: Rows,
    layout: Layout,
    close: bool,
    one_group: bool = False,
    prefix_only: bool = False,
) -> FlatSide:
    """Lay the rows of one side out flat: a start symbol before each sentence, with `close` a </s> after each row.

    close: it is the source side. Some models (`source_starts` False) read it without start symbols, with a </s> after
    each sentence. prefix_only: leave the words of the current sentences out; what stays is what decoding starts from.
    """
    context = rows.context
    row = np.repeat(np.arange(len(rows)), context + 1)  # (pieces,)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(context + 1) - context - 1, context + 1)
    is_current = nth == context[row]
    sentence = np.where(is_current, rows.sentence[row], (rows.context_end - context)[row] + nth)
    begin = sentences.ends[sentence]
    words = np.where(is_current & prefix_only, 0, sentences.ends[sentence + 1] - begin)
    begins = int(layout.source_starts or not close)
    closing = ((is_current | (not begins)) & close).astype(np.int64)
    vector_before = ((nth == 0) & layout.vector_place & (not close)).astype(np.int64)
    vector_after = closing * layout.vector_place
    lengths = vector_before + begins + words + closing + vector_after

    ends = np.cumsum(lengths)
    starts = ends - lengths
    piece = np.repeat(np.arange(len(lengths)), lengths)  # (tokens,)
    place = np.arange(len(piece)) - np.repeat(starts + vector_before, lengths)
    if len(sentences.tokens):
        where = np.minimum(begin[piece] + np.maximum(place - begins, 0), len(sentences.tokens) - 1)
        tokens = sentences.tokens[where].astype(np.int64)
    else:
        tokens = np.zeros(len(piece), dtype=np.int64)
    piece_place = rows.place[row] - context[row] + nth
    if begins:
        tokens[starts + vector_before] = layout.starts(piece_place)
    tokens[(ends - 1 - vector_after)[closing > 0]] = layout.eos
    is_vector = np.zeros(len(piece), dtype=bool)
    is_vector[starts[vector_before > 0]] = is_vector[ends[vector_after > 0] - 1] = True
    tokens[is_vector] = layout.eos  # any symbol: a vector takes its place

    row_length = np.bincount(row, weights=lengths, minlength=len(rows)).astype(np.int64)
    row_start = np.cumsum(row_length) - row_length
    # What a vector pushes back keeps its position.
    pushed = int(layout.vector_place and not close)
    positions = np.maximum(np.arange(len(piece)) - np.repeat(row_start + pushed, row_length), 0)
    current_length = (lengths - vector_before - vector_after)[is_current]
    group = np.where(rows.group < 0, rows.group, 0) if one_group else rows.group  # below 0: rows that stay alone
    first_of_group = np.flatnonzero(np.diff(group, prepend=group[:1] - 1))
    return FlatSide(
        tokens,
        positions,
        np.maximum(place, 0),
        FlatSegments.of_lengths(row_length),
        FlatSegments.of_lengths(lengths),
        FlatSegments.of_lengths(context + 1),
        piece_place,
        np.flatnonzero(is_current[piece] & ~is_vector),
        FlatSegments.of_lengths(current_length),
        FlatSegments.of_lengths(np.add.reduceat(current_length, first_of_group)),
        FlatSegments.of_lengths(np.diff(first_of_group, append=len(rows))),
        FlatSegments.of_lengths(np.add.reduceat(row_length, first_of_group)),
        # One row by itself is not mixed with anything.
        (group[first_of_group] >= MIXED) & (np.diff(first_of_group, append=len(rows)) > 1),
        {name: select_tokens(name, starts, lengths, context) for name in layout.selections},
    )


def select_tokens(name: SelectionName, starts: Array, lengths: Array, context: Array) -> FlatSelection:
    """starts, lengths (pieces,): where in the side they are; context (rows,): pieces of a row before its last."""
    last = np.cumsum(context + 1) - 1  # (rows,)
    if name == "context":  # all before the current sentence: one segment a row
        first = last - context
        return FlatSelection.of_ranges(starts[first], starts[last] - starts[first])
    if name == "previous":  # the sentence before it in every row, then the one before that in every row, and so on
        back = np.arange(1, max(1, int(context.max(initial=0))) + 1)[:, None]
        which = np.maximum(last - back, 0).flatten()
        return FlatSelection.of_ranges(starts[which], np.where((context >= back).flatten(), lengths[which], 0))
    # recurrence: every piece, after the piece before it
    before = np.maximum(np.arange(len(lengths)) - 1, 0)
    has_before = np.ones(len(lengths), dtype=bool)
    has_before[last - context] = False
    both = np.stack([np.where(has_before, lengths[before], 0), lengths], axis=1).flatten()
    return FlatSelection.of_ranges(np.stack([starts[before], starts], axis=1).flatten(), both, per_segment=2)


def flatten_batch(
    source: Sentences, target: Sentences, rows: Rows, layout: Layout, one_group: bool = False
) -> FlatBatch:
    """The batch of these rows for training and scoring. one_group: documents do not hide from each other."""
    source_side = flatten_side(source, rows, layout, close=True, one_group=one_group)
    target_side = flatten_side(target, layout.target_rows(rows), layout, close=False, one_group=one_group)
    return FlatBatch(source_side, target_side, labels_of(target_side, layout.eos))


def labels_of(side: FlatSide, eos: int) -> Array:
    """What follows each token of the current sentences: (current,)."""
    labels = side.tokens[np.minimum(side.current + 1, len(side.tokens) - 1)]
    labels[side.sentences.starts[1:] - 1] = eos
    return labels
