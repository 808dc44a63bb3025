"""The graph of a head: states to the best words that may follow, or to the log-probabilities of all."""

from __future__ import annotations

import numpy as np

from docflat.engines.onnx.graph import FLOAT, INT8, INT64, Graph
from docflat.engines.onnx.layers import Layers
from docflat.engines.onnx.weights import Matrix, Weights
from docflat.model.sizes import ModelSizes, Vocabulary

STRETCH = 128  # words of the vocabulary, of which one maximum is taken

DESCRIPTION = """States to words.
states (states, dim): of the decoder. count (1,): how many words are asked for.
best, words (states, count): log-probabilities of the best words that are text, and these; ends (states,): of </s>.
log_probabilities (states, words): of all."""

SHORTLIST_DESCRIPTION = """
Of some words only: columns (dim, listed), their weights, with the special symbols first; `words` counts them from 0."""


def target_table(sizes: ModelSizes) -> str:
    """The matrix that makes logits."""
    return "separate_embedding" if sizes.architecture.separate_embeddings else "embedding"


def head_graph(weights: Weights, sizes: ModelSizes, vocabulary: Vocabulary, shortlist: bool) -> Graph:
    """shortlist: the weights of the words are inputs."""
    graph = Graph("shortlist" if shortlist else "head", DESCRIPTION + (SHORTLIST_DESCRIPTION if shortlist else ""))
    layers = Layers(graph, weights, sizes)
    states = graph.input("states", FLOAT, "states", sizes.dim)
    count = graph.input("count", INT64, 1)
    kind, name = sizes.architecture, target_table(sizes)
    if shortlist:
        logits = _listed(layers, states, name)
    else:
        text = weights.matrix(f"{name}.weight").part(0, vocabulary.text_size)
        bias = layers.vector(f"{name}.bias") if kind.logits_bias else None
        logits = layers.product(layers.round(states), text, bias)
    graph.add("LogSoftmax", logits, axis=-1, name="log_probabilities")
    graph.declare_output("log_probabilities", FLOAT, "states", "listed" if shortlist else vocabulary.text_size)
    graph.add("Gather", "log_probabilities", graph.constant(vocabulary.eos, INT64), axis=1, name="ends")
    graph.declare_output("ends", FLOAT, "states")
    first = vocabulary.mask + 1
    if shortlist or vocabulary.text_size % STRETCH or first > STRETCH:
        candidates = graph.add("Add", count, graph.ints(first))  # the special symbols may be among the best
        size = graph.add("Slice", graph.add("Shape", "log_probabilities"), graph.ints(1), graph.ints(2))
        values, which = _top(graph, "log_probabilities", graph.add("Min", candidates, size))
    else:
        values, which = _candidates(graph, count, vocabulary.text_size)
    special = graph.add("Less", which, graph.constant(first, INT64))
    values = graph.add("Where", special, graph.constant(-np.inf, FLOAT), values)
    values, place = _top(graph, values, count)
    graph.output(values, "best", FLOAT, "states", "count")
    graph.output(graph.add("GatherElements", which, place, axis=1), "words", INT64, "states", "count")
    return graph


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


def _listed(layers: Layers, states: str, name: str) -> str:
    """Logits of the words whose weights are inputs."""
    graph, int8 = layers.graph, layers.weights.int8
    columns = graph.input("columns", INT8 if int8 else FLOAT, layers.sizes.dim, "listed")
    if int8:
        logits = layers.int8_product(layers.round(states), columns, graph.input("scale", FLOAT, "listed"))
    else:
        logits = graph.add("MatMul", states, columns)
    if layers.sizes.architecture.logits_bias:
        logits = graph.add("Add", logits, graph.input("logits_bias", FLOAT, "listed"))
    return logits


def listed(weights: Weights, sizes: ModelSizes, words: np.ndarray) -> dict[str, np.ndarray]:
    """The inputs that say which words are listed; words (listed,): ids, the special symbols first."""
    matrix: Matrix = weights.matrix(f"{target_table(sizes)}.weight")
    inputs = {"columns": np.ascontiguousarray(matrix.numbers[words].T)}
    if matrix.scale is not None:
        inputs["scale"] = matrix.scale[words]
    if sizes.architecture.logits_bias:
        inputs["logits_bias"] = weights.vector(f"{target_table(sizes)}.bias")[words]
    return inputs
