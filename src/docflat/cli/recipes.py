"""`docflat recipes`: the recipes that come with docflat."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from docflat.cli.arguments import add_json
from docflat.cli.outputs import add_force, check_output
from docflat.support.console import print_rows, say
from docflat.support.errors import InputError


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this one (default: a list of all)")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write it to this file, to change it")
    add_force(parser)
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.support.atomic import write_whole
    from docflat.training.recipe_names import RECIPES, describe_recipe, find_recipe, recipe_names

    if arguments.name is None:
        if arguments.out:
            raise InputError("say which recipe is to be written: docflat recipes NAME -o FILE")
        rows = [{"name": name, "what": describe_recipe(name)} for name in recipe_names()]
        return print_rows(rows, arguments.json)
    path = find_recipe(arguments.name)
    if not path.is_relative_to(RECIPES):
        raise InputError(f"{arguments.name} is a file, and none of docflat's recipes")
    text = path.read_text(encoding="utf-8")
    if arguments.out is None:
        return say(*text.splitlines())
    check_output(arguments, "out")
    write_whole(arguments.out, text)
    return None
