"""What decoding takes of an encoded source, against loops over rows, sentences and tokens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from docflat.model.batch_attention import Memory
from docflat.model.segments import Segments

ROWS = [[3, 1, 2], [4], [1, 1, 1, 5], [2, 2]]  # tokens of each sentence of each row
CONTEXTS = [4, 0, 2, 0]  # tokens that were encoded apart for each row


def memory_of(extras: bool) -> Memory:
    """Its tokens tell which they are: token n is (n, -n), token n of the contexts apart (100 + n, 0)."""
    tokens = sum(sum(row) for row in ROWS)
    states = torch.stack([torch.arange(tokens), -torch.arange(tokens)], dim=1).double()
    apart = 100 + torch.arange(sum(CONTEXTS)).double()
    return Memory(
        states,
        Segments.of_lengths(np.array([sum(row) for row in ROWS])),
        Segments.of_lengths(np.array([length for row in ROWS for length in row])),
        Segments.of_lengths(np.array([len(row) for row in ROWS])),
        (torch.stack([apart, 0 * apart], dim=1), Segments.of_lengths(np.array(CONTEXTS))) if extras else None,
        torch.arange(4.0)[:, None] if extras else None,
    )


def parts(values: torch.Tensor, segments: Segments) -> list[list[float]]:
    """The first number of each token, segment by segment."""
    assert int(segments.starts[-1]) == len(values)
    assert segments.longest >= int(segments.lengths.max()), "the padded layout must hold it"
    return [[float(values[n, 0]) for n in range(a, b)] for a, b in pairwise(segments.starts.tolist())]


@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        ([0, 1, 2, 3], [3, 1, 4, 2]),
        ([0, 1, 2, 3], [9, 9, 9, 9]),  # more than there are
        ([0, 1, 2, 3], [1, 1, 1, 1]),
        ([0, 1, 2, 3], [2, 1, 2, 2]),
        ([2], [3]),
        ([2, 0], [2, 3]),
        ([3, 2, 1], [1, 3, 2]),
    ],
)
def test_some_rows_of_a_memory(rows: list[int], sentences: list[int], extras: bool) -> None:
    """Of a row's sentences the newest are told apart; what is older counts as part of the oldest one told."""
    taken = memory_of(extras).take(torch.tensor(rows), torch.tensor(sentences))
    wanted_rows, wanted_pieces, wanted_counts, wanted_contexts = [], [], [], []
    for row, told in zip(rows, sentences, strict=True):
        token = sum(sum(before) for before in ROWS[:row])
        pieces: list[list[float]] = []
        for length in ROWS[row]:
            pieces.append([float(token + n) for n in range(length)])
            token += length
        while len(pieces) > told:
            oldest, second, *newer = pieces
            pieces = [oldest + second, *newer]
        wanted_rows.append([number for piece in pieces for number in piece])
        wanted_pieces += pieces
        wanted_counts.append(len(pieces))
        first = 100 + sum(CONTEXTS[:row])
        wanted_contexts.append([float(first + n) for n in range(CONTEXTS[row])])
    assert parts(taken.states, taken.rows) == wanted_rows
    assert torch.equal(taken.states[:, 1], -taken.states[:, 0])
    assert parts(taken.states, taken.pieces) == wanted_pieces
    assert taken.row_pieces.lengths.tolist() == wanted_counts
    assert len(taken.row_pieces) == len(rows)
    assert taken.row_pieces.longest == max(wanted_counts)
    if extras:
        assert parts(*taken.context) == wanted_contexts
        assert taken.vector.tolist() == [[float(row)] for row in rows]
    else:
        assert taken.context is None
        assert taken.vector is None
