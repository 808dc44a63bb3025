"""The Triton kernels of a beam search against plain torch: on a GPU as they are, elsewhere in Triton's interpreter."""

from __future__ import annotations

import os

import pytest
import torch

on_gpu = torch.cuda.is_available()
if not on_gpu:
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="Triton comes with torch for GPUs only")

from docflat import beam_kernels  # noqa: E402

DEVICE = "cuda" if on_gpu else "cpu"


@pytest.mark.parametrize("size", [32_000, 5_000, 128, 4_097])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_logits_summed_up(size: int, kind: torch.dtype) -> None:
    """Against torch's own logsumexp, and maxima in a plain loop; some logits are minus infinity."""
    torch.manual_seed(0)
    logits = (4 * torch.randn(2, 3, size, device=DEVICE)).to(kind)
    logits[0, 0, ::2] = float("-inf")
    logits[1, 2, 200:] = float("-inf")
    totals, maxima = beam_kernels.summarize(logits, 4, 128)
    wide = logits.double()
    torch.testing.assert_close(totals.double(), wide.logsumexp(-1, keepdim=True), rtol=1e-6, atol=1e-5)
    wide[..., :4] = float("-inf")
    expected = torch.stack([part.amax(-1) for part in wide.split(128, dim=-1)], dim=-1)
    assert torch.equal(maxima.double(), expected)
