"""Kernels for a GPU, in Triton: attention over many short segments, as sentences are.

The flash kernels that torch brings cut queries and keys into tiles of 128; a sentence has about 30 tokens. Here tiles
are small, a segment that fits into one is done at once, and the backward pass needs neither a kernel before nor one
after it. Queries are (query tokens, heads, size), keys and values (key tokens, heads, size); the last two dimensions
of each must be dense, its tokens may lie apart.

To torch.compile attention is closed: it calls it, and does not look inside.
"""

# Triton compiles its kernels from their source; its language has no types that mypy could check.
# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.library import custom_op

TILE = 64  # tokens
WARPS = 4
SEARCHED = 1024  # segments at a time, for the one that a tile is of


@triton.jit
def _read(tensor, tokens, end, stride, head, SIZE: tl.constexpr):
    """Some tokens of one head, zeros where there are no more: (tile, size)."""
    place = tokens[:, None] * stride + head * SIZE + tl.arange(0, SIZE)[None, :]
    return tl.load(tensor + place, mask=tokens[:, None] < end, other=0.0)


@triton.jit
def _find_tile(starts, segments, number, TILE: tl.constexpr, SEARCHED: tl.constexpr):
    """The segment that tile `number` is of, and which of its tiles it is; it may be one that is empty.

    Segment s has the numbers from starts[s] // TILE + s on, which are enough for it wherever it starts. A number for
    every tile that each segment could have would be many more, and a program that finds nothing to do takes 3 ns.
    """
    before = tl.zeros([SEARCHED], tl.int32)
    for first in range(0, segments, SEARCHED):
        some = first + tl.arange(0, SEARCHED)
        start = tl.load(starts + some, mask=some < segments, other=0)
        before += ((some < segments) & (start // TILE + some <= number)).to(tl.int32)
    segment = tl.sum(before, 0) - 1
    return segment, number - tl.load(starts + segment) // TILE - segment


@triton.jit(do_not_specialize=["segments"])
def _forward_kernel(
    query, key, value, output, norms, q_starts, k_starts, segments,
    q_stride, k_stride, v_stride,
    HEADS: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr, CAUSAL: tl.constexpr, SEARCHED: tl.constexpr,
):  # fmt: skip
    """One tile of the queries of one head of one segment."""
    scale: tl.constexpr = SIZE**-0.5 * 1.4426950408889634  # by log2(e): exp2 is what the hardware has
    head = tl.program_id(0) % HEADS
    segment, tile = _find_tile(q_starts, segments, tl.program_id(0) // HEADS, TILE, SEARCHED)
    q_start, q_end = tl.load(q_starts + segment), tl.load(q_starts + segment + 1)
    k_start, k_end = tl.load(k_starts + segment), tl.load(k_starts + segment + 1)
    if q_start + tile * TILE >= q_end:
        return
    rows = q_start + tile * TILE + tl.arange(0, TILE)
    dims = tl.arange(0, SIZE)
    there = rows[:, None] < q_end
    q = _read(query, rows, q_end, q_stride, head, SIZE)
    highest = tl.full([TILE], float("-inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    mixed = tl.zeros([TILE, SIZE], tl.float32)
    last = k_end
    if CAUSAL:
        last = tl.minimum(k_end, k_start + (tile + 1) * TILE)
    for first in range(k_start, last, TILE):
        columns = first + tl.arange(0, TILE)
        k = _read(key, columns, k_end, k_stride, head, SIZE)
        v = _read(value, columns, k_end, v_stride, head, SIZE)
        scores = tl.dot(q, tl.trans(k)) * scale
        seen = columns[None, :] < k_end
        if CAUSAL:
            seen = seen & (columns[None, :] - k_start <= rows[:, None] - q_start)
        scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(highest - higher)
        total = total * shrink + tl.sum(weights, 1)
        mixed = mixed * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        highest = higher
    # Where there is no key, the result is zero.
    some = total > 0
    mixed = mixed / tl.where(some, total, 1.0)[:, None]
    tl.store(output + (rows[:, None] * HEADS + head) * SIZE + dims[None, :], mixed.to(q.dtype), mask=there)
    tl.store(norms + rows * HEADS + head, tl.where(some, highest + tl.log2(total), 0.0), mask=rows < q_end)


@triton.jit
def _weights_and_slopes(
    q, k, v, d, o, norm, rows, columns, q_start, q_end, k_start, k_end, scale: tl.constexpr, CAUSAL: tl.constexpr
):
    """Attention weights, and the gradient of the scores, of a tile: (queries, keys) each."""
    scores = tl.dot(q, tl.trans(k)) * scale
    seen = (columns[None, :] < k_end) & (rows[:, None] < q_end)
    if CAUSAL:
        seen = seen & (columns[None, :] - k_start <= rows[:, None] - q_start)
    weights = tl.where(seen, tl.exp2(scores - norm[:, None]), 0.0)
    mean = tl.sum(d.to(tl.float32) * o.to(tl.float32), 1)
    slopes = weights * (tl.dot(d, tl.trans(v)) - mean[:, None])
    return weights.to(q.dtype), slopes.to(q.dtype)


# Long: a kernel is one function.
@triton.jit(do_not_specialize=["segments"])
def _backward_kernel(
    query, key, value, output, norms, slope, q_starts, k_starts, to_query, to_key, to_value, segments,
    q_stride, k_stride, v_stride,
    HEADS: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr, CAUSAL: tl.constexpr, SEARCHED: tl.constexpr,
):  # fmt: skip
    """One tile of the keys, or one tile of the queries, of one head of one segment."""
    plain_scale: tl.constexpr = SIZE**-0.5
    scale: tl.constexpr = plain_scale * 1.4426950408889634
    head, of_keys = tl.program_id(0) % HEADS, tl.program_id(1) == 0
    tiled = q_starts
    if of_keys:
        tiled = k_starts
    segment, tile = _find_tile(tiled, segments, tl.program_id(0) // HEADS, TILE, SEARCHED)
    q_start, q_end = tl.load(q_starts + segment), tl.load(q_starts + segment + 1)
    k_start, k_end = tl.load(k_starts + segment), tl.load(k_starts + segment + 1)
    dims = tl.arange(0, SIZE)
    at_once = (q_end - q_start <= TILE) & (k_end - k_start <= TILE)

    if of_keys & (k_start + tile * TILE < k_end):
        columns = k_start + tile * TILE + tl.arange(0, TILE)
        real = columns[:, None] < k_end
        k = _read(key, columns, k_end, k_stride, head, SIZE)
        v = _read(value, columns, k_end, v_stride, head, SIZE)
        dk = tl.zeros([TILE, SIZE], tl.float32)
        dv = tl.zeros([TILE, SIZE], tl.float32)
        start = q_start
        if CAUSAL:
            start = q_start + tile * TILE
        # One stage: fetched ahead, the tile of slopes has one buffer too few (Triton 3.6 and 3.9, Hopper), and the copy
        # of the next one, or its zeros, overwrites it while the product for dv may still be reading.
        for first in tl.range(start, q_end, TILE, num_stages=1):
            rows = first + tl.arange(0, TILE)
            there = rows[:, None] < q_end
            place = (rows[:, None] * HEADS + head) * SIZE + dims[None, :]
            q = _read(query, rows, q_end, q_stride, head, SIZE)
            d = _read(slope, rows, q_end, HEADS * SIZE, head, SIZE)
            o = _read(output, rows, q_end, HEADS * SIZE, head, SIZE)
            norm = tl.load(norms + rows * HEADS + head, mask=rows < q_end, other=0.0)
            weights, slopes = _weights_and_slopes(
                q, k, v, d, o, norm, rows, columns, q_start, q_end, k_start, k_end, scale, CAUSAL
            )
            dv += tl.dot(tl.trans(weights), d)
            dk += tl.dot(tl.trans(slopes), q)
            if at_once:
                tl.store(to_query + place, (tl.dot(slopes, k) * plain_scale).to(q.dtype), mask=there)
        place = (columns[:, None] * HEADS + head) * SIZE + dims[None, :]
        tl.store(to_key + place, (dk * plain_scale).to(k.dtype), mask=real)
        tl.store(to_value + place, dv.to(v.dtype), mask=real)

    # A segment of one tile is done at once, unless it has no keys at all: then its queries have a gradient of zero.
    done = at_once & (k_start < k_end)
    if (not of_keys) & (q_start + tile * TILE < q_end) & (not done):
        rows = q_start + tile * TILE + tl.arange(0, TILE)
        there = rows[:, None] < q_end
        place = (rows[:, None] * HEADS + head) * SIZE + dims[None, :]
        q = _read(query, rows, q_end, q_stride, head, SIZE)
        d = _read(slope, rows, q_end, HEADS * SIZE, head, SIZE)
        o = _read(output, rows, q_end, HEADS * SIZE, head, SIZE)
        norm = tl.load(norms + rows * HEADS + head, mask=rows < q_end, other=0.0)
        dq = tl.zeros([TILE, SIZE], tl.float32)
        last = k_end
        if CAUSAL:
            last = tl.minimum(k_end, k_start + (tile + 1) * TILE)
        for first in range(k_start, last, TILE):
            columns = first + tl.arange(0, TILE)
            k = _read(key, columns, k_end, k_stride, head, SIZE)
            v = _read(value, columns, k_end, v_stride, head, SIZE)
            _, slopes = _weights_and_slopes(
                q, k, v, d, o, norm, rows, columns, q_start, q_end, k_start, k_end, scale, CAUSAL
            )
            dq += tl.dot(slopes, k)
        tl.store(to_query + place, (dq * plain_scale).to(q.dtype), mask=there)


def dense(x: Tensor) -> Tensor:
    """With heads and their sizes next to each other, as the kernels read them."""
    return x if x.stride()[1:] == (x.shape[2], 1) else x.contiguous()


def most_tiles(tokens: int, segments: int) -> int:
    """The numbers that `_find_tile` gives to the tiles of so many segments."""
    return tokens // TILE + segments


def plain_segment_attention(
    query: Tensor, key: Tensor, value: Tensor, q_starts: Tensor, k_starts: Tensor, causal: bool
) -> tuple[Tensor, Tensor]:
    """What each query segment reads of the key segment of the same number: (query tokens, heads, size).

    Beside it, for the backward pass, the logarithm of each softmax's sum: (query tokens, heads) float32.
    starts (segments + 1,) int32.
    """
    (heads, size), segments = query.shape[1:], q_starts.shape[0] - 1
    query, key, value = dense(query), dense(key), dense(value)
    output = torch.empty(query.shape, dtype=query.dtype, device=query.device)
    norms = torch.empty(query.shape[:2], dtype=torch.float32, device=query.device)
    _forward_kernel[(most_tiles(len(query), segments) * heads,)](
        query, key, value, output, norms, q_starts, k_starts, segments,
        query.stride(0), key.stride(0), value.stride(0),
        HEADS=heads, SIZE=size, TILE=TILE, CAUSAL=causal, SEARCHED=SEARCHED, num_warps=WARPS,
    )  # fmt: skip
    return output, norms


# For autograd and the compiler, at a tenth of a millisecond a call.
segment_attention = custom_op("docflat::segment_attention", plain_segment_attention, mutates_args=())


@custom_op("docflat::segment_attention_backward", mutates_args=())
def segment_attention_backward(
    slope: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    norms: Tensor,
    q_starts: Tensor,
    k_starts: Tensor,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value, by that of the output."""
    (heads, size), segments = query.shape[1:], q_starts.shape[0] - 1
    slope, output = slope.contiguous(), output.contiguous()
    query, key, value = dense(query), dense(key), dense(value)
    to_query, to_key, to_value = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (query, key, value))
    _backward_kernel[(most_tiles(max(len(query), len(key)), segments) * heads, 2)](
        query, key, value, output, norms, slope, q_starts, k_starts, to_query, to_key, to_value, segments,
        query.stride(0), key.stride(0), value.stride(0),
        HEADS=heads, SIZE=size, TILE=TILE, CAUSAL=causal, SEARCHED=SEARCHED, num_warps=WARPS,
    )  # fmt: skip
    return to_query, to_key, to_value


@segment_attention.register_fake
def _(query: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    return query.new_empty(query.shape), query.new_empty(query.shape[:2], dtype=torch.float32)


@segment_attention_backward.register_fake
def _(slope: Tensor, query: Tensor, key: Tensor, value: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    return query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.causal = inputs
    ctx.save_for_backward(*tensors, *output)


def _go_back(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    query, key, value, q_starts, k_starts, output, norms = ctx.saved_tensors
    back = segment_attention_backward(slope, query, key, value, output, norms, q_starts, k_starts, ctx.causal)
    return (*back, None, None, None)


segment_attention.register_autograd(_go_back, setup_context=_keep)
