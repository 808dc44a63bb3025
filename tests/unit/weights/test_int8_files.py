"""Compact weights: rounded once and for all, and nothing else about them changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from docflat.cli.dispatch import run
from docflat.data.row_settings import RowSettings
from docflat.data.subwords import Subwords
from docflat.engines.torch.engine import on_torch
from docflat.engines.torch.int8_products import Int8Linear, load_int8, quantize
from docflat.model.sizes import ModelSizes
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS, find_system
from docflat.translation.translator import Translator
from docflat.weights.config import ModelConfig
from docflat.weights.folders import load_model, save_model
from docflat.weights.int8_files import MOST_BYTES, PATTERN, pack, save_in_parts, unpack
from docflat.weights.stored import read_weights

SENTENCES = ["ein hund sieht den ball .", "er rollt .", "der ball ist rund ."]


def some_weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"matrix": (50, 8), "bias": (50,), "one": (1, 1)}
    weights = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    return {**weights, "zero": np.zeros((3, 8), np.float32)}


def test_a_weight_is_off_by_half_a_step_of_its_row_at_most() -> None:
    weights = some_weights()
    back = unpack(pack(weights))
    assert back.keys() == weights.keys()
    assert np.array_equal(back["bias"], weights["bias"])
    step = np.abs(weights["matrix"]).max(1, keepdims=True) / 127
    assert (np.abs(back["matrix"] - weights["matrix"]) <= 0.5001 * step).all()
    assert np.array_equal(back["zero"], weights["zero"])


def test_what_was_rounded_stays_as_it_is() -> None:
    once = pack(some_weights())
    twice = pack(unpack(once))
    for name, array in once.items():
        assert np.array_equal(twice[name], array) if array.dtype == np.int8 else np.allclose(twice[name], array)


@pytest.mark.parametrize("most", [64, 100, 1000, MOST_BYTES])
def test_files_are_no_larger_than_they_may_be_and_hold_everything(tmp_path: Path, most: int) -> None:
    weights = some_weights()
    save_in_parts(pack(weights), tmp_path, most)
    files = list(tmp_path.glob(PATTERN))
    assert len(files) >= 400 // most
    found = read_weights(tmp_path / "model.safetensors")
    for name, array in unpack(pack(weights)).items():
        assert np.array_equal(found[name], array)
    for file in files:
        header = int.from_bytes(file.read_bytes()[:8], "little")
        assert file.stat().st_size - 8 - header <= most


@pytest.mark.parametrize("gone", [1, 3])
def test_a_file_that_is_missing_is_named(tmp_path: Path, gone: int) -> None:
    save_in_parts(pack(some_weights()), tmp_path, 400)
    assert len(list(tmp_path.glob(PATTERN))) == 3
    (tmp_path / f"model-{gone}-of-3.safetensors").unlink()
    with pytest.raises(InputError, match=f"model-{gone}-of-3.safetensors is missing"):
        read_weights(tmp_path / "model.safetensors")


def save_random(folder: Path, name: str, dtype: torch.dtype = torch.float32) -> Path:
    subwords = Subwords.learn(SENTENCES * 20, 320, 8)
    sizes = ModelSizes(dim=32, heads=2, feed_forward=64, encoder_layers=1, decoder_layers=1)
    config = ModelConfig(name, sizes, {}, find_system(name).rows_of(RowSettings()))
    torch.manual_seed(0)
    save_model(folder, config, config.build(subwords).to(dtype).state_dict(), subwords, "# A card\n")
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_random(tmp_path / "model", "docflat-c")


def test_an_exported_folder_is_a_model_whose_int8_is_that_of_the_first(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "small"
    assert run(["export", "--model", str(model), "--to", "int8", "-o", str(out)]) == 0
    assert (out / "README.md").read_text() == "# A card\n"
    assert not (out / "model.safetensors").exists()
    # Rounded to whole steps, and not only to fewer digits.
    weight = load_model(out).model.state_dict()["encoder.0.feed_forward.inner.weight"]
    steps = weight / (weight.abs().amax(1, keepdim=True) / 127)
    assert torch.allclose(steps, steps.round(), atol=1e-3)
    products = [
        {name: part.rounded for name, part in load_int8(folder).model.named_modules() if isinstance(part, Int8Linear)}
        for folder in (model, out)
    ]
    assert len(products[0]) > 10
    for name, rounded in products[0].items():
        assert torch.equal(products[1][name], rounded), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", SYSTEMS)
def test_8_bits_that_stay_as_they_are_stored_are_those_of_the_wide_way(
    name: str, dtype: torch.dtype, tmp_path: Path
) -> None:
    """Every number of the model, and what it says: as if all had been made wide first, and rounded again."""
    model, out = save_random(tmp_path / "model", name, dtype), tmp_path / "small"
    assert run(["export", "--model", str(model), "--to", "int8", "-o", str(out)]) == 0
    straight, around = load_int8(out), load_model(out)
    table = around.model.embedding.weight.detach()
    quantize(around.model)
    modules = [dict(folder.model.named_modules()) for folder in (straight, around)]
    assert modules[0].keys() == modules[1].keys()
    for place, one in modules[0].items():
        other = modules[1][place]
        assert type(one) is type(other)
        if isinstance(one, Int8Linear):
            assert isinstance(other, Int8Linear)
            assert torch.equal(one.rounded, other.rounded), place
            assert torch.equal(one.scale, other.scale), place
            assert (one.bias is None) == (other.bias is None)
            assert one.bias is None or torch.equal(one.bias, other.bias), place
    states = [folder.model.state_dict() for folder in (straight, around)]
    assert states[0].keys() == states[1].keys()
    for place, tensor in states[0].items():
        if place != "embedding.weight":  # which stays in 8 bits
            assert tensor.dtype == torch.float32
            assert torch.equal(tensor, states[1][place]), place
    embedding = straight.model.embedding
    assert embedding.weight.dtype == torch.int8
    assert torch.equal(embedding.rows(torch.arange(len(table)).view(2, -1)), table.view(2, -1, table.shape[1]))
    said = [Translator(on_torch(folder)).translate(SENTENCES) for folder in (straight, around)]
    assert said[0] == said[1]


def test_a_kind_of_quantization_is_refused(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--to", "int8", "--quantization", "float16", "-o", str(tmp_path / "out")]
    assert run(["export", "--model", str(model), *arguments]) == 2
    assert "--quantization is for --to ctranslate2" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    save_in_parts(pack(some_weights()), tmp_path, 400)
    save_in_parts(pack(some_weights()), tmp_path, 1 << 20)
    with pytest.raises(InputError, match="two sets of weights"):
        read_weights(tmp_path / "model.safetensors")


def test_a_scale_that_is_missing_is_named() -> None:
    packed = pack(some_weights())
    del packed["matrix.scale"]
    with pytest.raises(InputError, match=r"lack matrix\.scale"):
        unpack(packed)


@pytest.mark.parametrize("scale", [np.ones(49), np.ones((50, 1)), np.ones(1)])
def test_a_scale_that_does_not_fit_is_named(scale: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"matrix\.scale has not one number for each row of matrix"):
        unpack({**pack(some_weights()), "matrix.scale": scale})


def test_8_bits_are_of_matrices() -> None:
    with pytest.raises(InputError, match=r"bias\.scale"):
        unpack({"bias": np.ones(3, dtype=np.int8), "bias.scale": np.ones(3)})
