"""The best of a vocabulary, found by stretches, against a full sort."""

from __future__ import annotations

import pytest
import torch

from docflat.engines.torch.beam import best_of_many


@pytest.mark.parametrize("size", [7, 5120, 5125, 32_004])
def test_the_best_are_those_of_a_full_sort(size: int) -> None:
    generator = torch.Generator().manual_seed(size)
    few = torch.randint(0, 50, (2, 3, size), generator=generator).float()  # full of ties
    many = torch.randn(2, 3, size, generator=generator)
    together = many.sort(-1).values  # the best stand side by side, at the end
    hidden = torch.full((2, 3, size), float("-inf"))
    hidden[:, :, 2] = -1.0
    for x in (few, many, together, together.flip(-1), hidden):
        top, which = best_of_many(x, 7)
        assert torch.equal(top, x.sort(-1, descending=True).values[..., :7])
        assert torch.equal(x.gather(-1, which), top)
        assert all(len(set(row)) == 7 for row in which.flatten(0, 1).tolist())


def test_a_log_softmax_may_be_written_over_its_input() -> None:
    """Torch does not promise it; decoding on a CPU lives by it."""
    logits = torch.randn(7, 5, 32_000, generator=torch.Generator().manual_seed(0))
    wanted = logits.log_softmax(-1)
    torch.log_softmax(logits, -1, out=logits)
    assert torch.equal(logits, wanted)
