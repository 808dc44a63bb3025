"""`docflat translate`: files to their translations."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
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
from docflat.cli.outputs import add_force, check_file
from docflat.cli.translate_files import check_options, settle_language, translate_files
from docflat.cli.translate_jobs import Job, Output, plan_jobs
from docflat.cli.translate_lines import ComparedLine, Limits
from docflat.formats import FORMATS
from docflat.support.atomic import is_through
from docflat.support.console import progress, warn
from docflat.support.console import shown as display
from docflat.support.errors import InputError
from docflat.translation.provenance import hash_file
from docflat.weights.shipped import model_folder

if TYPE_CHECKING:
    from docflat.translation.side_by_side import ShownDocument
    from docflat.translation.translator import Translator


KEYS = "of JSON (default: source,text) and YAML (default: all below a language): what to translate, * is all"


def arguments(parser: ArgumentParser) -> None:
    what = (
        f"{', '.join(suffix[1:] for suffix in FORMATS)}, or a folder of such; "
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
    add_force(parser, "an output that is there, even if it is up to date, was edited, or was not written by docflat")
    parser.add_argument("--lines", action="store_true", help="every file is text, a sentence a line")
    _add_lines(parser)
    parser.add_argument("--keys", type=names, metavar="A,B", help=KEYS)
    columns = (
        "of .csv and .tsv: which columns to translate, by name or number; * is all (default: those that hold sentences)"
    )
    parser.add_argument("--columns", type=names, metavar="A,B", help=columns)
    redo = "of PO and XLIFF: which entries to translate; fuzzy: also those marked for review (default: untranslated)"
    parser.add_argument("--redo", choices=("untranslated", "fuzzy", "all"), help=redo)
    speed = "of subtitles: characters a second that a viewer can read; a wide one counts as two (default: 20)"
    parser.add_argument("--max-cps", type=whole(1), metavar="N", help=speed)
    lines = "of subtitles: the most lines of a cue (default: as in the file, and 2 at least, if they do not get wide)"
    parser.add_argument("--max-cue-lines", type=whole(1), metavar="N", help=lines)
    source = (
        "the source language: it chooses the model and the rules that split sentences (default: the model's, or en)"
    )
    parser.add_argument("--from", "--source-language", dest="source_language", metavar="CODE", help=source)
    target = (
        "the target language: it chooses the model, and marks HTML, and PO and XLIFF without one (default: the model's)"
    )
    parser.add_argument("--to", "--target-language", dest="target_language", metavar="CODE", help=target)
    terms = "a file of terms to leave as they are, such as names, one a line; not with lines"
    parser.add_argument("--keep-terms", type=Path, metavar="FILE", help=terms)
    glossary = "a file of terms and their translations; each line is a term, a tab and its translation; not with lines"
    parser.add_argument("--glossary", type=Path, metavar="FILE", help=glossary)
    parser.add_argument(
        "--side-by-side",
        type=Path,
        metavar="PAGE",
        help="write an HTML page with both texts, which marks what context changed",
    )
    changes = "show on stderr the sentences that context changed"
    parser.add_argument("--changes", action="store_true", help=changes)


def _add_lines(parser: ArgumentParser) -> None:
    limits = Limits()
    singly = "of lines: translate each line by itself as soon as it comes, for a program that waits for it"
    parser.add_argument("--line-buffered", action="store_true", help=singly)
    best = "of lines: write the N best translations of each, as Moses and Marian do: number of the line ||| "
    best += "translation ||| F0= log-probability ||| score; in JSON lines as candidates (a beam of N or more)"
    parser.add_argument("--n-best", type=whole(1), metavar="N", help=best)
    scores = "of lines: write a JSON line for each sentence, with its translations, their log-probabilities and scores"
    parser.add_argument("--scores", type=Path, metavar="FILE", help=scores)
    add_number(parser, "--max-lines", limits.lines, "lines of a file, at most")
    add_number(parser, "--max-line-length", limits.line_length, "characters of a line, at most")


def _add_mode(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mode",
        choices=("auto", "edit", "two-pass", "sequential", "stream", "sentence"),
        default="auto",
        help="edit: translates every sentence by itself, then those anew whose context makes a word unlikely; "
        "two-pass: translates every sentence by itself, then all of them anew, each with its context and the first "
        "translations around it; sequential: translates in order, with the final translations of the sentences before; "
        "stream: the same, within a window that moves along the document; sentence: uses no context; "
        "auto: chooses what suits the model (default: auto)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help="in mode edit: a word is unlikely if context lowers its log-probability by more than X (default: 0.5)",
    )
    parser.add_argument(
        "--global-context",
        choices=("partial", "first-pass"),
        help="in mode two-pass: which translations of other sentences the second pass reads; first-pass: those of the "
        "first pass (default); partial: only what the second pass has written so far (on a CPU this needs "
        "--engine torch)",
    )
    parser.add_argument(
        "--first-pass",
        type=model_folder,
        metavar="MODEL",
        help="a sentence model for the first pass (default: --model); it may have other subwords",
    )
    parser.add_argument(
        "--edit-with",
        type=model_folder,
        metavar="MODEL",
        help="a document model; it changes those words of a translation that context asks for, as docflat edit does",
    )


def _add_decoding(parser: ArgumentParser) -> None:
    _add_mode(parser)
    beam = "hypotheses a sentence (default: 5; at most 3 where the mode edit searches again)"
    parser.add_argument("--beam", type=whole(1), metavar="N", help=beam)
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=1.0,
        metavar="X",
        help="scores are divided by length ** X (default: %(default)s)",
    )
    context = "in mode edit: how many sentences before a sentence the model reads as its context (default: 1)"
    parser.add_argument("--edit-context", type=whole(0), metavar="N", help=context)
    no_shortlist = "consider the whole vocabulary at every step, not only likely translations of the source's words"
    parser.add_argument("--no-shortlist", action="store_true", help=no_shortlist)
    repairs = "do not correct numbers and hours that the model writes wrong"
    parser.add_argument("--no-repairs", action="store_true", help=repairs)
    window = "sentences of a document that see each other (default: as the model was trained, or 16)"
    parser.add_argument("--window", type=whole(1), metavar="N", help=window)
    batch_size = (
        "sentences decoded together; this changes the speed, and the result only by rounding (default: by engine)"
    )
    parser.add_argument("--batch-size", type=whole(1), metavar="N", help=batch_size)
    add_boundaries(parser)
    parser.add_argument("--docids", type=Path, metavar="FILE", help="a docid for each line")
    parser.add_argument("--starts", type=Path, metavar="FILE", help="the lines where documents start")


# What is written depends on these, and on --model, --first-pass and --edit-with.
_SHAPING = (
    *("mode", "tolerance", "edit_context", "global_context", "beam", "length_penalty", "window", "precision"),
    *("no_repairs", "no_shortlist", "n_best"),
    *("lines", "keys", "columns", "redo", "max_cps", "max_cue_lines", "source_language", "target_language"),
    *("boundaries", "line_buffered"),
    *("keep_terms", "glossary", "docids", "starts"),
)


def _shaping_options(chosen: Namespace) -> dict[str, str]:
    """Those that are not as usual; files by their contents."""
    parser = ArgumentParser()
    arguments(parser)
    options = {}
    for name in _SHAPING:
        value = getattr(chosen, name)
        if value != parser.get_default(name):
            options[f"--{name.replace('_', '-')}"] = hash_file(value) if isinstance(value, Path) else str(value)
    return options


def run(arguments: Namespace) -> None:
    settings: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in (
            *("mode", "tolerance", "edit_context", "global_context"),
            *("beam", "length_penalty", "window", "batch_size"),
        )
    }
    settings["repairs"] = not arguments.no_repairs
    settings["shortlist"] = not arguments.no_shortlist
    load = _Loader(arguments)
    documents: list[tuple[str, Sequence[ComparedLine]]] = []

    def show(name: str, pairs: Sequence[ComparedLine]) -> None:
        if (arguments.side_by_side or arguments.changes) and pairs:
            documents.append((name, pairs))

    if arguments.changes and arguments.mode == "sentence":
        raise InputError("without context there are no changes to show: --changes does not go with --mode sentence")
    settle_language(arguments)
    jobs = plan_jobs(arguments)
    check_options(jobs, arguments)
    _check_beside(arguments.side_by_side, "the page", jobs, arguments)
    _check_beside(arguments.scores, "the scores", jobs, arguments)
    error = translate_files(jobs, arguments, load, show, settings, _shaping_options(arguments))
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
    if arguments.scores and not arguments.scores.exists() and error is None:
        warn(f"{arguments.scores} is not written: nothing was translated this time")
    if error is not None:
        raise error


def _check_beside(path: Path | None, what: str, jobs: Sequence[Job], arguments: Namespace) -> None:
    """Made anew of the whole command: what an earlier run wrote may be replaced, but nothing else."""
    if path is None:
        return
    files = [file for job in jobs for file in (job.file, job.out) if file]
    besides = (arguments.glossary, arguments.keep_terms, arguments.docids, arguments.starts)
    files += [file for file in besides if file]
    written = (arguments.side_by_side, arguments.scores)
    files += [file for file in written if file is not None and file is not path]
    if not is_through(path) and any(path.resolve() == file.resolve() for file in files):
        raise InputError(f"{what} would be written over a file of this translation", path)
    check_file(path, files, arguments.force, makes_folder=path is arguments.side_by_side)


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
                edit_with=arguments.edit_with,
                precision=arguments.precision,
                engine=arguments.engine,
                threads=arguments.threads or 0,
            )
            startup.loaded()
        return self.loaded


def _compare(
    documents: Sequence[tuple[str, Sequence[ComparedLine]]],
    translator: Translator,
    settings: dict[str, Any],
) -> list[ShownDocument]:
    """Translate everything again, without context: as the mode edit's drafts, if that was chosen."""
    from docflat.translation.repairing import translate_and_repair
    from docflat.translation.side_by_side import ShownDocument, ShownSentence

    alone = {**settings, "mode": "sentence", "global_context": None, "tolerance": None}
    if translator.first_pass is not None or translator.edit_with is not None:
        translator = replace(translator, first_pass=None, edit_with=None)
    shown = []
    with progress("without context", sum(len(pairs) for _, pairs in documents)) as advance:
        sources = [[pair[0] for pair in pairs] for _, pairs in documents]
        again = translate_and_repair(translator, sources, done=advance, **alone)
        for (name, pairs), repaired in zip(documents, again, strict=True):
            rows = [
                ShownSentence(source, target, new.text if comparable else None)
                for (source, target, comparable), new in zip(pairs, repaired, strict=True)
            ]
            shown.append(ShownDocument(name, rows))
    return shown


def _write_page(path: Path, shown: Sequence[ShownDocument]) -> None:
    from docflat.support.atomic import write_whole
    from docflat.translation.side_by_side import side_by_side

    path.parent.mkdir(parents=True, exist_ok=True)  # as for the translations: often the same new folder
    write_whole(path, side_by_side(shown))


def _show_changes(shown: Sequence[ShownDocument]) -> None:
    from docflat.translation.side_by_side import change_lines

    print(*(display(line) for line in change_lines(shown)), sep="\n", file=sys.stderr)
