"""Model folders from strangers: each is refused at once, in a line that names the file and what is wrong in it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from docflat import Translator
from docflat.support.errors import InputError

MODEL = Path(__file__).parents[2] / "data" / "model-format-1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(MODEL, tmp_path / "model")


def refused(folder: Path) -> str:
    said = set()
    for engine in ("onnx", "torch"):
        with pytest.raises(InputError) as caught:
            Translator.load(folder, device="cpu", engine=engine)
        said.add(str(caught.value))
    (one,) = said
    return one


def edit_config(folder: Path, part: str | None, **changes: Any) -> None:
    content = json.loads((folder / "config.json").read_text())
    (content if part is None else content[part]).update(changes)
    (folder / "config.json").write_text(json.dumps(content))


def edit_weights(folder: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """The name of the first matrix, after a change of the weights."""
    weights = {name: array.copy() for name, array in load_file(folder / "model.safetensors").items()}
    name = next(name for name, array in weights.items() if array.ndim == 2)
    change(weights)
    (folder / "model.safetensors").unlink()
    save_file(weights, folder / "model.safetensors")
    return name


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("sizes", "encoder_layers", 10**9),
        ("sizes", "decoder_layers", 10**30),
        ("sizes", "dim", 2**62),
        ("sizes", "feed_forward", 2**62),
        ("sizes", "heads", 2**62),
        ("rows", "context", 10**12),
        ("rows", "max_tokens", 10**12),
    ],
)
def test_absurd_sizes(folder: Path, part: str, key: str, value: int):
    edit_config(folder, part, **{key: value})
    assert refused(folder).startswith(f"{folder / 'config.json'}: {part}.{key}: must be at most ")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "huge"])
def test_what_is_no_ordinary_file(folder: Path, name: str, kind: str):
    (folder / name).unlink()
    if kind == "fifo":
        os.mkfifo(folder / name)
    elif kind == "huge":
        with open(folder / name, "wb") as file:
            file.truncate(1 << 40)  # takes no room on the disk
    else:
        (folder / name).symlink_to(kind)
    code = f"from docflat import Translator; Translator.load({str(folder)!r}, device='cpu', engine='onnx')"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

    words = [sys.executable, "-c", code]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30, preexec_fn=limit)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"docflat.support.errors.InputError: {folder / name}: ")


def test_deep_json(folder: Path):
    for name in ("config.json", "tokenizer.json"):
        whole = (folder / name).read_text()
        (folder / name).write_text('{"docflat": ' + "[" * 100_000 + "]" * 100_000 + "}")
        assert refused(folder).startswith(f"{folder / name}: ")
        (folder / name).write_text(whole)
    (folder / "config.json").write_text('{"format": ' + "1" * 5000 + "}")
    assert refused(folder).startswith(f"{folder / 'config.json'}: not JSON")


@pytest.mark.parametrize("last", ["1000000000000", "9" * 200, "2"])
def test_files_of_a_set_without_end(folder: Path, last: str):
    (folder / "model.safetensors").rename(folder / f"model-1-of-{last}.safetensors")
    assert refused(folder).startswith(f"{folder}")


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint8, np.bool_])
def test_whole_numbers_are_no_weights(folder: Path, kind: Any):
    def change(weights: dict[str, Any]) -> None:
        name = next(name for name, array in weights.items() if array.ndim == 2)
        weights[name] = weights[name].astype(kind)

    name = edit_weights(folder, change)
    assert name in refused(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_weights_that_are_no_numbers(folder: Path, value: float, kind: Any):
    def change(weights: dict[str, Any]) -> None:
        name = next(name for name, array in weights.items() if array.ndim == 2)
        weights[name] = weights[name].astype(kind)
        weights[name][1, 2] = value

    name = edit_weights(folder, change)
    assert refused(folder) == f"{folder / 'model.safetensors'}: {name} has numbers that are infinite or none"


LONG = ["x[" + "9" * 5000 + "]", "a" * 70_000]


@pytest.mark.parametrize("name", ["[", "x[", "x[a]", "x[1", "[1]", "x[-1]", "", "\x1b[2J", *LONG])
def test_odd_names(folder: Path, name: str):
    edit_weights(folder, lambda weights: weights.update({name: np.zeros((2, 2), np.float32)}))
    message = refused(folder)
    assert message.startswith(f"{folder / 'model.safetensors'}: the weights have ")
    assert len(message) < 1000


def test_pieces_that_do_not_fit(folder: Path):
    pieces = {"x[0]": np.zeros((2, 2), np.float32), "x[1]": np.zeros((2, 3), np.float32)}
    edit_weights(folder, lambda weights: weights.update(pieces))
    assert "the pieces of x do not fit" in refused(folder)
