"""The kernels of a decoding step against plain torch: on a GPU as they are, elsewhere in Triton's interpreter."""

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

from docflat import step_kernels  # noqa: E402

DEVICE = "cuda" if on_gpu else "cpu"
DTYPE: Any = torch.bfloat16 if on_gpu else torch.float32
CLOSE: Any = {"rtol": 2e-2, "atol": 2e-2} if on_gpu else {"rtol": 1e-5, "atol": 1e-5}
HEADS, SIZE = 2, 16


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE, dtype=DTYPE)


def hidden(*shape: int, seen: float = 0.5) -> Tensor:
    """What to add to scores, of which this share is seen."""
    return torch.where(torch.rand(*shape, device=DEVICE) < seen, 0.0, float("-inf")).to(DTYPE)


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

    def __init__(self, rows: int, beam: int, given: int, start: int, room: int, columns: bool = False) -> None:
        torch.manual_seed(0)
        self.newest = newest_tokens(rows, beam)
        self.keys, self.values = (random(rows, HEADS, given + room, SIZE) for _ in range(2))
        if columns:
            self.keys = self.keys.mT.contiguous().mT
        # What was not written yet is never read: it need not be a number.
        self.keys[:, :, given + start :] = self.values[:, :, given + start :] = float("nan")
        self.hidden = hidden(rows, 1, given)
        self.hidden[0] = float("-inf")  # a row without a prefix
        self.bias = hidden(rows, beam, room, seen=0.3)
        self.bias[:, :, start:] = float("-inf")
        self.bias[:, torch.arange(beam), start + torch.arange(beam)] = 0.0
        self.place = start + torch.arange(beam, device=DEVICE)
        end = given + start + beam
        self.all_keys, self.all_values = self.keys.clone(), self.values.clone()
        for cache, new in zip((self.all_keys, self.all_values), self.newest[1:], strict=True):
            cache[:, :, given + start : end] = new.transpose(1, 2)
        self.all_bias = torch.cat([self.hidden.expand(-1, beam, -1), self.bias], 2)[:, :, :end]
        self.end = end

    def attend(self, parts: step_kernels.Parts | None = None) -> Tensor:
        before = self.hidden if self.hidden.shape[2] else None
        return step_kernels.attend_own(
            *self.newest, self.keys, self.values, before, self.bias, self.place, parts
        )

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
    seen = torch.rand(3, 1, 1 if broadcast else 5, 161, device=DEVICE) < 0.3
    seen[0, :, :, :70] = False
    seen[1, :, :, 100:] = False
    seen[..., 80] = True
    bias = torch.where(seen, 0.0, float("-inf")).to(dtype)
    found = step_kernels.attend_few(query, keys, values, bias)
    scores = query.double() @ keys.double().mT / 4 + bias.double()
    close = {"rtol": 2e-2, "atol": 2e-2} if on_gpu else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(found.double(), scores.softmax(-1) @ values.double(), **close)


# Nothing but the newest tokens, less than a tile of keys, several with an odd rest, the last slots of the room.
@pytest.mark.parametrize(
    ("beam", "given", "start", "room"),
    [(5, 0, 0, 40), (5, 3, 0, 40), (1, 1, 7, 20), (16, 8, 32, 80), (5, 37, 75, 80), (4, 0, 36, 40), (2, 64, 6, 8)],
)
def test_newest_tokens_are_appended_and_attend(beam: int, given: int, start: int, room: int) -> None:
    own = Own(3, beam, given, start, room)
    expected = softmax_over(own.newest[0], own.all_keys[:, :, : own.end], own.all_values[:, :, : own.end], own.all_bias)
    torch.testing.assert_close(own.attend().double(), expected, **CLOSE)
    own.check_caches()


def test_keys_may_lie_as_columns() -> None:
    own = Own(2, 3, 5, 6, 12, columns=True)
    expected = softmax_over(own.newest[0], own.all_keys[:, :, : own.end], own.all_values[:, :, : own.end], own.all_bias)
    torch.testing.assert_close(own.attend().double(), expected, **CLOSE)
    own.check_caches()


# Groups of several rows, with gaps, of one row, without rows; more rows than are looked at at once; parts of keys.
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
        ([*range(3, 263), 300], 4, 100, 1, 20),
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
    parts = step_kernels.attend_shared(own.newest[0], shared_keys, shared_values, bias, where)
    group = where // slots
    expected = softmax_over(
        own.newest[0],
        torch.cat([shared_keys[group], own.all_keys[:, :, : own.end]], 2),
        torch.cat([shared_values[group], own.all_values[:, :, : own.end]], 2),
        torch.cat([bias.flatten(0, 1)[where][:, None].expand(-1, beam, -1), own.all_bias], 2),
    )
    torch.testing.assert_close(own.attend(parts).double(), expected, **CLOSE)
    own.check_caches()


def test_shared_keys_are_cut_into_parts_where_there_are_few_groups() -> None:
    bias = hidden(1, 2, 480)
    query, keys = newest_tokens(2, 5)[0], random(1, HEADS, 480, SIZE)
    assert len(step_kernels.attend_shared(query, keys, keys, bias, torch.arange(2, device=DEVICE))[0]) == 8
