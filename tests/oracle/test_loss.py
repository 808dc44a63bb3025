"""The loss in pieces against torch's own over all logits at once."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from docflat.model import loss as losses
from docflat.model.loss import cross_entropy


def parts(tokens: int = 50, size: int = 37, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    states = torch.randn(tokens, 8, dtype=dtype, requires_grad=True)
    weight = torch.randn(size, 8, dtype=dtype, requires_grad=True)
    return states, weight, torch.randint(size, (tokens,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("piece", [1, 37 * 7, 1 << 20], ids=["row by row", "7 rows", "at once"])
def test_losses_and_gradients_are_torchs(smoothing: float, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(losses.PIECE, "cpu", piece)
    states, weight, labels = parts()
    loss, plain = cross_entropy(states, weight, labels, smoothing)
    logits = states @ weight.T
    wanted = F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss, wanted, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(plain, F.cross_entropy(logits, labels, reduction="sum"), rtol=1e-12, atol=1e-12)
    # Not 1: the scale of a mean, or of fp16 training, reaches the gradients.
    found, expected = (torch.autograd.grad(x * 0.3, (states, weight)) for x in (loss, wanted))
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-12)


def test_only_the_states_are_learned_when_the_weight_is_frozen() -> None:
    states, weight, labels = parts()
    loss, _ = cross_entropy(states, weight.detach(), labels, 0.1)
    wanted = F.cross_entropy(states @ weight.detach().T, labels, label_smoothing=0.1, reduction="sum")
    found, expected = (torch.autograd.grad(x, states) for x in (loss, wanted))
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-12)


def test_without_gradients_there_are_none() -> None:
    states, weight, labels = parts()
    with torch.no_grad():
        loss, plain = cross_entropy(states, weight, labels, 0.0)
    assert not loss.requires_grad
    assert not plain.requires_grad
    torch.testing.assert_close(loss, plain, rtol=1e-12, atol=1e-12)


def test_half_precision_is_close_and_hands_gradients_back_as_they_are_kept() -> None:
    states, weight, labels = parts(size=300, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        loss, _ = cross_entropy(states, weight, labels, 0.1)
    wanted = F.cross_entropy(states @ weight.T, labels, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(loss, wanted, rtol=5e-3, atol=0)
    found, expected = (torch.autograd.grad(x, (states, weight)) for x in (loss, wanted))
    for gradient, want in zip(found, expected, strict=True):
        assert gradient.dtype == torch.float32
        assert F.cosine_similarity(gradient.flatten(), want.flatten(), dim=0) > 0.999
