"""`docflat translate`: files to their translations."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docflat.cli import startup
from docflat.cli.arguments import (
    add_boundaries,
    add_engine,
    add_machine,
    add_model_folder,
    add_number,
    names,
    part_of_name,
    whole,
)
from docflat.cli.translate_files import (
    Job,
    Output,
    Seen,
    check_options,
    find_other_numbers,
    plan_jobs,
    translate_files,
    warn_of_numbers,
)
from docflat.cli.translate_lines import Pair, count_lines, translate_lines
from docflat.support.console import progress, warn
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.translation.side_by_side import ShownDocument
    from docflat.translation.translator import Translator


def arguments(parser: ArgumentParser) -> None:
    what = (
        "txt, md, html, json, docx, pptx, odt, srt, vtt, po, xliff, or a folder of such; "
        "others: text, a sentence a line, or TSV or JSONL; may be .xz or .gz (default: stdin)"
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help=what)
    out = "file to write; of several, a folder (default: beside FILE, with --suffix; of lines: stdout)"
    parser.add_argument("-o", "--out", type=Output, metavar="OUT", help=out)
    add_model_folder(parser)
    _add_files(parser)
    _add_decoding(parser)
    add_machine(parser)
    add_engine(parser)


def _add_files(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--suffix",
        type=part_of_name,
        default="translated",
        metavar="NAME",
        help="name.docx becomes name.NAME.docx (default: %(default)s)",
    )
    parser.add_argument(
        "--force", action="store_true", help="translate what has been translated before, too: replace what is there"
    )
    parser.add_argument("--lines", action="store_true", help="every file is text, a sentence a line")
    parser.add_argument("--keys", type=names, metavar="A,B", help="of JSON: what to translate (default: source,text)")
    redo = "of PO and XLIFF: what to translate; fuzzy: what needs a look too; all (default: untranslated)"
    parser.add_argument("--redo", choices=("untranslated", "fuzzy", "all"), help=redo)
    language = "of HTML: the language that the page names; of PO and XLIFF: put into a file that names none"
    parser.add_argument("--target-language", metavar="CODE", help=language)
    parser.add_argument(
        "--source-language", default="en", metavar="CODE", help="whose rules split text into sentences (default: en)"
    )
    terms = "of formats: a file of terms that stay as they are, one a line, such as names"
    parser.add_argument("--keep-terms", type=Path, metavar="FILE", help=terms)
    glossary = "of formats: a file of terms and their translations, a term, a tab and its translation a line"
    parser.add_argument("--glossary", type=Path, metavar="FILE", help=glossary)
    parser.add_argument(
        "--side-by-side", type=Path, metavar="PAGE", help="HTML page to write: both texts, what context changed marked"
    )
    changes = "show on stderr the sentences that would read differently without context"
    parser.add_argument("--changes", action="store_true", help=changes)


def _add_decoding(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        choices=("auto", "edit", "two-pass", "sequential", "stream", "sentence"),
        default="auto",
        help="edit: every sentence by itself, and again with its context only where that objects to a word; two-pass: "
        "every sentence by itself, then again with its context; sequential, stream: after the final translations "
        "before it, in blocks or in a window that moves along; sentence: without context (default: what suits the "
        "model)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help="in mode edit: context objects to a word where it lowers its log-probability by more (default: 0.5)",
    )
    parser.add_argument(
        "--global-context",
        choices=("partial", "first-pass"),
        help="what is seen of other sentences' translations in the second pass (default: first-pass)",
    )
    parser.add_argument(
        "--first-pass",
        type=Path,
        metavar="FOLDER",
        help="a sent2sent model for the first pass (default: --model)",
    )
    add_number(parser, "--beam", 5, "hypotheses a sentence")
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=1.0,
        metavar="X",
        help="scores are divided by length ** X (default: %(default)s)",
    )
    repairs = "leave numbers, hours and full stops as the model writes them, right or wrong"
    parser.add_argument("--no-repairs", action="store_true", help=repairs)
    window = "sentences of a document that see each other (default: as the model was trained, or 16)"
    parser.add_argument("--window", type=whole(1), metavar="N", help=window)
    add_number(
        parser, "--batch-size", 64, "sentences decoded together; changes the speed, not the result, but for rounding"
    )
    add_boundaries(parser)
    parser.add_argument("--docids", type=Path, metavar="FILE", help="a docid for each line")
    parser.add_argument("--starts", type=Path, metavar="FILE", help="the lines where documents start")


def run(arguments: Namespace) -> None:
    settings: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("mode", "tolerance", "global_context", "beam", "length_penalty", "window", "batch_size")
    }
    settings["repairs"] = not arguments.no_repairs
    load = _Loader(arguments)
    documents: list[tuple[str, Sequence[Pair]]] = []

    def seen(name: str, pairs: Sequence[Pair]) -> None:
        if (arguments.side_by_side or arguments.changes) and pairs:
            documents.append((name, pairs))

    if arguments.changes and arguments.mode == "sentence":
        raise InputError("without context there are no changes to show: --changes does not go with --mode sentence")
    jobs = plan_jobs(arguments)
    check_options(jobs, arguments)
    if arguments.keep_terms and any(job.lines for job in jobs):
        raise InputError("terms are kept in files of a format, not in text of a sentence a line", arguments.keep_terms)
    if arguments.glossary and any(job.lines for job in jobs):
        raise InputError("a glossary is for files of a format, not for text of a sentence a line", arguments.glossary)
    page = arguments.side_by_side
    if page and any(page.resolve() == file.resolve() for job in jobs for file in (job.file, job.out) if file):
        raise InputError("the page would be written over a file of this translation", page)
    error = None
    alone = len(jobs) == 1 and not (arguments.out and arguments.out.is_folder)
    if alone and jobs[0].lines:
        _run_lines(jobs[0], arguments, load, seen, settings)
    else:
        error = translate_files(jobs, arguments, load, seen, settings)
    if documents:
        shown = _compare(documents, load(), settings)
        if arguments.side_by_side:
            _write_page(arguments.side_by_side, shown)
        if arguments.changes:
            _show_changes(shown)
    elif arguments.side_by_side:
        warn(f"{arguments.side_by_side} is not written: nothing was translated this time")
    elif arguments.changes:
        warn("there are no changes to show: nothing was translated this time")
    if error is not None:
        raise error


class _Loader:
    """Loads the model when it is first asked for."""

    def __init__(self, arguments: Namespace) -> None:
        self.arguments = arguments
        self.loaded: Translator | None = None

    def __call__(self) -> Translator:
        if self.loaded is None:
            from docflat.translation.translator import Translator

            arguments = self.arguments
            self.loaded = Translator.load(
                arguments.model,
                device=arguments.device,
                first_pass=arguments.first_pass,
                precision=arguments.precision,
                engine=arguments.engine,
                threads=arguments.threads or 0,
            )
            startup.loaded()
        return self.loaded


def _run_lines(
    job: Job, arguments: Namespace, load: Callable[[], Translator], seen: Seen, settings: dict[str, Any]
) -> None:
    """One file, or stdin: what a pipe can be made of."""
    marking = (arguments.boundaries, arguments.docids, arguments.starts)
    total = count_lines(job.file, marking)
    name = str(job.file or "stdin")
    differing: list[tuple[str, str]] = []

    def see(pairs: list[Pair]) -> None:
        seen(name, pairs)
        differing.extend(find_other_numbers(pairs))

    with progress("translating", total) as advance:
        repairs = translate_lines(job.file, job.out, marking, load, advance, see, settings)
    if repairs and job.out is not None:  # stdout is the translation's
        from docflat.translation.file_report import count_repairs

        print(f"{name}: {'; '.join(count_repairs(repairs))}")
    warn_of_numbers(name, differing)


def _compare(
    documents: Sequence[tuple[str, Sequence[Pair]]],
    translator: Translator,
    settings: dict[str, Any],
) -> list[ShownDocument]:
    """Translate everything again, without context."""
    from docflat.translation.repairing import translate_and_repair
    from docflat.translation.side_by_side import Row, ShownDocument

    alone = {**settings, "mode": "sentence", "global_context": None, "tolerance": None}
    if translator.first_pass is not None:
        translator = replace(translator, first_pass=None)
    shown = []
    with progress("without context", sum(len(pairs) for _, pairs in documents)) as advance:
        sources = [[pair[0] for pair in pairs] for _, pairs in documents]
        again = translate_and_repair(translator, sources, done=advance, **alone)
        for (name, pairs), repaired in zip(documents, again, strict=True):
            rows = [
                Row(source, target, new.text if comparable else None)
                for (source, target, comparable), new in zip(pairs, repaired, strict=True)
            ]
            shown.append(ShownDocument(name, rows))
    return shown


def _write_page(path: Path, shown: Sequence[ShownDocument]) -> None:
    from docflat.support.atomic import write_whole
    from docflat.translation.side_by_side import side_by_side

    try:
        write_whole(path, side_by_side(shown))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from None


def _show_changes(shown: Sequence[ShownDocument]) -> None:
    from docflat.translation.side_by_side import change_lines

    print(*change_lines(shown), sep="\n", file=sys.stderr)
