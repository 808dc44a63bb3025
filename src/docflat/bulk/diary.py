"""Which document of a shard a process is about, so that the next one knows what ended it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from docflat.bulk.documents import Untranslatable
from docflat.bulk.output import OutputError

D = TypeVar("D")
T = TypeVar("T")


MOST_DEATHS = 3  # of processes over one shard; then its documents go one by one


class Attempts:
    """How often a shard was begun in a run, in a file of so many bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self) -> int:
        _append(self.path, ".")
        return self.path.stat().st_size

    def end(self) -> None:
        self.path.unlink(missing_ok=True)


class Diary:
    """A line for every document that is begun, and one when it is done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines: list[str] = []
        with contextlib.suppress(FileNotFoundError):
            lines = path.read_text().split("\n")[:-1]
        self.begun = {int(line) for line in lines if line.isdecimal()}
        self.done = {int(line.removesuffix(" done")) for line in lines if line.endswith(" done")}

    def each(self, documents: Sequence[D], do: Callable[[D], Sequence[T | Untranslatable]]) -> list[T | Untranslatable]:
        """What `do` makes of each, but for those that a process was about when it ended."""
        results: list[T | Untranslatable] = []
        for number, document in enumerate(documents):
            if number in self.begun - self.done:
                results.append(Untranslatable("the process ended while it was translated"))
                continue
            _append(self.path, f"{number}\n")
            results += do(document)
            _append(self.path, f"{number} done\n")
        return results

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _append(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a") as file:
            file.write(text)
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path) from None
