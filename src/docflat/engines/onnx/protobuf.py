"""Graphs as ONNX writes them: the few messages of its protobuf format that ours need.

The package `onnx` would do it too; it is 20 MB and a compiler's worth of code for what is here a page. What is written
here, it reads (a test has its checker read every graph).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from docflat.data.rows import Array

# TensorProto.DataType
TYPES = {
    np.dtype(np.float32): 1,
    np.dtype(np.uint8): 2,
    np.dtype(np.int8): 3,
    np.dtype(np.int32): 6,
    np.dtype(np.int64): 7,
    np.dtype(np.bool_): 9,
}
IR_VERSION = 9  # of the format, as opset 18 came with it

Dimension = int | str  # a size, or the name of one that is known when it runs
Attribute = int | float | str | bytes | Sequence[int]  # bytes: a graph, as `graph` writes it


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    parts = bytearray()
    while True:
        low, number = number & 0x7F, number >> 7
        parts.append(low | (0x80 if number else 0))
        if not number:
            return bytes(parts)


def integer(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def block(field: int, content: bytes | str) -> bytes:
    """A string or a message within a message."""
    if isinstance(content, str):
        content = content.encode()
    return varint(field << 3 | 2) + varint(len(content)) + content


def entry(field: int, key: str, value: str) -> bytes:
    return block(field, block(1, key) + block(2, value))


@dataclass(frozen=True)
class Place:
    """Where in a file the numbers of a tensor are."""

    file: str
    offset: int
    length: int


def tensor(name: str, array: Array) -> bytes:
    return _tensor_head(name, array.shape, array.dtype) + block(9, np.ascontiguousarray(array).tobytes())


def tensor_elsewhere(name: str, array: Array, place: Place) -> bytes:
    """A tensor of this shape and type, whose numbers are not in the graph."""
    where = {"location": place.file, "offset": str(place.offset), "length": str(place.length)}
    entries = b"".join(entry(13, *pair) for pair in where.items())
    return _tensor_head(name, array.shape, array.dtype) + entries + integer(14, 1)


def _tensor_head(name: str, shape: Sequence[int], dtype: np.dtype[np.generic]) -> bytes:
    return b"".join(integer(1, size) for size in shape) + integer(2, TYPES[np.dtype(dtype)]) + block(8, name)


def value(name: str, dtype: np.dtype[np.generic], shape: Sequence[Dimension]) -> bytes:
    """An input or an output."""
    sizes = b"".join(block(1, integer(1, one) if isinstance(one, int) else block(2, one)) for one in shape)
    return block(1, name) + block(2, block(1, integer(1, TYPES[np.dtype(dtype)]) + block(2, sizes)))


def attribute(name: str, content: Attribute) -> bytes:
    head = block(1, name)
    if isinstance(content, int):
        return head + integer(3, content) + integer(20, 2)
    if isinstance(content, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", content) + integer(20, 1)
    if isinstance(content, str):
        return head + block(4, content) + integer(20, 3)
    if isinstance(content, bytes):
        return head + block(6, content) + integer(20, 5)
    return head + b"".join(integer(8, number) for number in content) + integer(20, 7)


def node(
    op: str, inputs: Iterable[str], outputs: Iterable[str], domain: str, attributes: Mapping[str, Attribute]
) -> bytes:
    ends = b"".join(block(1, name) for name in inputs) + b"".join(block(2, name) for name in outputs)
    attribute_blocks = b"".join(block(5, attribute(*pair)) for pair in attributes.items())
    return ends + block(4, op) + attribute_blocks + (block(7, domain) if domain else b"")


def graph(
    name: str,
    nodes: Iterable[bytes],
    tensors: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
    description: str,
) -> bytes:
    fields = {1: nodes, 5: tensors, 11: inputs, 12: outputs}
    parts = [block(2, name), block(10, description)]
    parts += [block(field, one) for field, content in fields.items() for one in content]
    return b"".join(parts)


def model(graph: bytes, opsets: Mapping[str, int], metadata: Mapping[str, str]) -> bytes:
    parts = [integer(1, IR_VERSION), block(2, "docflat"), block(7, graph)]
    parts += [
        block(8, (block(1, domain) if domain else b"") + integer(2, version)) for domain, version in opsets.items()
    ]
    parts += [entry(14, *pair) for pair in metadata.items()]
    return b"".join(parts)
