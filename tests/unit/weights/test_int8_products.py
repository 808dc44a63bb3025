"""Int8 products against the float64 ones of the rounded matrices, and whole models close to their float32 selves."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import docflat.engines.torch.int8_products
from conftest import VARIANTS, batch_of, build_variant, random_documents
from docflat.engines.torch.int8_products import Int8Embedding, Int8Linear, Int8Weight, quantize
from docflat.model.layers import Gate, SplitLinear, fold
from docflat.model.transformer import Transformer
from docflat.support.errors import InputError
from docflat.systems.docflat import DocFlat, fold_gates
from docflat.translation.translator import Translator


def slow_int8(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Weights rounded by output, x by its own range to 8 bits without sign, in float64 with loops over outputs."""
    low, high = min(0.0, float(x.min())), max(0.0, float(x.max()))
    steps = 255 if torch.cpu._is_vnni_supported() else 127  # 8 bits, or 7
    step = (high - low) / steps
    zero = round(-low / step)
    rounded_x = (((x.double() / step).round() + zero).clamp(0, steps) - zero) * step
    result = torch.empty(len(x), len(weight), dtype=torch.float64)
    for n, row in enumerate(weight.double()):
        scale = float(row.abs().max()) / 127
        result[:, n] = rounded_x @ ((row / scale).round() * scale) + float(bias[n])
    return result


def test_a_product_is_that_of_the_rounded_numbers() -> None:
    torch.manual_seed(0)
    linear = SplitLinear(64, 96)
    int8 = Int8Linear(linear)
    x = torch.randn(7, 64)
    with torch.inference_mode():
        for start, end in ((0, 96), (0, 32), (32, 96)):
            found = int8(x) if end - start == 96 else int8.some(x, start, end)
            expected = slow_int8(x, linear.weight[start:end], linear.bias[start:end])
            # A number just between two steps may be rounded either way: half a step of x times one weight.
            torch.testing.assert_close(found.double(), expected, rtol=0, atol=0.01)
            assert not torch.equal(found, linear.some(x, start, end))
    assert int8(x[None]).shape == (1, 7, 96)


