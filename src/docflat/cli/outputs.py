"""Files that verbs write: what must not be written over is refused before the work."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from docflat.support.atomic import destination, is_through, replaced_by, write_whole
from docflat.support.console import finite
from docflat.support.errors import InputError

Identity = tuple[int, int]  # device and inode


def add_force(parser: ArgumentParser, what: str = "a file that is there already") -> None:
    parser.add_argument("--force", action="store_true", help=f"replace {what}")


def check_output(arguments: Namespace, option: str, force: bool | None = None, packed: bool = False) -> None:
    """Refuse before the work what could not be written after it, or would cost a file.

    force: whether what is there may be replaced (default: --force); packed: whether .gz and its like are written.
    """
    path = getattr(arguments, option)
    if path is None:
        return
    from docflat.support.text_files import OPENERS

    if path.suffix.lower() in OPENERS and not packed:
        raise InputError("is written as plain text: its name must not say otherwise", path)
    others = (value for name, value in vars(arguments).items() if name != option)
    check_file(path, list(_paths(others)), arguments.force if force is None else force)


def check_file(
    path: Path, read: Collection[Path] | Collection[Identity], force: bool, makes_folder: bool = False
) -> None:
    """Whether this can be written, and is no file that is read or written besides. makes_folder: that of the file.

    read: those files, or, where there are many, what they are known by.
    """
    if is_through(path):
        return
    if path.is_dir():
        raise InputError("cannot be written: it is a folder", path)
    place = destination(path)
    if isinstance(place, Path) and not place.parent.is_dir() and not makes_folder:
        folder = place.parent if path.is_symlink() else path.parent
        raise InputError(f"cannot be written: there is no folder {folder}", path)
    if (there := replaced_by(path)) is None:
        return
    if identity(there) in {identity(file) if isinstance(file, Path) else file for file in read}:
        raise InputError("would be overwritten: this command has it twice", path)
    if not force:
        raise InputError("exists already (--force replaces it)", path)


def check_log(arguments: Namespace) -> None:
    """The log is appended to, so it must be nothing that the command reads or writes."""
    log = arguments.log
    others = list(_paths(value for name, value in vars(arguments).items() if name != "log"))
    known = identity(log) if log is not None else None
    if log is not None and any(log.resolve() == one.resolve() or (known and identity(one) == known) for one in others):
        raise InputError("is the log, and a file of this command besides", log)


def check_folder(out: Path, source: Path) -> None:
    """Whether a folder can be written without the loss of the one that is read."""
    out, source = out.resolve(), source.resolve()
    if out == source or out in source.parents:
        raise InputError(f"would be replaced, with {source} that is read; choose another --out", out)


def check_stdout(file: Path | None) -> None:
    """Reading a file and appending to it would never end."""
    try:
        out = os.fstat(sys.stdout.fileno())
        source = os.stat(file) if file is not None else os.fstat(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):  # none of the system's streams
        return
    if os.path.samestat(out, source) and Path("/dev/fd/1").is_file():
        raise InputError("is input and output at the same time", file or "stdin")


def identity(file: Path) -> Identity | None:
    """What names, links and hard links of one file have in common; None: there is no such file."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _paths(values: Iterable[object]) -> Iterator[Path]:
    for value in values:
        if isinstance(value, Path):
            yield value
        elif isinstance(value, list):
            yield from _paths(value)
        elif isinstance(path := getattr(value, "path", None), Path):  # the output of `translate`
            yield path


def write_json_lines(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    lines = (json.dumps({name: _plain(value) for name, value in each.items()}, ensure_ascii=False) for each in records)
    write_whole(path, "".join(f"{line}\n" for line in lines))


def _plain(value: object) -> object:
    return [finite(one) for one in value] if isinstance(value, list) else finite(value)
