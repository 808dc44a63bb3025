"""`docflat train`: a recipe to a model."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from docflat.cli.arguments import add_json, whole
from docflat.support.console import print_rows
from docflat.support.errors import InputError


def arguments(parser: ArgumentParser) -> None:
    recipe = "a YAML file, or a name of `docflat recipes`; each further recipe overrides those before it"
    parser.add_argument("recipe", nargs=1, metavar="RECIPE", help=recipe)
    more = "a further recipe, or a setting that overrides the recipe's, such as stages.1.max_steps=200"
    parser.add_argument("more", nargs="*", default=[], metavar="RECIPE|key=value", help=more)
    ray = "ray: processes of Ray Train, which go on from the last checkpoint when one is lost (default: this process)"
    parser.add_argument("--engine", choices=("torch", "ray"), default="torch", help=ray)
    parser.add_argument("--workers", type=whole(1), default=1, metavar="N", help="processes of Ray Train (default: 1)")
    parser.add_argument(
        "--address", metavar="HOST:PORT", help="address of a Ray cluster (default: start Ray on this machine)"
    )
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.training.loop import train
    from docflat.training.recipe import load_recipe
    from docflat.training.recipe_names import find_recipe

    files = [*arguments.recipe, *(one for one in arguments.more if "=" not in one)]
    overrides = [one for one in arguments.more if "=" in one]
    recipe = load_recipe([find_recipe(file) for file in files], overrides)
    if arguments.engine == "ray":
        from docflat.training.ray_train import train_on_ray

        results = train_on_ray(recipe, arguments.workers, arguments.address)
    elif arguments.workers > 1 or arguments.address:
        raise InputError("--workers and --address are of Ray Train: say --engine ray, or start docflat by torchrun")
    else:
        results = train(recipe)
    if os.environ.get("RANK", "0") == "0":  # torchrun starts several of us
        print_rows(results, arguments.json)
