"""Several files, or files with structure, to their translations: a part of `docflat translate`."""

from __future__ import annotations

import traceback
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from docflat.cli.outputs import check_file, check_stdout, identity
from docflat.cli.translate_candidates import Wanted, check_wanted
from docflat.cli.translate_jobs import Job
from docflat.cli.translate_lines import ComparedLine, Limits, count_lines, translate_lines
from docflat.formats import options_of
from docflat.support.atomic import is_stdout, is_through
from docflat.support.console import complain, detail, progress, report, warn
from docflat.support.errors import InputError, SomeFailed
from docflat.support.languages import language_code
from docflat.translation.provenance import Notes, Origin, hash_file, hash_model
from docflat.weights.shipped import ENGLISH_GERMAN, languages_of

if TYPE_CHECKING:
    from docflat.translation.files import PlannedFile
    from docflat.translation.translator import Translator

T = TypeVar("T")
OnSentences = Callable[[str, Sequence[ComparedLine]], object]  # the name of a document, and its sentences

MOST_HELD = 32 << 20  # bytes of files that are read but not translated yet; those after them are read again
_FORMAT_OPTIONS = ("keys", "columns", "redo", "max_cps", "max_cue_lines", "target_language")
_SHOWN = 10  # sentences of a file, in warnings


def translate_files(
    jobs: Sequence[Job],
    arguments: Namespace,
    load: Callable[[], Translator],
    on_sentences: OnSentences,
    settings: dict[str, Any],
    options: Origin,
) -> InputError | None:
    """Translate all that can be; what cannot is named. The error to end with, if there was any.

    options: those that are not as usual and change what is written.
    """
    runner = _Runner(jobs, arguments, load, on_sentences, settings, options)
    todo = deque(
        planned
        for job in jobs
        if runner.attempt(job, partial(runner.is_due, job))
        and (planned := runner.attempt(job, partial(runner.plan, job))) is not None
    )
    if not runner.errors or todo:
        load()  # also where all is done: a wrong --model or --device is not passed over
    with progress("translating", sum(planned.sentences or 0 for planned in todo)) as advance:
        while todo:
            planned = todo.popleft()
            outcome = runner.attempt(planned.job, partial(runner.translate, planned, advance))
            if outcome is not None:
                runner.say_of(planned.job, outcome)
    if not runner.errors or runner.single:
        return runner.errors[0] if runner.errors else None
    return SomeFailed(f"{len(runner.errors)} of {len(jobs)} files were not translated")


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

    terms: dict[str, str] = {}
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
        if terms.setdefault(term, translation) != translation:
            raise InputError(f"another translation of {term!r} than in line {lines[term]}", path, number)
        lines.setdefault(term, number)
    if not terms:
        raise InputError("there are no terms in this file", path)
    return terms


@dataclass(frozen=True)
class _Planned:
    """A job whose file was read."""

    job: Job
    sentences: int | None  # None: that is not known before it is read
    file: PlannedFile | None = None  # None: it is lines, or one of so many that they cannot all be held in memory


