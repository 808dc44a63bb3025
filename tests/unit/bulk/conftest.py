"""What tests of bulk translation share: a run in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bulk.stub_model import LOADER
from docflat.bulk.plan import Plan
from docflat.bulk.run import prepare
from docflat.bulk.settings import Settings
from docflat.bulk.translate_shard import TranslateShard

Run = Callable[..., Plan]


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A folder for what the hash of a model is made of."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights").write_bytes(b"some")
    return str(folder)


@pytest.fixture
def make(model: str) -> Callable[..., tuple[Plan, Settings]]:
    """The plan of some inputs, by the settings that differ from the usual ones."""

    def make(paths: Sequence[Path], out: Path, force: bool = False, **changes: Any) -> tuple[Plan, Settings]:
        settings = Settings(**{"model": model, "loader": LOADER, "shard_size": 200, **changes})
        return prepare(paths, out, settings, force, lambda message: None), settings

    return make


@pytest.fixture
def run_here(make: Callable[..., tuple[Plan, Settings]]) -> Run:
    """All shards done in this process."""

    def run_here(paths: Sequence[Path], out: Path, **changes: Any) -> Plan:
        plan, settings = make(paths, out, **changes)
        translate = TranslateShard(plan, settings)
        for shard in plan.read_shards():
            translate(shard)
        return plan

    return run_here
