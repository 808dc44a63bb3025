"""Workers: processes that take one job after the other until none is left, or the time is over. On several machines
they share a folder.

A sentence model comes before what starts from it. A job that fails is noted, and the others go on.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from docflat.reproduce import costs
from docflat.reproduce.grid import Job, jobs_of
from docflat.reproduce.results import claim
from docflat.reproduce.runs import JobRun, Plan
from docflat.support.atomic import write_whole
from docflat.support.errors import InputError
from docflat.training.loop import Stopped

logger = logging.getLogger(__name__)

PAUSE = 2.0  # seconds between two looks at what others are doing


def all_jobs(plan: Plan) -> list[Job]:
    return jobs_of(measure for measure in plan.measures if plan.possible(measure))


def work(plan: Plan, pause: float = PAUSE) -> None:
    """Until every job is finished or has failed, here or with another worker; or until the time is over."""
    jobs = all_jobs(plan)
    while not plan.is_late():
        waiting = [job for job in jobs if not is_over(plan, job)]
        if not waiting:
            return
        if not any(_take(plan, job, f"[{jobs.index(job) + 1}/{len(jobs)}]") for job in _by_time(plan, waiting)):
            time.sleep(pause)


def _by_time(plan: Plan, jobs: Sequence[Job]) -> list[Job]:
    """What can be begun: where time is short, first what can be finished in it. The rest of it is not lost: a job that
    is stopped goes on another time.
    """
    ready = [job for job in jobs if JobRun(plan, job).ready()]
    if plan.until is None:
        return ready
    left = plan.until - time.time()
    return sorted(ready, key=lambda job: costs.estimate(plan, job).seconds > left)


def _take(plan: Plan, job: Job, number: str) -> bool:
    """Run a job, if no other worker is at it; whether it was run."""
    with claim(plan.lock(job)) as mine:
        if not mine or is_over(plan, job):  # another one may just have finished it
            return False
        logger.info("%s %s", number, job.name, extra={"passing": False})
        _run(plan, job)
        return True


def _run(plan: Plan, job: Job) -> None:
    try:
        JobRun(plan, job).run()
    except Stopped:
        logger.info("%s: the time is over; the next call goes on from here", job.name, extra={"passing": False})
    except (InputError, torch.OutOfMemoryError) as error:
        message = str(error).splitlines()[0]
        logger.warning(f"{job.name} failed: {message}")
        path = _failure(plan, job)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, message)


def _failure(plan: Plan, job: Job) -> Path:
    lock = plan.lock(job)
    return lock.with_name(f"{lock.name}.failed")


def is_over(plan: Plan, job: Job) -> bool:
    """Finished, or it failed, or what it starts from did."""
    failed = any(one is not None and _failure(plan, one).exists() for one in (job, job.first))
    return failed or JobRun(plan, job).finished()


def failures(plan: Plan) -> dict[str, str]:
    """What went wrong, by job."""
    paths = {job.name: _failure(plan, job) for job in all_jobs(plan)}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.exists()}


def forget_failures(plan: Plan) -> None:
    """A new run tries again."""
    for job in all_jobs(plan):
        _failure(plan, job).unlink(missing_ok=True)


def compare_all(plan: Plan) -> None:
    """Scores of all translations that are kept, and the significance of what was measured; by one process at a time."""
    with claim(plan.out / "locks" / "comparisons", wait=True):
        for job in all_jobs(plan):
            JobRun(plan, job).score_translations()
        for job in all_jobs(plan):
            if job != job.baseline:
                JobRun(plan, job).compare(JobRun(plan, job.baseline))


def default_number() -> int:
    return max(1, torch.cuda.device_count())


def start_workers(arguments: Sequence[str], number: int) -> int:
    """Run a command so many times at once, each with a GPU of its own if there are as many; how many of them failed."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = visible.split(",") if visible else [str(n) for n in range(torch.cuda.device_count())]
    workers = []
    for n in range(number):
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": gpus[n % len(gpus)]} if gpus else dict(os.environ)
        workers.append(subprocess.Popen([sys.executable, "-m", "docflat", *arguments], env=environment))
    try:
        return sum(worker.wait() != 0 for worker in workers)
    except BaseException:
        for worker in workers:
            worker.terminate()
        raise
