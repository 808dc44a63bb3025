"""How far a run is, and when it will end."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable
from datetime import datetime

from docflat.bulk.plan import Plan
from docflat.bulk.receipts import Receipt, Totals

log = logging.getLogger("docflat.bulk")

_EVERY = 30.0  # seconds between lines where stderr is no terminal
_RECENT = 0.1  # of the shards that are done: the newest, by which speed is judged


class Progress:
    """Says it, where somebody listens to the log: on a terminal after every shard, elsewhere now and then."""

    def __init__(self, plan: Plan, before: Totals) -> None:
        self.plan, self.totals = plan, before
        self.work_before, self.tokens_before = before.work, before.tokens
        self.start = self.reported = time.monotonic()
        self.every = 0.0 if sys.stderr is not None and sys.stderr.isatty() else _EVERY

    def __call__(self, receipt: Receipt) -> None:
        self.totals.add(receipt)
        now = time.monotonic()
        if now - self.reported >= self.every:
            self.reported = now
            log.info(self.line(now - self.start), extra={"passing": True})

    def line(self, seconds: float) -> str:
        work = self.totals.work - self.work_before
        speed = (self.totals.tokens - self.tokens_before) / max(seconds, 1e-9)
        left = seconds * (self.plan.work - self.totals.work) / max(work, 1)
        return f"{describe(self.plan, self.totals)}, {speed:,.0f} tokens/s, {ends_in(left)}"


def describe(plan: Plan, totals: Totals) -> str:
    failed = f", {totals.failed:,} of them failed" if totals.failed else ""
    return f"{totals.documents:,} of {plan.documents:,} documents{failed}"


def ends_in(seconds: float) -> str:
    """The time left, and when that will be."""
    at = datetime.fromtimestamp(time.time() + seconds)
    day = "" if at.date() == datetime.now().date() else f"{at:%Y-%m-%d} "
    return f"ends in about {duration(seconds)} ({day}{at:%H:%M})"


def duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def recent_speed(receipts: Iterable[Receipt]) -> tuple[float, float, float]:
    """Work and tokens a second of the shards that were done last, by all machines; and when the last was."""
    ordered = sorted(receipts, key=lambda receipt: receipt.finished)
    newest = ordered[-max(2, round(_RECENT * len(ordered))) :]
    start = min(receipt.finished - receipt.seconds for receipt in newest)
    seconds = max(newest[-1].finished - start, 1e-9)
    tokens = sum(receipt.tokens for receipt in newest)
    return sum(receipt.work for receipt in newest) / seconds, tokens / seconds, newest[-1].finished
