"""Segments and sides as tensors, against loops over their tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import corpus_of, literal_rows, numbered_documents, ragged_lengths, rows_array
from docflat.data.flat_layout import Layout
from docflat.data.row_settings import RowSettings
from docflat.model.batch import Selection, make_batch
from docflat.model.segments import Segments
from flat_checks import LAYOUTS, bounds_of, check_segments, check_selection, check_side

SEGMENT_LENGTHS = [[3, 1, 4], [1], [0, 2, 0, 0, 3, 0], [5, 0], [2, 2, 2]]


@pytest.mark.parametrize("lengths", SEGMENT_LENGTHS, ids=str)
def test_numbers_and_means_of_segments(lengths: list[int]) -> None:
    segments, total = Segments.of_lengths(np.array(lengths)), sum(lengths)
    check_segments(segments, lengths)
    assert segments.lengths.tolist() == lengths
    assert segments.number(total).tolist() == [n for n, length in enumerate(lengths) for _ in range(length)]
    flat = torch.randn(total, 3, dtype=torch.float64)
    means, start = [], 0
    for length in lengths:
        mean = torch.zeros(3, dtype=torch.float64)
        for n in range(start, start + length):
            mean += flat[n] / length
        means.append(mean)
        start += length
    torch.testing.assert_close(segments.mean(flat), torch.stack(means), rtol=1e-14, atol=1e-14)


def test_a_mean_of_many_is_exact_in_half_precision() -> None:
    """In float16, 90,000 is infinite: the sum must be made in more."""
    segments = Segments.of_lengths(np.array([30_000, 2]))
    flat = torch.full((30_002, 2), 3, dtype=torch.float16)
    flat[-1] = 5
    mean = segments.mean(flat)
    assert mean.dtype == torch.float16
    assert mean.tolist() == [[3, 3], [4, 4]]


@pytest.mark.parametrize("times", [1, 2, 4])
@pytest.mark.parametrize("lengths", SEGMENT_LENGTHS, ids=str)
def test_segments_several_times(lengths: list[int], times: int) -> None:
    check_segments(Segments.of_lengths(np.array(lengths)).times(times, sum(lengths)), lengths * times)


@pytest.mark.parametrize("which", [[0], [2, 0], [1, 1, 4], [4, 3, 2, 1, 0]], ids=str)
def test_some_of_the_segments(which: list[int]) -> None:
    lengths = [3, 1, 0, 4, 2]
    bounds = bounds_of(lengths)
    index, segments = Segments.of_lengths(np.array(lengths)).take(torch.tensor(which))
    check_selection(Selection(index, segments), [range(bounds[n], bounds[n + 1]) for n in which])


def test_means_of_segments_compile_as_one_graph():
    segments = Segments.of_lengths(np.array([3, 2, 4]))

    def mean(flat: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        return Segments(starts, 4).mean(flat)

    flat = torch.arange(9.0)[:, None]
    found = torch.compile(mean, backend="eager", fullgraph=True)(flat, segments.starts)
    assert found.squeeze(1).tolist() == [1, 3.5, 6.5]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_side_with_its_current_sentences_only(layout: Layout) -> None:
    """Each is a row by itself, from position 0, in the groups it was in; there is no slot and nothing beside it."""
    documents = numbered_documents(ragged_lengths(np.random.default_rng(7), documents=5))
    rows = literal_rows(documents, RowSettings(), layout)
    corpus = corpus_of(documents)
    batch = make_batch(corpus.source, corpus.target, rows_array(rows, window=2), layout)
    lone = [replace(row, source_pieces=row.source_pieces[-1:], target_pieces=row.target_pieces[-1:]) for row in rows]
    groups = [(row.document, row.place // 2) for row in rows]
    bare = replace(layout, vector_place=False, selections=())
    check_side(batch.source.only_current(), lone, "source", groups, bare)
    check_side(batch.target.only_current(), lone, "target", groups, bare)
