"""`docflat train`: a recipe to a model."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from docflat.commands.arguments import add_json
from docflat.console import print_rows


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("recipe", type=Path, metavar="RECIPE", help="a YAML file; see recipes/")
    overrides = "a setting instead of the recipe's, such as stages.1.max_steps=200"
    parser.add_argument("overrides", nargs="*", default=[], metavar="key=value", help=overrides)
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.recipe import load_recipe
    from docflat.training import train

    results = train(load_recipe(arguments.recipe, arguments.overrides))
    if os.environ.get("RANK", "0") == "0":  # torchrun starts several of us
        print_rows(results, arguments.json)
