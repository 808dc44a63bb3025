"""What tests of kernels share: on a CPU Triton's interpreter, chosen before kernels are imported."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch import Tensor

on_gpu = torch.cuda.is_available()
if not on_gpu:
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="Triton comes with torch for GPUs only")

from docflat.model.kernels import decoding_step as step_kernels  # noqa: E402
from docflat.model.kernels import segment_attention as kernels  # noqa: E402

__all__ = ["CLOSE", "DEVICE", "DTYPE", "kernels", "on_gpu", "random", "step_kernels"]

DEVICE = "cuda" if on_gpu else "cpu"
DTYPE: Any = torch.bfloat16 if on_gpu else torch.float32
CLOSE: Any = {"rtol": 2e-2, "atol": 2e-2} if on_gpu else {"rtol": 1e-5, "atol": 1e-5}


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE, dtype=DTYPE)
