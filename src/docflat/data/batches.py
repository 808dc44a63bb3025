"""Batches: rows as one flat sequence of tokens, without padding, under a token budget.

The flat layout holds the rows one after the other. What attends to what is said by segments: rows for
self-attention, groups of rows (the current sentences of one document) for flat-batch attention.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from docflat.data.layout import Layout, PartName
from docflat.data.row_settings import RowSettings
from docflat.data.rows import MIXED, Array, Rows, Sentences, document_rows, mix, row_lengths


@dataclass(frozen=True)
class Segments:
    """Consecutive stretches of a flat sequence: segment n is starts[n]:starts[n + 1]."""

    starts: Tensor  # (segments + 1,) int32
    longest: int

    @classmethod
    def of_lengths(cls, lengths: Array) -> Segments:
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return cls(torch.from_numpy(starts), int(lengths.max(initial=0)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Tensor:
        # Not cached: before Python 3.12 that takes a lock, at which torch.compile breaks the graph.
        return self.starts.diff().long()  # (segments,)

    @property
    def mask(self) -> Tensor:
        """True where the padded layout holds a token: (segments, longest)."""
        return torch.arange(self.longest, device=self.starts.device) < self.lengths[:, None]

    def slots(self, tokens: int) -> Tensor:
        """Where each token goes in the padded layout (segments * longest,): (tokens,)."""
        segment = self.number(tokens)
        place = torch.arange(tokens, device=self.starts.device)
        return segment * self.longest + place - self.starts[:-1].long()[segment]

    def number(self, tokens: int) -> Tensor:
        """Which segment each token is in: (tokens,). How many there are is known without asking a GPU."""
        place = torch.arange(tokens, device=self.starts.device, dtype=torch.int32)
        # All starts, and one less: compiled, a search in starts[1:] forgets where that begins.
        return torch.searchsorted(self.starts, place, right=True) - 1

    def mean(self, flat: Tensor) -> Tensor:
        """The mean of each segment: (tokens, dim) -> (segments, dim); zero for one without tokens."""
        total = flat.new_zeros(len(self), flat.shape[1], dtype=torch.promote_types(flat.dtype, torch.float32))
        total = total.index_add(0, self.number(len(flat)), flat.to(total.dtype))
        return (total / self.lengths.clamp_min(1)[:, None]).to(flat.dtype)

    def times(self, number: int, tokens: int) -> Segments:
        """The same segments several times, one after the other; tokens: how many they have."""
        shifts = torch.arange(number, device=self.starts.device, dtype=torch.int32) * tokens
        starts = self.starts + shifts[:, None]
        # Its end by slicing: padded with a number, it would be compiled for that number alone.
        return Segments(torch.cat([starts[:, :-1].flatten(), starts[-1, -1:]]), self.longest)

    def pad(self, flat: Tensor) -> Tensor:
        """(tokens, ...) -> (segments, longest, ...), zeros at the end of the shorter ones."""
        padded = flat.new_zeros(len(self) * self.longest, *flat.shape[1:])
        return padded.index_copy_(0, self.slots(len(flat)), flat).unflatten(0, (len(self), self.longest))

    def unpad(self, padded: Tensor, tokens: int) -> Tensor:
        """(segments, longest, ...) -> (tokens, ...)."""
        return padded.flatten(0, 1)[self.slots(tokens)]

    def take(self, which: Tensor) -> tuple[Tensor, Segments]:
        """Where the tokens of some segments are, and those segments by themselves."""
        lengths = self.lengths[which]
        starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        shift = self.starts.long()[which] - starts[:-1]
        index = torch.arange(int(starts[-1]), device=lengths.device) + torch.repeat_interleave(shift, lengths)
        return index, Segments(starts.int(), int(lengths.max()))

    def each(self, change: Callable[[Tensor], Tensor]) -> Segments:
        """The same with every tensor changed: moved, or pinned."""
        return Segments(change(self.starts), self.longest)


@dataclass(frozen=True)
class Part:
    """Some tokens of a side, in an order and in segments of their own."""

    index: Tensor  # (part tokens,) where they are among the tokens of the side
    segments: Segments  # over index

    @classmethod
    def of_ranges(cls, starts: Array, lengths: Array, per_segment: int = 1) -> Part:
        """Stretches of the side's tokens; every `per_segment` of them make a segment."""
        total = np.cumsum(lengths)
        index = np.arange(total[-1] if len(total) else 0) + np.repeat(starts - (total - lengths), lengths)
        return cls(torch.from_numpy(index), Segments.of_lengths(lengths.reshape(-1, per_segment).sum(1)))

    def each(self, change: Callable[[Tensor], Tensor]) -> Part:
        return Part(change(self.index), self.segments.each(change))


