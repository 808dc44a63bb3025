"""What graphs are made of: products, norms, attention, feed-forward.

States are flat, (tokens, dim), as in the torch modules that an oracle test compares with. In int8 every row of what a
product reads has a scale of its own: what else is in the batch changes nothing about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docflat.engines.onnx.graph import Graph
from docflat.engines.onnx.weights import Matrix, Weights
from docflat.model.sizes import ModelSizes

NORM_EPSILON = 1e-5


@dataclass(frozen=True)
class Rounded:
    """States as products read them: in fp32 as they are."""

    numbers: str  # (tokens, dim)
    scale: str  # (tokens, 1); empty in fp32
    zero: int = 128  # what stands for 0


class Layers:
    """Adds parts of a Transformer to a graph."""

    def __init__(self, graph: Graph, weights: Weights, sizes: ModelSizes) -> None:
        self.graph, self.weights, self.sizes = graph, weights, sizes
        self.head_size = sizes.dim // sizes.heads
        self.rows = ""  # how many rows the states at hand have, as a shape
        self._known_zeros: dict[tuple[str, int], str] = {}

    def has_rows_of(self, x: str) -> None:
        """From now on states have as many rows as x (rows, ...)."""
        if self.weights.int8:
            self.rows = self.graph.add("Shape", x, end=1)

    # Products

    def round(self, x: str, positive: bool = False) -> Rounded:
        """(tokens, dim) for products. positive: nothing is below 0, so that all 8 bits are for what is above."""
        graph = self.graph
        if not self.weights.int8:
            return Rounded(x, "")
        largest = graph.add("ReduceMax", x if positive else graph.add("Abs", x), graph.ints(1), keepdims=1)
        steps = np.float32(1 / 255 if positive else 1 / 127)
        scale = graph.add("Max", graph.add("Mul", largest, graph.constant(steps)), graph.constant(np.float32(1e-12)))
        by_row = graph.add("Reshape", scale, graph.ints(-1))
        zero = 0 if positive else 128
        return Rounded(graph.add("QuantizeLinear", x, by_row, self._zeros(zero), axis=0), scale, zero)

    def _zeros(self, zero: int) -> str:
        """What stands for 0 in each row; the same for all that has as many rows."""
        key = (self.rows, zero)
        if key not in self._known_zeros:
            self._known_zeros[key] = self.graph.add("Expand", self.graph.constant([zero], np.uint8), self.rows)
        return self._known_zeros[key]

    def product(self, x: Rounded, matrix: Matrix, bias: str | None) -> str:
        """(tokens, inputs) -> (tokens, outputs)."""
        graph = self.graph
        columns = graph.add("Transpose", graph.weight(matrix.name, matrix.numbers), perm=(1, 0))
        if matrix.scale is None:
            made = graph.add("MatMul", x.numbers, columns)
        else:
            made = self.int8_product(x, columns, graph.weight(matrix.name + ".scale", matrix.scale))
        return made if bias is None else graph.add("Add", made, bias)

    def int8_product(self, x: Rounded, columns: str, scale: str) -> str:
        """columns (inputs, outputs) int8, scale (outputs,)."""
        graph = self.graph
        one, zero = graph.constant(np.float32(1)), graph.constant(np.uint8(x.zero))
        made = graph.add_microsoft("MatMulIntegerToFloat", x.numbers, columns, one, scale, zero)
        return graph.add("Mul", made, x.scale)

    def linear(self, x: Rounded, name: str) -> str:
        return self.product(x, self.weights.matrix(f"{name}.weight"), self.vector(f"{name}.bias"))

    def some(self, x: Rounded, name: str, start: int, end: int) -> str:
        """Its outputs start:end only."""
        bias = self.graph.weight(f"{name}.bias[{start}:{end}]", self.weights.vector(f"{name}.bias")[start:end])
        return self.product(x, self.weights.matrix(f"{name}.weight").part(start, end), bias)

    def vector(self, name: str) -> str:
        return self.graph.weight(name, self.weights.vector(name))

    # Between products

    def norm(self, x: str, name: str) -> str:
        if not self.weights.has(f"{name}.weight"):  # a system without it
            return x
        weight, bias = self.vector(f"{name}.weight"), self.vector(f"{name}.bias")
        normed = self.graph.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=NORM_EPSILON)
        if not self.weights.has(f"{name}.share"):
            return normed
        change = self.graph.add("Mul", self.graph.add("Sub", normed, x), self.vector(f"{name}.share"))
        return self.graph.add("Add", x, change)

    def embed(self, name: str, tokens: str, positions: str) -> str:
        """Ids and places, (tokens,) each -> (tokens, dim)."""
        graph, kind = self.graph, self.sizes.architecture
        matrix = self.weights.matrix(f"{name}.weight")
        rows = graph.add("Gather", graph.weight(matrix.name, matrix.numbers), tokens)
        factor = np.sqrt(np.float32(self.sizes.dim)) if kind.scaled_embedding else np.float32(1)
        times = graph.constant(factor)
        if matrix.scale is not None:
            scale = graph.add("Gather", graph.weight(matrix.name + ".scale", matrix.scale), tokens)
            times = graph.add("Unsqueeze", graph.add("Mul", scale, times), graph.ints(1))
            rows = graph.add("Cast", rows, to=1)
        rows = graph.add("Mul", rows, times)
        half = self.sizes.dim // 2
        last = max(1, half - (kind.frequencies == "tensor2tensor"))
        frequencies = np.float32(10_000) ** -(np.arange(half, dtype=np.float32) / np.float32(last))
        place = graph.add("Unsqueeze", graph.add("Cast", positions, to=1), graph.ints(1))
        angles = graph.add("Mul", place, graph.constant(frequencies.astype(np.float32)))
        places = graph.add("Concat", graph.add("Sin", angles), graph.add("Cos", angles), axis=-1)
        return graph.add("Add", rows, places)

    def feed_forward(self, x: str, name: str) -> str:
        """With the norm around it: (tokens, dim) -> (tokens, dim)."""
        graph = self.graph
        inner = self.linear(self.round(x), f"{name}.inner")
        if self.sizes.architecture.activation == "swish":
            rounded = self.round(graph.add("Mul", inner, graph.add("Sigmoid", inner)))
        else:
            rounded = self.round(graph.add("Relu", inner), positive=True)
        return self.norm(graph.add("Add", x, self.linear(rounded, f"{name}.outer")), f"{name}_norm")

    def recurrence(self, x: str, name: str) -> tuple[str, str]:
        """How much of the old state stays, and what is added: (tokens, dim) each. See model/ssru.py."""
        graph, dim = self.graph, self.sizes.dim
        both = self.linear(self.round(x), f"{name}.both")
        number = len(graph.nodes)
        new, stays = graph.add_many(
            "Split", both, graph.ints(dim, dim), names=(f"new_{number}", f"stays_{number}"), axis=1
        )
        stays = graph.add("Sigmoid", stays)
        return stays, graph.add("Mul", graph.add("Sub", graph.constant(np.float32(1)), stays), new)

    # Attention

    def split(self, x: str, shape: Sequence[int]) -> str:
        """(..., dim) -> (*shape, heads, size); 0: as it was, -1: what is left."""
        return self.graph.add("Reshape", x, self.graph.ints(*shape, self.sizes.heads, self.head_size))

    def heads_first(self, x: str) -> str:
        """(rows, tokens, heads, size) -> (rows, heads, tokens, size), and the other way round."""
        return self.graph.add("Transpose", x, perm=(0, 2, 1, 3))

    def products(self, query: str, key: str) -> str:
        """(rows, heads, queries, size), (rows, heads, keys, size) -> (rows, heads, queries, keys)."""
        return self.graph.add_microsoft("FusedMatMul", query, key, transB=1, alpha=float(self.head_size**-0.5))

    def scores(self, query: str, key: str, bias: str) -> str:
        """The same with a bias."""
        return self.graph.add("Add", self.products(query, key), bias)

    def attend(self, query: str, key: str, value: str, bias: str) -> str:
        """(rows, heads, queries, size)."""
        weights = self.graph.add("Softmax", self.scores(query, key, bias), axis=-1)
        return self.graph.add("MatMul", weights, value)

    def flatten(self, x: str) -> str:
        """(rows, heads, tokens, size) -> (rows * tokens, dim)."""
        return self.graph.add("Reshape", self.heads_first(x), self.graph.ints(-1, self.sizes.dim))
