"""The weights of a model folder as arrays, mapped from its files: processes share them until they write to them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from docflat.data.rows import Array
from docflat.support.errors import InputError
from docflat.support.text_files import check_ordinary
from docflat.weights import int8_files

_MOST_BYTES = 1 << 36  # 64 GiB
DTYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,  # numpy has none: its bits are the upper half of a float32's
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "U16": np.uint16,
    "BOOL": np.bool_,
}


def read_weights(path: Path) -> dict[str, Array]:
    """Of one file; where there is none, of the files of compact weights beside it, made wide."""
    return int8_files.unpack(read_stored(path))


def read_stored(path: Path) -> dict[str, Array]:
    """The same as they are stored: of compact weights, matrices in 8 bits and their scales."""
    files = [] if path.exists() else int8_files.parts_of(path.parent)
    stored = int8_files.join((read_arrays(file) for file in files or [path]), path)
    for name, array in stored.items():
        _check_numbers(name, array, stored, path)
    return stored


def stored_names(path: Path) -> set[str]:
    """Of the same, without reading them; none where there are none, or what is there cannot be read."""
    names: set[str] = set()
    for file in [path] if path.exists() else int8_files.parts_of(path.parent):
        check_ordinary(file, _MOST_BYTES)
        with contextlib.suppress(OSError, SafetensorError), safe_open(file, framework="np") as stored:
            names.update(stored.keys())
    return names


def _check_numbers(name: str, array: Array, stored: Mapping[str, Array], path: Path) -> None:
    """Whether these are weights: a damaged model may translate, and nobody sees why it does so badly."""
    if array.dtype == np.int8 and name + int8_files.SCALE in stored:
        return
    if array.dtype.kind != "f":
        raise InputError(f"{short(name)} holds whole numbers ({array.dtype}), which are no weights", path)
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=np.float32)  # once through memory; what is exact takes four times as long
    if not np.isfinite(total) and not np.isfinite(array).all():
        raise InputError(f"{short(name)} has numbers that are infinite or none", path)


def short(name: str) -> str:
    return name if len(name) <= 100 else f"{name[:100]}..."


def read_arrays(path: Path) -> dict[str, Array]:
    """Of one file. Writing to an array changes no file."""
    check_ordinary(path, _MOST_BYTES)
    try:
        with safe_open(path, framework="np"):
            pass  # reads the header, and says what is wrong with it
        content = np.asarray(np.memmap(path, dtype=np.uint8, mode="c"))
    except (OSError, ValueError, SafetensorError) as error:
        raise InputError(f"cannot read the weights: {error}", path) from None
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:start].tobytes())
    header.pop("__metadata__", None)
    arrays: dict[str, Array] = {}
    for name, entry in header.items():
        if entry["dtype"] not in DTYPES:
            raise InputError(f"{name} is of the type {entry['dtype']}, which no weights of docflat have", path)
        first, end = (start + offset for offset in entry["data_offsets"])
        try:
            array = content[first:end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
        except ValueError as error:
            raise InputError(f"cannot read {short(name)}: {error}", path) from None
        if entry["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        arrays[name] = array
    return arrays
