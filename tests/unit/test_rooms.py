"""The rooms of the house: which may import which."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

import docflat

SOURCE = Path(docflat.__file__).parent
ROOMS: list[str] = yaml.safe_load((Path(__file__).parents[2] / "docs" / "rooms.yaml").read_text())


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and room of everything a file imports of docflat, lazily or not."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}:{node.lineno}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "docflat" and len(parts) > 1:
                yield node.lineno, parts[1]


def upward(room: str, file: Path) -> Iterator[str]:
    """What a file of a room imports from a room below it in the list."""
    for line, other in imports(file):
        if other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
            yield f"{file.name}:{line}: {room} imports {other}, which is below it"


def test_no_import_goes_down_the_list_of_rooms() -> None:
    found = [
        message
        for file in sorted(SOURCE.rglob("*.py"))
        if len(file.relative_to(SOURCE).parts) > 1
        for message in upward(file.relative_to(SOURCE).parts[0], file)
    ]
    assert not found, "\n".join(found)


def test_the_test_sees_an_import_that_goes_down(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("def f():\n    from docflat.cli import dispatch\n")
    assert list(upward("data", file)) == ["wrong.py:2: data imports cli, which is below it"]


def test_every_folder_is_a_room_and_every_module_has_one() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= set(ROOMS)
    assert len(list(SOURCE.glob("*.py"))) <= 4


def test_every_room_says_what_comes_in_and_what_goes_out() -> None:
    for init in SOURCE.rglob("*/__init__.py"):
        text = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
        assert re.search(r"In comes? .*out comes? ", text, re.DOTALL), f"{init}: In come ...; out come ..."


def test_the_picture_of_the_rooms_is_current() -> None:
    """Else: python docs/rooms.py."""
    docs = Path(__file__).parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("rooms", docs / "rooms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (docs / "rooms.svg").read_text(encoding="utf-8") == module.draw(ROOMS)
