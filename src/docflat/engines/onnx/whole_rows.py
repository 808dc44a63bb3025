"""Whole target rows in one run of the reader, as scoring and word alignment want them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from docflat.data.flat_layout import FlatSegments, FlatSide
from docflat.data.rows import Array
from docflat.engines.onnx.padding import HIDDEN, Padded
from docflat.engines.onnx.search import Memory
from docflat.engines.onnx.sessions import Session

CHUNK = 256  # states whose words are scored at once


def read_rows(
    reader: Session, memory: Memory, side: FlatSide, flat: bool, asked: Array, outputs: Sequence[str]
) -> list[Array]:
    """Outputs of the reader for the rows of a side. flat: current sentences see each other; asked: tokens, in order."""
    rows = Padded.of(side.rows)
    per_row = np.diff(np.searchsorted(asked, side.rows.starts))
    some = Padded.of(FlatSegments.of_lengths(per_row))
    inputs = {**memory.parts, "memory_hidden": memory.hidden, "tokens": side.tokens, "positions": side.positions}
    inputs |= {"padded": rows.padded, "back": rows.back}
    inputs |= {"asked": asked, "asked_padded": some.padded, "asked_back": some.back}
    if "bias" in reader.inputs:  # not of a recurrence
        bias = causal(rows.padded.shape[1])
        inputs["bias"] = bias
        if len(asked) == len(side.tokens):
            inputs["asked_bias"] = np.broadcast_to(bias, (len(rows.padded), 1, *bias.shape))
        else:
            place = asked - np.repeat(side.rows.starts[:-1], per_row)  # (asked,) in their rows
            inputs["asked_bias"] = bias[place[some.padded]][:, None]
    if flat:
        groups = Padded.of(side.groups)
        merged = np.arange(len(side.tokens))
        merged[side.current] = len(merged) + np.arange(len(side.current))
        inputs |= {"flat": side.current, "flat_padded": groups.padded, "flat_back": groups.back, "merged": merged}
        inputs["flat_bias"] = causal(groups.padded.shape[1])
    return reader.run(outputs, inputs)


def causal(longest: int) -> Array:
    """What to add to scores of tokens that see all places up to their own: (longest, longest)."""
    place = np.arange(longest)
    return np.where(place <= place[:, None], np.float32(0), HIDDEN)


def label_scores(head: Session, states: Array, labels: Array) -> Array:
    """Log-probabilities of labels: (states, dim), (states,) -> (states,)."""
    scores = [np.zeros(0, dtype=np.float32)]
    for start in range(0, len(states), CHUNK):
        part = slice(start, start + CHUNK)
        inputs = {"states": np.ascontiguousarray(states[part]), "count": np.ones(1, dtype=np.int64)}
        inputs["labels"] = labels[part].astype(np.int64)
        scores += head.run(["label_log_probabilities"], inputs)
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
