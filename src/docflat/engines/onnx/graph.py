"""A graph while it is built: nodes by the names of their operators, constants, weights.

A value is the name of what a node makes; `add` returns it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from docflat.data.rows import Array
from docflat.engines.onnx import protobuf
from docflat.engines.onnx.protobuf import Attribute, Dimension, Place

OPSETS = {"": 18, "com.microsoft": 1}
BOOL, FLOAT, UINT8, INT8, INT64 = (np.dtype(kind) for kind in (np.bool_, np.float32, np.uint8, np.int8, np.int64))
ELSEWHERE = Place("weights", 0, 0)  # handed over beside the graph


class Graph:
    """Nodes in the order in which they are added."""

    def __init__(self, name: str, description: str) -> None:
        self.name, self.description = name, description
        self.weights: dict[str, Array] = {}  # by name: what stands beside the graph
        self.nodes: list[bytes] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self._values: tuple[list[bytes], list[bytes]] = ([], [])
        self._constants: dict[tuple[Any, ...], str] = {}
        self._tensors: list[bytes] = []

    def input(self, name: str, dtype: np.dtype[Any], *shape: Dimension) -> str:
        self.inputs.append(name)
        self._values[0].append(protobuf.value(name, dtype, shape))
        return name

    def output(self, value: str, name: str, dtype: np.dtype[Any], *shape: Dimension) -> None:
        self.nodes.append(protobuf.node("Identity", [value], [name], "", {}))
        self.declare_output(name, dtype, *shape)

    def declare_output(self, name: str, dtype: np.dtype[Any], *shape: Dimension) -> None:
        """Of a value that has this name already."""
        self.outputs.append(name)
        self._values[1].append(protobuf.value(name, dtype, shape))

    def add(self, op: str, *inputs: str, name: str = "", **attributes: Attribute) -> str:
        """name: the name of what it makes; without, one of its own."""
        return self.add_many(op, *inputs, names=(name or f"{op}_{len(self.nodes)}",), **attributes)[0]

    def add_microsoft(self, op: str, *inputs: str, **attributes: Attribute) -> str:
        """An operator that ONNX Runtime has beyond the standard."""
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(protobuf.node(op, inputs, [name], "com.microsoft", attributes))
        return name

    def add_many(self, op: str, *inputs: str, names: Sequence[str], **attributes: Attribute) -> Sequence[str]:
        self.nodes.append(protobuf.node(op, inputs, names, "", attributes))
        return names

    def add_scan(self, body: Graph, *inputs: str, scanned: int) -> Sequence[str]:
        """Run a small graph for each place of the second axis of its last inputs; what it makes is laid side by side.

        The others are states, which it makes anew each time; here come their last values, then what was laid out.
        """
        names = [f"{name}_{len(self.nodes)}" for name in body.outputs]
        laid = len(body.outputs) - (len(inputs) - scanned)
        axes = {"scan_input_axes": [1] * scanned, "scan_output_axes": [1] * laid}
        return self.add_many("Scan", *inputs, names=names, body=body.content(), num_scan_inputs=scanned, **axes)

    def content(self) -> bytes:
        """As the body of a node: without weights of its own."""
        return protobuf.graph(self.name, self.nodes, self._tensors, *self._values, self.description)

    def constant(self, content: Any, dtype: Any = None) -> str:
        """A small tensor within the graph; the same one twice is one."""
        array = np.asarray(content, dtype=dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = name = f"constant_{len(self._constants)}"
            self._tensors.append(protobuf.tensor(name, array))
        return self._constants[key]

    def ints(self, *numbers: int) -> str:
        """A vector of them, as operators ask for shapes and axes."""
        return self.constant(numbers, np.int64)

    def weight(self, name: str, array: Array) -> str:
        """A tensor that stands beside the graph."""
        self.weights.setdefault(name, array)
        return name

    def serialize(self, places: Mapping[str, Place] | None = None, metadata: Mapping[str, str] | None = None) -> bytes:
        """places: where in files the weights are; without, they are handed over with the graph."""
        places = places or {}
        weights = [
            protobuf.tensor_elsewhere(name, array, places.get(name, ELSEWHERE)) for name, array in self.weights.items()
        ]
        content = protobuf.graph(self.name, self.nodes, [*self._tensors, *weights], *self._values, self.description)
        return protobuf.model(content, OPSETS, metadata or {})