@dataclass(frozen=True)
class Side:
    """One side of a batch. A piece is one sentence of one row."""

    tokens: Tensor  # (tokens,)
    positions: Tensor  # (tokens,) place in the row
    places: Tensor  # (tokens,) place in the sentence
    rows: Segments  # over tokens
    pieces: Segments  # over tokens: the sentences of the rows
    row_pieces: Segments  # over pieces: one segment a row, its last piece is the current sentence
    piece_places: Tensor  # (pieces,) place in the document
    current: Tensor  # (current,) where the tokens of the current sentences are
    sentences: Segments  # over current: one segment a row
    groups: Segments  # over current: rows that see each other
    group_rows: Segments  # over rows: the same groups
    group_tokens: Segments  # over tokens: the same groups
    mixed: Tensor  # (groups,) True where they were put together from several documents
    parts: dict[PartName, Part]  # as the layout asks

    def each(self, change: Callable[[Tensor], Tensor]) -> Side:
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        parts: dict[PartName, Part] = values.pop("parts")
        changed: dict[str, Any] = {
            name: change(x) if isinstance(x, Tensor) else x.each(change) for name, x in values.items()
        }
        return Side(**changed, parts={name: part.each(change) for name, part in parts.items()})

    def only_current(self) -> Side:
        """The current sentences as rows without context."""
        sentences, count = self.sentences, len(self.current)
        one_each = Segments(torch.arange(len(sentences) + 1, device=self.tokens.device, dtype=torch.int32), 1)
        place = self.places[self.current]
        return replace(
            self,
            tokens=self.tokens[self.current],
            positions=place,
            places=place,
            rows=sentences,
            pieces=sentences,
            row_pieces=one_each,
            piece_places=self.piece_places[self.row_pieces.starts[1:].long() - 1],
            current=torch.arange(count, device=self.tokens.device),
            group_tokens=self.groups,
            parts={},
        )

    def to(self, device: torch.device) -> Side:
        return self.each(lambda tensor: tensor.to(device, non_blocking=True))


@dataclass(frozen=True)
class Batch:
    source: Side
    target: Side
    labels: Tensor  # (target current,) what follows each token of the target's current sentences

    def each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        return Batch(self.source.each(change), self.target.each(change), change(self.labels))

    def to(self, device: torch.device) -> Batch:
        return self.each(lambda tensor: tensor.to(device, non_blocking=True))

    def pin(self) -> Batch:
        """In memory that a GPU can copy from while the host goes on."""
        return self.each(Tensor.pin_memory)


