"""The recipes that come with docflat, by their names: quickstart, europarl, systems/docflat-c. No torch here."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

from docflat.support.errors import InputError
from docflat.support.strict_yaml import nearest

RECIPES = Path(__file__).parent / "recipes"


def recipe_names() -> list[str]:
    """Whole recipes first, then those of one system, which lie over another."""
    files = [path.relative_to(RECIPES).with_suffix("") for path in RECIPES.rglob("*.yaml")]
    return [file.as_posix() for file in sorted(files, key=lambda file: (len(file.parts), file))]


def find_recipe(name: str) -> Path:
    """A file by its path; or, where there is none, a recipe of docflat by its name.

    recipes/quickstart.yaml is quickstart too: so commands say it that were written where recipes were a folder.
    """
    path = Path(name)
    if path.is_dir() or not path.exists():
        plain = name.removeprefix("./").removeprefix("recipes/").removesuffix(".yaml")
        if plain in recipe_names():
            return RECIPES / f"{plain}.yaml"
    if not path.exists() and not path.suffix:  # what is plainly a file, whoever reads it says of
        hint = nearest(name, recipe_names(), "; `docflat recipes` lists those by name")
        raise InputError(f"there is no such file, nor a recipe of this name{hint}", path)
    return path


def recipe_name(path: Path) -> str:
    """What a command calls a recipe: one of docflat by its name, another by its path."""
    if path.is_relative_to(RECIPES):
        return path.relative_to(RECIPES).with_suffix("").as_posix()
    return str(path)


def describe_recipe(name: str) -> str:
    """The first sentence of the comment that it begins with."""
    lines = find_recipe(name).read_text(encoding="utf-8").splitlines()
    paragraph = takewhile(lambda line: line.strip("# "), lines)
    return " ".join(line.strip("# ") for line in paragraph).partition(". ")[0].rstrip(".")
