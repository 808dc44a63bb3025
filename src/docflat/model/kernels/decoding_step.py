"""Kernels for a GPU, in Triton, that a step of decoding is made of: a beam of newest tokens a row, and no gradients.

Attention of a beam is a product with a few rows, of which torch's flash kernels make tiles of 64 or 128. A softmax is
carried on from keys to further keys, as in those: the highest score so far, the total of all weights by it, and the
values mixed by them. Scores are in powers of two, which is what the hardware has.
"""

# Triton compiles its kernels from their source; its language has no types that mypy could check.
# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from docflat.model.kernels.token_step import add_norm as add_norm
from docflat.model.kernels.token_step import embed as embed
from docflat.model.kernels.token_step import mix_norm as mix_norm

MOST_QUERIES = 16  # of a row: the rows of the smallest product
FEW_TILE, FEW_WARPS = 32, 1  # keys at a time, of `attend_few`
OWN_TILE, OWN_WARPS = 32, 1  # of `attend_own`
SHARED_TILE, SHARED_WARPS = 32, 4  # of `attend_shared` and `attend_flat`
SHARED_QUERIES = 64  # at a time, where a group has more than MOST_QUERIES
ENOUGH = 300  # programs keep a large GPU busy: where there are less, the shared keys are cut into parts
MOST_PARTS = 4

Parts = tuple[Tensor, Tensor, Tensor]  # softmaxes that were begun: the highest scores, totals, mixed values


@triton.jit
def _read_on(q, highest, total, mixed, k, v, bias, SIZE: tl.constexpr):
    """Go on with a softmax over a tile of further keys: what was read so far, and what is after them."""
    log2e: tl.constexpr = 1.4426950408889634
    scale: tl.constexpr = SIZE**-0.5 * log2e
    scores = tl.dot(q, tl.trans(k)) * scale + bias * log2e
    higher = tl.maximum(highest, tl.max(scores, 1))
    seen = tl.where(higher == float("-inf"), 0.0, higher)  # so far nothing is seen
    weights = tl.exp2(scores - seen[:, None])
    shrink = tl.exp2(highest - seen)
    total = total * shrink + tl.sum(weights, 1)
    mixed = mixed * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
    return higher, total, mixed


