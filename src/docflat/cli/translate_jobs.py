"""What `docflat translate` is to do: files, each with where its translation goes."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docflat.formats import FORMATS, output_suffix
from docflat.formats.recognition import check_lines, has_format
from docflat.support.console import report
from docflat.support.errors import InputError
from docflat.translation.provenance import NOTES, original_of

# What is said of files that are passed over, where it is not their ending.
_ENDINGS = {"": "without an ending", ".tsv": ".tsv (read with --columns)", ".ts": ".ts (not of Qt)"}


class Output:
    """Where translations go. A slash at the end names a folder, also one that is not there yet."""

    def __init__(self, text: str) -> None:
        if not text:
            raise ArgumentTypeError("expected the name of a file or folder, found nothing")
        self.path = None if text == "-" else Path(text)
        self.is_folder = text.endswith(("/", os.sep)) or (self.path is not None and self.path.is_dir())


@dataclass(frozen=True)
class Job:
    file: Path | None  # None: stdin
    out: Path | None  # None: stdout
    lines: bool  # whether it is text, a sentence a line


def plan_jobs(arguments: Namespace) -> list[Job]:
    """What is to be translated, and where it goes."""
    named: list[Path | None] = [None if file == Path("-") else file for file in arguments.files] or [None]
    files = [file for file in named if file is not None]
    out: Output | None = arguments.out
    if not files:
        return [Job(None, out.path if out else None, True)]
    if len(files) < len(named):
        raise InputError("stdin goes with no other file")
    if len(files) == 1 and not files[0].is_dir() and not (out and out.is_folder):
        _explain_text(files[0])
        lines = _is_lines(files[0], arguments)
        beside = None if lines else _beside(files[0], arguments)
        return [Job(files[0], beside if out is None else out.path, lines)]
    if out is not None and (out.path is None or (out.path.exists() and not out.path.is_dir())):
        raise InputError("several files go into a folder, and this is none", out.path or "stdout")
    folder = out.path if out is not None else None
    jobs = [
        Job(
            file,
            (folder / inside).with_suffix(output_suffix(inside)) if folder else _beside(file, arguments),
            _is_lines(file, arguments),
        )
        for path in files
        for file, inside in _walk(path, folder, arguments)
    ]
    _check_outputs(jobs)
    return jobs


def _is_lines(file: Path, arguments: Namespace) -> bool:
    """Options that say where documents begin are of lines; a JSONL file is a format only if it is said what of it."""
    if arguments.lines or arguments.docids or arguments.starts or arguments.boundaries != "auto":
        return True
    suffix = file.suffix.lower()
    if suffix in FORMATS and not _may_be_lines(suffix, arguments):
        return False
    check_lines(file)
    return True


def _may_be_lines(suffix: str, arguments: Namespace) -> bool:
    """Whether it is training data unless an option says what of it is to be translated."""
    return (suffix == ".jsonl" and not arguments.keys) or (suffix == ".tsv" and not arguments.columns)


def _is_passed_over(file: Path, arguments: Namespace) -> bool:
    """Whether a file of a folder is of no format, or training data."""
    return not has_format(file) or (file.suffix.lower() == ".tsv" and not arguments.columns)


def _walk(named: Path, folder: Path | None, arguments: Namespace) -> Iterator[tuple[Path, Path]]:
    """Files, each with its path below the output folder. Of a folder, those of known formats."""
    if not named.is_dir():
        yield named, Path(named.name)
        return
    readable = []
    others: Counter[str] = Counter()  # by their endings
    for file in sorted(named.rglob("*")):
        # Translations of an earlier run may lie there too.
        if (
            file.name == NOTES
            or not file.is_file()
            or (folder is not None and file.resolve().is_relative_to(folder.resolve()))
        ):
            continue
        if _is_passed_over(file, arguments):
            others[_ENDINGS.get(file.suffix.lower(), file.suffix.lower())] += 1
            continue
        original = original_of(file, arguments.source_language, arguments.suffix, beside=arguments.out is None)
        if original is not None:
            why = f"its name says that it is a translation of {original.name}"
            report(f"{file}: skipped, for {why} (name it to translate it)")
        else:
            readable.append(file)
    if others:
        kinds = ", ".join(f"{count} {suffix}" for suffix, count in sorted(others.items()))
        report(f"{named}: skipped, for these are files of no format that docflat reads: {kinds}")
    if not readable:
        raise InputError(f"no files to translate; formats are {', '.join(FORMATS)}", named)
    yield from ((file, file.relative_to(named)) for file in readable)


def _beside(file: Path, arguments: Namespace) -> Path:
    return file.with_name(f"{file.stem}.{arguments.suffix}{output_suffix(file)}")


def _explain_text(file: Path) -> None:
    """Who tries the command may give it a text."""
    if " " in file.name and not file.suffix.strip(".?! ") and not file.exists():
        hint = f"echo {shlex.quote(str(file))} | docflat translate"
        raise InputError(f"there is no such file; text is read from stdin: {hint}", file)


def _check_outputs(jobs: Sequence[Job]) -> None:
    taken: dict[Path | None, Path | None] = {}
    for job in jobs:
        if job.out in taken:
            raise InputError(f"would be written for both {taken[job.out]} and {job.file}", job.out)
        taken[job.out] = job.file
