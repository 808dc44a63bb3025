"""Compact weights: matrices in 8 bits with a scale for each row, in files of a size that every host takes.

A quarter of float32. A row's largest weight is 127 steps, so rounding what was rounded before changes nothing: the int8
products of `docflat.engines` are made of these very numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from docflat.data.rows import Array
from docflat.support.errors import InputError

SCALE = ".scale"
MOST_BYTES = 15 << 20  # of a file
PATTERN = "model-*-of-*.safetensors"

Rounded = tuple[Array, Array]  # a matrix in int8, and the scale of each row


def round_rows(weight: Array) -> Rounded:
    """A matrix in int8, and the scale of each row."""
    # Without copies of its absolute values and of its quotients: it is done to a whole model before the first word.
    largest = np.maximum(weight.max(1), -weight.min(1))
    scale = np.maximum(largest / 127, 1e-12)
    steps = weight / scale[:, None]
    return np.rint(steps, out=steps).astype(np.int8), scale  # 127 at the most, by the scale


def pack(weights: Mapping[str, Array]) -> dict[str, Array]:
    """Matrices as int8, with their scales beside them; the rest as it is."""
    packed: dict[str, Array] = {}
    for name, array in weights.items():
        packed[name] = array
        if array.ndim == 2:
            packed[name], packed[name + SCALE] = round_rows(array.astype(np.float32, copy=False))
    return packed


def unpack(packed: Mapping[str, Array]) -> dict[str, Array]:
    """What `pack` was given, rounded."""
    rounded = rounded_of(packed)
    return {
        name: widen(*rounded[name]) if name in rounded else array
        for name, array in packed.items()
        if not name.endswith(SCALE)
    }


def rounded_of(packed: Mapping[str, Array]) -> dict[str, Rounded]:
    """The matrices that are in 8 bits."""
    rounded = {}
    for name, array in packed.items():
        if array.dtype == np.int8:
            if name + SCALE not in packed:
                raise InputError(f"the weights lack {name + SCALE}: {name} cannot be read without it")
            scale = packed[name + SCALE]
            if array.ndim != 2 or scale.shape != array.shape[:1]:
                raise InputError(f"{name + SCALE} has not one number for each row of {name}")
            rounded[name] = (array, scale)
    return rounded


def widen(rounded: Array, scale: Array) -> Array:
    """The matrix that was rounded, as far as 8 bits hold it."""
    return rounded.astype(np.float32) * scale[:, None]


def save_in_parts(weights: Mapping[str, Array], folder: Path, most: int = MOST_BYTES) -> None:
    """Write files of at most so many bytes; an array that is larger by itself is cut by rows."""
    parts: list[dict[str, Array]] = [{}]
    room = most
    for name, array in weights.items():
        row = array.nbytes // max(1, len(array))
        height = max(1, most // max(1, row))
        pieces = [array]
        if array.nbytes > most:
            pieces = [array[start : start + height] for start in range(0, len(array), height)]
        for number, piece in enumerate(pieces):
            if piece.nbytes > room and parts[-1]:
                parts.append({})
                room = most
            parts[-1][name if len(pieces) == 1 else f"{name}[{number}]"] = np.ascontiguousarray(piece)
            room -= piece.nbytes
    for number, part in enumerate(parts, 1):
        save_file(part, folder / f"model-{number}-of-{len(parts)}.safetensors")


def is_compact(folder: Path) -> bool:
    """Whether the weights of a model folder are stored like this."""
    return not (folder / "model.safetensors").exists() and any(folder.glob(PATTERN))


def parts_of(folder: Path) -> list[Path]:
    """The files that `save_in_parts` wrote, all of them; none where there are no such files."""
    matches = [re.fullmatch(r"model-(\d+)-of-(\d{1,9})", file.stem) for file in folder.glob(PATTERN)]
    totals = {int(match[2]) for match in matches if match}
    if len(totals) > 1:
        raise InputError("the files of two sets of weights are in this folder", folder)
    files = []
    for total in totals:
        for number in range(1, total + 1):
            files.append(folder / f"model-{number}-of-{total}.safetensors")
            if not files[-1].exists():  # the first that is not there: the total may be anything
                raise InputError(f"{files[-1].name} is missing: the weights are in {total} files", folder)
    return files


def join(parts: Iterable[Mapping[str, Array]], path: Path) -> dict[str, Array]:
    """The arrays of all files of a folder, those that were cut put together again; `path` names them in errors."""
    whole: dict[str, Array] = {}
    pieces: dict[str, dict[int, Array]] = {}
    for part in parts:
        for name, array in part.items():
            if match := re.fullmatch(r"(.+)\[(\d{1,9})\]", name, re.DOTALL):
                pieces.setdefault(match[1], {})[int(match[2])] = array
            else:
                whole[name] = array
    for name, some in pieces.items():
        try:
            whole[name] = np.concatenate([some[n] for n in sorted(some)])
        except ValueError as error:
            raise InputError(f"the pieces of {name[:100]} do not fit: {error}", path) from None
    return whole
