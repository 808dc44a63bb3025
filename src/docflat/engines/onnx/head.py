"""The graph of a head: states to the best words that may follow, or to the log-probabilities of all."""

from __future__ import annotations

import numpy as np

from docflat.engines.onnx.graph import FLOAT, INT8, INT64, Graph
from docflat.engines.onnx.layers import Layers
from docflat.engines.onnx.weights import Weights
from docflat.model.sizes import ModelSizes, Vocabulary

STRETCH = 128  # words of the vocabulary, of which one maximum is taken

DESCRIPTION = """States to words.
states (states, dim): of the decoder. count (1,): how many words are asked for.
best, words (states, count): log-probabilities of the best words that are text, and these; ends (states,): of </s>.
log_probabilities (states, words): of all."""

SHORTLIST_DESCRIPTION = """States to words, of which only those of a shortlist are weighed.
states (rows * hypotheses, dim): of the decoder. count (1,): how many words are asked for.
columns (dim, listed), scale and logits_bias: as the graph `listed` makes them, those that it makes.
unlisted (rows, 1, listed): 0 for words that a row can become, minus infinity for those that only others can.
best, words (states, count): log-probabilities of the best words that are text, and these, counted in the list from 0;
ends (states,): of </s>."""

LISTED_DESCRIPTION = """The weights of some words, for the graph `shortlist`.
list (listed,): ids, the special symbols first. columns (dim, listed), in int8 with scale (listed,); logits_bias
(listed,) where the model has it."""


def target_table(sizes: ModelSizes) -> str:
    """The matrix that makes logits."""
    return "separate_embedding" if sizes.architecture.separate_embeddings else "embedding"


def head_graph(weights: Weights, sizes: ModelSizes, vocabulary: Vocabulary) -> Graph:
    graph = Graph("head", DESCRIPTION)
    layers = Layers(graph, weights, sizes)
    states = graph.input("states", FLOAT, "states", sizes.dim)
    layers.has_rows_of(states)
    count = graph.input("count", INT64, 1)
    name, size = target_table(sizes), vocabulary.text_size
    bias = layers.vector(f"{name}.bias") if sizes.architecture.logits_bias else None
    logits = layers.product(layers.round(states), weights.matrix(f"{name}.weight").part(0, size), bias)
    graph.add("LogSoftmax", logits, axis=-1, name="log_probabilities")
    graph.declare_output("log_probabilities", FLOAT, "states", size)
    graph.add("Gather", "log_probabilities", graph.constant(vocabulary.eos, INT64), axis=1, name="ends")
    graph.declare_output("ends", FLOAT, "states")
    first = vocabulary.mask + 1
    if size % STRETCH or first > STRETCH:
        # The special symbols may be among the best.
        most = graph.add("Min", graph.add("Add", count, graph.ints(first)), graph.ints(size))
        values, which = _top(graph, "log_probabilities", most)
    else:
        values, which = _candidates(graph, count, size)
    _text_only(graph, values, which, count, first)
    return graph


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
    logits = graph.add(
        "Reshape", graph.add("Add", by_row, unlisted), graph.add("Concat", graph.ints(-1), listed, axis=0)
    )
    # Where in the list a row's words stand depends on the other rows. In float64 the sum does not, as far as a float32
    # can tell.
    last = graph.ints(1)
    largest = graph.add("ReduceMax", logits, last, keepdims=1)
    shares = graph.add("Exp", graph.add("Sub", logits, largest))
    total = graph.add("ReduceSum", graph.add("Cast", shares, to=DOUBLE), last, keepdims=1)
    total = graph.add("Add", graph.add("Cast", graph.add("Log", total), to=SINGLE), largest)
    ends = graph.add("Gather", logits, graph.constant(vocabulary.eos, INT64), axis=1)
    graph.output(graph.add("Sub", ends, graph.add("Squeeze", total, last)), "ends", FLOAT, "states")
    most = graph.add("Min", graph.add("Add", count, graph.ints(first)), listed)
    values, which = _top(graph, logits, most)
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


def _candidates(graph: Graph, count: str, size: int) -> tuple[str, str]:
    """Words among which the best ones are, all of the stretches with the best maxima: (states, candidates) each."""
    stretches = graph.add("Reshape", "log_probabilities", graph.ints(0, size // STRETCH, STRETCH))
    maxima = graph.add("ReduceMax", stretches, graph.ints(2), keepdims=0)
    # One more: the special symbols are in the first one.
    most = graph.add("Min", graph.add("Add", count, graph.ints(1)), graph.ints(size // STRETCH))
    _, first = _top(graph, maxima, most)  # (states, stretches)
    values = graph.add("GatherND", stretches, graph.add("Unsqueeze", first, graph.ints(2)), batch_dims=1)
    start = graph.add("Unsqueeze", graph.add("Mul", first, graph.ints(STRETCH)), graph.ints(2))
    words = graph.add("Add", start, graph.constant(np.arange(STRETCH), INT64))
    flat = graph.ints(0, -1)
    return graph.add("Reshape", values, flat), graph.add("Reshape", words, flat)


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
