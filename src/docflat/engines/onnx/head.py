"""The graph of a head: states to the best words that may follow, or to the log-probabilities of given ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from docflat.engines.onnx.graph import FLOAT, INT8, INT64, Graph
from docflat.engines.onnx.layers import Layers, Rounded
from docflat.engines.onnx.weights import Weights
from docflat.model.sizes import ModelSizes, Vocabulary

STRETCH = 40  # words of a list, of which one maximum is taken
PIECE = 8192  # words at most, whose logits are made, summed and searched before others: they stay in the cache

DESCRIPTION = """States to words.
states (states, dim): of the decoder. count (1,): how many words are asked for. labels (states,): words, any.
best, words (states, count): log-probabilities of the best words that are text, and these; ends (states,): of </s>;
label_log_probabilities (states,): of the labels."""

SHORTLIST_DESCRIPTION = """States to words, of which only those of a shortlist are weighed.
states (rows * hypotheses, dim): of the decoder. count (1,): how many words are asked for.
columns (dim, listed), scale and logits_bias: as the graph `listed` makes them, those that it makes. There are a whole
number of stretches of 40 words; those that fill the last one up are unlisted.
unlisted (rows, 1, listed): 0 for words that a row can become, minus infinity for those that only others can.
weights (rows, 1, listed): the logarithm of how many words each stands for in the sum that log-probabilities are of.
best, words (states, count): log-probabilities of the best words that are text, and these, counted in the list from 0;
ends (states,): of </s>."""

LISTED_DESCRIPTION = """The weights of some words, for the graph `shortlist`.
list (listed,): ids, the special symbols first. columns (dim, listed), in int8 with scale (listed,); logits_bias
(listed,) where the model has it."""


def target_table(sizes: ModelSizes) -> str:
    """The matrix that makes logits."""
    return "separate_embedding" if sizes.architecture.separate_embeddings else "embedding"


@dataclass(frozen=True)
class Piece:
    """Some words of the vocabulary, one after the other."""

    start: int
    end: int
    logits: str  # (states, words)
    likely: int  # a word of it that can be written, counted in it from 0


@dataclass(frozen=True)
class Candidates:
    """Words among which the best ones are: (states, candidates) each."""

    logits: str
    words: str


def head_graph(weights: Weights, sizes: ModelSizes, vocabulary: Vocabulary) -> Graph:
    graph = Graph("head", DESCRIPTION)
    layers = Layers(graph, weights, sizes)
    states = graph.input("states", FLOAT, "states", sizes.dim)
    layers.has_rows_of(states)
    count, labels = graph.input("count", INT64, 1), graph.input("labels", INT64, "states")
    first = vocabulary.mask + 1
    rounded = layers.round(states)
    pieces = [_piece(layers, rounded, start, end) for start, end in _bounds(vocabulary.text_size)]
    candidates = [_candidates(graph, piece, count, first) for piece in pieces]
    total = _total(graph, pieces)
    end = next(piece for piece in pieces if piece.start <= vocabulary.eos < piece.end)
    ends = graph.add("Gather", end.logits, graph.constant(vocabulary.eos - end.start, INT64), axis=1)
    graph.output(graph.add("Sub", ends, graph.add("Squeeze", total, graph.ints(1))), "ends", FLOAT, "states")
    scores = graph.add("Sub", _label_logits(graph, pieces, labels), total)
    graph.output(graph.add("Squeeze", scores, graph.ints(1)), "label_log_probabilities", FLOAT, "states")
    logits = graph.add("Concat", *(one.logits for one in candidates), axis=1)
    words = graph.add("Concat", *(one.words for one in candidates), axis=1)
    _text_only(graph, graph.add("Sub", logits, total), words, count, first)
    return graph


def _bounds(size: int) -> list[tuple[int, int]]:
    """Pieces of about the same size, of whole stretches; what is left is one more."""
    count, whole = -(-size // PIECE), size // STRETCH * STRETCH
    edges = {size * n // count // STRETCH * STRETCH for n in range(count)}
    return list(pairwise(sorted({*edges, whole, size})))


def _piece(layers: Layers, rounded: Rounded, start: int, end: int) -> Piece:
    name = target_table(layers.sizes)
    bias, likely = None, 0
    if layers.sizes.architecture.logits_bias:
        numbers = layers.weights.vector(f"{name}.bias")[start:end]
        bias = layers.graph.weight(f"{name}.bias[{start}:{end}]", numbers)
        likely = int(numbers.argmax())
    matrix = layers.weights.matrix(f"{name}.weight").part(start, end)
    return Piece(start, end, layers.product(rounded, matrix, bias), likely)


def _candidates(graph: Graph, piece: Piece, count: str, first: int) -> Candidates:
    """Those of a piece."""
    size = piece.end - piece.start
    special = max(0, first - piece.start)  # symbols that may be among the best and are not asked for
    if size % STRETCH or special > STRETCH:
        most = graph.add("Min", graph.add("Add", count, graph.ints(special)), graph.ints(size))
        logits, which = _top(graph, piece.logits, most)
    else:
        logits, which = _of_stretches(graph, piece.logits, count, special > 0)
    return Candidates(logits, graph.add("Add", which, graph.constant(piece.start, INT64)))


def _of_stretches(graph: Graph, logits: str, count: str, special: bool) -> tuple[str, str]:
    """All of the stretches with the best maxima: (states, candidates) each."""
    stretches = graph.add("Reshape", logits, graph.ints(0, -1, STRETCH))
    maxima = graph.add("ReduceMax", stretches, graph.ints(2), keepdims=0)
    number = graph.add("Shape", maxima, start=1)
    # One more: the special symbols are in the first one.
    most = graph.add("Min", graph.add("Add", count, graph.ints(int(special))), number)
    _, chosen = _top(graph, maxima, most)  # (states, stretches)
    values = graph.add("GatherND", stretches, graph.add("Unsqueeze", chosen, graph.ints(2)), batch_dims=1)
    start = graph.add("Unsqueeze", graph.add("Mul", chosen, graph.ints(STRETCH)), graph.ints(2))
    words, flat = graph.add("Add", start, graph.constant(np.arange(STRETCH), INT64)), graph.ints(0, -1)
    return graph.add("Reshape", values, flat), graph.add("Reshape", words, flat)


def _total(graph: Graph, pieces: Sequence[Piece]) -> str:
    """The logarithm of the sum of all exponentials: (states, 1)."""
    parts = []
    for piece in pieces:
        # By a row's LogSoftmax: sums of ReduceSum are made in an order that depends on where in memory a row starts.
        # Any word tells it, but one that is never written: of its logit nothing is left beside such a sum.
        one, start, end = (graph.ints(n) for n in (1, piece.likely, piece.likely + 1))
        shares = graph.add("LogSoftmax", piece.logits, axis=-1)
        of_one = (graph.add("Slice", x, start, end, one) for x in (piece.logits, shares))
        parts.append(graph.add("Sub", *of_one))
    if len(parts) == 1:
        return parts[0]
    most = graph.add("Max", *parts)
    shares = graph.add("Sum", *(graph.add("Exp", graph.add("Sub", part, most)) for part in parts))
    return graph.add("Add", graph.add("Log", shares), most)


def _label_logits(graph: Graph, pieces: Sequence[Piece], labels: str) -> str:
    """Of the label of each state: (states, 1)."""
    wanted = graph.add("Unsqueeze", labels, graph.ints(1))
    chosen = ""
    for piece in pieces:
        place = graph.add("Sub", wanted, graph.constant(piece.start, INT64))
        last = graph.constant(piece.end - piece.start - 1, INT64)
        inside = graph.add("Max", graph.add("Min", place, last), graph.constant(0, INT64))
        logits = graph.add("GatherElements", piece.logits, inside, axis=1)
        chosen = graph.add("Where", graph.add("Equal", place, inside), logits, chosen) if chosen else logits
    return chosen


def shortlist_graph(weights: Weights, sizes: ModelSizes, vocabulary: Vocabulary) -> Graph:
    """The same for words whose weights are inputs."""
    graph = Graph("shortlist", SHORTLIST_DESCRIPTION)
    layers, first = Layers(graph, weights, sizes), vocabulary.mask + 1
    states = graph.input("states", FLOAT, "states", sizes.dim)
    layers.has_rows_of(states)
    count = graph.input("count", INT64, 1)
    logits = _listed_logits(layers, states)
    unlisted = graph.input("unlisted", FLOAT, "rows", 1, "listed")
    rows, listed = (graph.add("Slice", graph.add("Shape", unlisted), graph.ints(n), graph.ints(n + 1)) for n in (0, 2))
    by_row = graph.add("Reshape", logits, graph.add("Concat", rows, graph.ints(-1), listed, axis=0))
    weights_of_words = graph.input("weights", FLOAT, "rows", 1, "listed")
    by_state = graph.add("Concat", graph.ints(-1), listed, axis=0)
    logits, weighted = (
        graph.add("Reshape", graph.add("Add", by_row, change), by_state) for change in (unlisted, weights_of_words)
    )
    # Where in the list a row's words stand depends on the other rows. In float64 the sum does not, as far as a float32
    # can tell.
    last = graph.ints(1)
    largest = graph.add("ReduceMax", weighted, last, keepdims=1)
    shares = graph.add("Exp", graph.add("Sub", weighted, largest))
    total = graph.add("ReduceSum", graph.add("Cast", shares, to=DOUBLE), last, keepdims=1)
    total = graph.add("Add", graph.add("Cast", graph.add("Log", total), to=SINGLE), largest)
    ends = graph.add("Gather", logits, graph.constant(vocabulary.eos, INT64), axis=1)
    graph.output(graph.add("Sub", ends, graph.add("Squeeze", total, last)), "ends", FLOAT, "states")
    if first > STRETCH:
        values, which = _top(graph, logits, graph.add("Min", graph.add("Add", count, graph.ints(first)), listed))
    else:
        values, which = _of_stretches(graph, logits, count, special=True)
    _text_only(graph, graph.add("Sub", values, total), which, count, first)
    return graph


DOUBLE, SINGLE = 11, 1  # TensorProto.DataType


def _text_only(graph: Graph, values: str, which: str, count: str, first: int) -> None:
    """The outputs of a head: of these words and their log-probabilities the best that are text."""
    special = graph.add("Less", which, graph.constant(first, INT64))
    values, place = _top(graph, graph.add("Where", special, graph.constant(-np.inf, FLOAT), values), count)
    graph.output(values, "best", FLOAT, "states", "count")
    graph.output(graph.add("GatherElements", which, place, axis=1), "words", INT64, "states", "count")


def _top(graph: Graph, x: str, count: str) -> tuple[str, str]:
    number = len(graph.nodes)
    values, which = graph.add_many("TopK", x, count, names=(f"top_{number}", f"which_{number}"), axis=-1)
    return values, which


def _listed_logits(layers: Layers, states: str) -> str:
    graph, int8 = layers.graph, layers.weights.int8
    columns = graph.input("columns", INT8 if int8 else FLOAT, layers.sizes.dim, "listed")
    if int8:
        logits = layers.int8_product(layers.round(states), columns, graph.input("scale", FLOAT, "listed"))
    else:
        logits = graph.add("MatMul", states, columns)
    if layers.sizes.architecture.logits_bias:
        logits = graph.add("Add", logits, graph.input("logits_bias", FLOAT, "listed"))
    return logits


def listed_graph(weights: Weights, sizes: ModelSizes) -> Graph:
    """The inputs of `shortlist_graph` that say which words are listed."""
    graph = Graph("listed", LISTED_DESCRIPTION)
    words = graph.input("list", INT64, "listed")
    name = target_table(sizes)
    matrix = weights.matrix(f"{name}.weight")
    rows = graph.add("Gather", graph.weight(matrix.name, matrix.numbers), words, axis=0)
    graph.add("Transpose", rows, perm=(1, 0), name="columns")
    graph.declare_output("columns", INT8 if weights.int8 else FLOAT, sizes.dim, "listed")
    vectors = (
        {"logits_bias": (f"{name}.bias", weights.vector(f"{name}.bias"))} if sizes.architecture.logits_bias else {}
    )
    if matrix.scale is not None:
        vectors["scale"] = (f"{name}.weight.scale", matrix.scale)
    for output, (stored, array) in vectors.items():
        graph.add("Gather", graph.weight(stored, array), words, axis=0, name=output)
        graph.declare_output(output, FLOAT, "listed")
    return graph
