"""`docflat systems`: the systems a recipe can name, and what each of them sees."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from docflat.cli.arguments import add_json
from docflat.cli.outputs import add_force, check_file
from docflat.support.console import print_rows
from docflat.support.errors import InputError


def arguments(parser: ArgumentParser) -> None:
    pictures = "also draw, for each system, which sentences its translations depend on, as NAME.png in here"
    parser.add_argument("--pictures", type=Path, metavar="DIR", help=pictures)
    add_force(parser, "pictures that are there already")
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.systems import SYSTEMS, base_parameters

    baseline = base_parameters(SYSTEMS["doc2doc"])
    rows: list[dict[str, Any]] = []
    for system in SYSTEMS.values():
        parameters = base_parameters(system)
        rows.append(
            {
                "name": system.name,
                "summary": system.summary,
                "source context": system.source or "none",
                "target context": system.target or "none",
                "parameters": parameters,
                "over doc2doc": parameters - baseline,
                "paper": system.paper,
            }
        )
    print_rows(rows, arguments.json, title="parameters: Transformer-base, 32,000 subwords")
    if arguments.pictures:
        draw_all(arguments.pictures, arguments.force)


def draw_all(folder: Path, force: bool = False) -> None:
    from docflat.systems import SYSTEMS
    from docflat.systems.visibility import draw_visibility, find_visibility

    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("pictures need matplotlib: pip install 'docflat[plot]'") from None
    for system in SYSTEMS.values():
        check_file(folder / f"{system.name}.png", [], force, makes_folder=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for system in SYSTEMS.values():
            draw_visibility(find_visibility(system), folder / f"{system.name}.png")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", folder) from None
