"""The graph that reads whole target rows at once, as scoring and word alignment want them."""

from __future__ import annotations

from docflat.engines.onnx.encoder import mix
from docflat.engines.onnx.graph import FLOAT, INT64, Graph
from docflat.engines.onnx.layers import Layers
from docflat.engines.onnx.weights import Weights
from docflat.model.sizes import ModelSizes

DESCRIPTION = """Reads rows of target tokens, which lie one after the other; no token sees a later one of its row.
embedded (tokens, dim): as the graph `target` makes them.
padded (rows, longest): which token stands where once rows are padded; where none does, any.
back (tokens,): where in these rows * longest places each token stands.
bias (longest, longest): 0 for what a place sees, itself among it, minus infinity for the others.
asked (asked,): the tokens whose states are wanted. asked_padded (rows, most): as above, counted among these, from 0.
asked_back (asked,): as above. asked_bias (rows, 1, most, longest): which places each of them sees.
memory_keys_N, memory_values_N, as the encoder makes them; memory_hidden (rows, 1, 1, source_longest), its `hidden`.
states (asked, dim): what the head reads.
queries_N (tokens, dim), of the last layer (asked, dim): what layer N asks the source, as in the graph `decoder`."""

RECURRENT_DESCRIPTION = """
A recurrence stands in the place of self-attention; instead of bias and asked_bias there is state_N (tokens, dim): the
state of layer N after each token."""

TARGET_DESCRIPTION = """Embeds target tokens, for the graph `reader`.
tokens, positions (tokens,): ids, and their places in their rows, from 0. embedded (tokens, dim)."""

FLAT_DESCRIPTION = """
Flat-batch attention, over the current sentences of rows that see each other, in their order:
flat (current,): which tokens they are. flat_padded (groups, most): which of these stands where in its group; where none
does, any. flat_back (current,): where in these groups * most places each stands. flat_bias (most, most): 0 for what a
place sees, itself among it, minus infinity for the others. merged (tokens,): where in [tokens, current] each token is
afterwards."""


def target_graph(weights: Weights, sizes: ModelSizes, flat: tuple[str, float] | None) -> Graph:
    """flat: gate and gamma of flat-batch attention on the target side, if there is any."""
    graph = Graph("target", TARGET_DESCRIPTION + (FLAT_DESCRIPTION if flat else ""))
    layers = Layers(graph, weights, sizes)
    tokens, positions = (graph.input(name, INT64, "tokens") for name in ("tokens", "positions"))
    layers.has_rows_of(tokens)
    table = "separate_embedding" if sizes.architecture.separate_embeddings else "embedding"
    x = layers.embed(table, tokens, positions)
    if flat is not None:
        which, padded = graph.input("flat", INT64, "current"), graph.input("flat_padded", INT64, "groups", "most")
        back, bias = graph.input("flat_back", INT64, "current"), graph.input("flat_bias", FLOAT, "most", "most")
        merged = graph.input("merged", INT64, "tokens")
        current = graph.add("Gather", x, which, axis=0)
        layers.has_rows_of(which)
        name, rounded, dim = "target_flat.attention", layers.round(current), sizes.dim
        made = (layers.some(rounded, f"{name}.qkv", n * dim, (n + 1) * dim) for n in range(3))
        query, key, value = (by_row(layers, part, padded) for part in made)
        read = flatten(layers, layers.attend(query, key, value, bias), back)
        mixed = mix(layers, current, read, "target_flat", *flat)
        x = graph.add("Gather", graph.add("Concat", x, mixed, axis=0), merged, axis=0)
    graph.output(layers.norm(x, "target_norm"), "embedded", FLOAT, "tokens", sizes.dim)
    return graph


def by_row(layers: Layers, x: str, padded: str) -> str:
    """(tokens, dim) -> (rows, heads, longest, size)."""
    return layers.heads_first(layers.split(layers.graph.add("Gather", x, padded, axis=0), (0, 0)))


def flatten(layers: Layers, x: str, back: str) -> str:
    """(rows, heads, longest, size) -> (tokens, dim)."""
    return layers.graph.add("Gather", layers.flatten(x), back, axis=0)


def description(sizes: ModelSizes) -> str:
    return DESCRIPTION + (RECURRENT_DESCRIPTION if sizes.architecture.recurrent_decoder else "")


