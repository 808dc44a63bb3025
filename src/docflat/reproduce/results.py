"""results.jsonl: every number that was measured, a line each, with what it comes from. Lines are only ever added."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from docflat.support.console import finite
from docflat.support.errors import InputError
from docflat.support.strict_yaml import from_mapping

Key = tuple[str, str, int]  # job, metric, window
OPEN = "open.json"  # why numbers that somebody chose are not there


@dataclass(frozen=True)
class Origin:
    """What a number comes from."""

    commit: str
    seed: int
    data: str  # hash of training, validation and test data
    command: str
    training: str  # the `docflat train` that makes the same model
    device: str
    scale: str = "full"
    settings: list[str] = field(default_factory=list)  # that differ from the recipes, for all trainings
    decoding: str = ""


@dataclass(frozen=True)
class Measurement:
    """A line. Its value is None where what was measured is not a number."""

    job: str
    metric: str
    window: int
    value: float | None
    origin: Origin
    signature: str = ""  # of the metric
    time: str = ""
    file: str = ""  # translations, or verdicts on examples, from which anyone can measure it again; in the same folder

    @property
    def key(self) -> Key:
        return self.job, self.metric, self.window


def read_results(path: Path) -> dict[Key, Measurement]:
    """By key. A last line that a kill has cut does not count."""
    if not path.exists():
        return {}
    status = path.stat()
    return dict(_read(path, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=1)
def _read(path: Path, size: int, time: int) -> dict[Key, Measurement]:
    """Workers ask again and again, and a whole grid has a thousand lines: size and time tell whether any is new."""
    measurements: dict[Key, Measurement] = {}
    *lines, _ = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            content = json.loads(line)
        except ValueError as error:
            raise InputError(f"not JSON: {error}", path, number) from None
        try:
            record = from_mapping(Measurement, content)
        except InputError as error:
            raise InputError(str(error), path, number) from None
        measurements[record.key] = record
    return measurements


def read_open(out: Path) -> dict[Key, str]:
    """Why each number that was chosen is open; nothing where no plan was made."""
    path = out / OPEN
    if not path.exists():
        return {}
    return {(job, metric, window): reason for job, metric, window, reason in json.loads(path.read_text("utf-8"))}


def add_results(path: Path, records: Sequence[Measurement]) -> None:
    """Write them to the disk, all or none of them as far as a reader can see; several processes may at once."""
    lines = "".join(json.dumps(_plain(asdict(record)), ensure_ascii=False) + "\n" for record in records)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _mend(file)
        file.write(lines.encode())
        file.flush()
        os.fsync(file.fileno())


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: finite(value) for key, value in record.items()}


def _mend(file: Any) -> None:
    """Take away half a line: who wrote it holds the lock no longer, so it was killed."""
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    whole = file.read().rfind(b"\n") + 1
    if whole < end:
        file.truncate(whole)
    file.seek(0, os.SEEK_END)


@contextmanager
def claim(path: Path, wait: bool = False) -> Iterator[bool]:
    """Whether this process may do what the file stands for: no other one is at it.

    The system keeps the lock, and lets it go with the process, however that ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        except OSError as error:
            raise InputError(f"this file system cannot lock files: {error.strerror}", path) from None
        yield True
