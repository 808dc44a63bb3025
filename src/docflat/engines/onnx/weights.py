"""Weights as graphs read them: matrices (outputs, inputs), as they are stored: int8 with a scale a row, or float32.

Parts of matrices are views: nothing is copied that is stored as it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from docflat.data.rows import Array
from docflat.support.errors import InputError
from docflat.weights.int8_files import SCALE, round_rows, widen


@dataclass(frozen=True)
class Matrix:
    """The numbers of a linear map; in int8 with a scale for each output."""

    name: str
    numbers: Array  # (outputs, inputs) int8 or float32
    scale: Array | None  # (outputs,)

    def part(self, start: int, end: int) -> Matrix:
        """Some of its outputs."""
        scale = None if self.scale is None else self.scale[start:end]
        return Matrix(f"{self.name}[{start}:{end}]", self.numbers[start:end], scale)


class Weights:
    """The tensors of a model by the names they have in its file."""

    def __init__(self, stored: Mapping[str, Array], int8: bool) -> None:
        """int8: matrices are in int8; else all is in float32."""
        self.stored, self.int8 = stored, int8
        self._matrices: dict[str, Matrix] = {}

    def vector(self, name: str) -> Array:
        return _find(self.stored, name).astype(np.float32, copy=False)

    def has(self, name: str) -> bool:
        return name in self.stored

    def matrix(self, name: str) -> Matrix:
        if name not in self._matrices:
            numbers = _find(self.stored, name)
            stored_scale = _find(self.stored, name + SCALE) if numbers.dtype == np.int8 else None
            self._matrices[name] = self._make(name, numbers, stored_scale)
        return self._matrices[name]

    def folded(self, name: str, output: str, gate: str) -> tuple[Matrix, Array]:
        """One map instead of two: what `output` makes of x, and beside it what `gate` makes of that; and its bias.

        Wg (Wo x + bo) + bg = (Wg Wo) x + (Wg bo + bg). Of rounded matrices, if they are to be rounded: a model whose
        file is in 8 bits then has the same.
        """
        inner, outer = (wide(self.matrix(f"{one}.weight")).astype(np.float64) for one in (output, gate))
        biases = self.vector(f"{output}.bias").astype(np.float64), self.vector(f"{gate}.bias").astype(np.float64)
        weight = np.concatenate([inner, outer @ inner]).astype(np.float32)
        bias = np.concatenate([biases[0], outer @ biases[0] + biases[1]]).astype(np.float32)
        return self._make(name, weight, None), bias

    def _make(self, name: str, numbers: Array, scale: Array | None) -> Matrix:
        if not self.int8:
            if scale is not None:
                return Matrix(name, widen(numbers, scale), None)
            return Matrix(name, numbers.astype(np.float32, copy=False), None)
        if scale is None:
            numbers, scale = round_rows(numbers.astype(np.float32, copy=False))
        return Matrix(name, numbers, scale.astype(np.float32, copy=False))


def _find(stored: Mapping[str, Array], name: str) -> Array:
    if name not in stored:
        raise InputError(f"the weights lack {name}: they are of another system")
    return stored[name]


def wide(matrix: Matrix) -> Array:
    """In float32, as far as it was not rounded."""
    return matrix.numbers if matrix.scale is None else widen(matrix.numbers, matrix.scale)
