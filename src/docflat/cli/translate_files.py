"""Several files, or files with structure, to their translations: a part of `docflat translate`."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from docflat.cli.translate_lines import Pair, count_lines, translate_lines
from docflat.formats import FORMATS, options_of
from docflat.support.console import progress, warn
from docflat.support.errors import InputError
from docflat.weights.shipped import languages_of

if TYPE_CHECKING:
    from docflat.translation.files import PlannedFile
    from docflat.translation.translator import Translator

T = TypeVar("T")
Seen = Callable[[str, Sequence["Pair"]], object]  # the name of a document, and its sentences

# What is often asked for, and would be taken for text: what to save it as, if that helps.
NOT_READ = {
    ".pdf": None,
    ".doc": ".docx",
    ".rtf": ".docx",
    ".ppt": ".pptx",
    ".odp": ".pptx",
    ".xls": None,
    ".xlsx": None,
    ".ods": None,
    ".epub": None,
    ".png": None,
    ".jpg": None,
    ".jpeg": None,
    ".zip": None,
}


MOST_HELD = 32 << 20  # bytes of files that are read but not translated yet; those after them are read again
_SHOWN = 10  # sentences of a file, in warnings
_LANGUAGE = re.compile("[a-z]{2}([-_][A-Z]{2})?")  # de, pt-BR


class Output:
    """Where translations go. A slash at the end names a folder, also one that is not there yet."""

    def __init__(self, text: str) -> None:
        self.path = None if text == "-" else Path(text)
        self.is_folder = text.endswith(("/", os.sep)) or (self.path is not None and self.path.is_dir())


@dataclass(frozen=True)
class Job:
    file: Path | None  # None: stdin
    out: Path | None  # None: stdout
    lines: bool  # whether it is text, a sentence a line


def plan_jobs(arguments: Namespace) -> list[Job]:
    """What is to be translated, and where it goes."""
    given: list[Path | None] = [None if file == Path("-") else file for file in arguments.files] or [None]
    files = [file for file in given if file is not None]
    out: Output | None = arguments.out
    if not files:
        return [Job(None, out.path if out else None, True)]
    if len(files) < len(given):
        raise InputError("stdin goes with no other file")
    if len(files) == 1 and not files[0].is_dir() and not (out and out.is_folder):
        lines = _is_lines(files[0], arguments)
        if out is not None and out.path is None and not lines:
            raise InputError("a file with structure does not go to stdout: name it with -o")
        beside = None if lines else _beside(files[0], arguments)
        return [Job(files[0], beside if out is None else out.path, lines)]
    if out is not None and (out.path is None or (out.path.exists() and not out.path.is_dir())):
        raise InputError("several files go into a folder, and this is none", out.path or "stdout")
    folder = out.path if out is not None else None
    jobs = [
        Job(file, folder / inside if folder else _beside(file, arguments), _is_lines(file, arguments))
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
    if suffix in NOT_READ:
        instead = NOT_READ[suffix]
        hint = f"; save it as {instead}" if instead else ""
        raise InputError(f"{suffix} is no format that docflat reads{hint} (formats: {', '.join(FORMATS)})", file)
    return suffix not in FORMATS or (suffix == ".jsonl" and not arguments.keys)


def _walk(given: Path, folder: Path | None, arguments: Namespace) -> Iterator[tuple[Path, Path]]:
    """Files, each with its path below the output folder. Of a folder, those of known formats."""
    if not given.is_dir():
        yield given, Path(given.name)
        return
    found = []
    others: Counter[str] = Counter()  # by their endings
    for file in sorted(given.rglob("*")):
        # Translations of an earlier run may lie there too.
        if not file.is_file() or (folder is not None and file.resolve().is_relative_to(folder.resolve())):
            continue
        if file.suffix.lower() not in FORMATS:
            others[file.suffix.lower() or "without an ending"] += 1
            continue
        if (original := _original(file, arguments)) is not None:
            why = f"its name says that it is a translation of {original.name}"
            print(f"{file}: skipped, for {why} (name it to translate it)")
        else:
            found.append(file)
    if others:
        kinds = ", ".join(f"{count} {suffix}" for suffix, count in sorted(others.items()))
        print(f"{given}: skipped, for these are files of no format that docflat reads: {kinds}")
    if not found:
        raise InputError(f"no files to translate; formats are {', '.join(FORMATS)}", given)
    yield from ((file, file.relative_to(given)) for file in found)


def _original(file: Path, arguments: Namespace) -> Path | None:
    """What a file is a translation of, by its name: a.de.txt of a.txt."""
    stem, _, mark = file.stem.rpartition(".")
    original = file.with_name(stem + file.suffix)
    if not stem or mark == arguments.source_language:
        return None
    if arguments.out is None and mark == arguments.suffix:  # so would its own translation be named
        return original
    marks = mark in (arguments.suffix, "translated") or _LANGUAGE.fullmatch(mark)
    return original if marks and original.exists() else None


def _beside(file: Path, arguments: Namespace) -> Path:
    return file.with_name(f"{file.stem}.{arguments.suffix}{file.suffix}")


def _check_outputs(jobs: Sequence[Job]) -> None:
    taken: dict[Path | None, Path | None] = {}
    for job in jobs:
        if job.out in taken:
            raise InputError(f"would be written for both {taken[job.out]} and {job.file}", job.out)
        taken[job.out] = job.file


def translate_files(
    jobs: Sequence[Job], arguments: Namespace, load: Callable[[], Translator], seen: Seen, settings: dict[str, Any]
) -> InputError | None:
    """Translate all that can be; what cannot is named. The error to end with, if there was any."""
    runner = _Runner(arguments, load, seen, settings)
    todo: deque[_Planned] = deque()
    for job in jobs:
        if job.out is not None and job.out.exists() and not arguments.force:
            # Who named one file waits for it, and reads no list of what became of many.
            say = warn if runner.single else print
            say(f"{job.file} was not translated: {job.out} is there already (--force replaces it)")
        elif (planned := runner.attempt(partial(runner.plan, job))) is not None:
            todo.append(planned)
    with progress("translating", sum(planned.sentences for planned in todo)) as advance:
        while todo:
            planned = todo.popleft()
            report = runner.attempt(partial(runner.translate, planned, advance))
            if report is not None:
                print(f"{report} -> {planned.job.out}", flush=True)
    if not runner.errors or runner.single:
        return runner.errors[0] if runner.errors else None
    return InputError(f"{len(runner.errors)} of {len(jobs)} files were not translated")


def read_terms(path: Path) -> list[str]:
    """A term a line."""
    from docflat.formats.safe_reading import read_file, read_text

    terms = [line.strip() for line in read_text(read_file(path), str(path))[0].splitlines() if line.strip()]
    if not terms:
        raise InputError("there are no terms in this file", path)
    return terms


def read_glossary(path: Path) -> dict[str, str]:
    """A term, a tab and its translation a line."""
    from docflat.formats.safe_reading import read_file, read_text
    from docflat.translation.glossary import find_fault

    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(read_text(read_file(path), str(path))[0].split("\n"), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 2:
            message = f"{len(cells) - 1} tabs; a line is a term, a tab and its translation"
            raise InputError(message, path, number)
        term, translation = " ".join(cells[0].split()), cells[1].strip()
        if fault := find_fault(term, translation):
            raise InputError(fault, path, number)
        if found.setdefault(term, translation) != translation:
            raise InputError(f"another translation of {term!r} than in line {lines[term]}", path, number)
        lines.setdefault(term, number)
    if not found:
        raise InputError("there are no terms in this file", path)
    return found


@dataclass(frozen=True)
class _Planned:
    """A job whose file was read."""

    job: Job
    sentences: int
    file: PlannedFile | None = None  # None: it is lines, or one of so many that they cannot all be held in memory


class _Runner:
    def __init__(
        self, arguments: Namespace, load: Callable[[], Translator], seen: Seen, settings: dict[str, Any]
    ) -> None:
        self.arguments, self.load, self.seen, self.settings = arguments, load, seen, settings
        self.marking = (arguments.boundaries, arguments.docids, arguments.starts)
        self.single = len(arguments.files) == 1 and not arguments.files[0].is_dir()
        self.errors: list[InputError] = []
        self.held = 0  # bytes of the files that were read
        self.terms = read_terms(arguments.keep_terms) if arguments.keep_terms else []
        self.glossary = read_glossary(arguments.glossary) if arguments.glossary else None

    def attempt(self, do: Callable[[], T]) -> T | None:
        """What `do` returns; None: it failed, and that is noted. One bad file does not stop the others."""
        try:
            return do()
        except InputError as error:
            self.errors.append(error)
            if not self.single:
                print(f"docflat: error: {' '.join(str(error).splitlines())}", file=sys.stderr)
            return None

    def plan(self, job: Job) -> _Planned:
        """Find what is wrong with a file before the model is loaded, and how many sentences it has."""
        from docflat.translation.files import check_output

        assert job.file is not None
        assert job.out is not None
        check_output(job.file, job.out)
        if job.lines:
            return _Planned(job, count_lines(job.file, self.marking) or 0)
        planned = self._read(job.file)
        self.held += job.file.stat().st_size
        return _Planned(job, planned.sentences, planned if self.held <= MOST_HELD else None)

    def _read(self, file: Path) -> PlannedFile:
        from docflat.translation.files import plan_file

        return plan_file(file, self._format(file), self.arguments.source_language, self.terms, self.glossary)

    def translate(self, planned: _Planned, done: Callable[[int], None]) -> str:
        from docflat.translation.file_report import count_repairs
        from docflat.translation.files import make_folder_of, write_translation

        file, out = planned.job.file, planned.job.out
        assert file is not None
        assert out is not None
        if planned.job.lines:
            make_folder_of(out)
            lines: list[Pair] = []
            repairs = translate_lines(file, out, self.marking, self.load, done, lines.extend, self.settings)
            self.seen(str(file), lines)
            warn_of_numbers(str(file), find_other_numbers(lines))
            return "; ".join([f"{file}: {len(lines)} lines translated", *count_repairs(repairs)])
        report = write_translation(planned.file or self._read(file), out, self.load(), done, **self.settings)
        self.seen(str(file), report.rows)
        warn_of_numbers(str(file), report.other_numbers)
        _warn_of(str(file), "not as the glossary says", report.other_terms)
        return str(report)

    def _format(self, file: Path) -> Any:
        from docflat.formats import find_format

        known = {name: getattr(self.arguments, name) for name in ("keys", "redo", "target_language")}
        if languages := languages_of(self.arguments.model):
            known["target_language"] = known["target_language"] or languages[1]
        return find_format(file, **{name: known[name] for name in options_of(file) if known[name]})


def find_other_numbers(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    from docflat.translation.numbers import numbers_differ

    return [(source, target) for source, target, _ in pairs if numbers_differ(source, target)]


def warn_of_numbers(name: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Whoever reads a translation sees no wrong number in it."""
    _warn_of(name, "other numbers than in the source", pairs)


def _warn_of(name: str, what: str, pairs: Sequence[tuple[str, str]]) -> None:
    for source, target in pairs[:_SHOWN]:
        warn(f"{name}: {what}: {_short(source)} -> {_short(target)}")
    if len(pairs) > _SHOWN:
        warn(f"{name}: {what}: {len(pairs) - _SHOWN} more sentences")


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."


def check_options(jobs: Sequence[Job], arguments: Namespace) -> None:
    """No option is passed over in silence."""
    used = {name for job in jobs if job.file and not job.lines for name in options_of(job.file)}
    languages = languages_of(arguments.model)
    if languages and arguments.target_language and arguments.target_language[:2].lower() != languages[1]:
        target = arguments.target_language
        raise InputError(f"this model translates into {languages[1]}, not into {target}; name another", arguments.model)
    for name, what in (("keys", "JSON"), ("redo", "PO and XLIFF"), ("target_language", "HTML, PO and XLIFF")):
        if getattr(arguments, name) and name not in used:
            option = f"--{name.replace('_', '-')}"
            hint = "; what language comes out is the model's" if name == "target_language" else ""
            warn(f"{option} is of {what} files, and there is none: it changes nothing{hint}")
