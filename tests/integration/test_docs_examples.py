"""Translations that the docs show are those of the model that comes with docflat."""

from __future__ import annotations

import re
from pathlib import Path

from docflat import Translator

ROOT = Path(__file__).parents[2]


def test_the_subtitles_of_the_page_on_files(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    shown = re.findall(r"^    (.*)$|^$", page.split("## Subtitles")[1].split("The translation is laid")[0], re.M)
    lines = "\n".join(shown).strip("\n").split("\n")
    source, target = ("\n".join(line[place].rstrip() for line in lines) for place in (slice(45), slice(45, None)))
    (tmp_path / "film.srt").write_text(source + "\n", encoding="utf-8")
    Translator.load().translate_file(tmp_path / "film.srt", tmp_path / "out.srt")
    assert (tmp_path / "out.srt").read_text(encoding="utf-8") == target + "\n"
