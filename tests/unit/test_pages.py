"""Pages that name code: what they name exists."""

from __future__ import annotations

import importlib
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
