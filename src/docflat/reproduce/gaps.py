"""What is open, and why: for the list of the plan, and for the report, which reads it as open.json."""

from __future__ import annotations

import json
from dataclasses import dataclass

from docflat.evaluation.discourse import DISCOURSE
from docflat.reproduce import costs, workers
from docflat.reproduce.grid import Job, Measure, jobs_of, set_of
from docflat.reproduce.results import OPEN, Key, read_results
from docflat.reproduce.runs import Plan
from docflat.support.atomic import write_whole


@dataclass(frozen=True)
class JobLine:
    """A job of the plan, as it is listed."""

    job: str
    numbers: int
    measured: int
    cost: str  # of what is missing
    state: str


def impossible(plan: Plan, measure: Measure) -> str:
    """Why it cannot be measured, or nothing."""
    dataset = plan.datasets.get(measure.job.dataset)
    if dataset is None:
        return f"no data for {measure.job.dataset}"
    if measure.metric.startswith("accuracy") and not dataset.examples:
        return "no contrastive set"
    if measure.metric.startswith("accuracy") and measure.metric not in dataset.accuracies:
        return "the contrastive set has no such examples"
    if set_of(measure.metric) not in dataset.tests:
        return f"no test set of {set_of(measure.metric)}"
    if measure.metric in DISCOURSE and plan.languages[1] != "de":
        return "counted for German only"
    if measure.metric == "comet" and plan.comet is None:
        return "no COMET checkpoint (--comet-model)"
    return "" if plan.possible(measure) else "no speed where jobs share a device"


def open_cells(plan: Plan) -> dict[Key, str]:
    """Of each number that is chosen and not measured, why."""
    done = read_results(plan.results)
    failed = workers.failures(plan)
    reasons: dict[Key, str] = {}
    waiting: dict[Job, str] = {}
    for measure in plan.measures:
        if measure.key in done:
            continue
        job, reason = measure.job, impossible(plan, measure)
        if not reason:
            causes = [one.name for one in (job, job.first) if one is not None and one.name in failed]
            reason = f"{causes[0]} failed: {failed[causes[0]]}" if causes else ""
        if not reason:
            if job not in waiting:
                waiting[job] = f"no time yet: about {duration(costs.estimate(plan, job).seconds)}"
            reason = waiting[job]
        reasons[measure.key] = reason
    return reasons


def write_open(plan: Plan) -> None:
    cells = [[*key, reason] for key, reason in open_cells(plan).items()]
    write_whole(plan.out / OPEN, json.dumps(cells, indent=0) + "\n")


def job_lines(plan: Plan) -> tuple[list[JobLine], float]:
    """All jobs, also those that cannot be run; and the seconds that the rest of the plan takes."""
    gaps = open_cells(plan)
    lines, total = [], 0.0
    for job in jobs_of(plan.measures):
        measures = [measure for measure in plan.measures if measure.job == job]
        reasons = {gaps[measure.key] for measure in measures if measure.key in gaps}
        missing = job.dataset in plan.datasets and not workers.is_over(plan, job)
        seconds = costs.estimate(plan, job).seconds if missing else 0.0
        total += seconds
        open_ = sum(measure.key in gaps for measure in measures)
        state = "to do" if missing else "; ".join(sorted(reasons)) or "done"
        lines.append(
            JobLine(job.name, len(measures), len(measures) - open_, duration(seconds) if missing else "", state)
        )
    return lines, total


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
