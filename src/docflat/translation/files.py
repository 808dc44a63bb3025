"""Files to their translations: a file is read and planned once, its sentences are one document to the model.

What must not change is found again in the translation or put back by force: placeholders, addresses, code, terms.
Formatting follows the words it was on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from docflat.formats import FORMATS, WRITTEN_AS, output_suffix
from docflat.formats.safe_reading import read_file
from docflat.formats.segments import Format, ParsedFile, Reviewed, Segment
from docflat.support.atomic import write_whole
from docflat.support.errors import InputError
from docflat.translation.file_report import FileReport
from docflat.translation.glossary import Glossary
from docflat.translation.outcomes import SentenceTranslator
from docflat.translation.placeholders import Terms
from docflat.translation.putting_back import put_back
from docflat.translation.repairing import Translates
from docflat.translation.repairs.table import is_misread
from docflat.translation.segment_plan import Planner, SegmentPlan
from docflat.translation.source_language import LanguageCheck

Done = Callable[[int], None]


def nothing(sentences: int) -> None:
    """Whoever does not want to hear of the progress."""


@dataclass(frozen=True)
class PlannedFile:
    """A file that was read, with a plan for each of its segments."""

    path: Path
    parsed: ParsedFile
    plans: Sequence[SegmentPlan]

    @property
    def sentences(self) -> int:
        """How many there are to translate."""
        return sum(len(plan.sentences) for plan in self.plans)


def plan_file(
    path: Path,
    format_: Format,
    language: str = "en",
    terms: Iterable[str] = (),
    glossary: Mapping[str, str] | None = None,
) -> PlannedFile:
    """Read a file, and find its sentences; what is wrong with it is an `InputError`."""
    parsed = format_.read(read_file(path), str(path))
    return PlannedFile(path, parsed, plan_segments(parsed.segments, language, terms, glossary))


def plan_segments(
    segments: Sequence[Segment],
    language: str = "en",
    terms: Iterable[str] = (),
    glossary: Mapping[str, str] | None = None,
) -> list[SegmentPlan]:
    """The sentences of segments. terms: what is to stay as it is; glossary: terms and their translations."""
    planner = Planner(language, Terms(terms), Glossary(glossary or {}))
    return [planner.plan(segment) for segment in segments]


def translate_planned(
    segments: Sequence[Segment],
    plans: Sequence[SegmentPlan],
    translator: Translates,
    file: str,
    done: Done = nothing,
    repairs: bool = True,
    **settings: Any,
) -> tuple[list[Segment], FileReport]:
    """The segments of one document, translated, and the report of them; `file` is its name."""
    numbers = sum(
        plan.numbers and is_misread(segment.text, segment.text, translator.languages)
        for segment, plan in zip(segments, plans, strict=True)
    )
    sentences = [sentence for plan in plans for sentence in plan.sentences]
    if not sentences:
        return list(segments), FileReport(file, plans, (), numbers)
    ways = SentenceTranslator(translator, {**settings, "repairs": repairs}, done)
    outcomes = iter(ways.translate(sentences))
    grouped = [list(islice(outcomes, len(plan.sentences))) for plan in plans]
    translated, final = put_back(segments, grouped, translator.align, ways.in_parts)
    final_outcomes = [one for group in final for one in group]
    return translated, FileReport(file, plans, final_outcomes, numbers, languages=translator.languages)


def translate_segments(
    segments: Sequence[Segment],
    translator: Translates,
    language: str = "en",
    done: Done = nothing,
    terms: Iterable[str] = (),
    glossary: Mapping[str, str] | None = None,
    file: str = "text",
    **settings: Any,
) -> tuple[list[Segment], FileReport]:
    """Plan and translate the segments of one document."""
    plans = plan_segments(segments, language, terms, glossary)
    return translate_planned(segments, plans, translator, file, done, **settings)


def check_output(path: Path, out: Path) -> None:
    """Nothing that the user has is lost, and a file's name says what is in it."""
    if path.exists() and out.exists() and out.samefile(path):
        raise InputError("would be overwritten by its translation", path)
    kinds = [FORMATS.get(suffix.lower()) for suffix in (output_suffix(path), out.suffix)]
    if None not in kinds and kinds[0] != kinds[1]:
        instead = f", but a {output_suffix(path)} file" if path.suffix.lower() in WRITTEN_AS else ""
        raise InputError(f"the translation of a {path.suffix} file is no {out.suffix} file{instead}", out)


def make_folder_of(out: Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", out.parent) from None


def write_translation(
    planned: PlannedFile, out: Path | None, translator: Translates, done: Done = nothing, **settings: Any
) -> FileReport:
    """Translate a file that was planned; nothing is written if there is nothing that could be translated.

    out: None is stdout; settings: of decoding, and `repairs`.
    """
    path = planned.path
    if out is not None:
        check_output(path, out)
        make_folder_of(out)
    check = LanguageCheck(path, translator.languages)
    check.add(sentence.line for plan in planned.plans for sentence in plan.sentences)
    check.finish()
    segments, report = translate_planned(
        planned.parsed.segments, planned.plans, translator, str(path), done, **settings
    )
    if not report.sentences:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in report.skipped.items()) or "it has no text"
        raise InputError(f"nothing to translate: {reasons}", path)
    if report.unchanged == report.sentences:
        raise InputError("nothing was translated: every sentence came back as it was", path)
    data = planned.parsed.render(segments)
    write_whole(out, data)
    if isinstance(planned.parsed, Reviewed):
        report = replace(report, remarks=planned.parsed.review(segments))
    return replace(report, left_out=getattr(planned.parsed, "left_out", ""))  # of the formats that pass over text


def translate_file(
    path: Path,
    out: Path,
    format_: Format,
    translator: Translates,
    language: str = "en",
    done: Done = nothing,
    terms: Iterable[str] = (),
    glossary: Mapping[str, str] | None = None,
    **settings: Any,
) -> FileReport:
    """Read, translate and write a file."""
    check_output(path, out)
    planned = plan_file(path, format_, language, terms, glossary)
    return write_translation(planned, out, translator, done, **settings)
