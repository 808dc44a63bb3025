"""What the table of systems says each of them sees is what it does see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docflat.data.row_settings import RowSettings
from docflat.systems import SYSTEMS
from docflat.systems.visibility import Visibility, draw_visibility, find_visibility


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_context_of_the_table_is_what_a_model_sees(name: str) -> None:
    """Of a document in two windows: what is local reaches over the edge between them, what comes by the batch not."""
    system, sentences, window = SYSTEMS[name], 10, 5
    local = system.rows_of(RowSettings()).context
    assert local is not None
    visibility = find_visibility(system, sentences, window)
    for i in range(sentences):
        first = i // window * window
        if name == "abd":  # the mean of another row holds that row's local context too
            first = max(0, first - local)
        for j in range(sentences):
            near, together = i - local <= j <= i, first <= j < i // window * window + window
            for side, context, batch in (
                (visibility.source, system.source, together),
                (visibility.target, system.target, together and j <= i),
            ):
                expected = i == j or ("local" in context and near) or ("batch" in context and batch)
                assert side[i, j] == expected, (i, j)


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    draw_visibility(Visibility(np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)), tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