@dataclass
class _Runner:
    jobs: Sequence[Job]
    arguments: Namespace
    load: Callable[[], Translator]
    on_sentences: OnSentences
    settings: dict[str, Any]
    options: Origin

    def __post_init__(self) -> None:
        arguments = self.arguments
        self.marking = (arguments.boundaries, arguments.docids, arguments.starts)
        self.single = len(arguments.files) <= 1 and not any(file.is_dir() for file in arguments.files)
        self.limits = Limits(arguments.max_lines, arguments.max_line_length)
        named = (*arguments.files, arguments.keep_terms, arguments.glossary, arguments.docids, arguments.starts)
        read = (*named, *(job.file for job in self.jobs))
        self.read = {known for file in read if file is not None and (known := identity(file)) is not None}
        self.notes: dict[Path, Notes] = {}  # by folder
        self.models: dict[str, str] = {}  # hashes
        self.errors: list[InputError] = []
        self.held = 0  # bytes of the files that were read
        self.terms = read_terms(arguments.keep_terms) if arguments.keep_terms else []
        self.glossary = read_glossary(arguments.glossary) if arguments.glossary else None

    def attempt(self, job: Job, do: Callable[[], T]) -> T | None:
        """What `do` returns; None: it failed, and that is noted. One bad file does not stop the others."""
        try:
            return do()
        except BrokenPipeError:
            raise
        except InputError as error:
            self.errors.append(error)
            if not self.single:
                complain(error)
        except Exception as error:
            if self.single:
                raise
            fault = InputError(f"a fault of docflat: {type(error).__name__}: {error}", job.file)
            self.errors.append(fault)
            complain(fault)
            detail(traceback.format_exc())
        return None

    def is_due(self, job: Job) -> bool:
        """Whether it is to be translated; why not, is said. Nothing is lost that the user has."""
        if job.file is None or job.out is None:
            check_stdout(job.file)
        if job.out is None or is_through(job.out):
            return True
        if job.file is None:
            check_file(job.out, self.read, self.arguments.force)
            return True
        check_file(job.out, self.read, force=True, makes_folder=True)
        if self.arguments.force or not job.out.exists():
            return True
        if job.file.is_fifo() or job.file.is_char_device():  # can be read only once
            raise InputError("exists already (--force replaces it)", job.out)
        verdict = self.notes_of(job.out).verdict(job.out, self.origin(job.file))
        changes = " and ".join(verdict.changes)
        if verdict.state == "outdated":
            report(f"{job.file}: is translated again, as its translation was made from another {changes}")
            return True
        if verdict.state == "edited":
            message = f"was edited after it was translated, and now {changes} changed (--force replaces it)"
            raise InputError(message, job.out)
        if verdict.state == "unknown":
            if self.single:
                raise InputError("exists already (--force replaces it)", job.out)
            reason = "is there already, and docflat has no note of it (--force replaces it)"
            warn(f"{job.file} was not translated: {job.out} {reason}")
        else:
            report(f"{job.file}: nothing to do, {job.out} was made from the same source, model and options")
        return False

    def notes_of(self, out: Path) -> Notes:
        return self.notes.setdefault(out.parent, Notes(out.parent))

    def origin(self, file: Path) -> Origin:
        """What the translation of a file is made from."""
        if not self.models:
            folders = {"model": self.arguments.model, "--first-pass": self.arguments.first_pass}
            folders["--edit-with"] = self.arguments.edit_with
            self.models = {name: hash_model(folder) for name, folder in folders.items() if folder is not None}
        return {"source": hash_file(file), **self.models, **self.options}

    def plan(self, job: Job) -> _Planned:
        """Find what is wrong with a file before the model is loaded, and how many sentences it has."""
        if job.lines:
            return _Planned(job, count_lines(job.file, self.marking, self.limits))
        assert job.file is not None
        if job.out is not None:
            from docflat.translation.files import check_output

            check_output(job.file, job.out)
        planned = self._read(job.file)
        self.held += job.file.stat().st_size
        return _Planned(job, planned.sentences, planned if self.held <= MOST_HELD else None)

    def _read(self, file: Path) -> PlannedFile:
        from docflat.translation.files import plan_file

        return plan_file(file, self._format(file), self.arguments.source_language, self.terms, self.glossary)

    def translate(self, planned: _Planned, done: Callable[[int], None]) -> str:
        job = planned.job
        noted = job.file is not None and job.out is not None and not is_through(job.out)
        origin = self.origin(job.file) if noted and job.file is not None and job.file.is_file() else None
        outcome = self._translate_lines(job, done) if job.lines else self._translate_format(planned, done)
        if origin is not None and job.out is not None:
            self.notes_of(job.out).add(job.out, origin)
        return outcome

    def _translate_lines(self, job: Job, done: Callable[[int], None]) -> str:
        from docflat.translation.file_report import count_changes, count_repairs, find_other_numbers
        from docflat.translation.files import make_folder_of

        if job.out is not None:
            make_folder_of(job.out)
        name = str(job.file or "stdin")
        number, differing = 0, list[tuple[str, str]]()
        lines: list[ComparedLine] = []

        def see(pairs: list[ComparedLine]) -> None:
            nonlocal number
            number += len(pairs)
            differing.extend(find_other_numbers(pairs, self.load().languages))
            if self.arguments.side_by_side or self.arguments.changes:
                lines.extend(pairs)

        how = self.arguments.line_buffered
        repairs, changed = translate_lines(
            *(job.file, job.out, self.marking, self.load, done, see, self.settings, self.limits, how),
            Wanted(self.arguments.n_best, self.arguments.scores),
        )
        self.on_sentences(name, lines)
        warn_of_numbers(name, differing)
        counts = [*count_repairs(repairs), *count_changes(changed, number)]
        return "; ".join([f"{name}: {number} lines translated", *counts])

    def _translate_format(self, planned: _Planned, done: Callable[[int], None]) -> str:
        from docflat.translation.files import write_translation

        file = planned.job.file
        assert file is not None
        made = write_translation(planned.file or self._read(file), planned.job.out, self.load(), done, **self.settings)
        self.on_sentences(str(file), made.rows)
        warn_of_numbers(str(file), made.other_numbers)
        _warn_of(str(file), "not as the glossary says", made.other_terms)
        return str(made)

    def say_of(self, job: Job, outcome: str) -> None:
        """What became of a job, but not among the translations."""
        if job.out is None or is_stdout(job.out):
            detail(outcome)
        else:
            report(f"{outcome} -> {job.out}")

    def _format(self, file: Path) -> Any:
        from docflat.formats import find_format

        known = {name: getattr(self.arguments, name) for name in _FORMAT_OPTIONS}
        if languages := languages_of(self.arguments.model):
            known["target_language"] = known["target_language"] or languages[1]
        return find_format(file, **{name: known[name] for name in options_of(file) if known[name]})


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


