"""`docflat train`: a recipe to a model."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from docflat.cli.arguments import add_json
from docflat.support.console import print_rows


def arguments(parser: ArgumentParser) -> None:
    recipe = "a YAML file, see recipes/; of several, each lies over those before it"
    parser.add_argument("recipe", nargs=1, metavar="RECIPE", help=recipe)
    more = "a further recipe, or a setting instead of the recipe's, such as stages.1.max_steps=200"
    parser.add_argument("more", nargs="*", default=[], metavar="RECIPE|key=value", help=more)
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.training.loop import train
    from docflat.training.recipe import load_recipe

    files = [*arguments.recipe, *(one for one in arguments.more if "=" not in one)]
    overrides = [one for one in arguments.more if "=" in one]
    results = train(load_recipe([Path(file) for file in files], overrides))
    if os.environ.get("RANK", "0") == "0":  # torchrun starts several of us
        print_rows(results, arguments.json)
