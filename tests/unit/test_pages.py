"""Pages that name code: what they name exists."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import docflat

DOCS = Path(__file__).parents[2] / "docs"


def resolve(name: str) -> Any:
    """A module, or what is in one, by its dotted name."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("page", ["architecture.md", "api.md"])
def test_names_on_a_page_are_those_of_the_code(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    names = re.findall(r"`(docflat(?:\.\w+)+)", text)
    assert len(names) > 5
    for name in names:
        resolve(name)


def test_the_api_page_has_what_the_package_exports() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    for name in set(docflat.__all__) - {"__version__"}:
        value = getattr(docflat, name)
        assert f"## `docflat.{name}" in text, f"python docs/api.py writes the page; it lacks {name}"
        assert inspect.getdoc(value)
        for inner, member in vars(value).items():
            if not inner.startswith("_") and (inspect.isfunction(member) or isinstance(member, classmethod)):
                assert f"**`{inner}(" in text, f"python docs/api.py writes the page; it lacks {name}.{inner}"
                assert inspect.getdoc(getattr(value, inner)), f"{name}.{inner} has no docstring"


IMPORT = re.compile(r"^from (docflat[\w.]*) import ([\w, ]+)$", re.MULTILINE)
ALL_PAGES = (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")))
PAGES = [path for path in ALL_PAGES if IMPORT.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_what_examples_import_is_there(page: Path) -> None:
    for module, names in IMPORT.findall(page.read_text(encoding="utf-8")):
        for name in names.split(","):
            resolve(f"{module}.{name.strip()}")


ROOT = DOCS.parent
LINKED = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "src/docflat/weights/models").glob("*/README.md")),
]


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, as on GitHub."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), link


def test_the_manual_page_is_of_the_verbs_as_they_are() -> None:
    spec = importlib.util.spec_from_file_location("man", DOCS / "man.py")
    assert spec is not None
    assert spec.loader is not None
    man = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(man)
    assert (DOCS / "docflat.1").read_text(encoding="utf-8") == man.page(), "python docs/man.py writes it anew"
