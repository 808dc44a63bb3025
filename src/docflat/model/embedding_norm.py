"""What stands between embedding and first layer: a layer norm, none, or one that came after the model was trained."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from docflat.model.layers import Norm
from docflat.model.sizes import Architecture


class SharedNorm(Norm):
    """A norm for a model that was trained without: (1 - s) x + s norm(x) by dimension, and s is learned from 0 on."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.share = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        return torch.lerp(x, super().forward(x).to(x.dtype), self.share.to(x.dtype))

    def of_sum(self, x: Tensor, y: Tensor) -> Tensor:
        return self(x + y)


class NoNorm(nn.Module):
    """In the place of a norm that an architecture does without."""

    def forward(self, x: Tensor) -> Tensor:
        return x

    def of_sum(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def embedding_norm(dim: int, architecture: Architecture) -> Norm | NoNorm:
    """What stands between embedding and first layer."""
    if not architecture.embedding_norm:
        return NoNorm()
    return SharedNorm(dim) if architecture.shared_norm else Norm(dim)
