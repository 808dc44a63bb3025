"""Write docs/api.md: the public names of docflat, from their docstrings.

python docs/api.py
"""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

# Modules and their public names; of a class all public methods are listed too.
PUBLIC = {
    "docflat": ["Translator"],
    "docflat.decoding.settings": ["DecodingSettings"],
    "docflat.editing.editor": ["EditorSettings"],
    "docflat.translation.candidates": ["Candidate"],
    "docflat.translation.file_report": ["FileReport"],
    "docflat.training.recipe": ["load_recipe", "Recipe"],
    "docflat.training.loop": ["train"],
    "docflat.evaluation.metrics": ["Metrics"],
    "docflat.formats": ["find_format"],
    "docflat.support.errors": ["InputError"],
}
HEAD = """# The Python API

Written by `python docs/api.py` from the docstrings. The library tells of its progress and warns through the logger
`docflat`; bad input is an `InputError`. Other modules may change with any version.
"""


def members(cls: type) -> list[tuple[str, Any]]:
    """Its public methods and properties, in their order."""
    kinds = (FunctionType, classmethod, property, cached_property)
    named = [
        (name, value) for name, value in vars(cls).items() if not name.startswith("_") and isinstance(value, kinds)
    ]
    return [(name, value.__func__ if isinstance(value, classmethod) else value) for name, value in named]


def signature(name: str, value: Any) -> str:
    if not inspect.isfunction(value):
        return name
    parameters = [one for one in inspect.signature(value).parameters.values() if one.name not in ("self", "cls")]
    words = [
        ("**" if one.kind is one.VAR_KEYWORD else "") + one.name + ("" if one.default is one.empty else "=…")
        for one in parameters
    ]
    return f"{name}({', '.join(words)})"


def paragraphs(value: Any) -> str:
    """The docstring; lines that explain a parameter become items, and fields of a dataclass with their comments too."""
    if (
        not inspect.isroutine(value)
        and inspect.isclass(value)
        and (value.__doc__ or "").startswith(value.__name__ + "(")
    ):
        return ""  # dataclasses writes this one
    return re.sub(r"^(\w+(?:, \w+)*): ", r"- `\1`: ", inspect.getdoc(value) or "", flags=re.MULTILINE)


def fields(cls: type) -> list[str]:
    """Those of a dataclass, with their comments."""
    if not is_dataclass(cls):
        return []
    rows = re.findall(r"^    (\w+): ([^=#\n]+?)(?: = ([^#\n]+?))?(?:  # (.*))?$", inspect.getsource(cls), re.MULTILINE)
    names = set(cls.__dataclass_fields__)
    return [
        f"- `{name}: {kind}{f' = {default}' if default else ''}` {comment}".rstrip()
        for name, kind, default, comment in rows
        if name in names
    ]


def write() -> str:
    parts = [HEAD]
    for module, names in PUBLIC.items():
        for name in names:
            value = getattr(import_module(module), name)
            shown = signature(name, value) if inspect.isfunction(value) else name
            parts.append(f"## `{module}.{shown}`\n\n{paragraphs(value)}\n".replace("\n\n\n", "\n\n"))
            if inspect.isclass(value) and (rows := fields(value)):
                parts.append("\n".join(rows) + "\n")
            for inner, member in members(value) if inspect.isclass(value) else ():
                parts.append(f"**`{signature(inner, member)}`** {paragraphs(member)}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (Path(__file__).parent / "api.md").write_text(write(), encoding="utf-8")
