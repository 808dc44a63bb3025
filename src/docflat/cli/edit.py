"""`docflat edit`: a translation by any system, with those words changed that context asks for."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.cli.arguments import (
    add_boundaries,
    add_engine,
    add_json,
    add_machine,
    add_model_folder,
    load_translator,
)
from docflat.cli.outputs import add_force, check_output
from docflat.support.console import print_json, progress, report, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docflat.editing.revisions import Revision
    from docflat.translation.draft_files import DraftDocument


def arguments(parser: ArgumentParser) -> None:
    what = (
        "what was translated: a file of any format that docflat translates, or text of a sentence a line; or PO, XLIFF "
    )
    parser.add_argument("source", type=Path, metavar="SOURCE", help=what + "or TMX, which hold both sides")
    draft = "its translation by any system, in the same format"
    parser.add_argument("draft", type=Path, nargs="?", metavar="DRAFT", help=draft)
    out = "file to write (default: DRAFT with .edited before its ending)"
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help=out)
    parser.add_argument("--lines", action="store_true", help="both files are text, a sentence a line")
    parser.add_argument(
        "--from", dest="source_language", default="en", metavar="CODE", help="the source language (default: en)"
    )
    parser.add_argument(
        "--to", dest="target_language", default="de", metavar="CODE", help="the target language (default: de)"
    )
    certainty = (
        "change a pronoun only if the change is right with at least this probability (default: 0.65; 0.8 where few "
        "pronouns seem to be wrong)"
    )
    parser.add_argument("--certainty", type=_probability, metavar="P", help=certainty)
    only = "edit only these of pronouns,address,names; address: how a document says you (default: all)"
    parser.add_argument("--only", type=lambda text: tuple(text.split(",")), metavar="LIST", help=only)
    formality = "which form of you all sentences get (default: that of most sentences of a document, where most agree)"
    parser.add_argument("--formality", choices=("majority", "formal", "informal"), help=formality)
    add_force(parser)
    add_model_folder(parser)
    add_boundaries(parser)
    add_machine(parser)
    add_engine(parser)
    add_json(parser)


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"expected a number from 0 to 1, found {text!r}")
    return value


def run(arguments: Namespace) -> None:
    from docflat.support.atomic import write_whole
    from docflat.translation.draft_files import read_drafts

    draft = arguments.draft or arguments.source
    out = arguments.out or draft.with_name(f"{draft.stem}.edited{draft.suffix}")
    to_stdout = out == Path("-")
    if not to_stdout:
        check_output(Namespace(**{**vars(arguments), "out": out}), "out")
    languages = (arguments.source_language, arguments.target_language)
    is_lines = arguments.lines or arguments.boundaries != "auto"
    file = read_drafts(arguments.source, arguments.draft, arguments.boundaries, is_lines, languages)
    asked = {"certainty": arguments.certainty, "phenomena": arguments.only, "formality": arguments.formality}
    settings = {name: value for name, value in asked.items() if value is not None}
    editor = load_translator(arguments).editor(languages, **settings)
    with progress("editing", sum(len(document.pairs) for document in file.documents)) as advance:
        revisions = editor.edit([document.pairs for document in file.documents], advance)
    write_whole(None if to_stdout else out, file.render(revisions))
    if not to_stdout:  # there the text is by itself
        _report(file.documents, revisions, out, arguments.json)


def _report(
    documents: Sequence[DraftDocument], revisions: Sequence[Sequence[Revision]], out: Path, as_json: bool
) -> None:
    edited = [
        (place, revision)
        for document, after in zip(documents, revisions, strict=True)
        for place, revision in zip(document.places, after, strict=True)
        if revision.edits
    ]
    total = sum(map(len, revisions))
    if as_json:
        print_json(
            {
                "sentences": total,
                "edited": [{"place": place, **revision.report()} for place, revision in edited],
            }
        )
        return
    for place, revision in edited:
        say(f"{place}: {revision.reason}", f"  {revision.draft}", f"  {revision.text}")
    report(f"{len(edited)} of {total} sentences edited -> {out}")
