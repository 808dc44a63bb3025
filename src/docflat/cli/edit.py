"""`docflat edit`: a translation by any system, with those words changed that context asks for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.cli.arguments import add_boundaries, add_json, add_machine, add_model_folder, load_translator
from docflat.cli.outputs import check_output
from docflat.support.console import print_json, progress
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docflat.editing.editor import Revision
    from docflat.translation.drafts import DraftDocument


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", type=Path, metavar="SOURCE", help="what was translated: text, a sentence a line")
    parser.add_argument("draft", type=Path, metavar="DRAFT", help="its translation by any system, line by line")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="OUT", help="file to write (default: DRAFT with .edited before its ending)"
    )
    add_model_folder(parser)
    add_boundaries(parser)
    add_machine(parser)
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.support.atomic import write_whole
    from docflat.translation.drafts import Lines

    out = arguments.out or arguments.draft.with_name(f"{arguments.draft.stem}.edited{arguments.draft.suffix}")
    check_output(out)
    if out.exists() and any(file.exists() and out.samefile(file) for file in (arguments.source, arguments.draft)):
        raise InputError("would be overwritten", out)
    file = Lines(arguments.source, arguments.draft, arguments.boundaries)
    editor = load_translator(arguments).editor()
    with progress("editing", sum(len(document.pairs) for document in file.documents)) as advance:
        revisions = editor.edit([document.pairs for document in file.documents], advance)
    write_whole(out, file.render(revisions))
    _report(file.documents, revisions, out, arguments.json)


def _report(
    documents: Sequence[DraftDocument], revisions: Sequence[Sequence[Revision]], out: Path, as_json: bool
) -> None:
    edited = [
        (place, revision)
        for document, after in zip(documents, revisions, strict=True)
        for place, revision in zip(document.places, after, strict=True)
        if revision.edit is not None
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
        print(f"{place}: {revision.reason}\n  {revision.draft}\n  {revision.text}")
    print(f"{len(edited)} of {total} sentences edited -> {out}")
