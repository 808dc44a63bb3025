"""The kernels of a decoding step against plain torch: on a GPU as they are, elsewhere in Triton's interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from docflat.model.cache.fixed_keys import FlatFixedKeys
from docflat.model.layers import Norm
from docflat.model.segments import Segments
from kernel_checks import CLOSE, DEVICE, DTYPE, on_gpu, random, step_kernels

HEADS, SIZE = 2, 16


def hidden(*shape: int, visible: float = 0.5) -> Tensor:
    """What to add to scores, of which this share is seen."""
    return torch.where(torch.rand(*shape, device=DEVICE) < visible, 0.0, float("-inf")).to(DTYPE)


def newest_tokens(rows: int, beam: int) -> tuple[Tensor, Tensor, Tensor]:
    """As one product makes them: side by side."""
    query, key, value = random(rows, beam, 3 * HEADS * SIZE).chunk(3, dim=-1)
    return tuple(x.unflatten(-1, (HEADS, SIZE)) for x in (query, key, value))  # type: ignore[return-value]


def softmax_over(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """(rows, beam, heads, size) over (rows, heads, keys, size), in words; bias (rows, beam, keys)."""
    scores = torch.einsum("rbhs,rhks->rbhk", query.double(), keys.double()) / SIZE**0.5 + bias.double()[:, :, None]
    return torch.einsum("rbhk,rhks->rbhs", scores.softmax(-1), values.double())


class Own:
    """Caches in the middle of a decoding, and what attention to them must find and leave behind."""

    def __init__(self, rows: int, beam: int, fixed: int, start: int, room: int, columns: bool = False) -> None:
        torch.manual_seed(0)
        self.newest = newest_tokens(rows, beam)
        self.keys, self.values = (random(rows, HEADS, fixed + room, SIZE) for _ in range(2))
        if columns:
            self.keys = self.keys.mT.contiguous().mT
        # What was not written yet is never read: it need not be a number.
        self.keys[:, :, fixed + start :] = self.values[:, :, fixed + start :] = float("nan")
        self.hidden = hidden(rows, 1, fixed)
        self.hidden[0] = float("-inf")  # a row without a prefix
        self.bias = hidden(rows, beam, room, visible=0.3)
        self.bias[:, :, start:] = float("-inf")
        self.bias[:, torch.arange(beam), start + torch.arange(beam)] = 0.0
        self.place = start + torch.arange(beam, device=DEVICE)
        end = fixed + start + beam
        self.all_keys, self.all_values = self.keys.clone(), self.values.clone()
        for cache, new in zip((self.all_keys, self.all_values), self.newest[1:], strict=True):
            cache[:, :, fixed + start : end] = new.transpose(1, 2)
        self.all_bias = torch.cat([self.hidden.expand(-1, beam, -1), self.bias], 2)[:, :, :end]
        self.end = end

    def attend(self, parts: step_kernels.Parts | None = None) -> Tensor:
        before = self.hidden if self.hidden.shape[2] else None
        return step_kernels.attend_own(*self.newest, self.keys, self.values, before, self.bias, self.place, parts)

    def check_caches(self) -> None:
        assert torch.equal(self.keys[:, :, : self.end], self.all_keys[:, :, : self.end])
        assert torch.equal(self.values[:, :, : self.end], self.all_values[:, :, : self.end])
        assert self.keys[:, :, self.end :].isnan().all()
        assert self.values[:, :, self.end :].isnan().all()


@pytest.mark.parametrize("broadcast", [False, True])
def test_a_few_queries_attend(broadcast: bool) -> None:
    """Against a softmax in words; keys that are not seen come first, in the middle and last, as whole tiles too."""
    dtype: Any = torch.bfloat16 if on_gpu else torch.float32
    torch.manual_seed(0)
    query = torch.randn(3, 5, 2, 16, device=DEVICE, dtype=dtype).transpose(1, 2)
    keys, values = (torch.randn(3, 2, 161, 16, device=DEVICE, dtype=dtype) for _ in range(2))
    visible = torch.rand(3, 1, 1 if broadcast else 5, 161, device=DEVICE) < 0.3
    visible[0, :, :, :70] = False
    visible[1, :, :, 100:] = False
    visible[..., 80] = True
    bias = torch.where(visible, 0.0, float("-inf")).to(dtype)
    found = step_kernels.attend_few(query, keys, values, bias)
    scores = query.double() @ keys.double().mT / 4 + bias.double()
    close = {"rtol": 2e-2, "atol": 2e-2} if on_gpu else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(found.double(), scores.softmax(-1) @ values.double(), **close)


# Nothing but the newest tokens, less than a tile of keys, several with an odd rest, the last slots of the room.
@pytest.mark.parametrize(
    ("beam", "fixed", "start", "room"),
    [(5, 0, 0, 40), (5, 3, 0, 40), (1, 1, 7, 20), (16, 8, 32, 80), (5, 37, 75, 80), (4, 0, 36, 40), (2, 64, 6, 8)],
)
def test_newest_tokens_are_appended_and_attend(beam: int, fixed: int, start: int, room: int) -> None:
    own = Own(3, beam, fixed, start, room)
    expected = softmax_over(own.newest[0], own.all_keys[:, :, : own.end], own.all_values[:, :, : own.end], own.all_bias)
    torch.testing.assert_close(own.attend().double(), expected, **CLOSE)
    own.check_caches()


def test_keys_may_lie_as_columns() -> None:
    own = Own(2, 3, 5, 6, 12, columns=True)
    expected = softmax_over(own.newest[0], own.all_keys[:, :, : own.end], own.all_values[:, :, : own.end], own.all_bias)
    torch.testing.assert_close(own.attend().double(), expected, **CLOSE)
    own.check_caches()


# Groups of several rows, with gaps, of one row, without rows; more queries than one tile has; parts of keys.
@pytest.mark.parametrize(
    ("place", "groups", "slots", "beam", "keys"),
    [
        ([0, 1, 2, 3, 4, 5], 2, 3, 5, 90),
        ([0, 2, 3, 4], 2, 3, 5, 90),
        ([1, 9, 10, 15], 4, 5, 3, 130),
        ([0, 1, 2], 3, 1, 5, 7),
        (list(range(17)), 1, 17, 4, 200),
        ([0], 1, 1, 16, 64),
        ([3, 5], 2, 30, 5, 480),
        ([*range(3, 33), 39], 4, 10, 1, 20),
    ],
)
def test_keys_that_groups_share_are_read_before_the_own_ones(
    place: list[int], groups: int, slots: int, beam: int, keys: int
) -> None:
    """Against one softmax over the keys of the row's group and its own."""
    rows = len(place)
    own = Own(rows, beam, 0, 2 * beam, 4 * beam)
    shared_keys, shared_values = (random(groups, HEADS, keys, SIZE) for _ in range(2))
    bias = hidden(groups, slots, keys)
    bias.flatten(0, 1)[place[-1], 1:] = float("-inf")  # in other parts this row sees nothing
    where = torch.tensor(place, device=DEVICE)
    group = where // slots
    bounds = torch.tensor([int((group < n).sum()) for n in range(groups + 1)], device=DEVICE)
    parts = step_kernels.attend_shared(own.newest[0], shared_keys, shared_values, bias, where, bounds)
    expected = softmax_over(
        own.newest[0],
        torch.cat([shared_keys[group], own.all_keys[:, :, : own.end]], 2),
        torch.cat([shared_values[group], own.all_values[:, :, : own.end]], 2),
        torch.cat([bias.flatten(0, 1)[where][:, None].expand(-1, beam, -1), own.all_bias], 2),
    )
    torch.testing.assert_close(own.attend(parts).double(), expected, **CLOSE)
    own.check_caches()


