"""`docflat models`: which models there are to translate with."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from docflat.cli.arguments import add_json
from docflat.support.console import print_rows


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.support.languages import language_name
    from docflat.weights.installed import installed_models

    rows = []
    for model in installed_models():
        source, target = model.languages or ("", "")
        rows.append(
            {
                "name": model.name,
                "from": language_name(source) or "not known",
                "to": language_name(target) or "not known",
                "system": model.system,
                "origin": model.origin,
                "MiB": round(model.bytes / 2**20),
                "folder": str(model.folder),
            }
        )
    print_rows(rows, arguments.json)
