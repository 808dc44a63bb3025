"""The graph of a decoder: a few tokens of each row, and what they leave for those after them."""

from __future__ import annotations

import numpy as np

from docflat.engines.onnx.encoder import mix
from docflat.engines.onnx.graph import BOOL, FLOAT, INT64, Graph
from docflat.engines.onnx.layers import Layers
from docflat.engines.onnx.weights import Weights
from docflat.model.sizes import ModelSizes

DESCRIPTION = """Decodes some tokens of each row: those of a prefix, or the newest token of every hypothesis.
tokens, positions (rows, new): ids, and their places in the row, from 0.
slots (rows, new): where in the caches the keys and values of these tokens go.
bias (rows, 1, new, room): 0 for slots that a token sees, itself among them, minus infinity for the others.
memory_keys_N, memory_values_N, as the encoder makes them; memory_hidden (rows, 1, 1, longest), its `hidden`.
keys_N, values_N (rows, heads, room, size): the caches of layer N. They come back as next_keys_N, next_values_N; bound
to the same memory (IO binding), nothing is copied.
states (rows * new, dim): what the head reads.
queries_N (rows * new, dim): what layer N asks the source: softmax of its products with memory_keys_N, times
size ** -0.5, is how a word looks at the source, as word alignment wants to know."""

FLAT_DESCRIPTION = """
Flat-batch attention, of tokens of current sentences, current (rows, new): the row's sentence so far is in a cache of
its own (flat_keys, flat_values, flat_slots, flat_bias; next_flat_keys, next_flat_values). Before it stands what it sees
of other rows, as the graph `context` makes it: context_keys, context_values (groups, heads, most, size).
context_bias (groups, 1, of_group, 1, most): 0, or -1e30 for what a row does not see.
by_group (groups * of_group,): which row stands at each place of a group, any where there is none.
by_row (rows,): where each row stands among those."""

CONTEXT_DESCRIPTION = """What flat-batch attention of the target side reads of other rows' sentences.
tokens, positions (tokens,): ids, and their places in their rows. padded (groups, most): which token stands where.
context_keys, context_values (groups, heads, most, size)."""


RECURRENT_DESCRIPTION = """
A recurrence stands in the place of self-attention, so there are no slots, no bias and no caches, but a vector a token:
state_N (rows, new, dim): the state of layer N before each token, zeros before the first; next_state_N after it.
Tokens of a row are of different hypotheses: a prefix of several tokens is read by the graph `reader`."""


def description(sizes: ModelSizes) -> str:
    return DESCRIPTION + (RECURRENT_DESCRIPTION if sizes.architecture.recurrent_decoder else "")


