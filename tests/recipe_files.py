"""Recipes for tests, and what becomes of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from docflat.support.errors import InputError
from docflat.training.recipe import Recipe, load_recipe

SMALL = {"data": "prepared", "out": "runs/x", "stages": [{"system": "sent2sent"}, {"system": "docflat-c"}]}


def write(folder: Path, content: Any) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def load(folder: Path, *overrides: str, **changes: Any) -> Recipe:
    return load_recipe(write(folder, {**SMALL, **changes}), overrides)


def refused(folder: Path, content: Any, *overrides: str) -> str:
    """The message without the file, which comes first, and the line."""
    path = write(folder, content)
    with pytest.raises(InputError) as caught:
        load_recipe(path, overrides)
    assert "\n" not in str(caught.value)
    return re.sub(rf"^{re.escape(str(path))}(:\d+)?: ", "", str(caught.value))


def with_value(key: str, value: Any) -> dict[str, Any]:
    """SMALL with one more setting: `stages[1].rows.context`."""
    mapping = json.loads(json.dumps(SMALL))
    *before, last = re.sub(r"\[(\d)\]", r".\1", key).split(".")
    here: Any = mapping
    for name in before:
        here = here[int(name)] if isinstance(here, list) else here.setdefault(name, {})
    here[int(last) if isinstance(here, list) else last] = value
    return mapping
