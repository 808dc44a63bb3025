"""What outputs were made from: noted in a hidden file of their folder. A later run knows by it what is out of date."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from docflat import __version__
from docflat.formats import WRITTEN_AS
from docflat.support.errors import InputError
from docflat.support.text_files import check_ordinary

NOTES = ".docflat.jsonl"
_CHUNK = 1 << 20
_MOST_NOTES = 256 << 20  # bytes
_LANGUAGE = re.compile("[a-z]{2}([-_][A-Z]{2})?")  # de, pt-BR

Origin = Mapping[str, str]  # hashes of the source and the model, and options that are not as usual
State = Literal["new", "current", "outdated", "edited", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """What is to become of an output.

    new: there is none; current: made from the same; outdated: from something else; edited: that, and somebody changed
    it since; unknown: there is no note of it.
    """

    state: State
    changes: tuple[str, ...] = ()  # what it was not made from


def hash_file(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from None
    return digest.hexdigest()[:32]


def hash_model(folder: Path) -> str:
    """Of all that a translation depends on; where a model lies and what its files are called is nothing of that."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*")):
        if file.name in ("config.json", "tokenizer.json") or file.suffix == ".safetensors":
            digest.update(hash_file(file).encode())
    return digest.hexdigest()[:32]


def original_of(file: Path, language: str, suffix: str = "translated", beside: bool = False) -> Path | None:
    """What a file is a translation of, by its name: a.de.txt of a.txt.

    language: of sources, which is no mark of a translation; suffix: the mark that is written; beside: translations are
    written beside their sources, so that this mark is one even where the source is gone.
    """
    stem, _, mark = file.stem.rpartition(".")
    original = file.with_name(stem + file.suffix)
    for source, written in WRITTEN_AS.items():
        if file.suffix.lower() == written and not original.exists() and file.with_name(stem + source).exists():
            original = file.with_name(stem + source)
    if not stem or mark == language:
        return None
    if beside and mark == suffix:  # so would its own translation be named
        return original
    marks = mark in (suffix, "translated") or _LANGUAGE.fullmatch(mark)
    return original if marks and original.exists() else None


class Notes:
    """The notes of a folder: a line of JSON for each time that an output was written. The last one counts."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / NOTES
        self.written: dict[str, dict[str, object]] = {}
        check_ordinary(self.file, _MOST_NOTES)
        try:
            lines = self.file.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise InputError(f"the notes of what was translated cannot be read: {error}", self.file) from None
        for line in lines:
            try:
                note = json.loads(line)
                self.written[note["out"]] = {"sha256": note["sha256"], "origin": dict(note["origin"])}
            except (ValueError, KeyError, TypeError, RecursionError):  # a kill may have cut it
                continue

    def verdict(self, out: Path, origin: Origin) -> Verdict:
        if not out.exists():
            return Verdict("new")
        note = self.written.get(out.name)
        if note is None:
            return Verdict("unknown")
        before = note["origin"]
        assert isinstance(before, dict)
        changes = tuple(name for name in dict.fromkeys([*origin, *before]) if origin.get(name) != before.get(name))
        if not changes:
            return Verdict("current")
        return Verdict("outdated" if note["sha256"] == hash_file(out) else "edited", changes)

    def add(self, out: Path, origin: Origin) -> None:
        """Note that an output was written."""
        note: dict[str, object] = {"sha256": hash_file(out), "origin": dict(origin)}
        line = json.dumps({"out": out.name, **note, "docflat": __version__}) + "\n"
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            handle = os.open(self.file, flags, 0o666)
            try:
                size = os.fstat(handle).st_size
                if size and os.pread(handle, 1, size - 1) != b"\n":
                    line = "\n" + line
                os.write(handle, line.encode())  # at once, as others may write here too
            finally:
                os.close(handle)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", self.file) from None
        self.written[out.name] = note