# One group and several; a row that sees the first key only; groups without rows; far more rows than was said.
@pytest.mark.parametrize(
    ("lengths", "ends", "beam", "slots"),
    [
        ([90], [1, 40, 64, 90], 5, 4),
        ([30, 200, 7], [12, 30, 31, 95, 230, 237], 5, 3),
        ([20, 5, 130, 3], [20, 100, 155], 3, 2),
        ([64, 128], [*range(1, 40), 64, 65, 192], 4, 1),
        ([480], [480, 480], 16, 2),
    ],
)
def test_a_flat_sequence_is_read_up_to_an_end_of_each_row(
    lengths: list[int], ends: list[int], beam: int, slots: int
) -> None:
    """Against one softmax over that much of the row's group and its own keys."""
    own = Own(len(ends), beam, 0, 2 * beam, 4 * beam)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    groups = Segments(torch.tensor(starts, dtype=torch.int32, device=DEVICE), max(lengths))
    keys, values = (random(sum(lengths), 3, HEADS, SIZE)[:, 1] for _ in range(2))  # as products make them: apart
    fixed = FlatFixedKeys(keys, values, groups, torch.tensor(ends, dtype=torch.int32, device=DEVICE), slots)
    where = (fixed.starts, fixed.ends, fixed.group_rows, fixed.longest, fixed.slots)
    found = own.attend(step_kernels.attend_flat(own.newest[0], keys, values, *where)).double()
    for row, end in enumerate(ends):
        start = starts[np.searchsorted(starts, end) - 1]
        alone = slice(row, row + 1)
        expected = softmax_over(
            own.newest[0][alone],
            torch.cat([keys[start:end].transpose(0, 1)[None], own.all_keys[alone, :, : own.end]], 2),
            torch.cat([values[start:end].transpose(0, 1)[None], own.all_values[alone, :, : own.end]], 2),
            torch.cat([torch.zeros(1, beam, end - start, device=DEVICE), own.all_bias[alone]], 2),
        )
        torch.testing.assert_close(found[alone], expected, **CLOSE)


