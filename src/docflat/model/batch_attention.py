"""Attending over whole flat batches: what the layers of encoder and decoder are handed in training and scoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.layers import Attention, Reach, attend
from docflat.model.segments import Segments


@dataclass(frozen=True)
class Memory:
    """The encoded source: what a decoder reads."""

    states: Tensor  # (source tokens, dim)
    rows: Segments  # over states
    pieces: Segments  # over states: the sentences of the rows
    row_pieces: Segments  # over pieces: one segment a row
    context: tuple[Tensor, Segments] | None = None  # (tokens, dim), encoded apart, one segment a row
    vector: Tensor | None = None  # (rows, dim): one for each row
    loss: Tensor | None = None  # of a task beside translation, as a mean

    @classmethod
    def of_side(cls, states: Tensor, side: Side) -> Memory:
        return cls(states, side.rows, side.pieces, side.row_pieces)

    def take(self, rows: Tensor, sentences: Tensor) -> Memory:
        """Of some rows only. sentences (rows,): how many of each are told apart, the older ones count as one."""
        index, segments = self.rows.take(rows)
        which, row_pieces = self.row_pieces.take(rows)
        _, pieces = self.pieces.take(which)
        nth = (
            torch.arange(len(which), device=rows.device) - row_pieces.starts[:-1].long()[row_pieces.number(len(which))]
        )
        surplus = (row_pieces.lengths - sentences).clamp_min(0)[row_pieces.number(len(which))]
        starts = pieces.starts[:-1][(nth == 0) | (nth > surplus)]
        pieces = Segments(torch.cat([starts, pieces.starts[-1:]]), segments.longest)
        counts = torch.minimum(row_pieces.lengths, sentences)
        row_pieces = Segments(nn.functional.pad(counts.cumsum(0), (1, 0)).int(), int(counts.max()))
        context = self.context
        if context is not None:
            where, parts = context[1].take(rows)
            context = (context[0][where], parts)
        vector = None if self.vector is None else self.vector[rows]
        return Memory(self.states[index], segments, pieces, row_pieces, context, vector)


class SegmentAttending:
    """Attention within segments of a flat sequence, and nothing else."""

    def __init__(self, segments: Segments, causal: bool = False) -> None:
        self.segments, self.causal = segments, causal

    def self_attention(self, attention: Attention, x: Tensor, reach: Reach, earlier: Tensor | None = None) -> Tensor:
        return attention.over(x, self.segments, self.causal)

    def cross_attention(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        raise TypeError("there is no other side to attend to")

    def previous_attention(self, attention: Attention, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        raise TypeError("there are no previous sentences to attend to")

    def recur(self, recurrence: Any, x: Tensor) -> Tensor:
        raise TypeError("a recurrence is of target sides")


class SideAttending(SegmentAttending):
    """Attention within one side of a batch: on the source side all ways, on the target side to earlier tokens."""

    def __init__(self, side: Side, causal: bool) -> None:
        super().__init__(side.rows, causal)
        self.side = side

    def self_attention(self, attention: Attention, x: Tensor, reach: Reach, earlier: Tensor | None = None) -> Tensor:
        query, key, value = attention.project(x)
        old = None if earlier is None else attention.keys_values(earlier)
        self.note_self(attention, reach, key, value, old)
        if old is not None:
            return self._recurrent(attention, query, key, value, *old)
        segments = self.side.pieces if reach == "sentence" else self.side.rows
        return attention.join(attend(query, key, value, segments, segments, self.causal))

    def note_self(
        self, attention: Attention, reach: Reach, key: Tensor, value: Tensor, old: tuple[Tensor, Tensor] | None
    ) -> None:
        """For who keeps what tokens to come will see: here nobody. (tokens, heads, size) each."""

    def _recurrent(
        self, attention: Attention, query: Tensor, key: Tensor, value: Tensor, old_key: Tensor, old_value: Tensor
    ) -> Tensor:
        """A sentence after the one before it, which is seen as `earlier` shows it; (tokens, heads, size) each."""
        index, old, new, segments = self.recurrence(len(query))
        keys = torch.where(old[:, None, None], old_key[index], key[index])
        values = torch.where(old[:, None, None], old_value[index], value[index])
        # The queries of the sentence before are asked once more, for nothing: the causal kernel wants equal sides.
        return attention.join(attend(query[index], keys, values, segments, segments, causal=True)[new])

    def recurrence(self, tokens: int) -> tuple[Tensor, Tensor, Tensor, Segments]:
        """The part "recurrence": its tokens, which of them are of the sentence before, where the others are."""
        part, pieces = self.side.selections["recurrence"], self.side.pieces
        before = part.segments.lengths - pieces.lengths  # (pieces,)
        new = torch.arange(tokens, device=before.device) + before.cumsum(0)[pieces.number(tokens)]
        old = torch.ones(len(part.index), dtype=torch.bool, device=before.device).index_fill(0, new, False)
        return part.index, old, new, part.segments

    def previous_attention(self, attention: Attention, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        side, part = self.side, self.side.selections["previous"]
        distances = len(part.segments) // len(side.rows)
        queries = side.sentences.times(distances, len(x))
        key, value = attention.keys_values(states[part.index])
        query = attention.queries(x).repeat(distances, 1, 1)
        read = attention.join(attend(query, key, value, queries, part.segments))
        there = (part.segments.lengths > 0).unflatten(0, (distances, -1))[:, side.sentences.number(len(x))]
        return read.unflatten(0, (distances, -1)).transpose(0, 1), there.T


class TargetAttending(SideAttending):
    """Attention of a target side: to itself and to the encoded source."""

    def __init__(self, side: Side, memory: Memory) -> None:
        super().__init__(side, causal=True)
        self.memory = memory

    def cross_attention(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        memory, queries = self.memory, self.side.rows
        states, keys = memory.states, memory.rows
        if reach == "context":
            assert memory.context is not None
            states, keys = memory.context
        elif reach != "row":
            queries, keys = self.side.pieces, memory.pieces
        key, value = attention.keys_values(states)
        self.note_cross(attention, reach, key, value)
        return attention.join(attend(attention.queries(x), key, value, queries, keys))

    def recur(self, recurrence: Any, x: Tensor) -> Tensor:
        states: Tensor = recurrence.over(x, self.side.rows)
        self.note_states(recurrence, states)
        return states

    def note_states(self, recurrence: nn.Module, states: Tensor) -> None:
        """As `note_self`; (tokens, dim)."""

    def note_cross(self, attention: Attention, reach: Reach, key: Tensor, value: Tensor) -> None:
        """As `note_self`; of the whole source, or of the context that was encoded apart."""
