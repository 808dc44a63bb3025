"""Bulk translation by Ray, tested in a process of its own: where Ray ends its nodes it may end the process too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRIES = 3
_SUMMARY = re.compile(r"^(?=.*\d+ (passed|failed|error)).* in [\d.]+s", re.MULTILINE)


def test_all_engines_in_a_process_of_their_own() -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'docflat[bulk]'")
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/unit/bulk/test_engines.py"]
    for _ in range(TRIES):
        ended = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, check=False)
        # What Ray ends in the middle, and a node that does not start on a busy machine, say nothing about docflat.
        if _SUMMARY.search(ended.stdout) and "timed out during startup" not in ended.stdout:
            break
    else:
        pytest.skip(f"Ray did not run to the end in {TRIES} tries; make test-ray shows why")
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert "skipped" not in ended.stdout.splitlines()[-1]
