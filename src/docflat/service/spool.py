"""The bytes of jobs: a folder a job, in it what came, what is ready, and the sentences of a comparison.

Names are of our making: whatever a client calls its file, its name never becomes a part of a path.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from docflat.formats import output_suffix

_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")
_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")


@dataclass(frozen=True)
class Spool:
    folder: Path

    def of(self, job: str) -> Path:
        assert _ID.fullmatch(job)
        return self.folder / job

    def source(self, job: str, number: int, suffix: str) -> Path:
        assert _SUFFIX.fullmatch(suffix)
        return self.of(job) / f"{number}.source{suffix}"

    def result(self, job: str, number: int, suffix: str) -> Path:
        assert _SUFFIX.fullmatch(suffix)
        return self.of(job) / f"{number}.result{output_suffix(f'x{suffix}')}"

    def sentences(self, job: str, number: int) -> Path:
        return self.of(job) / f"{number}.sentences.json"

    def keep(self, job: str, files: Sequence[tuple[BinaryIO, str]]) -> None:
        """Write the files of a new job; they are on the disk when this returns."""
        folder = self.of(job)
        folder.mkdir(parents=True)
        try:
            for number, (stream, suffix) in enumerate(files, 1):
                with open(self.source(job, number, suffix), "wb") as out:
                    shutil.copyfileobj(stream, out, 1 << 20)
                    out.flush()
                    os.fsync(out.fileno())
            for path in (folder, self.folder):
                handle = os.open(path, os.O_RDONLY)
                os.fsync(handle)
                os.close(handle)
        except BaseException:
            self.remove(job)
            raise

    def remove(self, job: str) -> None:
        shutil.rmtree(self.of(job), ignore_errors=True)

    def clean(self, jobs: Collection[str]) -> None:
        """Remove what belongs to no job, and files of these that were not whole when the process was killed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)  # other users of this machine read nobody's documents
        for folder in self.folder.iterdir():
            if not _ID.fullmatch(folder.name):  # not ours
                continue
            if folder.name not in jobs:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                for partial in folder.glob("*.partial"):
                    partial.unlink()
