"""The manual page is roff that a reader takes without a warning. That it is of today: tests/unit/test_pages.py."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from docflat.cli.completion import options_of
from docflat.cli.dispatch import VERBS, verb_parser

PAGE = Path(__file__).parents[3] / "docs" / "docflat.1"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_shows_every_verb_and_option() -> None:
    command = ["groff", "-man", "-ww", "-Tascii", "-P-cbou", "-rLL=200n", str(PAGE)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    sections = ended.stdout.split("\n   docflat ")[1:]
    assert [section.partition("\n")[0] for section in sections] == [verb.name for verb in VERBS]
    for verb, section in zip(VERBS, sections, strict=True):
        common = {"-h", "--help", "-q", "--quiet", "-v", "--verbose", "--log"}
        assert [one for one in options_of(verb_parser(verb)) if one not in common and one not in section] == []