def settle_language(arguments: Namespace) -> None:
    """The language of the source is the model's; where no other model is named, languages choose one."""
    if arguments.model == ENGLISH_GERMAN:
        wanted = (arguments.source_language or "en", arguments.target_language or "de")
        if tuple(map(language_code, wanted)) != languages_of(ENGLISH_GERMAN):
            from docflat.weights.installed import model_for

            arguments.model = model_for(*wanted).folder
    languages = languages_of(arguments.model)
    source = arguments.source_language
    if languages and source is not None and source[:2].lower() != languages[0]:
        raise InputError(f"this model translates from {languages[0]}, not from {source}; name another", arguments.model)
    arguments.source_language = source or (languages[0] if languages else "en")


def check_options(jobs: Sequence[Job], arguments: Namespace) -> None:
    """No option is passed over in silence."""
    if arguments.keep_terms and any(job.lines for job in jobs):
        raise InputError("terms are kept in files of a format, not in text of a sentence a line", arguments.keep_terms)
    if arguments.glossary and any(job.lines for job in jobs):
        raise InputError("a glossary is for files of a format, not for text of a sentence a line", arguments.glossary)
    check_wanted(
        Wanted(arguments.n_best, arguments.scores), [job.lines for job in jobs], arguments.edit_with is not None
    )
    used = {name for job in jobs if job.file and not job.lines for name in options_of(job.file)}
    languages = languages_of(arguments.model)
    if languages and arguments.target_language and arguments.target_language[:2].lower() != languages[1]:
        target = arguments.target_language
        raise InputError(f"this model translates into {languages[1]}, not into {target}; name another", arguments.model)
    kinds = {"keys": "JSON and YAML", "columns": ".csv and .tsv", "redo": "PO, XLIFF, Qt and TMX"}
    kinds |= {"max_cps": "SRT and VTT", "max_cue_lines": "SRT and VTT"}
    for name, what in kinds.items():
        if getattr(arguments, name) and name not in used:
            warn(f"--{name.replace('_', '-')} is of {what} files, and there is none: it changes nothing")
