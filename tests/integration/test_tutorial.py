"""The commands of the tutorial run as they stand there, path by path, each in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
PATHS = {part.partition("\n")[0]: part for part in PAGE.split("\n## For ")[1:]}


def follow(path: str, folder: Path) -> str:
    """What the commands of a path print, one after the other; the first that fails ends it."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PATHS[path], re.M | re.S)
    assert len(blocks) > 2
    (folder / "bin").mkdir()
    for name, words in (("docflat", "-m docflat"), ("python", "")):
        file = folder / "bin" / name
        file.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        file.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    command = ["bash", "-e", "-c", "\n".join(blocks)]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def test_a_translator(tmp_path: Path) -> None:
    said = follow("a translator", tmp_path)
    assert "**Lampe**" in said
    assert re.search("Sie (?:ist|besteht) aus Glas", said)  # the verb differed between two commits
    assert "without context" in said
    assert "translated again" in said
    assert "Sie wurde in Wien hergestellt" in said
    assert "<h1>letter.md</h1>" in (tmp_path / "letter.html").read_text(encoding="utf-8")


def test_an_engineer(tmp_path: Path) -> None:
    said = follow("an engineer", tmp_path)
    assert "{name}" in (tmp_path / "strings.de.json").read_text(encoding="utf-8")
    assert said.count("Der Bericht ist kurz.") == 3
    assert (tmp_path / "again.de.json").read_bytes() == (tmp_path / "strings.de.json").read_bytes()


def test_a_researcher(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    said = follow("a researcher", tmp_path)
    assert "English to German" in said
    reference, *translated = (
        (tmp_path / name).read_text(encoding="utf-8").split("\n") for name in ("test.de", "sentence.de", "document.de")
    )
    pronouns = [number for number, line in enumerate(reference) if line.startswith(("Er ", "Sie ", "Es "))]
    sentence, document = (
        sum(lines[n].split()[:1] == reference[n].split()[:1] for n in pronouns) for lines in translated
    )
    assert document > sentence, "context shows what `it` is"
