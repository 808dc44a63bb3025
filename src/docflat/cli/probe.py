"""`docflat probe`: what context a system uses, on a made-up language."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from docflat.cli.arguments import add_json, add_number, names, whole
from docflat.support.console import print_rows, say


def arguments(parser: ArgumentParser) -> None:
    out = "keep data, models, table and plot here; what is there is not trained again (default: runs/probe)"
    parser.add_argument("--out", type=Path, metavar="DIR", help=out)
    parser.add_argument("--systems", type=names, metavar="A,B", help="systems to compare (default: all)")
    parser.add_argument("--steps", type=whole(1), metavar="N", help="training steps of each system")
    demo = "docflat-c only, for a while, and a document it translates (default --out: runs/probe-demo)"
    parser.add_argument("--demo", action="store_true", help=demo)
    add_number(parser, "--seed", 1, "of the language, the data and the models", least=0)
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.evaluation.probe.language import Language
    from docflat.evaluation.probe.probe import DEMO_STEPS, Probe, demo_lines
    from docflat.evaluation.probe.probe import run as measure

    systems, probe = arguments.systems, Probe(Language(arguments.seed))
    out = arguments.out or Path("runs/probe-demo" if arguments.demo else "runs/probe")
    if arguments.demo:
        systems, probe = ["docflat-c"], replace(probe, steps=DEMO_STEPS)
    if arguments.steps:
        probe = replace(probe, steps=arguments.steps)
    rows = measure(probe, out, systems)
    if arguments.demo and not arguments.json:
        say(*demo_lines(probe, out))
    print_rows(rows, arguments.json, title="right pronouns in per cent, by the distance of what they refer to")
    if arguments.demo and not arguments.json:
        say("", f"The model is yours to try: docflat translate --model {out}/models/docflat-c/model")
