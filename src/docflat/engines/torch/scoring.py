"""Scoring given text: log-probabilities of labels, and of several translations that share their source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from docflat.data.flat_layout import FlatSide
from docflat.data.rows import Array
from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, TargetAttending
from docflat.model.layers import Attention, Reach, attend
from docflat.model.segments import Segments
from docflat.model.transformer import Transformer


def token_scores(logits: Tensor, labels: Tensor, spread: Tensor | None = None) -> Tensor:
    """Log-probabilities of the labels: (labels,). spread (labels,): which of the logits is for each of them."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    which = torch.arange(len(labels), device=labels.device) if spread is None else spread
    return logits[which, labels] - logits.logsumexp(-1)[which]


@torch.inference_mode()
def score_candidates(
    model: Transformer, source: FlatSide, target: FlatSide, counts: Array, labels: Array
) -> Callable[[], Array]:
    """As `Engine.score_candidates`."""
    device = model.embedding.weight.device
    sharing = Sharing.of_rows(target, counts, model.looks_ahead).to(device)
    memory = model.encode(Side.of_flat(source).to(device))
    states = decode_candidates(model, Side.of_flat(target).to(device), memory, sharing)
    logits = model.target_embedding.logits(states[sharing.current_first])
    scores = token_scores(logits, torch.from_numpy(labels).to(device), sharing.current_spread)
    return lambda: scores.cpu().numpy()


@dataclass(frozen=True)
class Sharing:
    """Translations of one source that begin alike: a decoder has the same states there, and computes them once."""

    row: Tensor  # (rows,) which source row each target row translates
    first: Tensor  # (computed,) which tokens of the target side are computed
    spread: Tensor  # (tokens,) which of these each token is
    current_first: Tensor  # (computed current,) the same among the tokens of the current sentences
    current_spread: Tensor  # (current,)
    sources: Segments  # over the computed tokens: one segment a source row

    @classmethod
    def of_rows(cls, side: FlatSide, counts: Array, looks_ahead: bool) -> Sharing:
        """counts (source rows,): the target rows of each. looks_ahead: states differ before the words do."""
        source = np.repeat(np.arange(len(counts)), counts)  # (rows,)
        itself = np.arange(len(side.tokens))
        same = itself if looks_ahead else same_beginnings(side, (np.cumsum(counts) - counts)[source])
        current = side.current
        first, spread = distinct(same)
        current_first, current_spread = distinct(np.searchsorted(current, same[current]))
        of_source = np.repeat(source, side.rows.lengths)
        return cls(
            torch.from_numpy(source),
            torch.from_numpy(first),
            torch.from_numpy(spread),
            torch.from_numpy(current_first),
            torch.from_numpy(current_spread),
            Segments.of_lengths(np.bincount(of_source[first], minlength=len(counts))),
        )

    def to(self, device: torch.device) -> Sharing:
        def move(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        return Sharing(
            move(self.row),
            move(self.first),
            move(self.spread),
            move(self.current_first),
            move(self.current_spread),
            self.sources.map_tensors(move),
        )


def same_beginnings(side: FlatSide, leader: Array) -> Array:
    """leader (rows,): the row that each is compared with. For each token the one it equals, itself if there is none.

    Tokens are equal if all before them are too: (tokens,).
    """
    tokens, starts = side.tokens, side.rows.starts.astype(np.int64)
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    itself = np.arange(len(tokens))
    place = itself - starts[row]
    other = starts[leader[row]] + place  # the same place in the leader, unless that is shorter
    inside = other < starts[leader[row] + 1]
    differs = ~inside | (tokens[np.where(inside, other, 0)] != tokens)
    alike = np.minimum.reduceat(np.where(differs, place, len(tokens)), starts[:-1])  # (rows,) how many tokens
    return np.where(place < alike[row], other, itself)


def distinct(same: Array) -> tuple[Array, Array]:
    """Those that equal themselves, and for each which of these it equals."""
    leads = same == np.arange(len(same))
    return np.flatnonzero(leads), (np.cumsum(leads) - 1)[same]


class SharedAttending(TargetAttending):
    """Attention of the computed tokens of target rows that share their beginnings and their source."""

    def __init__(self, side: Side, memory: Memory, sharing: Sharing, paired: bool) -> None:
        super().__init__(side, memory)
        self.sharing = sharing
        # One that reads sentence by sentence needs them beside each row.
        self.beside = TargetAttending(side, memory.take(sharing.row, side.row_pieces.lengths)) if paired else None

    def self_attention(self, attention: Attention, x: Tensor, reach: Reach, earlier: Tensor | None = None) -> Tensor:
        first, spread = self.sharing.first, self.sharing.spread
        if earlier is not None:
            return super().self_attention(attention, x[spread], reach, earlier[spread])[first]
        query, key, value = (part[spread] for part in attention.project(x))
        segments = self.side.pieces if reach == "sentence" else self.side.rows
        return attention.join(attend(query, key, value, segments, segments, causal=True)[first])

    def cross_attention(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        memory, sources = self.memory, self.sharing.sources
        if reach == "context":
            assert memory.context is not None
            return attention.across(x, memory.context[0], sources, memory.context[1])
        if self.beside is not None:
            return self.beside.cross_attention(attention, x[self.sharing.spread], reach)[self.sharing.first]
        return attention.across(x, memory.states, sources, memory.rows)


def decode_candidates(model: Transformer, target: Side, memory: Memory, sharing: Sharing) -> Tensor:
    """As `Transformer.decode`, for several target rows to each row of the source: (current, dim)."""
    vector = None if memory.vector is None else memory.vector[sharing.row]
    x = model.mix_target(model.embed_target(target), target, replace(memory, vector=vector))
    attending = SharedAttending(target, memory, sharing, model.paired)
    states = model.decode_layers(x[sharing.first], attending)[sharing.spread]
    return model.finish(states[target.current], states, attending)
