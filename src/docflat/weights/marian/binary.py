"""Marian's binary files, as Firefox's models come in: weights in int8 with one multiplier a matrix, or in float32.

    version (1), items                                    as all numbers little-endian, in 64 bits
    of each item: length of its name, type, dimensions, bytes
    the names, each ended by a zero byte; the shapes, in 32 bits; a number of bytes, and as many to pass over
    the bytes of each item

An int8 matrix (inputs, outputs) lies there turned, output by output, and behind it the number that its weights were
multiplied by before they were rounded. Embeddings are not turned.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from docflat.support.errors import InputError
from docflat.weights.marian.foreign import Array
from docflat.weights.stored import short

VERSION = 1
INT8, FLOAT32, INTGEMM8 = 0x101, 0x404, 0x4101
NUMBERS: dict[int, np.dtype[Any]] = {INT8: np.dtype(np.int8), FLOAT32: np.dtype("<f4"), INTGEMM8: np.dtype(np.int8)}
MULTIPLIERS = "_QuantMultA"  # of what comes in; ours is found for each row while it is computed
UNTURNED = ("Wemb", "encoder_Wemb", "decoder_Wemb")
MOST_ITEMS, MOST_DIMENSIONS = 1 << 16, 8


@dataclass(frozen=True)
class BinaryTensors:
    """What a file holds, matrices as (inputs, outputs)."""

    tensors: dict[str, Array]
    steps: dict[str, float]  # of the int8 matrices: their weights are whole numbers of these


def read_binary(file: Path, data: bytes) -> BinaryTensors:
    tensors: dict[str, Array] = {}
    steps: dict[str, float] = {}
    for name, kind, shape, content in _Reader(file, data).items():
        if name in tensors:
            raise InputError(f"{short(name)} is in it twice", file)
        if name.endswith(MULTIPLIERS):
            continue
        count = math.prod(shape)
        whole = np.frombuffer(content, dtype=NUMBERS[kind], count=count)
        if kind != INTGEMM8:
            tensors[name] = whole.reshape(shape)
            continue
        multiplier = float(np.frombuffer(content, dtype="<f4", count=1, offset=count)[0])
        if not (math.isfinite(multiplier) and multiplier > 0 and len(shape) == 2):
            raise InputError(f"{short(name)}: {multiplier:g} is no multiplier of a matrix of the shape {shape}", file)
        steps[name] = 1 / multiplier
        matrix = whole.reshape(shape) if name in UNTURNED else whole.reshape(shape[::-1]).T
        tensors[name] = matrix * np.float32(steps[name])
    return BinaryTensors(tensors, steps)


class _Reader:
    """Goes through the bytes; says where they end too soon."""

    def __init__(self, file: Path, data: bytes) -> None:
        self.file, self.data, self.place = file, memoryview(data), 0

    def take(self, count: int, what: str) -> memoryview:
        if not 0 <= count <= len(self.data) - self.place:
            raise InputError(f"it ends before {what} does: it was cut off, or is no binary file of Marian", self.file)
        self.place += count
        return self.data[self.place - count : self.place]

    def numbers(self, count: int, what: str) -> tuple[int, ...]:
        return struct.unpack(f"<{count}Q", self.take(8 * count, what))

    def items(self) -> Iterator[tuple[str, int, tuple[int, ...], memoryview]]:
        """Name, type, shape and bytes of each."""
        version, count = self.numbers(2, "its head")
        if version != VERSION or count > MOST_ITEMS:
            raise InputError(f"no binary file of Marian, or of another version than {VERSION}", self.file)
        heads = [self.numbers(4, "its table") for _ in range(count)]
        names = [bytes(self.take(head[0], "its names")).split(b"\0")[0].decode("utf-8", "replace") for head in heads]
        shapes = []
        for name, (_, kind, dimensions, _) in zip(names, heads, strict=True):
            if dimensions > MOST_DIMENSIONS:
                raise InputError(f"{short(name)} has {dimensions} dimensions", self.file)
            shapes.append(struct.unpack(f"<{dimensions}i", self.take(4 * dimensions, "its shapes")))
            self.check(name, kind, shapes[-1])
        self.take(self.numbers(1, "its head")[0], "its head")
        for name, shape, (_, kind, _, size) in zip(names, shapes, heads, strict=True):
            content = self.take(size, short(name))
            needed = math.prod(shape) * NUMBERS[kind].itemsize + 4 * (kind == INTGEMM8)
            if size < needed:
                raise InputError(f"{short(name)} of the shape {shape} has {size} bytes, expected {needed}", self.file)
            yield name, kind, shape, content

    def check(self, name: str, kind: int, shape: tuple[int, ...]) -> None:
        if kind not in NUMBERS:
            packed = ", packed for one kind of processor" if kind & 0x4000 else ""
            raise InputError(
                f"{short(name)} is of the type {kind:#x}{packed}; docflat reads intgemm8 ({INTGEMM8:#x}) and float32 "
                f"({FLOAT32:#x}), as marian-conv writes them",
                self.file,
            )
        if any(size < 0 for size in shape):
            raise InputError(f"{short(name)} has the shape {shape}", self.file)
