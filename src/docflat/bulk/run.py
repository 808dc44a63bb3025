"""A run from its inputs to its report: make the plan or find it again, do what is left of it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from docflat.bulk.output import OutputError
from docflat.bulk.plan import PLAN, SHARDS, Plan, check_same, make_plan, read_plan, write_plan
from docflat.bulk.progress import Progress
from docflat.bulk.receipts import FAILED, REPORT, Receipt, Totals, names_done, read_receipt, write_report
from docflat.bulk.settings import Settings
from docflat.bulk.shards import Shard
from docflat.support.atomic import alone
from docflat.support.errors import InputError

# All that a run writes; the plan goes last, so that a removal that was cut off can go on.
WRITTEN = ("done", "doing", "parts", "files", FAILED, REPORT, SHARDS, PLAN)
LOCK = ".lock"  # of a run; a slice's goes on with its number


@dataclass(frozen=True)
class How:
    """How the work is done; it changes nothing of the output."""

    engine: Literal["local", "ray"] = "local"
    workers: int | None = None  # None: as many as there are cores for
    threads: int = 1  # of a worker
    address: str | None = None  # of a Ray cluster
    slice: tuple[int, int] = (1, 1)  # the first of one, the third of eight
    retry_failed: bool = False


@dataclass
class Outcome:
    totals: Totals
    planned: int  # documents
    lost: list[Shard]  # whose processes died again and again


def prepare(paths: Sequence[Path], out: Path, settings: Settings, force: bool, say: Callable[[str], object]) -> Plan:
    """The plan of these inputs: made now, or the one that is there if nothing has changed since."""
    settings.check()
    if force and _occupied(out):
        plan, skipped = _start_anew(paths, out, settings)
    elif (out / PLAN).exists():
        return check_same(read_plan(out), paths, settings)
    elif out.exists() and (not out.is_dir() or _others(out)):
        raise InputError("exists and has no plan of docflat bulk: name a folder that is new or empty", out)
    else:
        plan, lines, skipped = make_plan(paths, out, settings)
        write_plan(plan, lines)
    for message in skipped:
        say(message)
    say(f"{out}: {plan.documents:,} documents in {plan.shards:,} shards")
    return plan


def _start_anew(paths: Sequence[Path], out: Path, settings: Settings) -> tuple[Plan, list[str]]:
    """The plan in place of an earlier run, which goes only when all inputs have been read, and no process writes."""
    if not (out / PLAN).exists():
        raise InputError("has no plan of docflat bulk: --force removes nothing else", out)
    read_plan(out)
    with ExitStack() as locks:
        for lock in (LOCK, *sorted(path.name for path in out.glob(f"{LOCK}-*-of-*"))):
            locks.enter_context(alone(out, "run of docflat bulk", lock))
        plan, lines, skipped = make_plan(paths, out, settings)
        remove_outputs(out)
        write_plan(plan, lines)
    return plan, skipped


def run(plan: Plan, settings: Settings, how: How) -> Outcome:
    """Do what is left of a slice of the plan."""
    part, parts = how.slice
    lock = LOCK if parts == 1 else f"{LOCK}-{part}-of-{parts}"
    with alone(plan.out, "run of docflat bulk", lock):
        return _run(plan, settings, how)


def _run(plan: Plan, settings: Settings, how: How) -> Outcome:
    part, parts = how.slice
    done = names_done(plan)
    before = Totals()
    shards: list[Shard] = []
    for number, shard in enumerate(plan.read_shards()):
        receipt = read_receipt(plan.receipt(shard.name)) if shard.name in done else None
        if receipt is not None and how.retry_failed and receipt.failures:
            plan.receipt(shard.name).unlink(missing_ok=True)
            receipt = None
        if receipt is not None:
            before.add(receipt)
        elif number % parts == part - 1:
            shards.append(shard)
    progress = Progress(plan, before)
    lost: list[Shard] = []
    try:
        if shards:
            lost = _engine(how)(plan, settings, shards, progress)
    finally:
        if (plan.out / PLAN).exists():
            totals = write_report(plan)
    return Outcome(totals, plan.documents, lost)


def _occupied(out: Path) -> bool:
    """Whether there is anything that is not hidden."""
    return out.exists() and (not out.is_dir() or any(not name.startswith(".") for name in os.listdir(out)))


def _others(out: Path) -> list[str]:
    """What no run has written there; hidden is what it was writing when it was killed."""
    return [name for name in os.listdir(out) if name not in WRITTEN and not name.startswith(".")]


def _engine(how: How) -> Callable[[Plan, Settings, Sequence[Shard], Callable[[Receipt], None]], list[Shard]]:
    if how.engine == "ray":
        from docflat.bulk.engines.ray_data import run_ray

        return lambda plan, settings, shards, done: run_ray(
            plan, settings, shards, done, how.workers, how.threads, how.address
        )
    from docflat.bulk.engines.local import run_local

    workers = how.workers or max(1, cores() // how.threads)
    return lambda plan, settings, shards, done: run_local(plan, settings, shards, done, workers, how.threads)


def cores() -> int:
    """Those that this process may use: a container or a Slurm job may have few of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def remove_outputs(out: Path) -> None:
    """Only what a run has written."""
    for name in WRITTEN:
        path = out / name
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"cannot be removed: {error.strerror}", path) from None


def read_slice(text: str) -> tuple[int, int]:
    """i/n, from 1/n to n/n."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"expected a slice such as 1/8, from 1/8 to 8/8, found {text!r}")
    return int(match[1]), int(match[2])
