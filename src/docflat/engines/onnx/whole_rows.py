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
PLACES = 2048  # tokens that are read at once, padding among them


def read_rows(
    target: Session, reader: Session, memory: Memory, side: FlatSide, flat: bool, asked: Array, outputs: Sequence[str]
) -> list[Array]:
    """Outputs of the reader for some tokens of a side, (asked, dim) each; those of all tokens if all are asked for.

    flat: current sentences see each other; asked: tokens, in order. Rows of like length are read together: attention is
    padded to the longest, and takes the square of it.
    """
    embedded = embed(target, side, flat)
    starts, lengths = side.rows.starts.astype(np.int64), side.rows.lengths
    asked_starts = np.searchsorted(asked, starts)
    made = [np.empty((len(asked), embedded.shape[1]), dtype=np.float32) for _ in outputs]
    for rows in of_like_length(lengths):
        tokens = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
        some = np.concatenate([np.arange(asked_starts[row], asked_starts[row + 1]) for row in rows])
        counts = asked_starts[rows + 1] - asked_starts[rows]
        places = asked[some] - np.repeat(starts[rows], counts)  # (some,) in their rows
        part = memory.take(rows)
        inputs = {**part.parts, "memory_hidden": part.hidden, "embedded": embedded[tokens]}
        inputs |= _padding(FlatSegments.of_lengths(lengths[rows]), FlatSegments.of_lengths(counts), places)
        inputs = {name: array for name, array in inputs.items() if name in reader.inputs}  # a recurrence has no bias
        for array, read in zip(made, reader.run(outputs, inputs), strict=True):
            array[some] = read
    return made


def of_like_length(lengths: Array) -> list[Array]:
    """Rows in parts of so many places once they are padded: what is short, or alone, makes slow products."""
    order = np.argsort(-lengths, kind="stable")
    parts: list[list[int]] = []
    for row in order.tolist():
        if not parts or (len(parts[-1]) + 1) * lengths[parts[-1][0]] > PLACES:
            parts.append([])
        parts[-1].append(row)
    return [np.array(part, dtype=np.int64) for part in parts]


def _padding(rows: FlatSegments, some: FlatSegments, places: Array) -> dict[str, Array]:
    """How rows are padded, and the tokens of each that are asked for, which stand at these places of theirs."""
    whole, asked = Padded.of(rows), Padded.of(some)
    bias, starts = causal(whole.padded.shape[1]), np.repeat(rows.starts[:-1].astype(np.int64), some.lengths)
    inputs = {"padded": whole.padded, "back": whole.back, "bias": bias, "asked": starts + places}
    inputs |= {"asked_padded": asked.padded, "asked_back": asked.back}
    return inputs | {"asked_bias": bias[places[asked.padded]][:, None]}


def embed(target: Session, side: FlatSide, flat: bool) -> Array:
    """The tokens of a side as the reader reads them: (tokens, dim)."""
    inputs = {"tokens": side.tokens, "positions": side.positions}
    if flat:
        groups = Padded.of(side.groups)
        merged = np.arange(len(side.tokens))
        merged[side.current] = len(merged) + np.arange(len(side.current))
        inputs |= {"flat": side.current, "flat_padded": groups.padded, "flat_back": groups.back, "merged": merged}
        inputs["flat_bias"] = causal(groups.padded.shape[1])
    (embedded,) = target.run(["embedded"], inputs)
    return embedded


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
