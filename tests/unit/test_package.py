"""What a package index and a stranger's installation get."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import docflat

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docflat_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_on_a_package_index_every_link_of_the_readme_leads_to_a_file_of_this_version(setup: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)", setup.absolute(readme, setup.version()))
    assert len(targets) > 20
    for target in targets:
        assert target.startswith("https://")
        start, tag, path = target.partition(f"/v{docflat.__version__}/")
        if tag:
            assert start == (setup.RAW if path.endswith((".png", ".svg")) else f"{setup.HOME}/blob")
            assert (ROOT / path.partition("#")[0]).exists(), path


def test_pictures_are_bytes_and_what_is_no_file_stays(setup: ModuleType) -> None:
    text = "![A](docs/a.png) [b](c.md#d) [e](https://example.org) [f](#g) `[h]`(i)"
    raw, home = f"{setup.RAW}/v1", f"{setup.HOME}/blob/v1"
    expected = f"![A]({raw}/docs/a.png) [b]({home}/c.md#d) [e](https://example.org) [f](#g) `[h]`(i)"
    assert setup.absolute(text, "1") == expected


def test_the_changes_have_a_section_for_this_version() -> None:
    assert f"## {docflat.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_all_has_every_extra_but_those_that_stand_apart() -> None:
    extras = PROJECT["optional-dependencies"]
    named = set(re.findall(r"[a-z0-9]+", extras["all"][0].partition("[")[2]))
    assert named | {"evaluate"} == set(extras) - {"all", "dev", "comet", "files", "docs"}
    assert "docflat[evaluate]" in extras["train"]
