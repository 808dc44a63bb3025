"""The commands of the README's section on one's own documents run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from docflat.weights.shipped import languages_of

ROOT = Path(__file__).parents[2]
# The recipe's settings, cut down to what a test can wait for.
SHORT = [f"stages.{n}.{key}" for n in (0, 1) for key in ("max_steps=2", "validate_every=2", "validation_sample=2")]
SHORT += ["model.dim=16", "model.feed_forward=16", "model.encoder_layers=1", "model.decoder_layers=1"]


def test_the_readme_trains_and_translates(tmp_path: Path) -> None:
    text = "\n\n".join(f"The ship {n} left.\nIt was {n} years old." for n in range(30)) + "\n"
    for name in ("train.en", "train.de", "report.en"):
        (tmp_path / name).write_text(text)
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Train on your own documents")[1]
    commands = [line.partition("#")[0].split() for line in re.findall(r"^docflat .*", section, re.M)]
    assert [command[1] for command in commands] == ["prepare", "train", "translate"]
    for command in commands:
        short = SHORT if command[1] == "train" else []
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        run = [sys.executable, "-m", "docflat", *command[1:], *short]
        ended = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
    assert languages_of(tmp_path / "runs" / "mine" / "model") == ("en", "de")  # by the names of the files
    assert len((tmp_path / "report.de").read_text().splitlines()) == len(text.splitlines())
