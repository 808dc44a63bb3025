"""Loading a model folder into torch, and what hardware torch can use."""

from __future__ import annotations

from pathlib import Path

import torch

from docflat.engines.loading import Hardware, LoadedModel
from docflat.engines.torch.engine import on_torch
from docflat.engines.torch.int8_products import has_int8, load_int8
from docflat.systems.docflat import fold_gates
from docflat.weights.folders import load_model

__all__ = ["has_bf16", "has_gpu", "has_int8", "load"]


def has_gpu() -> bool:
    return torch.cuda.is_available()


def has_bf16() -> bool:
    """Whether the GPU computes in it, and does not only store it."""
    return torch.cuda.is_bf16_supported(including_emulation=False)


def load(folder: Path, hardware: Hardware) -> LoadedModel:
    if hardware.threads:
        torch.set_num_threads(hardware.threads)
    if hardware.precision == "int8":
        return on_torch(load_int8(folder))
    loaded = load_model(folder)
    half = hardware.precision == "bf16"
    loaded.model.to(device=hardware.device, dtype=torch.bfloat16 if half else torch.float32)
    if half:
        fold_gates(loaded.model)
    return on_torch(loaded)
