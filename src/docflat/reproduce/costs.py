"""What a job costs, in seconds: by figures of two machines, corrected by what the jobs of this folder took.

A training may end before its `max_steps`; its cost is that of all of them.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.model.sizes import ModelSizes
from docflat.reproduce.grid import IN_COMPANY, WINDOW, set_of
from docflat.support.atomic import write_whole
from docflat.support.json_files import read_json

if TYPE_CHECKING:
    from docflat.reproduce.grid import Job
    from docflat.reproduce.runs import Plan


@dataclass(frozen=True)
class Machine:
    """Measured with Transformer-base."""

    updates: float  # a second, of doc2doc, 32,768 tokens each
    sentences: float  # translated a second, beam 5
    examples: float  # of a contrastive set, scored a second
    start: float  # seconds until the first update


# docs/systems.md and docs/results.md; the CPU is two cores of an AMD EPYC.
MACHINES = {"cuda": Machine(27.0, 2000.0, 5000.0, 40.0), "cpu": Machine(0.025, 7.0, 60.0, 3.0)}
TOKENS = 32_768

# Updates a second to those of doc2doc, on one H200 (docs/systems.md).
SPEEDS = {
    "sent2sent": 0.85,
    "sent2sent-longer": 0.85,
    "flattrans": 0.93,
    "gtrans": 0.83,
    "mbe": 0.64,
    "abd": 0.73,
    "doctransformer": 0.62,
    "han": 0.66,
    "hybrid": 0.57,
    "selective": 0.19,
}


@dataclass(frozen=True)
class Cost:
    training: float
    measuring: float

    @property
    def seconds(self) -> float:
        return self.training + self.measuring


def reference(plan: Plan, job: Job) -> Cost:
    """By the figures above: what of the job is not done yet."""
    recipe, _ = plan.recipe(job)
    machine = MACHINES["cuda" if plan.on_gpu(recipe) else "cpu"]
    work = _work(recipe.model) / _work(ModelSizes())
    training = 0.0
    for number, stage in enumerate(recipe.stages, 1):
        folder = plan.folder(job) / f"stage-{number}"
        left = stage.max_steps - _steps_done(folder)
        if (folder / "result.json").exists() or (plan.folder(job) / "model").exists() or left <= 0:
            continue
        rate = machine.updates * SPEEDS.get(job.system, 1.0) * TOKENS / (stage.batch_tokens * stage.accumulate) / work
        seconds = left / rate
        training += machine.start + min(seconds, 60 * stage.max_minutes or seconds)
    missing = plan.missing(job)
    dataset = plan.datasets[job.dataset]
    decoded = {(set_of(one.metric), one.window) for one in missing if one.window}
    sentences = sum(sum(dataset.tests[test].reference.sizes) for test, _ in decoded)
    accuracies = {one.metric for one in missing if one.metric.startswith("accuracy")}
    times = bool(accuracies - {IN_COMPANY}) + WINDOW * (IN_COMPANY in accuracies)  # with its company each is as many
    examples = times * len(dataset.examples) if times else 0
    measuring = work * (sentences / machine.sentences + examples / machine.examples)
    return Cost(training, measuring + (machine.start / 4 if missing else 0))


def estimate(plan: Plan, job: Job) -> Cost:
    """The same, by how much longer or shorter the jobs of this folder took."""
    before = reference(plan, job)
    return Cost(before.training * _factor(plan, "training"), before.measuring * _factor(plan, "measuring"))


def note(plan: Plan, job: Job, kind: str, said: float, took: float) -> None:
    """What a part of a job took, beside what the figures said of it."""
    path = plan.folder(job) / f"cost-{kind}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps({"said": said, "took": took}))


def _factor(plan: Plan, kind: str) -> float:
    notes = [read_json(path, "no cost") for path in sorted(plan.out.glob(f"jobs/*/*/cost-{kind}.json"))]
    ratios = [one["took"] / one["said"] for one in notes if one["said"] > 0]
    return statistics.median(ratios) if ratios else 1.0


def _steps_done(folder: Path) -> int:
    steps = (path.name.removeprefix("step-") for path in folder.glob("*/step-*"))
    return max((int(step) for step in steps if step.isdigit()), default=0)


def _work(sizes: ModelSizes) -> float:
    """Of a token, about: multiplications in the layers and for the words of the output."""
    square, feed_forward = sizes.dim * sizes.dim, 2 * sizes.dim * sizes.feed_forward
    encoder = sizes.encoder_layers * (4 * square + feed_forward)
    return encoder + sizes.decoder_layers * (8 * square + feed_forward) + sizes.dim * 10_000
