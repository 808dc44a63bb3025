"""The notes of a folder may be anything: it may have come from somebody else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from docflat.support.errors import InputError
from docflat.translation.provenance import NOTES, Notes


def test_lines_that_are_no_notes_are_passed_over(tmp_path: Path) -> None:
    good = {"out": "a.de.md", "sha256": "x", "origin": {}}
    lines = ["{", "[]", "7", '{"out": []}', '{"out": "b", "sha256": 1, "origin": 5}', "[" * 100_000, json.dumps(good)]
    (tmp_path / NOTES).write_text("\n".join(lines))
    assert list(Notes(tmp_path).written) == ["a.de.md"]


def test_a_pipe_or_a_device_in_their_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / NOTES).symlink_to("/dev/zero")
    with pytest.raises(InputError, match="is no ordinary file"):
        Notes(tmp_path)
    (tmp_path / NOTES).unlink()
    os.mkfifo(tmp_path / NOTES)
    with pytest.raises(InputError, match="is no ordinary file"):
        Notes(tmp_path)
