"""Whole target rows in one run of the decoder, as scoring and word alignment want them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from docflat.data.flat_layout import FlatSide
from docflat.data.rows import Array
from docflat.engines.onnx.others import Others
from docflat.engines.onnx.padding import HIDDEN, Padded
from docflat.engines.onnx.search import Memory
from docflat.engines.onnx.sessions import Session
from docflat.model.sizes import ModelSizes

CHUNK = 256  # states whose words are scored at once


def decode_rows(
    sizes: ModelSizes, decoder: Session, memory: Memory, side: FlatSide, others: Others | None, output: str
) -> Array:
    """An output of the decoder for each token of the side: (tokens, dim)."""
    rows = Padded.of(side.rows)
    count, longest = rows.padded.shape
    place = np.arange(longest)
    slots = np.ascontiguousarray(np.broadcast_to(place, (count, longest)))
    inputs = {**memory.parts, "memory_hidden": memory.hidden, "slots": slots, "bias": causal(slots, longest)}
    inputs |= {"tokens": side.tokens[rows.padded], "positions": side.positions[rows.padded]}
    caches = [f"{kind}_{number}" for number in range(sizes.decoder_layers) for kind in ("keys", "values")]
    inputs |= dict.fromkeys(caches, _empty(sizes, count, longest))
    if others is not None:
        # Tokens of the context are not among those that see each other; theirs is a slot behind all others, as is that
        # of padding.
        most = side.sentences.longest
        is_current = np.zeros(len(side.tokens), dtype=bool)
        is_current[side.current] = True
        nth = np.full(len(side.tokens), most)
        nth[side.current] = np.arange(len(side.current)) - np.repeat(side.sentences.starts[:-1], side.sentences.lengths)
        flat_slots = np.where(rows.hidden[:, 0, 0] == 0, nth[rows.padded], most)
        inputs |= {"flat_slots": flat_slots, "flat_bias": causal(flat_slots, most + 1)}
        inputs |= dict.fromkeys(("flat_keys", "flat_values"), _empty(sizes, count, most + 1))
        inputs |= {"current": is_current[rows.padded], **others.inputs()}
    (made,) = decoder.run([output], inputs)
    return made[rows.back]


def causal(slots: Array, room: int) -> Array:
    """What to add to scores of tokens that see all slots up to their own, (rows, new): (rows, 1, new, room)."""
    return np.where(np.arange(room) <= slots[:, :, None], np.float32(0), HIDDEN)[:, None]


def _empty(sizes: ModelSizes, rows: int, room: int) -> Array:
    return np.zeros((rows, sizes.heads, room, sizes.dim // sizes.heads), dtype=np.float32)


def label_scores(head: Session, states: Array, labels: Array) -> Array:
    """Log-probabilities of labels: (states, dim), (states,) -> (states,)."""
    scores = [np.zeros(0, dtype=np.float32)]
    for start in range(0, len(states), CHUNK):
        part = slice(start, start + CHUNK)
        inputs = {"states": np.ascontiguousarray(states[part]), "count": np.ones(1, dtype=np.int64)}
        (all_,) = head.run(["log_probabilities"], inputs)
        scores.append(all_[np.arange(len(all_)), labels[part]])
    return np.concatenate(scores)


def attention_weights(memory: Memory, asked: Array, side: FlatSide, layer: int, heads: int) -> Iterator[Array]:
    """Of each row, what its tokens read of its source: (target tokens, source tokens), the mean of the heads.

    asked (tokens, dim): what the layer asks the source.
    """
    keys = memory.parts[f"memory_keys_{layer}"]  # (rows, heads, longest, size)
    lengths = (memory.hidden[:, 0, 0] == 0).sum(1)
    for row, (start, end) in enumerate(pairwise(side.rows.starts.tolist())):
        query = asked[start:end].reshape(end - start, heads, -1).transpose(1, 0, 2)
        scores = query @ keys[row, :, : lengths[row]].transpose(0, 2, 1) * query.shape[-1] ** -0.5
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        yield (weights / weights.sum(-1, keepdims=True)).mean(0)
