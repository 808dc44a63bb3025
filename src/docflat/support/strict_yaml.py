"""Frozen dataclasses from YAML or JSON, strictly: a typing mistake is an error that names the right key."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from docflat.support.errors import InputError
from docflat.support.text_files import check_ordinary

if TYPE_CHECKING:
    import yaml

_MOST_BYTES = 4 << 20  # of a file of settings
T = TypeVar("T")
File = str | os.PathLike[str]
Lines = Mapping[str, tuple[File, int]]  # file and line of a key by its path: {"stages[0].seed": ("a.yaml", 12)}
_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def from_mapping(
    cls: type[T], mapping: object, file: File | None = None, where: str = "", lines: Lines | None = None
) -> T:
    """An instance of the dataclass `cls`; an error names the key by its path, which starts with `where`."""
    return cast("T", _Reader(file, lines or {}).instance(cls, mapping, where))


def to_mapping(instance: Any) -> dict[str, Any]:
    """The inverse of `from_mapping`, in JSON's types."""
    return dict(json.loads(json.dumps(asdict(instance), default=os.fspath)))


def read_yaml(path: File) -> tuple[dict[str, Any], dict[str, tuple[File, int]]]:
    """The mapping in a YAML file, and where each of its keys stands."""
    import yaml  # here: what is read is JSON mostly, and who translates need not wait for it

    check_ordinary(Path(path), _MOST_BYTES)
    try:
        data = Path(path).read_bytes()
        loader = yaml.SafeLoader(data.decode("utf-8-sig"))
        root = loader.get_single_node()
        lines = _find_lines(root, path)
        mapping = root and loader.construct_document(root)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from None
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", path, data.count(b"\n", 0, error.start) + 1) from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2023-02-31
        what = " ".join(str(getattr(error, "problem", None) or error).split())
        mark = getattr(error, "problem_mark", None)
        raise InputError(f"not YAML: {what}", path, mark.line + 1 if mark else None) from None
    if not isinstance(mapping, dict):
        raise InputError("nothing in this file" if mapping is None else "expected keys and values", path)
    return mapping, {name: (path, line) for name, line in lines.items()}


def nearest(word: object, words: Iterable[object], otherwise: str = "") -> str:
    """`; did you mean 'x'?` to end a message with, where a word is near."""
    known = [str(one) for one in words]
    swapped = [one for one in known if sorted(one) == sorted(str(word))]  # the commonest slip: --modle is --model
    near = swapped or difflib.get_close_matches(str(word), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else otherwise


@dataclass(frozen=True)
class _Reader:
    file: File | None
    lines: Lines

    def error(self, where: str, message: str, parent: str = "") -> InputError:
        file, line = self.lines.get(where, self.lines.get(parent, (self.file, None)))
        return InputError(f"{where}: {message}" if where else message, file, line)

    def check(self, fits: bool, what: str, value: object, where: str, hint: str = "") -> None:
        if not fits:
            shown = "nothing" if value is None else repr(value)
            raise self.error(where, f"expected {what}, found {shown}{hint}")

    def instance(self, cls: Any, mapping: Any, where: str) -> Any:
        self.check(isinstance(mapping, Mapping), "keys and values", mapping, where)
        known = {field.name: field for field in fields(cls)}
        paths = {key: f"{where}.{key}".lstrip(".") for key in (*known, *mapping)}
        for key in mapping:
            if key not in known:
                hint = nearest(key, known, f"; known keys: {', '.join(known)}" if known else "; there are none")
                raise self.error(paths[key], f"unknown key{hint}")
        for key, field in known.items():
            if key not in mapping and field.default is MISSING and field.default_factory is MISSING:
                raise self.error(paths[key], "missing, and it has no default", parent=where)
        hints = get_type_hints(cls)
        values = {key: self.value(hints[key], value, paths[key]) for key, value in mapping.items()}
        try:
            return cls(**values)
        except ValueError as error:  # a range check of __post_init__, "key: message"
            key, _, message = str(error).partition(": ")
            raise self.error(paths.get(key, where), message if key in known else str(error), where) from None

    def value(self, kind: Any, value: Any, where: str) -> Any:
        origin, inner = get_origin(kind), get_args(kind)
        if kind is Any or (value is None and types.NoneType in inner):
            return value
        if origin in (Union, types.UnionType):  # X | None is the only union here
            return self.value(inner[0], value, where)
        if is_dataclass(kind):
            return self.instance(kind, value, where)
        if origin is Literal:
            fits = (type(value), value) in [(type(one), one) for one in inner]  # True == 1, but not here
            self.check(fits, f"one of {', '.join(map(str, inner))}", value, where, nearest(value, inner))
            return value
        if origin in (tuple, list):
            self.check(isinstance(value, list | tuple), "a list", value, where)
            kinds = [inner[0]] * len(value) if origin is list or inner[-1] is Ellipsis else inner
            self.check(len(kinds) == len(value), f"a list of {len(kinds)}", value, where)
            return origin(self.value(kinds[i], one, f"{where}[{i}]") for i, one in enumerate(value))
        if origin is dict:
            self.check(isinstance(value, Mapping), "keys and values", value, where)
            return {str(key): self.value(inner[1], one, f"{where}.{key}") for key, one in value.items()}
        if kind is Path:
            return Path(self.value(str, value, where))
        if kind is float and type(value) in (int, str):  # PyYAML reads 5e-4 as text: YAML 1.1 wants 5.0e-4
            with contextlib.suppress(ValueError, OverflowError):
                value = float(value)
        self.check(type(value) is kind and value == value, _WORDS[kind], value, where)  # nan != nan
        return value


def _find_lines(root: yaml.Node | None, path: File) -> dict[str, int]:
    """The line of each key and list item; a key given twice is an error (PyYAML lets the later one win)."""
    import yaml

    lines: dict[str, int] = {}
    todo, visited = [(root, "")], set()
    for node, where in todo:
        if id(node) in visited:  # an alias, which may even contain itself
            continue
        visited.add(id(node))
        inner: list[tuple[str, yaml.Node, yaml.Node]] = []
        if isinstance(node, yaml.MappingNode):
            inner = [(f"{where}.{key.value}".lstrip("."), key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            inner = [(f"{where}[{i}]", item, item) for i, item in enumerate(node.value)]
        for name, key, value in inner:
            if name in lines:
                raise InputError(f"{name}: given twice (line {lines[name]})", path, key.start_mark.line + 1)
            lines[name] = key.start_mark.line + 1
            todo.append((value, name))
    return lines