def test_products_need_no_quantised_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which torch has declared deprecated."""

    def refuse(*_: object) -> None:
        raise AssertionError("a quantised tensor")

    monkeypatch.setattr(torch, "_make_per_channel_quantized_tensor", refuse)
    assert Int8Linear(SplitLinear(64, 96))(torch.randn(7, 64)).shape == (7, 96)
    assert Int8Linear(SplitLinear(64, 96))(torch.randn(0, 64)).shape == (0, 96)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_an_error_and_no_fault(number: float) -> None:
    x = torch.randn(7, 64)
    x[3, 5] = number
    with pytest.raises(InputError, match="infinite or none"):
        Int8Linear(SplitLinear(64, 96))(x)


def logits_of(model: Transformer, variant: str) -> torch.Tensor:
    batch, _ = batch_of(random_documents(np.random.default_rng(0), [4, 3]), VARIANTS[variant][0])
    with torch.inference_mode():
        return model.logits(batch)


class SlowWeight:
    """In the place of Int8Weight: the same in words."""

    def __init__(self, rounded: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor | None) -> None:
        self.weight = rounded.double() * scale.double()[:, None]
        self.bias = torch.zeros(len(scale)) if bias is None else bias

    def __call__(self, x: torch.Tensor, relu: bool = False) -> torch.Tensor:
        product = slow_int8(x.reshape(-1, x.shape[-1]), self.weight, self.bias).to(x.dtype)
        return (product.relu() if relu else product).view(*x.shape[:-1], -1)


def correlation(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_system_in_8_bits(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    models = [build_variant(variant, dtype=torch.float32) for _ in range(2)]
    before = logits_of(models[0], variant)
    quantize(models[0])
    after = logits_of(models[0], variant)
    assert not torch.equal(before, after)
    # Correlated, not equal: the tiny models are random and steep, real ones are measured in BLEU.
    if torch.cpu._is_vnni_supported():  # with 7 bits some of them go astray
        assert correlation(before, after) > 0.9
    monkeypatch.setattr(docflat.engines.torch.int8_products, "Int8Weight", SlowWeight)
    quantize(models[1])
    assert correlation(after, logits_of(models[1], variant)) > 0.999


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_layers_are_asked_for_is_packed_before(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_variant(variant, dtype=torch.float32)
    quantize(model)
    packed = [part.packed for part in model.modules() if isinstance(part, Int8Linear) and part.packed]
    assert len(packed) >= 4 * len(model.encoder) + 6 * len(model.decoder)
    asked = set()
    call = Int8Weight.__call__

    def note(self: Int8Weight, x: torch.Tensor, relu: bool = False) -> torch.Tensor:
        asked.add(self)
        return call(self, x, relu)

    monkeypatch.setattr(Int8Weight, "__call__", note)
    ready = {weight for parts in packed for weight in parts.values()}
    logits_of(model, variant)
    assert ready <= asked  # nothing in vain
    if variant != "hybrid":  # whose layers also read keys and values of the sentence before
        assert {weight for parts in packed for weight in parts.values()} == ready  # and nothing was missing


def test_two_maps_are_folded_into_one() -> None:
    torch.manual_seed(0)
    output, gate = nn.Linear(24, 16).double(), nn.Linear(16, 8).double()
    x = torch.randn(5, 24, dtype=torch.float64)
    with torch.inference_mode():
        found = fold(output, gate)(x)
        for one, row in zip(x, found, strict=True):
            read = output.weight @ one + output.bias
            torch.testing.assert_close(row, torch.cat([read, gate.weight @ read + gate.bias]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("variant", [one for one, (name, _) in VARIANTS.items() if name.startswith("docflat")])
def test_a_model_with_folded_gates_has_the_same_logits(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is in bf16 on a GPU; on each side that has a gate, and nothing is asked of that gate any more."""
    model = build_variant(variant)
    expected = logits_of(model, variant)
    fold_gates(model)
    monkeypatch.setattr(Gate, "forward", None)
    torch.testing.assert_close(logits_of(model, variant), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variant", ["docflat-c", "docflat-d"])
def test_a_folded_gate_is_as_close_to_float32_as_two_products(variant: str) -> None:
    model = build_variant(variant, dtype=torch.float32)
    assert isinstance(model, DocFlat)
    plain = deepcopy(model.target_flat)
    quantize(model)
    int8 = model.target_flat
    assert plain is not None
    assert int8 is not None
    torch.manual_seed(0)
    dim, heads = model.sizes.dim, model.sizes.heads
    x, read = torch.randn(200, dim), torch.randn(200, heads, dim // heads)
    with torch.inference_mode():
        exact = plain.mix_heads(x, read)
        folded, apart = int8.mix_heads(x, read), int8.mix(x, int8.attention.join(read))
    # By the median: of a discrete gate some openings are so near the step that any rounding tips them over.
    error, error_apart = (float((one - exact).abs().median()) for one in (folded, apart))
    assert 0 < error < 1.1 * error_apart
    assert error < 0.02 * float(exact.std())


def test_a_folder_is_loaded_in_int8_where_a_cpu_does_the_work() -> None:
    folder = Path(__file__).parents[2] / "data" / "model-format-1"
    plain, int8 = (Translator.load(folder, device="cpu", precision=kind, engine="torch") for kind in ("fp32", "int8"))
    assert isinstance(int8.model.engine.model.embedding, Int8Embedding)
    assert not isinstance(plain.model.engine.model.embedding, Int8Embedding)
    assert len(int8.translate(["a b c", "d e"], mode="sentence")) == 2
    with pytest.raises(InputError, match="on cpu the precision is one of fp32, int8, not bf16"):
        Translator.load(folder, device="cpu", precision="bf16")
