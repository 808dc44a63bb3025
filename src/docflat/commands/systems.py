"""`docflat systems`: what a recipe can name."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from docflat.commands.arguments import add_json
from docflat.console import print_rows


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.systems import SYSTEMS

    rows = [{"name": one.name, "summary": one.summary, "paper": one.paper} for one in SYSTEMS.values()]
    print_rows(rows, arguments.json)
