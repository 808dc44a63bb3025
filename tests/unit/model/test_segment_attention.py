"""The Triton kernels against the padded layout: on a GPU as they are, elsewhere in Triton's interpreter."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch

from docflat.model.layers import attend_padded
from docflat.model.segments import Segments

on_gpu = torch.cuda.is_available()
if not on_gpu:
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="Triton comes with torch for GPUs only")

from docflat.model.kernels import segment_attention as kernels  # noqa: E402

DEVICE = "cuda" if on_gpu else "cpu"
# Segments of less than a tile, of exactly one, of several, without queries, without keys.
CASES = [
    ([5, 20, 1, 150], None, True),
    ([5, 20, 1, 150], None, False),
    ([64, 128], None, True),
    ([5, 20, 1, 100], [7, 3, 133, 16], False),
    ([5, 0, 1, 70], [70, 3, 0, 64], False),
]


@pytest.mark.parametrize(("queries", "keys", "causal"), CASES)
@pytest.mark.parametrize("searched", [kernels.SEARCHED, 2], ids=["all at once", "more than are searched at a time"])
def test_outputs_and_gradients_are_those_of_the_padded_layout(
    queries: list[int], keys: list[int] | None, causal: bool, searched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "SEARCHED", searched)
    dtype: Any = torch.bfloat16 if on_gpu else torch.float32
    keys = queries if keys is None else keys
    torch.manual_seed(0)
    sides = [Segments.of_lengths(np.array(lengths)).map_tensors(lambda x: x.to(DEVICE)) for lengths in (queries, keys)]
    # As projections come: tokens lie further apart than they are wide.
    query = torch.randn(sum(queries), 3, 2, 16, device=DEVICE, dtype=dtype)[:, 1].requires_grad_()
    both = torch.randn(sum(keys), 2, 2, 16, device=DEVICE, dtype=dtype)
    key, value = both[:, 0].requires_grad_(), both[:, 1].detach().requires_grad_()
    found, _ = kernels.segment_attention(query, key, value, sides[0].starts, sides[1].starts, causal)
    wanted = attend_padded(query.double(), key.double(), value.double(), *sides, causal)
    there = (sides[1].lengths > 0)[sides[0].number(len(query))]
    wanted = torch.where(there[:, None, None], wanted, 0.0)
    close = {"rtol": 2e-2, "atol": 3e-2} if on_gpu else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(found.double(), wanted, **close)
    slope = torch.randn_like(found)
    gradients = torch.autograd.grad(found, (query, key, value), slope)
    expected = torch.autograd.grad(wanted, (query, key, value), slope.double())
    for one, other in zip(gradients, expected, strict=True):
        torch.testing.assert_close(one, other, **close)


@pytest.mark.skipif(not on_gpu, reason="an interpreter has no races")
@pytest.mark.parametrize("across", [False, True], ids=["within", "across"])
def test_gradients_are_the_same_bits_every_time(across: bool) -> None:
    """Nothing in the kernels depends on the order in which they run: other bits are a race."""
    rng = np.random.default_rng(0)
    lengths = [np.clip(rng.lognormal(np.log(25), 0.6, 1200), 1, 200).astype(int) for _ in range(2)]
    queries, keys = (Segments.of_lengths(x).map_tensors(lambda x: x.cuda()) for x in (lengths[0], lengths[int(across)]))
    sizes = [int(side.starts[-1]) for side in (queries, keys, keys)]
    inputs = [torch.randn(n, 8, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for n in sizes]
    slope = torch.randn_like(inputs[0])
    first: tuple[torch.Tensor, ...] | None = None
    for _ in range(200):
        found, _ = kernels.segment_attention(*inputs, queries.starts, keys.starts, False)
        gradients = torch.autograd.grad(found, inputs, slope)
        first = first or gradients
        assert all(torch.equal(one, other) for one, other in zip(gradients, first, strict=True))
    wanted = attend_padded(*(x.float() for x in inputs), queries, keys, False)
    for one, other in zip(gradients, torch.autograd.grad(wanted, inputs, slope.float()), strict=True):
        torch.testing.assert_close(one.float(), other.float(), rtol=2e-2, atol=5e-2)