def flatten_side(
    sentences: Sentences,
    rows: Rows,
    layout: Layout,
    close: bool,
    one_group: bool = False,
    prefix_only: bool = False,
) -> Side:
    """Lay the rows of one side out flat: a start symbol before each sentence, with `close` a </s> after each row.

    prefix_only: leave the words of the current sentences out; what stays is what decoding starts from.
    """
    context = rows.context
    row = np.repeat(np.arange(len(rows)), context + 1)  # (pieces,)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(context + 1) - context - 1, context + 1)
    is_current = nth == context[row]
    sentence = np.where(is_current, rows.sentence[row], (rows.context_end - context)[row] + nth)
    begin = sentences.ends[sentence]
    words = np.where(is_current & prefix_only, 0, sentences.ends[sentence + 1] - begin)
    closing = (is_current & close).astype(np.int64)
    slot_before = ((nth == 0) & layout.slot & (not close)).astype(np.int64)
    slot_after = closing * layout.slot
    lengths = slot_before + 1 + words + closing + slot_after

    ends = np.cumsum(lengths)
    starts = ends - lengths
    piece = np.repeat(np.arange(len(lengths)), lengths)  # (tokens,)
    place = np.arange(len(piece)) - np.repeat(starts + slot_before, lengths)
    if len(sentences.tokens):
        where = np.minimum(begin[piece] + np.maximum(place - 1, 0), len(sentences.tokens) - 1)
        tokens = sentences.tokens[where].astype(np.int64)
    else:
        tokens = np.zeros(len(piece), dtype=np.int64)
    piece_place = rows.place[row] - context[row] + nth
    tokens[starts + slot_before] = layout.starts(piece_place)
    tokens[(ends - 1 - slot_after)[closing > 0]] = layout.eos
    is_slot = np.zeros(len(piece), dtype=bool)
    is_slot[starts[slot_before > 0]] = is_slot[ends[slot_after > 0] - 1] = True
    tokens[is_slot] = layout.eos  # any symbol: a vector takes its place

    row_length = np.bincount(row, weights=lengths, minlength=len(rows)).astype(np.int64)
    row_start = np.cumsum(row_length) - row_length
    # What a slot pushes back keeps its position.
    pushed = int(layout.slot and not close)
    positions = np.maximum(np.arange(len(piece)) - np.repeat(row_start + pushed, row_length), 0)
    current_length = (lengths - slot_before - slot_after)[is_current]
    group = np.where(rows.group < 0, rows.group, 0) if one_group else rows.group  # below 0: rows that stay alone
    first_of_group = np.flatnonzero(np.diff(group, prepend=group[:1] - 1))
    return Side(
        torch.from_numpy(tokens),
        torch.from_numpy(positions),
        torch.from_numpy(np.maximum(place, 0)),
        Segments.of_lengths(row_length),
        Segments.of_lengths(lengths),
        Segments.of_lengths(context + 1),
        torch.from_numpy(piece_place),
        torch.from_numpy(np.flatnonzero(is_current[piece] & ~is_slot)),
        Segments.of_lengths(current_length),
        Segments.of_lengths(np.add.reduceat(current_length, first_of_group)),
        Segments.of_lengths(np.diff(first_of_group, append=len(rows))),
        Segments.of_lengths(np.add.reduceat(row_length, first_of_group)),
        # One row by itself is not mixed with anything.
        torch.from_numpy((group[first_of_group] >= MIXED) & (np.diff(first_of_group, append=len(rows)) > 1)),
        {name: make_part(name, starts, lengths, context) for name in layout.parts},
    )


def make_part(name: PartName, starts: Array, lengths: Array, context: Array) -> Part:
    """starts, lengths (pieces,): where in the side they are; context (rows,): pieces of a row before its last."""
    last = np.cumsum(context + 1) - 1  # (rows,)
    if name == "context":  # all before the current sentence: one segment a row
        first = last - context
        return Part.of_ranges(starts[first], starts[last] - starts[first])
    if name == "previous":  # the sentence before it in every row, then the one before that in every row, and so on
        back = np.arange(1, max(1, int(context.max(initial=0))) + 1)[:, None]
        which = np.maximum(last - back, 0).flatten()
        return Part.of_ranges(starts[which], np.where((context >= back).flatten(), lengths[which], 0))
    # recurrence: every piece, after the piece before it
    before = np.maximum(np.arange(len(lengths)) - 1, 0)
    has_before = np.ones(len(lengths), dtype=bool)
    has_before[last - context] = False
    both = np.stack([np.where(has_before, lengths[before], 0), lengths], axis=1).flatten()
    return Part.of_ranges(np.stack([starts[before], starts], axis=1).flatten(), both, per_segment=2)


