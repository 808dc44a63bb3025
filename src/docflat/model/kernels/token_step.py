"""Kernels of a decoding step that see a token at a time: norms, the gate's mixture, embeddings."""

# Triton compiles its kernels from their source; its language has no types that mypy could check.
# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

NORM_WARPS = 1  # of the kernels that have a program for each token


@triton.jit
def _add_norm_kernel(x, y, weight, bias, output, dim, epsilon, WIDTH: tl.constexpr):
    """One token."""
    token, dims = tl.program_id(0).to(tl.int64), tl.arange(0, WIDTH)
    there = dims < dim
    at = token * dim + dims
    one = tl.load(x + at, mask=there, other=0.0).to(tl.float32)
    other = tl.load(y + at, mask=there, other=0.0).to(tl.float32)
    w = tl.load(weight + dims, mask=there, other=0.0).to(tl.float32)
    b = tl.load(bias + dims, mask=there, other=0.0).to(tl.float32)
    both = one + other
    off = tl.where(there, both - tl.sum(both, 0) / dim, 0.0)
    variance = tl.sum(off * off, 0) / dim
    tl.store(output + at, (off / tl.sqrt(variance + epsilon) * w + b).to(output.dtype.element_ty), mask=there)


def add_norm(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    """The layer norm of x + y, (..., dim) each, in float32."""
    x, y, dim = x.contiguous(), y.contiguous(), x.shape[-1]
    output = torch.empty_like(x)
    width = triton.next_power_of_2(dim)
    _add_norm_kernel[(x.numel() // dim,)](x, y, weight, bias, output, dim, epsilon, WIDTH=width, num_warps=NORM_WARPS)
    return output


@triton.jit
def _mix_norm_kernel(
    x, read, gate, weight, bias, output, dim, epsilon, gamma, r_token, g_token, WIDTH: tl.constexpr, STEP: tl.constexpr
):
    """One token."""
    token, dims = tl.program_id(0).to(tl.int64), tl.arange(0, WIDTH)
    there = dims < dim
    old = tl.load(x + token * dim + dims, mask=there, other=0.0).to(tl.float32)
    new = tl.load(read + token * r_token + dims, mask=there, other=0.0).to(tl.float32)
    opening = tl.sigmoid(tl.load(gate + token * g_token + dims, mask=there, other=0.0).to(tl.float32))
    if STEP:
        opening = (opening >= gamma).to(tl.float32)
    mixed = old + opening * (new - old)
    w = tl.load(weight + dims, mask=there, other=0.0).to(tl.float32)
    b = tl.load(bias + dims, mask=there, other=0.0).to(tl.float32)
    off = tl.where(there, mixed - tl.sum(mixed, 0) / dim, 0.0)
    variance = tl.sum(off * off, 0) / dim
    kind = output.dtype.element_ty
    tl.store(output + token * dim + dims, (off / tl.sqrt(variance + epsilon) * w + b).to(kind), mask=there)


def mix_norm(
    x: Tensor, read: Tensor, gate: Tensor, gamma: float | None, weight: Tensor, bias: Tensor, epsilon: float
) -> Tensor:
    """The layer norm of x, of which a gate replaces a part by what was read; (rows, beam, dim) each.

    gate: before its sigmoid; gamma: from there on it is open, and closed below; None: it opens by degrees.
    """
    x, dim = x.contiguous(), x.shape[-1]
    # One token after the other, all the same way apart: as halves of one product are, which are not copied.
    read, gate = (part.flatten(0, 1) for part in (read, gate))
    assert read.stride(1) == gate.stride(1) == 1
    output = torch.empty_like(x)
    _mix_norm_kernel[(x.numel() // dim,)](
        x, read, gate, weight, bias, output, dim, epsilon, 0.0 if gamma is None else gamma,
        read.stride(0), gate.stride(0),
        WIDTH=triton.next_power_of_2(dim), STEP=gamma is not None, num_warps=NORM_WARPS,
    )  # fmt: skip
    return output


@triton.jit(do_not_specialize=["beam", "t_row", "t_beam", "p_row", "p_beam"])
def _embed_kernel(
    tokens, positions, table, frequencies, output, beam, t_row, t_beam, p_row, p_beam, dim, scale, WIDTH: tl.constexpr
):
    """One token: the first half of its dimensions has sines, the second cosines."""
    number = tl.program_id(0).to(tl.int64)
    row, hypothesis = number // beam, number % beam
    token = tl.load(tokens + row * t_row + hypothesis * t_beam)
    position = tl.load(positions + row * p_row + hypothesis * p_beam).to(tl.float32)
    half = dim // 2
    dims = tl.arange(0, WIDTH)
    there = dims < half
    angles = position * tl.load(frequencies + dims, mask=there, other=0.0)
    first = tl.load(table + token * dim + dims, mask=there, other=0.0).to(tl.float32)
    second = tl.load(table + token * dim + half + dims, mask=there, other=0.0).to(tl.float32)
    kind = output.dtype.element_ty
    tl.store(output + number * dim + dims, (first * scale + tl.sin(angles)).to(kind), mask=there)
    tl.store(output + number * dim + half + dims, (second * scale + tl.cos(angles)).to(kind), mask=there)


def embed(tokens: Tensor, positions: Tensor, table: Tensor, frequencies: Tensor) -> Tensor:
    """Tokens (rows, beam) at positions (rows, beam or 1): their rows of the table (size, dim), scaled, and sines.

    frequencies (dim / 2,): the angles of position 1, float32.
    """
    rows, beam = tokens.shape
    dim = table.shape[1]
    positions = positions.expand(rows, beam)
    output = torch.empty(rows, beam, dim, dtype=table.dtype, device=table.device)
    _embed_kernel[(rows * beam,)](
        tokens, positions, table, frequencies, output, beam, *tokens.stride(), *positions.stride(), dim, dim**0.5,
        WIDTH=triton.next_power_of_2(dim // 2), num_warps=NORM_WARPS,
    )  # fmt: skip
    return output
