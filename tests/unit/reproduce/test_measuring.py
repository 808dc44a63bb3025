"""What is measured of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docflat.reproduce.measuring import updates_per_second


def test_updates_a_second_leave_out_what_compiling_takes(tmp_path: Path):
    """Five stretches of 100 updates, 1000 tokens each: 40 s for the first, 10 s for each of the others."""
    stage = tmp_path / "stage-1"
    stage.mkdir()
    (stage / "result.json").write_text(json.dumps({"steps": 500, "seconds": 80.0}))
    speeds = [1e5 / seconds for seconds in (40, 10, 10, 10, 10)]
    lines = [{"step": 0, "kind": "validation"}, *({"kind": "train", "target_tokens_per_second": one} for one in speeds)]
    (stage / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert updates_per_second(tmp_path) == pytest.approx(10)