def make_batch(source: Sentences, target: Sentences, rows: Rows, layout: Layout, one_group: bool = False) -> Batch:
    """The batch of these rows for training and scoring. one_group: documents do not hide from each other."""
    source_side = flatten_side(source, rows, layout, close=True, one_group=one_group)
    target_side = flatten_side(target, layout.target_rows(rows), layout, close=False, one_group=one_group)
    return Batch(source_side, target_side, labels_of(target_side, layout.eos))


def labels_of(side: Side, eos: int) -> Tensor:
    """What follows each token of the current sentences: (current,)."""
    labels = side.tokens[(side.current + 1).clamp_max(len(side.tokens) - 1)]
    return labels.index_fill(0, side.sentences.starts[1:].long() - 1, eos)


def cut(lengths: tuple[Array, Array], budget: int, first: int | None = None) -> Array:
    """Cut rows into batches, filled in order as far as whole rows allow: (batches + 1,) boundaries.

    Neither side of a batch has more than `budget` tokens; the first one no more than `first`, unless its first row has.
    """
    totals = [np.concatenate([[0], np.cumsum(side)]) for side in lengths]
    bounds, start, allowed = [0], 0, budget if first is None else first
    while start < len(lengths[0]):
        end = min(int(np.searchsorted(total, total[start] + allowed, side="right")) - 1 for total in totals)
        start = max(end, start + 1)
        bounds.append(start)
        allowed = budget
    return np.array(bounds)


class Batches:
    """The batches of a corpus, epoch by epoch: the same for the same seed on every machine."""

    def __init__(
        self,
        documents: Array,
        source: Sentences,
        target: Sentences,
        settings: RowSettings,
        layout: Layout,
        budget: int,
        shuffle_rows: bool = False,
        times: Array | None = None,
    ) -> None:
        """shuffle_rows: rows stand alone (a sentence system), so they are mixed freely.

        times (documents,): how often an epoch of training sees each document; none: once.
        """
        if layout.slot:  # a row as long as the budget would leave no room for its slot
            settings = replace(settings, max_tokens=min(settings.max_tokens, budget - 1))
        self.documents, self.source, self.target = documents, source, target
        self.settings, self.layout, self.budget, self.times = settings, layout, budget, times
        self.shuffle_rows = shuffle_rows or settings.global_context == "irrelevant"

    def plan(self, rng: np.random.Generator | None = None) -> Plan:
        """Rows cut into batches; with `rng` as an epoch of training, without as they stand in the corpus."""
        rows = document_rows(
            self.documents, self.source, self.target, self.settings, self.layout.index_tokens, rng, self.times
        )
        first = None
        if rng is not None:
            if self.shuffle_rows:
                rows = rows.take(rng.permutation(len(rows)))
            # Moves every later boundary, so that even a corpus of one long document is cut anew each epoch.
            first = int(rng.integers(self.budget // 4, self.budget + 1))
            rows = mix(rows, self.settings.mixed or 0.0, rng)
        source, target = row_lengths(rows, self.source, self.target, self.layout.target_context)
        bounds = cut((source + self.layout.slot, target + self.layout.slot), self.budget, first)
        order = np.arange(len(bounds) - 1) if rng is None else rng.permutation(len(bounds) - 1)
        lengths_read = np.diff(self.target.ends)[rows.sentence] + 1
        totals = np.concatenate([[0], np.cumsum(lengths_read)])
        return Plan(self, rows, bounds, order, (totals[bounds[1:]] - totals[bounds[:-1]])[order])


@dataclass(frozen=True)
class Plan:
    """An epoch's batches, not yet laid out."""

    batches: Batches
    rows: Rows
    bounds: Array  # (batches + 1,) in rows
    order: Array  # (batches,)
    labels: Array  # (batches,) how many tokens each batch predicts, in the order of `order`

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, number: int) -> Batch:
        which = self.order[number]
        rows = self.rows.take(slice(self.bounds[which], self.bounds[which + 1]))
        # Rows that stay alone come last, so that they do not stand between rows that see each other.
        rows = rows.take(np.argsort(rows.group < 0, kind="stable"))
        source = self.batches
        return make_batch(source.source, source.target, rows, source.layout, not source.settings.document_mask)