class ReaderGraph:
    """Adds a decoder that reads whole rows to a graph of its own."""

    def __init__(self, weights: Weights, sizes: ModelSizes) -> None:
        self.graph = Graph("reader", description(sizes))
        self.layers, self.sizes = Layers(self.graph, weights, sizes), sizes
        graph, layers = self.graph, self.layers
        x = graph.input("embedded", FLOAT, "tokens", sizes.dim)
        self.padded = graph.input("padded", INT64, "rows", "longest")
        self.back = graph.input("back", INT64, "tokens")
        recurrent = sizes.architecture.recurrent_decoder
        if not recurrent:
            self.bias = graph.input("bias", FLOAT, "longest", "longest")
        self.asked = graph.input("asked", INT64, "asked")
        self.asked_padded = graph.input("asked_padded", INT64, "rows", "most")
        self.asked_back = graph.input("asked_back", INT64, "asked")
        if not recurrent:
            self.asked_bias = graph.input("asked_bias", FLOAT, "rows", 1, "most", "longest")
        self.hidden = graph.input("memory_hidden", FLOAT, "rows", 1, 1, "source_longest")
        layers.has_rows_of(x)
        for number in range(sizes.decoder_layers):
            x = self._layer(x, number)
        graph.output(x, "states", FLOAT, "asked", sizes.dim)

    def _project(self, x: str, name: str, parts: tuple[int, ...]) -> list[str]:
        """Some of queries (0), keys (1) and values (2): (tokens, dim) each."""
        rounded, dim = self.layers.round(x), self.sizes.dim
        return [self.layers.some(rounded, f"{name}.qkv", n * dim, (n + 1) * dim) for n in parts]

    def _layer(self, x: str, number: int) -> str:
        """(tokens, dim) -> (tokens, dim); of the last one (asked, dim): others read nothing of the rest."""
        graph, layers, name = self.graph, self.layers, f"decoder.{number}"
        last = number == self.sizes.decoder_layers - 1
        x = self._recur(x, number, last) if self.sizes.architecture.recurrent_decoder else self._attend(x, number, last)
        padded, back, tokens = (
            (self.asked_padded, self.asked_back, "asked") if last else (self.padded, self.back, "tokens")
        )
        (asked,) = self._project(x, f"{name}.source_attention", (0,))
        graph.output(asked, f"queries_{number}", FLOAT, tokens, self.sizes.dim)
        shape = ("rows", self.sizes.heads, "source_longest", layers.head_size)
        source = [graph.input(f"memory_{kind}_{number}", FLOAT, *shape) for kind in ("keys", "values")]
        read = flatten(layers, layers.attend(by_row(layers, asked, padded), source[0], source[1], self.hidden), back)
        joined = layers.linear(layers.round(read), f"{name}.source_attention.output")
        x = layers.norm(graph.add("Add", x, joined), f"{name}.source_norm")
        return layers.feed_forward(x, f"{name}.feed_forward")

    def _attend(self, x: str, number: int, last: bool) -> str:
        """Self-attention and its norm."""
        graph, layers, name = self.graph, self.layers, f"decoder.{number}"
        padded, back, bias = self.padded, self.back, self.bias
        if not last:
            query, key, value = self._project(x, f"{name}.attention", (0, 1, 2))
        else:
            key, value = self._project(x, f"{name}.attention", (1, 2))
            padded, back, bias = self.asked_padded, self.asked_back, self.asked_bias
            x = self._asked(x)
            (query,) = self._project(x, f"{name}.attention", (0,))
        keys, values = (by_row(layers, part, self.padded) for part in (key, value))
        read = flatten(layers, layers.attend(by_row(layers, query, padded), keys, values, bias), back)
        joined = layers.linear(layers.round(read), f"{name}.attention.output")
        return layers.norm(graph.add("Add", x, joined), f"{name}.attention_norm")

    def _recur(self, x: str, number: int, last: bool) -> str:
        """A recurrence over each row and its norm."""
        graph, layers, dim, name = self.graph, self.layers, self.sizes.dim, f"decoder.{number}"
        parts = layers.recurrence(x, f"{name}.recurrence")
        stays, added = (graph.add("Gather", part, self.padded, axis=0) for part in parts)  # (rows, longest, dim)
        rows = graph.add("Slice", graph.add("Shape", self.padded), *map(graph.ints, (0, 1)))
        start = graph.add("Expand", graph.constant(0, FLOAT), graph.add("Concat", rows, graph.ints(dim), axis=0))
        _, states = graph.add_scan(step_body(dim), start, stays, added, scanned=2)
        state = graph.add("Gather", graph.add("Reshape", states, graph.ints(-1, dim)), self.back, axis=0)
        graph.output(state, f"state_{number}", FLOAT, "tokens", dim)
        if last:
            x, state = self._asked(x), graph.add("Gather", state, self.asked, axis=0)
        return layers.norm(graph.add("Add", x, graph.add("Relu", state)), f"{name}.attention_norm")

    def _asked(self, x: str) -> str:
        """From here on only the tokens whose states are wanted."""
        self.layers.has_rows_of(self.asked)
        return self.graph.add("Gather", x, self.asked, axis=0)


def step_body(dim: int) -> Graph:
    """What a recurrence does at each place; the new state is laid out as well."""
    body = Graph("step", "stays * old + added")
    old, stays, added = (body.input(name, FLOAT, "rows", dim) for name in ("old", "stays", "added"))
    state = body.add("Add", body.add("Mul", stays, old), added)
    for name in ("state", "laid"):
        body.output(state, name, FLOAT, "rows", dim)
    return body
