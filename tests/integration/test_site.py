"""The pages make a site without a warning: no dead link, no page that nothing leads to."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder


def test_every_page_is_there_and_can_be_searched(site: Path) -> None:
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert pages <= {page.stem for page in site.glob("*.html")}
    assert "Tutorial" in (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert 'data-md-color-scheme="slate"' in (site / "index.html").read_text(encoding="utf-8")


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loads = r'<(?:script|img|link rel="stylesheet")[^>]+(?:src|href)="(?:https?:)?//'
        assert not re.findall(loads, text), page
