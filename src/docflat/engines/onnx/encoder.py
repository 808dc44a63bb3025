"""The graph of an encoder: source tokens to what every decoder layer reads of them."""

from __future__ import annotations

from docflat.engines.onnx.graph import FLOAT, INT64, Graph
from docflat.engines.onnx.layers import Layers
from docflat.engines.onnx.weights import Weights
from docflat.model.sizes import ModelSizes

DESCRIPTION = """Encodes rows of source tokens, which lie one after the other.
tokens, positions (tokens,): ids, and their places in the row, from 0.
padded (rows, longest): which token stands where once rows are padded; where none does, any.
back (tokens,): where in these rows * longest places each token stands.
hidden (rows, 1, 1, longest): 0 where there is a token, minus infinity elsewhere.
memory_keys_N, memory_values_N (rows, heads, longest, size): what layer N of the decoder reads."""

FLAT_DESCRIPTION = """
Flat-batch attention, over the current sentences of rows that see each other:
flat (current,): which tokens they are. flat_padded (groups, most), flat_back (current,), flat_hidden (groups, 1, 1,
most): as above, of groups and current tokens. merged (tokens,): where in [tokens, current] each token is afterwards."""


class Padding:
    """How flat tokens are padded: names of the inputs that say it."""

    def __init__(self, graph: Graph, prefix: str, tokens: str, rows: str, longest: str) -> None:
        self.padded = graph.input(f"{prefix}padded", INT64, rows, longest)
        self.back = graph.input(f"{prefix}back", INT64, tokens)
        self.hidden = graph.input(f"{prefix}hidden", FLOAT, rows, 1, 1, longest)


def self_attention(layers: Layers, x: str, name: str, padding: Padding) -> str:
    """What the heads read, (tokens, dim), before the output's product."""
    graph, dim = layers.graph, layers.sizes.dim
    rounded = layers.round(x)
    parts = [layers.some(rounded, f"{name}.qkv", n * dim, (n + 1) * dim) for n in range(3)]
    padded = [graph.add("Gather", part, padding.padded, axis=0) for part in parts]
    query, key, value = (layers.heads_first(layers.split(part, (0, 0))) for part in padded)
    mixed = layers.flatten(layers.attend(query, key, value, padding.hidden))
    return graph.add("Gather", mixed, padding.back, axis=0)


def mix(layers: Layers, x: str, read: str, name: str, gate: str, gamma: float) -> str:
    """Embedding and what the heads of flat-batch attention read, (tokens, dim) each, before the layer norm."""
    graph, dim = layers.graph, layers.sizes.dim
    rounded = layers.round(read)
    if gate == "identity":
        return graph.add("Add", x, layers.linear(rounded, f"{name}.attention.output"))
    matrix, bias = layers.weights.folded(f"{name}.folded", f"{name}.attention.output", f"{name}.gate")
    made = layers.product(rounded, matrix, graph.weight(f"{name}.folded.bias", bias))
    values, opening = graph.add_many(
        "Split", made, graph.ints(dim, dim), names=(f"{name}_read", f"{name}_opening"), axis=1
    )
    opening = graph.add("Sigmoid", opening)
    if gate == "discrete":
        opening = graph.add("Cast", graph.add("GreaterOrEqual", opening, graph.constant(gamma, FLOAT)), to=1)
    return graph.add("Add", x, graph.add("Mul", opening, graph.add("Sub", values, x)))


def encoder_graph(weights: Weights, sizes: ModelSizes, flat: tuple[str, float] | None) -> Graph:
    """flat: gate and gamma of flat-batch attention on the source side, if there is any."""
    graph = Graph("encoder", DESCRIPTION + (FLAT_DESCRIPTION if flat else ""))
    layers = Layers(graph, weights, sizes)
    tokens, positions = (graph.input(name, INT64, "tokens") for name in ("tokens", "positions"))
    rows = Padding(graph, "", "tokens", "rows", "longest")
    layers.has_rows_of(tokens)
    rows_of_tokens = layers.rows
    x = layers.embed("embedding", tokens, positions)
    if flat is not None:
        which = graph.input("flat", INT64, "current")
        groups = Padding(graph, "flat_", "current", "groups", "most")
        merged = graph.input("merged", INT64, "tokens")
        current = graph.add("Gather", x, which, axis=0)
        layers.has_rows_of(which)
        read = self_attention(layers, current, "source_flat.attention", groups)
        mixed = mix(layers, current, read, "source_flat", *flat)
        x = graph.add("Gather", graph.add("Concat", x, mixed, axis=0), merged, axis=0)
        layers.rows = rows_of_tokens
    x = layers.norm(x, "source_norm")
    for number in range(sizes.encoder_layers):
        name = f"encoder.{number}"
        read = self_attention(layers, x, f"{name}.attention", rows)
        joined = layers.linear(layers.round(read), f"{name}.attention.output")
        x = layers.norm(graph.add("Add", x, joined), f"{name}.attention_norm")
        x = layers.feed_forward(x, f"{name}.feed_forward")
    rounded, dim = layers.round(x), sizes.dim
    for number in range(sizes.decoder_layers):
        for place, kind in enumerate(("keys", "values"), start=1):
            name = f"decoder.{number}.source_attention.qkv"
            made = layers.some(rounded, name, place * dim, (place + 1) * dim)
            padded = layers.split(graph.add("Gather", made, rows.padded, axis=0), (0, 0))
            graph.add("Transpose", padded, perm=(0, 2, 1, 3), name=f"memory_{kind}_{number}")
            shape = ("rows", sizes.heads, "longest", layers.head_size)
            graph.declare_output(f"memory_{kind}_{number}", FLOAT, *shape)
    return graph
