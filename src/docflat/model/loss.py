"""The loss: label-smoothed cross-entropy over a large vocabulary, in pieces that are forgotten at once.

The logits of a batch are the largest tensor of training by far (32K tokens x 32K subwords). Here a piece of them is
made, graded and turned into the gradients of states and weight before the next one is made. They are never kept for
the backward pass, which has only to scale what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Logits of a piece: on a GPU enough to fill it, on a CPU few enough to stay near the caches.
PIECE = {"cuda": 1 << 27, "cpu": 1 << 22}

IGNORED = -1  # the label of what predicts nothing

Grade = Callable[[Tensor, Tensor, float], tuple[Tensor, Tensor, Tensor]]


def grade(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """Sums of the smoothed and of the plain loss, and the gradient of the first: (tokens, vocabulary).

    logits (tokens, vocabulary), labels (tokens,), some of which may be IGNORED.
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    size = wide.shape[1]
    normaliser = wide.logsumexp(1)
    # Compared, not gathered: one pass with the rest, and its gradient needs no second tensor of this size.
    right = torch.arange(size, device=labels.device) == labels[:, None]
    # Row by row first: a sum over everything at once would be a pass of its own.
    plain = normaliser - torch.where(right, wide, 0.0).sum(1)
    smooth = normaliser - wide.sum(1) / size
    gradient = (wide - normaliser[:, None]).exp() - smoothing / size
    gradient = torch.where(right, gradient - (1 - smoothing), gradient)
    counts = labels != IGNORED
    gradient = torch.where(counts[:, None], gradient, 0.0)
    plain = torch.where(counts, plain, 0.0)
    loss = (1 - smoothing) * plain + smoothing * torch.where(counts, smooth, 0.0)
    return loss.sum(), plain.sum(), gradient.to(logits.dtype)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, labels: Tensor, smoothing: float, grade: Grade
    ) -> tuple[Tensor, Tensor]:
        kind = states.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype
        narrow, narrow_weight = states.to(dtype), weight.to(dtype)
        learns = any(ctx.needs_input_grad[:2])
        sums = torch.zeros(2, dtype=torch.promote_types(dtype, torch.float32), device=weight.device)
        to_states = torch.empty_like(narrow) if learns else None
        to_weight = torch.zeros_like(weight) if learns else None
        rows = max(1, PIECE.get(kind, PIECE["cpu"]) // len(weight))
        with torch.autocast(kind, enabled=False):
            for piece, piece_labels, start in zip(
                narrow.split(rows), labels.split(rows), range(0, len(labels), rows), strict=True
            ):
                *some, gradient = grade(piece @ narrow_weight.T, piece_labels, smoothing)
                sums += torch.stack(some)
                if to_states is not None and to_weight is not None:
                    torch.mm(gradient, narrow_weight, out=to_states[start : start + len(piece)])
                    to_weight += gradient.T @ piece
        if to_states is not None and to_weight is not None:
            ctx.save_for_backward(to_states.to(states.dtype), to_weight)
        loss, plain = sums[0].clone(), sums[1].clone()
        ctx.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_loss: Tensor, by_plain: Tensor) -> tuple[Tensor | None, ...]:
        to_states, to_weight = ctx.saved_tensors
        return to_states * by_loss, to_weight * by_loss, None, None, None


def cross_entropy(
    states: Tensor, weight: Tensor, labels: Tensor, smoothing: float, grade: Grade = grade
) -> tuple[Tensor, Tensor]:
    """Sums over the labels: the smoothed loss to train on, and the plain one to report.

    states (tokens, dim), weight (vocabulary, dim), labels (tokens,); IGNORED ones count nothing.
    """
    loss, plain = _CrossEntropy.apply(states, weight, labels, smoothing, grade)
    return loss, plain
