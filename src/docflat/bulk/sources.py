"""What is to be translated: files and folders as the user names them, as sources with a name of their own each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from docflat.bulk.settings import Settings
from docflat.data.documents import BITEXTS, kind_of
from docflat.formats import FORMATS, WRITTEN_AS
from docflat.formats.recognition import check_lines, has_format
from docflat.support.errors import InputError
from docflat.translation.provenance import original_of

Kind = Literal["jsonl", "text", "parquet", "arrow", "files"]
FILES = "files"  # the source of all files of formats: a shard has many of them
TABLES = ("parquet", "arrow")


@dataclass(frozen=True)
class Source:
    """Documents that are read one after the other: a file, a dataset on disk, or all files of formats."""

    name: str  # of its parts below OUT; of no other source
    kind: Kind
    path: str
    key: str = ""  # the field or column that holds the documents, of those that have any
    boundaries: str = ""  # of text: how documents are marked
    size: int = 0  # bytes
    changed: int = 0  # when, in nanoseconds
    hash: str = ""  # of the contents


@dataclass(frozen=True)
class File:
    """A file of a format."""

    name: str  # below the output folder
    path: str
    size: int
    changed: int


def find_sources(paths: Sequence[Path], out: Path, settings: Settings) -> tuple[list[Source], list[File], list[str]]:
    """Sources, files of formats, and what was passed over."""
    sources: list[Source] = []
    files: list[File] = []
    skipped: list[str] = []
    named: dict[str, Path] = {}
    for start in paths:
        if not start.exists():
            raise InputError("there is no such file or folder", start)
        if not start.is_dir() and not start.is_file():
            raise InputError("must be an ordinary file: it is read more than once", start)
        _check_outside(start, out)
        for path, name in _walk(start, out, settings, skipped):
            if path.is_symlink():
                _check_outside(path, out)
            kind = _kind(path, settings)
            written = output_name(name) if kind == FILES else name
            if written in named:
                raise InputError(f"its translation would have the name of that of {named[written]}: {written}", path)
            named[written] = path
            if kind == "text" and not settings.lines and settings.boundaries == "auto":
                check_lines(path)
            if kind == FILES:
                files.append(_file(path, name))
            else:
                sources.append(Source(name, kind, os.path.abspath(path)))
    if FILES in named and files:
        raise InputError(f"is a name that the output has for files of formats: {FILES}", named[FILES])
    if not sources and not files:
        raise InputError("nothing to translate", paths[0])
    return sources, files, skipped


def output_name(name: str) -> str:
    """Of the translation of a file of a format: the same; one that is written as another kind has its ending behind."""
    return name + WRITTEN_AS.get(PurePosixPath(name).suffix.lower(), "")


def _check_outside(path: Path, out: Path) -> None:
    """An input is never of what a run writes, which --force removes."""
    if path.resolve().is_relative_to(out.resolve()):
        raise InputError(f"lies in the output folder, {out}", path)


def _file(path: Path, name: str) -> File:
    facts = path.stat()
    return File(name, os.path.abspath(path), facts.st_size, facts.st_mtime_ns)


def _walk(start: Path, out: Path, settings: Settings, skipped: list[str]) -> Iterator[tuple[Path, str]]:
    """Files and datasets, with their names in the output."""
    if not start.is_dir():
        yield start, start.name
        return
    if (datasets := _datasets(start)) is not None:
        yield from datasets
        return
    others: Counter[str] = Counter()  # by their endings
    for path in _below(start, out):
        kind = _kind(path, settings)
        if kind == FILES and not has_format(path) and kind_of(path) not in BITEXTS:
            others[f"{path.suffix.lower()} (not of Qt)"] += 1
        elif not settings.lines and kind == "text" and kind_of(path) != ".tsv":
            others[path.suffix.lower() or "without an ending"] += 1
        elif kind == FILES and (original := original_of(path, settings.language)) is not None:
            why = f"its name says that it is a translation of {original.name}"
            skipped.append(f"{path}: passed over, for {why} (name it to translate it)")
        else:
            yield path, path.relative_to(start).as_posix()
    if others:
        kinds = ", ".join(f"{count} {suffix}" for suffix, count in sorted(others.items()))
        skipped.append(f"{start}: passed over, for these may be text or not (name them, or say --lines): {kinds}")


def _datasets(folder: Path) -> list[tuple[Path, str]] | None:
    """What `save_to_disk` of Hugging Face's datasets wrote: a dataset, or several splits of one."""
    name = folder.resolve().name
    if (folder / "dataset_dict.json").is_file():
        from docflat.bulk.readers.tables import split_names

        return [(folder / split, f"{name}/{split}") for split in split_names(folder)]
    return [(folder, name)] if _is_dataset(folder) else None


def _is_dataset(path: Path) -> bool:
    return path.is_dir() and (path / "state.json").is_file() and (path / "dataset_info.json").is_file()


def _below(folder: Path, out: Path) -> Iterator[Path]:
    """All ordinary files in order, but for what is hidden and for the output."""
    out = out.resolve()
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and Path(root, name).resolve() != out)
        files = (Path(root, name) for name in sorted(names) if not name.startswith("."))
        yield from (file for file in files if file.is_file())  # no pipe, which may wait for ever, and no device


def _kind(path: Path, settings: Settings) -> Kind:
    if path.is_dir():
        if not _is_dataset(path):
            raise InputError("is no dataset on disk: it has no state.json and dataset_info.json", path)
        return "arrow"
    if path.suffix.lower() == ".parquet":
        return "parquet"
    kind = kind_of(path)
    if kind == ".jsonl":
        return "text" if settings.boundaries not in ("auto", "lines") else "jsonl"
    if not settings.lines and ((kind != ".tsv" and path.suffix.lower() in FORMATS) or kind in BITEXTS):
        return "files"
    return "text"


def changes(before: Iterable[Source], now: Iterable[Source]) -> list[str]:
    """What has changed in the inputs. Files of the same size and time are taken for the same."""
    was, is_ = ({source.name: source for source in sources} for sources in (before, now))
    differences = [f"{name} was not there" for name in is_.keys() - was.keys()]
    differences += [f"{name} is missing" for name in was.keys() - is_.keys()]
    for name in was.keys() & is_.keys():
        if was[name].kind != is_[name].kind:
            differences.append(f"{name} was read as {was[name].kind}, is {is_[name].kind}")
        elif was[name].hash != is_[name].hash:
            differences.append(f"{name} has other contents")
    return sorted(differences)
