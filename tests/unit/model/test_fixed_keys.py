"""Attention to keys that a group of rows shares, against a softmax for each query by itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from docflat.model.cache.fixed_keys import FixedKeys, Padding, fixed_by_group, upright
from docflat.model.segments import Segments


def fixed_of(sizes: list[int], keys: int) -> tuple[FixedKeys, torch.Tensor, torch.Tensor]:
    """Groups of so many rows, each of which sees some more keys than the one before; what each row sees; its group."""
    torch.manual_seed(0)
    group = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    nth = torch.cat([torch.arange(size) for size in sizes])
    visible = torch.arange(keys) <= 2 * nth[:, None]
    key, value = torch.randn(2, len(sizes), 3, keys, 4, dtype=torch.float64)
    return fixed_by_group(upright(key), value, visible, group), visible, group


def slow(
    fixed: FixedKeys, query: torch.Tensor, visible: torch.Tensor, group: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    read, total = torch.empty_like(query), torch.empty(*query.shape[:3], 1, dtype=query.dtype)
    for row, beam, head in torch.cartesian_prod(*(torch.arange(size) for size in query.shape[:3])).tolist():
        keys, values = (part[group[row], head][visible[row]] for part in (fixed.keys, fixed.values))
        scores = keys @ query[row, beam, head] / query.shape[-1] ** 0.5
        total[row, beam, head] = scores.exp().sum().log()
        read[row, beam, head] = (scores.exp() / scores.exp().sum()) @ values
    return read, total


@pytest.mark.parametrize("sizes", [[1], [5, 5], [20], [20, 3, 11]])
def test_rows_see_what_they_may_of_their_group(sizes: list[int]) -> None:
    fixed, visible, group = fixed_of(sizes, 50)
    query = torch.randn(len(group), 2, 3, 4, dtype=torch.float64)
    for found, expected in zip(fixed.attend(query), slow(fixed, query, visible, group), strict=True):
        torch.testing.assert_close(found, expected)
    # Keys that none of the first rows see are not asked for: it is what makes it fast.
    if max(sizes) == 20:
        assert [bias.shape[3] for bias in fixed.biases(2)] == [15, 31, 39]
    assert fixed.full == (len(set(sizes)) == 1)


@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [4], [2, 17, 19], [0, 20, 22, 33], [23, 24]])
def test_rows_that_go_on_see_the_same(kept: list[int]) -> None:
    fixed, _, group = fixed_of([20, 3, 11], 50)
    query = torch.randn(len(group), 2, 3, 4, dtype=torch.float64)
    rows = torch.tensor(kept)
    for found, expected in zip(fixed.select_rows(rows).attend(query[rows]), fixed.attend(query), strict=True):
        torch.testing.assert_close(found, expected[rows])
    # And once more, from what was kept.
    last = fixed.select_rows(rows).select_rows(torch.tensor([len(kept) - 1]))
    torch.testing.assert_close(last.attend(query[rows[-1:]])[0], fixed.attend(query)[0][rows[-1:]])
    assert last.visible.shape[1] == 1


@pytest.mark.parametrize("lengths", [[3, 0, 5], [1], [0, 0]])
@pytest.mark.parametrize("some", [False, True], ids=["all", "some"])
def test_keys_and_values_are_laid_out_at_once_as_they_are_one_by_one(lengths: list[int], some: bool) -> None:
    """The layout for a GPU against the other; behind it there is room, of zeros."""
    torch.manual_seed(0)
    tokens = sum(lengths)
    key, value = torch.randn(2, 2 * tokens if some else tokens, 2, 16)
    index = torch.randperm(2 * tokens)[:tokens] if some else None
    padding = Padding.of(Segments.of_lengths(np.array(lengths)), tokens, index)
    fixed, longest = padding.fixed(key, value), max(lengths)
    for laid, expected in zip(padding.lay(key, value, room=4), (fixed.keys, fixed.values), strict=True):
        assert torch.equal(laid[:, :, :longest], expected)
        assert laid.shape[2] == longest + 4
        assert not laid[:, :, longest:].any()
