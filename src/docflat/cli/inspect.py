"""`docflat inspect`: what flat-batch attention reads of a document, and how far its gates open."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.cli.arguments import add_boundaries, add_model_folder, add_number, whole
from docflat.support.console import print_rows, say
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.data.documents import Document
    from docflat.evaluation.inspection import Inspection


def arguments(parser: ArgumentParser) -> None:
    add_model_folder(parser, "model folder of a docflat-* system")
    what = "documents; TSV or JSONL may hold their translations too"
    parser.add_argument("--source", type=Path, required=True, metavar="FILE", help=what)
    parser.add_argument(
        "--target", type=Path, metavar="FILE", help="their translations (default: the model translates)"
    )
    add_number(parser, "--document", 1, "which document of the file")
    window = "sentences that see each other; 0: the whole document (default: as the model was trained, or 16)"
    parser.add_argument("--window", type=whole(0), metavar="N", help=window)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for page, pictures and numbers")
    parser.add_argument("--force", action="store_true", help="replace what is in --out")
    add_boundaries(parser)
    parser.add_argument("--docids", type=Path, metavar="FILE", help="a docid for each line")
    parser.add_argument("--starts", type=Path, metavar="FILE", help="the lines where documents start")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if any")


def run(arguments: Namespace) -> None:
    document = _read(arguments)
    from docflat.evaluation.inspection import flat_model, inspect
    from docflat.support.atomic import whole_folder
    from docflat.translation.translator import Translator

    with whole_folder(arguments.out, arguments.force, ("inspect.*", "source.png", "target.png")) as folder:
        translator = Translator.load(arguments.model, device=arguments.device, engine="torch")
        flat_model(translator.model)
        name = document.name or f"document {arguments.document} of {arguments.source.name}"
        try:
            inspection = inspect(translator, document.source, document.target, arguments.window, name)
        except InputError as error:
            raise InputError(str(error), arguments.source, document.line) from None
        _write(inspection, folder)
    _report(inspection)
    say("", f"{arguments.out / 'inspect.html'} shows it")


def _read(arguments: Namespace) -> Document:
    from docflat.data.documents import FilePair, read_documents

    pair = FilePair(arguments.source, arguments.target, arguments.boundaries, arguments.docids, arguments.starts)
    documents = list(islice(read_documents(pair), arguments.document))
    if len(documents) < arguments.document:
        raise InputError(f"there is no document {arguments.document}: there are {len(documents)}", arguments.source)
    return documents[-1]


def _write(inspection: Inspection, folder: Path) -> None:
    from docflat.evaluation.inspection_page import draw, page

    text = json.dumps(inspection.to_mapping(), ensure_ascii=False)
    (folder / "inspect.json").write_text(text + "\n", encoding="utf-8")
    (folder / "inspect.html").write_text(page(inspection), encoding="utf-8")
    for name, side in inspection.sides().items():
        draw(side, f"{inspection.system}, {name} side", folder / f"{name}.png")


def _report(inspection: Inspection) -> None:
    rows = []
    for name, side in inspection.sides().items():
        openings = side.openings()
        rows.append(
            {
                "side": name,
                "sentences": sum(len(one.sentences) for one in side.maps),
                "windows": len(side.maps),
                "read from other sentences, %": round(100 * side.elsewhere(), 1),
                "mean gate": sum(openings) / len(openings) if openings else None,
            }
        )
    print_rows(rows, title=f"{inspection.system}: {inspection.document}")