@triton.jit
def _few_kernel(
    query, key, value, bias, output, queries, keys,
    q_row, q_head, q_query, k_row, k_head, k_key, v_row, v_head, v_key, b_row, b_query,
    HEADS: tl.constexpr, SIZE: tl.constexpr, QUERIES: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """All queries of one head of one row."""
    row, head = (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS
    few, dims = tl.arange(0, QUERIES), tl.arange(0, SIZE)
    there = few[:, None] < queries
    q = tl.load(query + row * q_row + head * q_head + few[:, None] * q_query + dims[None, :], mask=there, other=0.0)
    highest = tl.full([QUERIES], float("-inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    mixed = tl.zeros([QUERIES, SIZE], tl.float32)
    for first in range(0, keys, TILE):
        columns = first + tl.arange(0, TILE)
        inside = columns[:, None] < keys
        k = tl.load(
            key + row * k_row + head * k_head + columns[:, None] * k_key + dims[None, :], mask=inside, other=0.0
        )
        v = tl.load(
            value + row * v_row + head * v_head + columns[:, None] * v_key + dims[None, :], mask=inside, other=0.0
        )
        b = tl.load(
            bias + row * b_row + few[:, None] * b_query + columns[None, :],
            mask=there & (columns[None, :] < keys),
            other=float("-inf"),
        )
        highest, total, mixed = _read_on(q, highest, total, mixed, k, v, b.to(tl.float32), SIZE)
    mixed = mixed / tl.where(total > 0, total, 1.0)[:, None]
    to = ((row * queries + few[:, None]) * HEADS + head) * SIZE + dims[None, :]
    tl.store(output + to, mixed.to(q.dtype), mask=there)


def attend_few(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """Attention of up to 16 queries a row, as decoding has them: (rows, heads, queries, size), laid out by queries.

    keys and values (rows, heads, keys, size); bias (rows, 1, queries or 1, keys) is added to scores.
    """
    rows, heads, queries, size = query.shape
    bias = bias.expand(-1, -1, queries, -1)
    query, keys, values, bias = (x if x.stride(-1) == 1 else x.contiguous() for x in (query, keys, values, bias))
    output = torch.empty(rows, queries, heads, size, dtype=query.dtype, device=query.device)
    _few_kernel[(rows * heads,)](
        query, keys, values, bias, output, queries, keys.shape[2],
        *query.stride()[:3], *keys.stride()[:3], *values.stride()[:3], bias.stride(0), bias.stride(2),
        HEADS=heads, SIZE=size, QUERIES=MOST_QUERIES, TILE=FEW_TILE, num_warps=FEW_WARPS,
    )  # fmt: skip
    return output.transpose(1, 2)


# Numbers that differ between batches make no kernel of their own: to compile one takes a second.
# Long: a kernel is one function.
@triton.jit(do_not_specialize=["rows", "queries", "given", "parts", "h_row", "b_row", "b_query"])
def _own_kernel(
    query, new_key, new_value, key, value, hidden, bias, newest, highests, totals, mixes, output,
    rows, queries, given, parts,
    q_row, q_query, k_row, k_head, k_key, k_dim, v_row, v_head, v_key, v_dim, h_row, b_row, b_query,
    HEADS: tl.constexpr, SIZE: tl.constexpr, QUERIES: tl.constexpr, TILE: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """All hypotheses of one head of one row."""
    row, head = (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS
    few, dims = tl.arange(0, QUERIES), tl.arange(0, SIZE)
    real = few < queries
    there = real[:, None]
    new = row * q_row + few[:, None] * q_query + head * SIZE + dims[None, :]
    q = tl.load(query + new, mask=there, other=0.0)
    new_k = tl.load(new_key + new, mask=there, other=0.0)
    new_v = tl.load(new_value + new, mask=there, other=0.0)
    keys, values = key + row * k_row + head * k_head, value + row * v_row + head * v_head
    end = given + tl.load(newest).to(tl.int32)  # what is before the newest slots was written by earlier steps
    slots = (end + few)[:, None]
    tl.store(keys + slots * k_key + dims[None, :] * k_dim, new_k, mask=there)
    tl.store(values + slots * v_key + dims[None, :] * v_dim, new_v, mask=there)

    # A hypothesis sees its own newest token and none of the others: that is a number each, and not read back from
    # memory that was just written. It also means that there always is a highest score.
    highest = tl.sum(q.to(tl.float32) * new_k.to(tl.float32), 1) * (SIZE**-0.5 * 1.4426950408889634)
    total = tl.full([QUERIES], 1.0, tl.float32)
    mixed = new_v.to(tl.float32)
    if PARTS:
        for part in range(0, parts):
            at = ((part * rows + row) * HEADS + head) * queries + few
            other_highest = tl.load(highests + at, mask=real, other=float("-inf"))
            other_total = tl.load(totals + at, mask=real, other=0.0)
            other_mixed = tl.load(mixes + at[:, None] * SIZE + dims[None, :], mask=there, other=0.0)
            higher = tl.maximum(highest, other_highest)
            shrink, other_shrink = tl.exp2(highest - higher), tl.exp2(other_highest - higher)
            total = total * shrink + other_total * other_shrink
            mixed = mixed * shrink[:, None] + other_mixed * other_shrink[:, None]
            highest = higher
    for first in range(0, end, TILE):
        columns = first + tl.arange(0, TILE)
        inside = columns < end
        k = tl.load(keys + columns[:, None] * k_key + dims[None, :] * k_dim, mask=inside[:, None], other=0.0)
        v = tl.load(values + columns[:, None] * v_key + dims[None, :] * v_dim, mask=inside[:, None], other=0.0)
        of_prefix = tl.load(hidden + row * h_row + columns, mask=columns < given, other=0.0).to(tl.float32)
        of_path = tl.load(
            bias + row * b_row + few[:, None] * b_query + (columns - given)[None, :],
            mask=there & (inside & (columns >= given))[None, :],
            other=0.0,
        ).to(tl.float32)
        b = tl.where(inside[None, :], of_prefix[None, :] + of_path, float("-inf"))
        highest, total, mixed = _read_on(q, highest, total, mixed, k, v, b, SIZE)
    to = ((row * queries + few[:, None]) * HEADS + head) * SIZE + dims[None, :]
    tl.store(output + to, (mixed / total[:, None]).to(q.dtype), mask=there)


def attend_own(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    hidden: Tensor | None,
    bias: Tensor,
    newest: Tensor,
    parts: Parts | None = None,
) -> Tensor:
    """Write down the keys and values of the newest tokens, and attend to what their hypotheses see.

    query, key, value (rows, beam, heads, size), side by side as a product makes them, -> (rows, beam, heads, size).
    keys and values (rows, heads, given + slots, size), which are written to.
    hidden (rows, 1, given) and bias (rows, beam, slots) are added to the scores of what was given and of slots.
    newest (beam,): the slots to write to; what comes after them is not read. parts: further keys, of `attend_shared`.
    """
    rows, beam, heads, size = query.shape
    query, key, value = _alike(query, key, value)
    given = 0 if hidden is None else hidden.shape[2]
    hidden = bias if hidden is None else hidden  # of which nothing is read then
    assert hidden.stride(2) == 1 or given <= 1
    assert bias.stride(2) == 1 or bias.shape[2] <= 1
    output = torch.empty(rows, beam, heads, size, dtype=query.dtype, device=query.device)
    highests, totals, mixes = (output, output, output) if parts is None else parts
    _own_kernel[(rows * heads,)](
        query, key, value, keys, values, hidden, bias, newest, highests, totals, mixes, output,
        rows, beam, given, 0 if parts is None else len(highests),
        *query.stride()[:2], *keys.stride(), *values.stride(), hidden.stride(0), *bias.stride()[:2],
        HEADS=heads, SIZE=size, QUERIES=MOST_QUERIES, TILE=OWN_TILE, PARTS=parts is not None, num_warps=OWN_WARPS,
    )  # fmt: skip
    return output


def _alike(*tensors: Tensor) -> tuple[Tensor, ...]:
    """(rows, beam, heads, size) of the same strides, the last two dense: as the kernels read them."""
    first = tensors[0].stride()
    dense = first[2:] == (tensors[0].shape[3], 1)
    if dense and all(x.stride() == first for x in tensors):
        return tensors
    return tuple(x.contiguous() for x in tensors)


# Long: a kernel is one function.
@triton.jit(do_not_specialize=["rows", "beam", "given"])
def _shared_kernel(
    query, key, value, starts, ends, bias, place, group_rows, highests, totals, mixes,
    rows, beam, given,
    q_row, q_query, k_group, k_head, k_key, k_dim, v_group, v_head, v_key, v_dim,
    HEADS: tl.constexpr, SIZE: tl.constexpr, QUERIES: tl.constexpr, TILE: tl.constexpr, FLAT: tl.constexpr,
):  # fmt: skip
    """Some queries of one head of the rows of one group, and a part of the keys that they see."""
    group, head = (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS
    part, parts = tl.program_id(2), tl.num_programs(2)
    start_row, end_row = tl.load(group_rows + group), tl.load(group_rows + group + 1)
    dims = tl.arange(0, SIZE)
    keys, values = key + head * k_head, value + head * v_head
    if FLAT:
        begin = tl.load(starts + group).to(tl.int64)
        keys, values = keys + begin * k_key, values + begin * v_key
    else:
        keys, values = keys + group * k_group, values + group * v_group
    # Each program takes every so many-th of the tiles: a recorded grid is for any number of rows.
    tiles = tl.cdiv(((end_row - start_row) * beam).to(tl.int32), QUERIES)
    for tile in range(tl.program_id(1), tiles, tl.num_programs(1)):
        number = tile * QUERIES + tl.arange(0, QUERIES)
        row, hypothesis = (start_row + number // beam).to(tl.int64), number % beam
        real = row < end_row
        there = real[:, None]
        q = tl.load(
            query + row[:, None] * q_row + hypothesis[:, None] * q_query + head * SIZE + dims[None, :],
            mask=there,
            other=0.0,
        )
        seen = given
        if FLAT:
            end = tl.load(ends + row, mask=real, other=0) - begin.to(tl.int32)
            seen = tl.max(end, 0)
        else:
            at = tl.load(place + row, mask=real, other=0)
        highest = tl.full([QUERIES], float("-inf"), tl.float32)
        total = tl.zeros([QUERIES], tl.float32)
        mixed = tl.zeros([QUERIES, SIZE], tl.float32)
        at_once = tl.cdiv(tl.cdiv(seen, TILE), parts) * TILE
        for first in range(part * at_once, tl.minimum(seen, (part + 1) * at_once), TILE):
            columns = first + tl.arange(0, TILE)
            inside = columns[:, None] < seen
            k = tl.load(keys + columns[:, None] * k_key + dims[None, :] * k_dim, mask=inside, other=0.0)
            v = tl.load(values + columns[:, None] * v_key + dims[None, :] * v_dim, mask=inside, other=0.0)
            if FLAT:
                b = tl.where(columns[None, :] < end[:, None], 0.0, float("-inf"))
            else:
                b = tl.load(
                    bias + at[:, None] * given + columns[None, :],
                    mask=there & (columns[None, :] < given),
                    other=float("-inf"),
                ).to(tl.float32)
            highest, total, mixed = _read_on(q, highest, total, mixed, k, v, b, SIZE)
        to = ((part * rows + row) * HEADS + head) * beam + hypothesis
        tl.store(highests + to, highest, mask=real)
        tl.store(totals + to, total, mask=real)
        tl.store(mixes + to[:, None] * SIZE + dims[None, :], mixed, mask=there)


def attend_shared(
    query: Tensor, keys: Tensor, values: Tensor, bias: Tensor, place: Tensor, group_rows: Tensor
) -> Parts:
    """Begin the softmaxes of queries, (rows, beam, heads, size), with keys that groups of rows share.

    All queries of a group are one product. keys and values (groups, heads, given, size);
    bias (groups, per_group, given); place (rows,): which group * per_group + place in it each row is, in order;
    group_rows (groups + 1,): whose rows they are.
    Returns, of each part of the keys, (parts, rows, heads, beam) twice and (parts, rows, heads, beam, size).
    """
    _, per_group, given = bias.shape
    strides = (*keys.stride(), *values.stride())
    return _begin(
        query, keys, values, place, place, bias.contiguous(), place, group_rows, given, per_group, strides, False
    )


def attend_flat(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    starts: Tensor,
    ends: Tensor,
    group_rows: Tensor,
    longest: int,
    per_group: int,
) -> Parts:
    """The same with keys and values as they lie in a flat sequence, (tokens, heads, size): rows see what is before an
    end of their own, ends (rows,), from the start of their group on, starts (groups + 1,).

    longest, per_group: how many keys and rows a group has, about; the more it is, the more programs there are.
    """
    strides = [stride for x in (keys, values) for stride in (0, x.stride(1), x.stride(0), x.stride(2))]
    return _begin(query, keys, values, starts, ends, query, ends, group_rows, longest, per_group, strides, True)


def _begin(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    starts: Tensor,
    ends: Tensor,
    bias: Tensor,
    place: Tensor,
    group_rows: Tensor,
    given: int,
    per_group: int,
    strides: Sequence[int],
    flat: bool,
) -> Parts:
    """flat: `starts` and `ends` are read; else `bias` and `place`."""
    rows, beam, heads, size = query.shape
    groups = len(group_rows) - 1
    (query,) = _alike(query)
    at_a_time = MOST_QUERIES if per_group * beam <= MOST_QUERIES else SHARED_QUERIES
    tiles = triton.cdiv(per_group * beam, at_a_time)
    wanted = min(MOST_PARTS, triton.cdiv(ENOUGH, groups * heads * tiles))
    parts = max(1, min(wanted, triton.cdiv(given, SHARED_TILE)))
    highests, totals = (
        torch.empty(parts, rows, heads, beam, dtype=torch.float32, device=query.device) for _ in range(2)
    )
    mixes = torch.empty(parts, rows, heads, beam, size, dtype=torch.float32, device=query.device)
    _shared_kernel[(groups * heads, tiles, parts)](
        query, keys, values, starts, ends, bias, place, group_rows, highests, totals, mixes,
        rows, beam, given, *query.stride()[:2], *strides,
        HEADS=heads, SIZE=size, QUERIES=at_a_time, TILE=SHARED_TILE, FLAT=flat, num_warps=SHARED_WARPS,
    )  # fmt: skip
    return highests, totals, mixes
