"""The chart of the report."""

from __future__ import annotations

from itertools import pairwise

import pytest

from docflat.reproduce.chart import chart, nice_ticks


@pytest.mark.parametrize("span", [(24.96, 25.81), (-1.08, 11.59), (0.0, 0.0), (0.2942, 0.3216), (3.0, 3.0), (-5, -5)])
def test_ticks_are_few_even_and_reach_both_ends(span: tuple[float, float]):
    ticks = nice_ticks(*span)
    assert ticks[0] <= span[0] + 1e-9
    assert ticks[-1] >= span[1] - 1e-9
    assert 2 <= len(ticks) <= 8
    gaps = [b - a for a, b in pairwise(ticks)]
    assert max(gaps) == pytest.approx(min(gaps))


def test_a_curve_leaves_out_what_was_not_run():
    drawn = chart("lines", "measured", ["1", "2", "3"], [("abd", [1.0, None, 2.0])], ("size", "BLEU"))
    assert drawn.count("<circle") == 2
    assert "not run" in chart("lines", "measured", ["1"], [("abd", [None])], ("size", "BLEU"))
