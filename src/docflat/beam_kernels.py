"""Kernels for a GPU, in Triton: what a beam search does with the logits of a step."""

# Triton compiles its kernels from their source; its language has no types that mypy could check.
# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _summarize_kernel(
    logits, totals, maxima, size, stretches, first_text,
    STRETCH: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """One row of logits."""
    row = tl.program_id(0).to(tl.int64)
    highest = tl.full([], float("-inf"), tl.float32)
    total = tl.full([], 0.0, tl.float32)
    for first in range(0, stretches, AT_ONCE):
        stretch = first + tl.arange(0, AT_ONCE)
        place = stretch[:, None] * STRETCH + tl.arange(0, STRETCH)[None, :]
        x = tl.load(logits + row * size + place, mask=place < size, other=float("-inf")).to(tl.float32)
        of_text = tl.max(tl.where(place >= first_text, x, float("-inf")), 1)
        tl.store(maxima + row * stretches + stretch, of_text, mask=stretch < stretches)
        higher = tl.maximum(highest, tl.max(tl.max(x, 1), 0))
        total = total * tl.exp(highest - higher) + tl.sum(tl.sum(tl.exp(x - higher), 1), 0)
        highest = higher
    tl.store(totals + row, highest + tl.log(total))


def summarize(logits: Tensor, first_text: int, stretch: int) -> tuple[Tensor, Tensor]:
    """What a search wants to know, in one reading of (..., size): float32 each.

    The logarithm of the sum of exponentials, (..., 1), and the largest logit of each stretch of so many words, those
    before `first_text` not counted: (..., stretches).
    """
    *shape, size = logits.shape
    logits = logits.contiguous()
    stretches = triton.cdiv(size, stretch)
    totals = torch.empty(*shape, 1, dtype=torch.float32, device=logits.device)
    maxima = torch.empty(*shape, stretches, dtype=torch.float32, device=logits.device)
    _summarize_kernel[(totals.numel(),)](
        logits, totals, maxima, size, stretches, first_text, STRETCH=stretch, AT_ONCE=4096 // stretch, num_warps=8
    )
    return totals, maxima
