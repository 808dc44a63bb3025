"""Running the grid: a job is trained, its test set translated and scored, and every number recorded.

A job may be cut at any point: training goes on from its last checkpoint, what is recorded is not measured again.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from docflat.evaluation.discourse import DISCOURSE
from docflat.reproduce import costs
from docflat.reproduce.data import ENGLISH_GERMAN, Dataset
from docflat.reproduce.grid import IN_COMPANY, WINDOW, Job, Measure, set_of
from docflat.reproduce.measuring import (
    Numbers,
    SharedFirstPass,
    comet_scores,
    contrast,
    device_name,
    read_translation,
    translate,
    translation_scores,
    updates_per_second,
)
from docflat.reproduce.results import Key, Measurement, Origin, add_results, read_results
from docflat.reproduce.significance import SIGNATURE, bleu_p, mean_p
from docflat.support.atomic import write_whole
from docflat.support.errors import InputError
from docflat.training.loop import Stopped, train
from docflat.training.recipe import Recipe, load_recipe
from docflat.training.recipe_names import RECIPES, recipe_name
from docflat.translation.translator import Translator

OF_TEXT = ("bleu", "dbleu", *DISCOURSE)  # what a translation that is kept can be scored with at any time
OF_TRANSLATION = (*OF_TEXT, "seconds")


@dataclass(frozen=True)
class Plan:
    """What is run, and what is said of it in the results."""

    out: Path
    datasets: dict[str, Dataset]  # those that are there
    measures: list[Measure]
    recipes: Path | None = None  # a folder whose recipes come before those of docflat
    settings: tuple[str, ...] = ()  # over the recipes, for all jobs; of stage I or II only with I. or II. before them
    global_context: str = "partial"
    beam: int = 5
    comet: str | None = None  # a checkpoint
    commit: str = ""
    command: str = ""
    scale: str = "full"
    shared: bool = False  # several jobs have one GPU, or one CPU: no speed is measured
    languages: tuple[str, str] = ENGLISH_GERMAN
    until: float | None = None  # of time.time(): when the budget is over

    @property
    def results(self) -> Path:
        return self.out / "results.jsonl"

    def folder(self, job: Job) -> Path:
        return self.out / "jobs" / job.name

    def lock(self, job: Job) -> Path:
        return self.out / "locks" / job.name.replace("/", ".")

    def mark_of_sharing(self, job: Job) -> Path:
        """Is there if it was trained beside others."""
        return self.folder(job) / "shared"

    def possible(self, measure: Measure) -> bool:
        """Whether there is what it takes."""
        dataset = self.datasets.get(measure.job.dataset)
        if dataset is None:
            return False
        if measure.metric.startswith("accuracy"):
            return bool(dataset.examples) and measure.metric in dataset.accuracies
        if set_of(measure.metric) not in dataset.tests:
            return False
        if measure.metric in DISCOURSE and self.languages[1] != "de":
            return False
        if self.shared and measure.metric in ("seconds", "updates/s"):
            return False
        if measure.metric == "updates/s" and self.mark_of_sharing(measure.job).exists():
            return False
        return measure.metric != "comet" or self.comet is not None

    def wanted(self, job: Job) -> list[Measure]:
        return [measure for measure in self.measures if measure.job == job and self.possible(measure)]

    def missing(self, job: Job) -> list[Measure]:
        done = read_results(self.results)
        return [measure for measure in self.wanted(job) if measure.key not in done]

    def is_late(self) -> bool:
        return self.until is not None and time.time() >= self.until

    def settings_of(self, job: Job) -> list[str]:
        """I.KEY is every_stage.KEY of the sentence model, II.KEY that of what starts from it."""
        stage, other = ("I.", "II.") if job.first is None else ("II.", "I.")
        return [
            f"every_stage.{setting.removeprefix(stage)}" if setting.startswith(stage) else setting
            for setting in self.settings
            if not setting.startswith(other)
        ]

    def recipe(self, job: Job) -> tuple[Recipe, str]:
        """And the command that trains it."""
        of_dataset = self._recipe_file(job.dataset)
        base = of_dataset if of_dataset.exists() else self._recipe_file("base")
        files = [base, self._recipe_file(f"systems/{job.system}")]
        settings = [f"data={self.datasets[job.dataset].folder}", f"out={self.folder(job)}", "tensorboard=false"]
        if job.first is not None:
            settings.append(f"stages.0.start={self.folder(job.first) / 'model'}")
        settings += [*self.settings_of(job), *job.changes]  # of two, the later one wins: a variant stays what it is
        settings += [f"seed={job.seed}"] if job.seed > 1 else []
        return load_recipe(files, settings), shlex.join(["docflat", "train", *map(recipe_name, files), *settings])

    def _recipe_file(self, name: str) -> Path:
        path = RECIPES / f"{name}.yaml" if self.recipes is None else self.recipes / f"{name}.yaml"
        return path if path.exists() else RECIPES / f"{name}.yaml"

    def on_gpu(self, recipe: Recipe) -> bool:
        return recipe.device != "cpu" and torch.cuda.is_available()

    def origin(self, job: Job) -> Origin:
        """Of its translations."""
        recipe, command = self.recipe(job)
        return Origin(
            self.commit,
            recipe.seed,
            self.datasets[job.dataset].hash("bleu"),
            self.command,
            command,
            device_name(recipe.device),
            self.scale,
            self.settings_of(job),
            self.decoding,
        )

    @property
    def decoding(self) -> str:
        return f"beam {self.beam}, global context {self.global_context}"


@dataclass
class JobRun:
    """One job on its way."""

    plan: Plan
    job: Job
    done: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.done = set(read_results(self.plan.results))

    @property
    def dataset(self) -> Dataset:
        return self.plan.datasets[self.job.dataset]

    @property
    def folder(self) -> Path:
        return self.plan.folder(self.job)

    @property
    def tests(self) -> list[str]:
        """The test sets on which any system of this dataset is measured, its own first."""
        of_dataset = [one for one in self.plan.measures if one.job.dataset == self.job.dataset]
        others = {set_of(one.metric) for one in of_dataset if self.plan.possible(one)}
        return sorted({"", *others})

    def first_pass(self, test: str) -> Path:
        return self.plan.folder(self.job.first or self.job) / f"first-pass{test and '.'}{test}.json"

    def missing(self) -> list[Measure]:
        return self.plan.missing(self.job)

    def finished(self) -> bool:
        """A sentence model is also there for others, which need its translations."""
        return not self.missing() and (self.job.first is not None or self._first_passes_done())

    def ready(self) -> bool:
        return self.job.first is None or self._first_passes_done()

    def _first_passes_done(self) -> bool:
        return all(self.first_pass(test).exists() for test in self.tests)

    def run(self) -> None:
        """All of the job, or until the time is over: then Stopped is raised, and the next call goes on from there."""
        self.score_translations()
        if not self.missing() and (self.folder / "model").exists() and (self.job.first or self._first_passes_done()):
            return
        said = costs.reference(self.plan, self.job)
        clock = time.monotonic()
        self._train()
        if said.training:
            costs.note(self.plan, self.job, "training", said.training, time.monotonic() - clock)
        clock = time.monotonic()
        self._measure()
        if said.measuring:
            costs.note(self.plan, self.job, "measuring", said.measuring, time.monotonic() - clock)

    def _go_on(self) -> None:
        if self.plan.is_late():
            raise Stopped(f"{self.job.name}: the time is over")

    def _train(self) -> None:
        recipe, _ = self.plan.recipe(self.job)
        if self.plan.shared and not (self.folder / "model").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            self.plan.mark_of_sharing(self.job).touch()
        torch.compiler.reset()  # torch compiles the same code for a few models only, and is slow from then on
        train(recipe, self.plan.is_late)

    def _measure(self) -> None:
        missing = self.missing()
        sizes = {measure.metric for measure in missing} & self.dataset.sizes.keys()
        self._record({name: (float(self.dataset.sizes[name]), "") for name in sizes})
        if any(measure.metric == "updates/s" for measure in missing):
            self._record({"updates/s": (updates_per_second(self.folder), "")})
        wanted: dict[tuple[str, int], set[str]] = {}
        if self.job.first is None:
            wanted = {(test, WINDOW): set() for test in self.tests if not self.first_pass(test).exists()}
        for measure in missing:
            metric, _, test = measure.metric.partition(" on ")
            if metric in OF_TRANSLATION:
                wanted.setdefault((test, measure.window), set()).add(metric)
        for test, window in sorted(wanted):
            self._go_on()
            self._translate(test, window, timed="seconds" in wanted[test, window])
        for window in sorted({measure.window for measure in missing if measure.metric == "comet"}):
            self._go_on()
            self._comet(window)
        accuracies = {measure.metric for measure in missing if measure.metric.startswith("accuracy")}
        if accuracies - {IN_COMPANY}:
            self._contrast()
        if IN_COMPANY in accuracies:
            self._contrast(company=WINDOW - 1)

    @cached_property
    def _translator(self) -> Translator:
        translator = Translator.load(self.folder / "model", device=self.plan.recipe(self.job)[0].device, engine="torch")
        translator.decoder = decoder = SharedFirstPass(translator.model)
        if self.job.first is not None:
            for test in self.tests:
                decoder.load(self.first_pass(test))
        return translator

    def translation(self, window: int, test: str = "") -> Path:
        return self.folder / f"test{test and '.'}{test}.{window}.{self.plan.languages[1]}"

    def _translate(self, name: str, window: int, timed: bool) -> None:
        test = self.dataset.tests[name]
        translator = self._translator
        settings: dict[str, Any] = {"mode": "sentence" if translator.model.system.sentence_level else "two-pass"}
        if translator.model.engine.sees_growing:
            settings["global_context"] = self.plan.global_context
        size = 256 if torch.cuda.is_available() else 64
        path = self.translation(window, name)
        seconds = translate(translator, test, path, beam=self.plan.beam, window=window, batch_size=size, **settings)
        if self.job.first is None:
            assert isinstance(translator.decoder, SharedFirstPass)
            translator.decoder.save(self.first_pass(name))
        self._score(name, window, {"seconds": (seconds, f"beam:{self.plan.beam}|batch:{size}")} if timed else {})

    def _score(self, name: str, window: int, numbers: Numbers, origin: Origin | None = None) -> None:
        """A translation that is there; numbers: what else is recorded of it."""
        test, path = self.dataset.tests[name], self.translation(window, name)
        scores = translation_scores(read_translation(path, test), test, self.plan.languages[1])
        on = f" on {name}" if name else ""
        self._record(
            {f"{metric}{on}": number for metric, number in {**scores, **numbers}.items()}, window, path, origin
        )

    def score_translations(self) -> None:
        """Metrics that came after the translations, which need no model."""
        places = {
            (set_of(one.metric), one.window) for one in self.missing() if one.metric.partition(" on ")[0] in OF_TEXT
        }
        for name, window in sorted(places):
            path = self.translation(window, name)
            if path.exists():
                self._score(name, window, {}, self._origin_of(str(path.relative_to(self.plan.out))))

    def _origin_of(self, file: str) -> Origin | None:
        """Of a translation, by what was measured on it; scored now."""
        for record in read_results(self.plan.results).values():
            if record.job == self.job.name and record.file == file:
                return replace(record.origin, commit=self.plan.commit, command=self.plan.command)
        return None

    def _contrast(self, company: int = 0) -> None:
        self._go_on()
        right, numbers = contrast(self._translator, self.dataset, company)
        path = self.folder / ("right.company.json" if company else "right.json")
        write_whole(path, json.dumps(list(map(int, right))))
        self._record({IN_COMPANY: numbers["accuracy"]} if company else numbers, file=path)

    def _comet(self, window: int) -> None:
        assert self.plan.comet is not None
        test = self.dataset.tests[""]
        scores, signature = comet_scores(read_translation(self.translation(window), test), test, self.plan.comet)
        write_whole(self.folder / f"comet.{window}.json", json.dumps(scores))
        self._record({"comet": (sum(scores) / len(scores), signature)}, window, self.translation(window))

    def _record(
        self, numbers: Numbers, window: int = 0, file: Path | None = None, origin: Origin | None = None
    ) -> None:
        """file: what the numbers were measured on; origin: if it is not that of the job as the plan has it now."""
        new = {key: number for key, number in numbers.items() if (self.job.name, key, window) not in self.done}
        if not new:
            return
        now, origin = datetime.now(timezone.utc).isoformat(timespec="seconds"), origin or self.plan.origin(self.job)
        name = str(file.relative_to(self.plan.out)) if file else ""
        records = []
        for metric, (value, signature) in new.items():
            of_metric = replace(origin, data=self.dataset.hash(metric))
            records.append(Measurement(self.job.name, metric, window, value, of_metric, signature, now, name))
        add_results(self.plan.results, records)
        self.done.update(record.key for record in records)

    def compare(self, baseline: JobRun) -> None:
        """The significance of its differences from doc2doc, where both were measured and it is not known yet."""
        bleus = [f"bleu on {test}" if test else "bleu" for test in self.dataset.tests]
        for metric, window in (*((bleu, WINDOW) for bleu in bleus), ("comet", WINDOW), ("accuracy", 0)):
            both = all((run.job.name, metric, window) in self.done for run in (self, baseline))
            if not both or (self.job.name, f"{metric} p", window) in self.done:
                continue
            if metric in bleus:
                name = set_of(metric)
                test = self.dataset.tests[name]
                sides = [read_translation(run.translation(window, name), test) for run in (baseline, self)]
                p = bleu_p(test.reference, *sides)
            else:
                file = "right.json" if metric == "accuracy" else f"comet.{window}.json"
                values = [json.loads((run.folder / file).read_text(encoding="utf-8")) for run in (baseline, self)]
                p = mean_p(*values)
            tested = read_results(self.plan.results)[self.job.name, metric, window]
            origin = replace(tested.origin, commit=self.plan.commit, command=self.plan.command)
            self._record({f"{metric} p": (p, SIGNATURE)}, window, origin=origin)


def check(plan: Plan, jobs: Sequence[Job]) -> None:
    """What would go wrong in hours is said at once: recipes, and numbers of other data or settings in the folder."""
    records = read_results(plan.results).values()
    for job in jobs:
        plan.recipe(job)
        before = next((record.origin.settings for record in records if record.job == job.name), None)
        if before is not None and before != plan.settings_of(job) and not JobRun(plan, job).finished():
            # The numbers that are missing would be of a model that was trained with those.
            message = f"{job.name} was trained with other settings ({' '.join(before) or 'none'})"
            raise InputError(f"{message}; say the same, or choose another --out", plan.results)
        other = next((record.origin.decoding for record in records if record.job == job.name), plan.decoding)
        if other != plan.decoding and not JobRun(plan, job).finished():
            message = f"{job.name} was decoded with {other}; say the same, or choose another --out"
            raise InputError(message, plan.results)
    for record in records:
        dataset = plan.datasets.get(record.job.partition("/")[0])
        if dataset is None or (record.metric.startswith("accuracy") and dataset.contrastive is None):
            continue
        if set_of(record.metric) not in dataset.tests:
            continue
        then, now = record.origin.data, dataset.hash(record.metric)
        if then != now:
            message = f"has the {record.metric} of {record.job} on other data ({then}, now {now})"
            raise InputError(f"{message}; choose another --out", plan.results)