class DecoderGraph:
    """Adds the decoder to a graph of its own."""

    def __init__(self, weights: Weights, sizes: ModelSizes, flat: tuple[str, float] | None) -> None:
        """flat: gate and gamma of flat-batch attention on the target side, if there is any."""
        self.graph = Graph("decoder", description(sizes) + (FLAT_DESCRIPTION if flat else ""))
        self.layers, self.sizes = Layers(self.graph, weights, sizes), sizes
        graph = self.graph
        tokens, positions = (graph.input(name, INT64, "rows", "new") for name in ("tokens", "positions"))
        self.shape = graph.add("Shape", tokens)
        self.by_head = graph.add("Concat", self.shape, graph.ints(sizes.heads, self.layers.head_size), axis=0)
        if not sizes.architecture.recurrent_decoder:
            self.places = self._places(graph.input("slots", INT64, "rows", "new"))
            self.bias = graph.input("bias", FLOAT, "rows", 1, "new", "room")
        self.memory_hidden = graph.input("memory_hidden", FLOAT, "rows", 1, 1, "longest")
        one_row = graph.ints(-1)
        flat_tokens, flat_positions = (graph.add("Reshape", x, one_row) for x in (tokens, positions))
        table = "separate_embedding" if sizes.architecture.separate_embeddings else "embedding"
        self.layers.has_rows_of(flat_tokens)
        x = self.layers.embed(table, flat_tokens, flat_positions)
        if flat is not None:
            x = self._mix_rows(x, *flat)
        x = self.layers.norm(x, "target_norm")
        for number in range(sizes.decoder_layers):
            x = self._layer(x, number)
        graph.output(x, "states", FLOAT, "rows * new", sizes.dim)

    def _places(self, slots: str) -> str:
        """Row, head and slot of each part of a token: (rows, new, heads, 3)."""
        graph, heads = self.graph, self.sizes.heads
        zero, one = graph.constant(0, INT64), graph.constant(1, INT64)
        rows = graph.add("Gather", self.shape, zero, axis=0)
        whole = graph.add("Concat", self.shape, graph.ints(heads), axis=0)
        row = graph.add("Unsqueeze", graph.add("Range", zero, rows, one), graph.ints(1, 2))
        head = graph.constant(np.arange(heads), INT64)
        slot = graph.add("Unsqueeze", slots, graph.ints(2))
        wide = (graph.add("Unsqueeze", graph.add("Expand", x, whole), graph.ints(3)) for x in (row, head, slot))
        return graph.add("Concat", *wide, axis=3)

    def _cache(self, name: str, room: str, new: str, places: str) -> str:
        """What a cache holds with the new tokens, (rows * new, dim), in it: (rows, heads, room, size)."""
        graph, layers = self.graph, self.layers
        shape = ("rows", self.sizes.heads, room, layers.head_size)
        old = graph.input(name, FLOAT, *shape)
        by_head = graph.add("Reshape", new, self.by_head)
        made = graph.add("ScatterND", old, places, by_head, name=f"next_{name}")
        graph.declare_output(made, FLOAT, *shape)
        return made

    def _by_row(self, x: str) -> str:
        """(rows * new, dim) -> (rows, heads, new, size)."""
        return self.layers.heads_first(self.graph.add("Reshape", x, self.by_head))

    def _mix_rows(self, x: str, gate: str, gamma: float) -> str:
        """Flat-batch attention and its gate, where a token is of a current sentence: (rows * new, dim)."""
        graph, layers, dim, name = self.graph, self.layers, self.sizes.dim, "target_flat.attention.qkv"
        rounded = layers.round(x)
        query, key, value = (layers.some(rounded, name, n * dim, (n + 1) * dim) for n in range(3))
        places = self._places(graph.input("flat_slots", INT64, "rows", "new"))
        keys, values = (
            self._cache(f"flat_{kind}", "flat_room", new, places) for kind, new in (("keys", key), ("values", value))
        )
        bias = graph.input("flat_bias", FLOAT, "rows", 1, "new", "flat_room")
        near, near_total = self._part(layers.scores(self._by_row(query), keys, bias), values)
        near, near_total = layers.heads_first(near), layers.heads_first(near_total)
        far, far_total = self._read_context(query)
        share = graph.add("Sigmoid", graph.add("Sub", near_total, far_total))  # (rows, new, heads, 1)
        rest = graph.add("Sub", graph.constant(1, FLOAT), share)
        read = graph.add("Add", graph.add("Mul", near, share), graph.add("Mul", far, rest))
        mixed = mix(layers, x, graph.add("Reshape", read, graph.ints(-1, dim)), "target_flat", gate, gamma)
        current = graph.input("current", BOOL, "rows", "new")
        return graph.add("Where", graph.add("Reshape", current, graph.ints(-1, 1)), mixed, x)

    def _part(self, scores: str, values: str) -> tuple[str, str]:
        """Attention to a part of the keys, (..., queries, size), and the logarithm of its total, (..., queries, 1)."""
        graph, last = self.graph, self.graph.ints(-1)
        weights = graph.add("Softmax", scores, axis=-1)
        # The largest score and its weight tell the total, without taking all exponentials again.
        largest = graph.add("ReduceMax", scores, last, keepdims=1)
        total = graph.add("Sub", largest, graph.add("Log", graph.add("ReduceMax", weights, last, keepdims=1)))
        return graph.add("MatMul", weights, values), total

    def _read_context(self, query: str) -> tuple[str, str]:
        """`_part` of what rows see of others, all rows of a group at once: (rows, new, heads, size), (..., 1)."""
        graph, layers, heads, size = self.graph, self.layers, self.sizes.heads, self.layers.head_size
        shape = ("groups", heads, "most", size)
        keys, values = (graph.input(f"context_{kind}", FLOAT, *shape) for kind in ("keys", "values"))
        bias = graph.input("context_bias", FLOAT, "groups", 1, "of_group", 1, "most")
        by_group = graph.input("by_group", INT64, "groups * of_group")
        by_row = graph.input("by_row", INT64, "rows")
        new = graph.add("Slice", self.shape, graph.ints(1), graph.ints(2))
        key_shape, bias_shape = graph.add("Shape", keys), graph.add("Shape", bias)
        groups, most = (graph.add("Slice", key_shape, graph.ints(n), graph.ints(n + 1)) for n in (0, 2))
        of_group = graph.add("Slice", bias_shape, graph.ints(2), graph.ints(3))

        rows = graph.add("Gather", graph.add("Reshape", query, self._wide(self.sizes.dim)), by_group, axis=0)
        asked = graph.add("Concat", groups, graph.ints(-1, heads, size), axis=0)
        queries = layers.heads_first(graph.add("Reshape", rows, asked))
        by_row_of_group = graph.add("Concat", groups, graph.ints(heads), of_group, new, most, axis=0)
        scores = graph.add("Reshape", layers.products(queries, keys), by_row_of_group)
        flat = graph.add("Concat", groups, graph.ints(heads, -1), most, axis=0)
        parts = self._part(graph.add("Reshape", graph.add("Add", scores, bias), flat), values)
        back = []
        for part, width in zip(parts, (size, 1), strict=True):
            # (groups, heads, of_group * new, width) -> (groups * of_group, new * heads * width)
            by_place = graph.add("Concat", graph.add("Mul", groups, of_group), graph.ints(-1), axis=0)
            wide = graph.add("Gather", graph.add("Reshape", layers.heads_first(part), by_place), by_row, axis=0)
            back.append(graph.add("Reshape", wide, graph.add("Concat", self.shape, graph.ints(heads, width), axis=0)))
        return back[0], back[1]

    def _wide(self, dim: int) -> str:
        """(rows, new * dim)."""
        return self.graph.add(
            "Concat", self.graph.add("Slice", self.shape, *map(self.graph.ints, (0, 1))), self.graph.ints(-1), axis=0
        )

    def _layer(self, x: str, number: int) -> str:
        graph, layers, dim, name = self.graph, self.layers, self.sizes.dim, f"decoder.{number}"
        if self.sizes.architecture.recurrent_decoder:
            return self._after_self_attention(self._recur(x, number), number)
        rounded = layers.round(x)
        query, key, value = (layers.some(rounded, f"{name}.attention.qkv", n * dim, (n + 1) * dim) for n in range(3))
        keys = self._cache(f"keys_{number}", "room", key, self.places)
        values = self._cache(f"values_{number}", "room", value, self.places)
        read = layers.flatten(layers.attend(self._by_row(query), keys, values, self.bias))
        joined = layers.linear(layers.round(read), f"{name}.attention.output")
        return self._after_self_attention(layers.norm(graph.add("Add", x, joined), f"{name}.attention_norm"), number)

    def _recur(self, x: str, number: int) -> str:
        graph, layers, dim, name = self.graph, self.layers, self.sizes.dim, f"decoder.{number}"
        stays, added = layers.recurrence(x, f"{name}.recurrence")
        old = graph.add("Reshape", graph.input(f"state_{number}", FLOAT, "rows", "new", dim), graph.ints(-1, dim))
        state = graph.add("Add", graph.add("Mul", stays, old), added)
        shape = graph.add("Concat", self.shape, graph.ints(dim), axis=0)
        graph.add("Reshape", state, shape, name=f"next_state_{number}")
        graph.declare_output(f"next_state_{number}", FLOAT, "rows", "new", dim)
        return layers.norm(graph.add("Add", x, graph.add("Relu", state)), f"{name}.attention_norm")

    def _after_self_attention(self, x: str, number: int) -> str:
        """A layer from its attention to the source on."""
        graph, layers, dim, name = self.graph, self.layers, self.sizes.dim, f"decoder.{number}"
        asked = layers.some(layers.round(x), f"{name}.source_attention.qkv", 0, dim)
        graph.output(asked, f"queries_{number}", FLOAT, "rows * new", dim)
        shape = ("rows", self.sizes.heads, "longest", layers.head_size)
        source = [graph.input(f"memory_{kind}_{number}", FLOAT, *shape) for kind in ("keys", "values")]
        read = layers.flatten(layers.attend(self._by_row(asked), source[0], source[1], self.memory_hidden))
        joined = layers.linear(layers.round(read), f"{name}.source_attention.output")
        x = layers.norm(graph.add("Add", x, joined), f"{name}.source_norm")
        return layers.feed_forward(x, f"{name}.feed_forward")


def context_graph(weights: Weights, sizes: ModelSizes) -> Graph:
    """What flat-batch attention reads of other rows."""
    graph = Graph("context", CONTEXT_DESCRIPTION)
    layers, dim = Layers(graph, weights, sizes), sizes.dim
    tokens, positions = (graph.input(name, INT64, "tokens") for name in ("tokens", "positions"))
    padded = graph.input("padded", INT64, "groups", "most")
    table = "separate_embedding" if sizes.architecture.separate_embeddings else "embedding"
    layers.has_rows_of(tokens)
    rounded = layers.round(layers.embed(table, tokens, positions))
    for place, kind in enumerate(("keys", "values"), start=1):
        made = layers.some(rounded, "target_flat.attention.qkv", place * dim, (place + 1) * dim)
        by_group = layers.split(graph.add("Gather", made, padded, axis=0), (0, 0))
        graph.add("Transpose", by_group, perm=(0, 2, 1, 3), name=f"context_{kind}")
        graph.declare_output(f"context_{kind}", FLOAT, "groups", sizes.heads, "most", layers.head_size)
    return graph
