"""`docflat bulk merge`: the parts of a run to one file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from docflat.cli.outputs import add_force, check_file, check_output
from docflat.support.console import report
from docflat.support.errors import InputError


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="OUT", help="the folder of docflat bulk -o")
    what = "file to write: JSONL, Parquet or text, as the parts are; may be .gz, .xz, .bz2, .zst"
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help=what)
    add_force(parser)
    parser.add_argument("--source", metavar="NAME", help="of several inputs, that whose parts to take (default: all)")


def run(arguments: Namespace) -> None:
    from docflat.bulk.merge import merge
    from docflat.bulk.plan import read_plan

    check_output(arguments, "out", packed=True)
    plan = read_plan(arguments.folder)
    if arguments.out.resolve().is_relative_to(plan.out.resolve()):
        raise InputError("lies in the folder of the run, which needs it as it is: name a file elsewhere", arguments.out)
    check_file(arguments.out, [Path(source.path) for source in plan.sources], arguments.force)
    documents = merge(plan, arguments.out, arguments.source)
    report(f"{documents:,} documents -> {arguments.out}")
