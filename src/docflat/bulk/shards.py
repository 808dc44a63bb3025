"""Shards: documents that follow each other, about as much work each; no document is in two of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple

SENTENCE = 16  # what a sentence costs beside its characters


class Unit(NamedTuple):
    """A document, as planning sees it."""

    work: int
    offset: int = 0  # bytes of its source before it, of sources that are lines
    size: int = 0  # bytes, with what follows up to the next document
    line: int = 1  # of its source
    lines: int = 0  # how many it has
    file: tuple[str, str, int, int] | None = None  # of files of formats


@dataclass(frozen=True)
class Shard:
    """Some documents of a source. It is the same in every plan of the same inputs and settings."""

    source: int  # its place among the sources
    name: str  # of its part: the source's, and which documents
    first: int  # document, from 1
    documents: int
    work: int
    offset: int = 0
    size: int = 0
    line: int = 1
    lengths: tuple[int, ...] = ()  # lines of each document, where another file says where documents start
    files: tuple[tuple[str, str, int, int], ...] = ()  # name, path, size and time of each

    def to_json(self) -> str:
        default = {"offset": 0, "size": 0, "line": 1, "lengths": (), "files": ()}
        facts = {name: value for name, value in vars(self).items() if name not in default or value != default[name]}
        return json.dumps(facts)

    @classmethod
    def from_json(cls, text: str) -> Shard:
        facts: dict[str, Any] = json.loads(text)
        check_types(facts, int, "source", "first", "documents", "work", "offset", "size", "line")
        check_types(facts, str, "name")
        check_types(facts, list, "lengths", "files")
        for path in facts.get("files", ()):
            check_types(dict(zip(("name", "path", "size", "time"), path, strict=True)), str, "name", "path")
            check_inside(path[0])
        facts["lengths"] = tuple(facts.get("lengths", ()))
        facts["files"] = tuple(tuple(file) for file in facts.get("files", ()))
        return cls(**facts)


def check_types(facts: Mapping[str, Any], kind: type | tuple[type, ...], *names: str) -> None:
    """What was read from a file may be anything."""
    for name in names:
        if name in facts and not isinstance(facts[name], kind):
            raise TypeError(f"{name} is {type(facts[name]).__name__}")


def check_inside(name: str) -> None:
    """Refuse the name of a file that would not lie in the folder that it is for."""
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise ValueError(f"{name} is no name within a folder")


def work_of(document: Sequence[str] | str | None) -> int:
    """About how long it takes to translate: its characters, and something for every sentence."""
    if document is None:
        return 1
    if isinstance(document, str):
        return 1 + len(document) + SENTENCE * (document.count("\n") + 1)
    return 1 + sum(map(len, document)) + SENTENCE * len(document)


def cut(units: Iterable[Unit], source: int, name: str, budget: int, lengths: bool = False) -> Iterator[Shard]:
    """Shards of at most `budget` of work; what is more is a shard of its own.

    lengths: whether a shard notes the lines of its documents.
    """
    pending: list[Unit] = []
    first, work = 1, 0
    for unit in units:
        if pending and work + unit.work > budget:
            yield _shard(pending, source, name, first, work, lengths)
            first, work, pending = first + len(pending), 0, []
        pending.append(unit)
        work += unit.work
    if pending:
        yield _shard(pending, source, name, first, work, lengths)


def name_of(source: str, first: int, documents: int) -> str:
    """Of a shard: which documents of which source."""
    return f"{source}/{first:012}-{first + documents - 1:012}"


def _shard(units: Sequence[Unit], source: int, name: str, first: int, work: int, lengths: bool) -> Shard:
    return Shard(
        source,
        name_of(name, first, len(units)),
        first,
        len(units),
        work,
        units[0].offset,
        sum(unit.size for unit in units),
        units[0].line,
        tuple(unit.lines for unit in units) if lengths else (),
        tuple(unit.file for unit in units if unit.file is not None),
    )
