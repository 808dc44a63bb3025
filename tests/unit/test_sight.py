"""What the table of systems says each of them sees is what it does see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docflat.config import RowSettings
from docflat.sight import Sight, draw_sight, find_sight
from docflat.systems import SYSTEMS


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_context_of_the_table_is_what_a_model_sees(name: str) -> None:
    system, sentences = SYSTEMS[name], 8
    local = system.rows_of(RowSettings()).context
    assert local is not None
    sight = find_sight(system, sentences)
    for i in range(sentences):
        for j in range(sentences):
            near = i - local <= j <= i
            for side, context, batch in ((sight.source, system.source, True), (sight.target, system.target, j <= i)):
                expected = i == j or ("local" in context and near) or ("batch" in context and batch)
                assert side[i, j] == expected, (i, j)


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    draw_sight(Sight(np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)), tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