def test_rows_are_kept_of_a_flat_sequence() -> None:
    """Of three groups with 2, 1 and 2 rows those go on that are asked for, each in its group."""
    groups = Segments.of_lengths(np.array([10, 5, 20]))
    keys = random(35, HEADS, SIZE).cpu()
    fixed = FlatFixedKeys(keys, keys, groups, torch.tensor([3, 10, 15, 16, 35], dtype=torch.int32), 2)
    assert fixed.group_rows.tolist() == [0, 2, 3, 5]
    kept = fixed.select_rows(torch.tensor([1, 3, 4]))
    assert kept.ends.tolist() == [10, 16, 35]
    assert kept.group_rows.tolist() == [0, 1, 1, 3]


def test_shared_keys_are_cut_into_parts_where_there_are_few_groups() -> None:
    query, keys = newest_tokens(2, 5)[0], random(480, HEADS, SIZE)
    groups = Segments.of_lengths(np.array([480])).map_tensors(lambda x: x.to(DEVICE))
    fixed = FlatFixedKeys(keys, keys, groups, torch.tensor([200, 480], dtype=torch.int32, device=DEVICE), 2)
    where = (fixed.starts, fixed.ends, fixed.group_rows, fixed.longest, fixed.slots)
    assert len(step_kernels.attend_flat(query, keys, keys, *where)[0]) == step_kernels.MOST_PARTS


@pytest.mark.parametrize("gamma", [None, 0.4])
@pytest.mark.parametrize("dim", [16, 48, 512])
@pytest.mark.parametrize("beam", [1, 5])
def test_a_gate_mixes_before_the_norm(dim: int, beam: int, gamma: float | None) -> None:
    """Against the gate in words; what was read and the gate are halves of one product, or of some tokens of it."""
    torch.manual_seed(0)
    norm = Norm(dim).to(DEVICE, DTYPE)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    x, (read, gate) = 3 + random(3, beam, dim), (2 * random(3, 5, 2 * dim))[:, :beam].chunk(2, dim=-1)
    found = step_kernels.mix_norm(x, read, gate, gamma, norm.weight, norm.bias, norm.eps)
    opening = 1 / (1 + (-gate.double()).exp())
    if gamma is not None:
        opening = (opening >= gamma).double()
    with torch.no_grad():
        mixed = (1 - opening) * x.double() + opening * read.double()
        expected = torch.nn.functional.layer_norm(mixed, (dim,), norm.weight.double(), norm.bias.double(), norm.eps)
    torch.testing.assert_close(found.double(), expected, **CLOSE)
