"""`docflat bulk status`: how far a run is, on whatever machines it goes on."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from docflat.cli.arguments import add_json
from docflat.support.console import print_json, say


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of docflat bulk -o")
    add_json(parser)


def run(arguments: Namespace) -> None:
    from docflat.bulk.plan import read_plan
    from docflat.bulk.progress import describe, duration, ends_in, recent_speed
    from docflat.bulk.receipts import Totals, read_receipts

    plan = read_plan(arguments.out)
    receipts = [receipt for receipt, _ in read_receipts(plan)]
    totals = Totals()
    for receipt in receipts:
        totals.add(receipt)
    work, tokens, last = recent_speed(receipts) if receipts else (0.0, 0.0, 0.0)
    left = (plan.work - totals.work) / work if work else None
    if arguments.json:
        planned = {"shards": plan.shards, "documents": plan.documents}
        speed = {"tokens_per_second": tokens, "seconds_left": left, "last_finished": last or None}
        print_json({"planned": planned, "done": asdict(totals), **speed})
        return
    say(f"{describe(plan, totals)}; {totals.shards:,} of {plan.shards:,} shards")
    say(f"{totals.sentences:,} sentences, {totals.tokens:,} tokens in {duration(totals.seconds)} of workers")
    if not receipts:
        say("no shard is done yet")
    elif totals.shards < plan.shards:
        say(f"{tokens:,.0f} tokens/s of late; the last shard was done {duration(time.time() - last)} ago")
        assert left is not None
        say(f"if it goes on like that: {ends_in(left)}")
