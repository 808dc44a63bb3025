"""Training: the stages of a recipe, one after the other, each of them one loop."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from docflat import __version__
from docflat.data.batches import DocumentBatches
from docflat.data.corpus import Array, Corpus
from docflat.data.subwords import Subwords
from docflat.model.transformer import Transformer
from docflat.support.atomic import alone
from docflat.support.errors import InputError
from docflat.support.json_files import read_json, write_json
from docflat.support.strict_yaml import from_mapping, to_mapping
from docflat.systems import System, find_system
from docflat.training.learner import Learner, rates_of
from docflat.training.log import Log
from docflat.training.meter import Meter
from docflat.training.recipe import Recipe, Stage
from docflat.training.steps import ahead, steps_from
from docflat.training.torchrun import Processes
from docflat.training.validation import Validation
from docflat.weights.config import ModelConfig, read_config, vocabulary_of
from docflat.weights.folders import Checkpoints, ModelFolder, Progress, average_weights, save_model, start_from
from docflat.weights.shipped import languages_of, model_folder

logger = logging.getLogger(__name__)

# What may differ when a training goes on: when it ends and what it shows, not what it computes.
CHANGEABLE = {
    "max_steps",
    "max_epochs",
    "max_minutes",
    "patience",
    "out",
    "data",
    "log_every",
    "tensorboard",
    "device",
}


def learning_rate(step: int, peak: float, warmup: int, left: float = math.inf, cooldown: int = 0) -> float:
    """Linear warm-up, inverse square root, at last a straight line to 0; step counts from 1.

    left: steps from here to the end, this one included.
    """
    return peak * min(step / warmup, math.sqrt(warmup / step)) * min(1, left / max(1, cooldown))


class Stopped(Exception):
    """A training that was asked to stop before its end; the next call goes on from there."""


def never() -> bool:
    return False


def train(recipe: Recipe, stop: Callable[[], bool] = never) -> list[dict[str, Any]]:
    """Train all stages, or go on where an earlier call was stopped. One result for each stage.

    stop: asked after each step; with True the state is saved and Stopped is raised.
    """
    processes = Processes.start(recipe.device)

    def begin() -> list[StageTraining]:
        for number, stage in enumerate(recipe.stages):
            if stage.accumulate % processes.world:
                raise InputError(
                    f"stages[{number}].accumulate: {stage.accumulate} micro-batches a step cannot be shared"
                    f" equally by {processes.world} processes"
                )
        data = Data.open(recipe.data)
        if processes.first:
            held.enter_context(alone(recipe.out))
            remember(recipe, data)
        return [StageTraining(recipe, number, data, processes) for number in range(len(recipe.stages))]

    with contextlib.ExitStack() as held:
        held.callback(processes.stop)
        return [stage.run(stop) for stage in processes.together(begin)]


@dataclass(frozen=True)
class Data:
    """What `docflat prepare` wrote."""

    train: Corpus
    valid: Corpus
    subwords: Subwords

    @classmethod
    def open(cls, folder: Path) -> Data:
        subwords = Subwords.load(folder / "tokenizer.json")
        corpora = []
        for split, hint in (("train", "`docflat prepare` writes it"), ("valid", "prepare it with --valid-source")):
            if not (folder / split).exists():
                raise InputError(f"there is no {split} data here; {hint}", folder)
            corpora.append(Corpus.open(folder / split))
            if corpora[-1].about.get("subwords", subwords.hash) != subwords.hash:
                raise InputError("this corpus was encoded with other subwords than tokenizer.json has", folder / split)
        return cls(corpora[0], corpora[1], subwords)

    @property
    def hashes(self) -> dict[str, str]:
        return {"train": self.train.hash, "valid": self.valid.hash, "subwords": self.subwords.hash}


def remember(recipe: Recipe, data: Data) -> None:
    """Keep the recipe beside what it makes; refuse to go on with one that computes something else."""
    path = recipe.out / "recipe.json"
    now = {**to_mapping(recipe), "data_hash": data.hashes}
    if path.exists():
        before = with_defaults(read_json(path, "cannot read the earlier recipe"))
        for key, old, new in differences(before, now):
            if key.rpartition(".")[2] not in CHANGEABLE:
                raise InputError(
                    f"{key} was {old!r} when this training began and is {new!r} now; choose another `out`,"
                    f" or remove {recipe.out} to start afresh",
                    path,
                )
            stage = re.match(r"stages\[(\d+)\]", key)
            if stage and (recipe.out / f"stage-{int(stage[1]) + 1}" / "result.json").exists():
                logger.warning(f"stage {int(stage[1]) + 1} is finished, so {key} = {new!r} comes too late for it")
    try:
        recipe.out.mkdir(parents=True, exist_ok=True)
        write_json(path, now)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from None


def with_defaults(before: dict[str, Any]) -> dict[str, Any]:
    """A recipe of an earlier version, with the settings that it did not have yet as they were then."""
    try:
        known = from_mapping(Recipe, {key: value for key, value in before.items() if key != "data_hash"})
    except InputError:  # which had settings that there are no more
        return before
    return {**to_mapping(known), "data_hash": before.get("data_hash")}


def differences(a: Any, b: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted(a.keys() | b.keys()):
            yield from differences(a.get(name), b.get(name), f"{key}.{name}" if key else name)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, pair in enumerate(zip(a, b, strict=True)):
            yield from differences(*pair, f"{key}[{number}]")
    elif a != b:
        yield key, a, b


class StageTraining:
    """One stage: its data, its model and its loop."""

    def __init__(self, recipe: Recipe, number: int, data: Data, processes: Processes) -> None:
        self.recipe, self.number, self.data, self.processes = recipe, number, data, processes
        self.stage: Stage = recipe.stages[number]
        self.system: System = find_system(self.stage.system)
        self.folder = recipe.out / f"stage-{number + 1}"
        last = number == len(recipe.stages) - 1
        self.model_folder = recipe.out / "model" if last else self.folder / "model"
        self.checkpoints = Checkpoints(self.folder / "checkpoints", self.stage.average)
        # Between two validations; apart, so that the mean of the last checkpoints is the same with it and without.
        self.stopped = Checkpoints(self.folder / "stopped", 1)
        self.subwords = data.subwords
        self.rows = self.system.rows_of(self.stage.rows, f"stages[{number}].rows")
        # Now, not when the stage begins: a mistake in it should not show after hours of the stage before.
        sampling = self.stage.sampling
        self.times = data.train.times(sampling, f"stages[{number}].sampling") if sampling else None
        names = self.checkpoints.weight_names() or self.stopped.weight_names()
        options = self.system.by_weights(self.stage.options, names) if names else self.stage.options
        self.config = ModelConfig(self.stage.system, recipe.model, options, self.rows, _languages(recipe, data.train))
        # Times the learning rate, for what the sentence model has. Where nothing was trained before, all is alike.
        factor = self.system.sentence_rate if self.stage.sentence_rate is None else self.stage.sentence_rate
        self.sentence_rate = 1.0 if number == 0 and self.stage.start is None else factor
        if not self.sentence_rate:
            with torch.device("meta"):  # names will do
                model = self.config.build(self.subwords)
            if not any(rates_of(model, self.sentence_rate).values()):
                raise InputError(f"stages[{number}].sentence_rate: with 0 nothing of {self.stage.system} is trained")

    def run(self, stop: Callable[[], bool] = never) -> dict[str, Any]:
        result = self.folder / "result.json"
        if not result.exists():
            self._train(stop)
            self.processes.wait()
        return read_json(result, "no result")

    def _train(self, stop: Callable[[], bool]) -> None:
        stage, processes = self.stage, self.processes
        batches, validation = self._open()
        learner = Learner(*self._build(), stage, self.recipe, processes, [self.recipe.seed, self.number])
        progress = self._resume(learner)
        log = Log(self.folder, progress.step, self.recipe.tensorboard, silent=not processes.first)
        log.say(self._greeting(learner.model, progress))
        meter = Meter(learner.model, processes, log, self.recipe.log_every, stage)
        learner.prepare(batches)
        steps = ahead(steps_from(batches, learner.seeds, progress, stage.accumulate, processes, learner.pack))
        meter.start(progress)

        while not self._over(progress):
            step = next(steps)
            progress.step += 1
            left = stage.max_steps - progress.step + 1
            rate = learning_rate(progress.step, stage.learning_rate, stage.warmup_steps, left, stage.cooldown_steps)
            learner.update(step, progress.step, rate, meter)
            progress.epoch, progress.piece, progress.batch = step.epoch, step.piece, step.batch
            meter.step(progress, rate)
            if progress.step % stage.validate_every == 0 or self._over(progress):
                # As it is: what is compiled is made for training, and would be compiled anew for every way of decoding.
                with torch.compiler.set_stance("force_eager"):
                    loss = validation.loss(learner.model, learner.cast)
                    bleu = validation.bleu(ModelFolder(self.config, self.subwords, learner.model))
                progress.note(loss)
                learner.note_scale(progress)
                meter.validated(progress, loss, bleu)
                if processes.first:
                    self.checkpoints.save(learner.model, learner.optimizer, progress)
                processes.wait()
                meter.start(progress)
            elif self._asked_to_stop(stop):
                learner.note_scale(progress)
                if processes.first:
                    self.stopped.save(learner.model, learner.optimizer, progress)
                processes.wait()
                steps.close()
                log.close()
                raise Stopped(f"{self.stage.system} stopped at step {progress.step}")
        steps.close()
        if processes.first:
            self._finish(progress, validation, learner.cast, log)
        log.close()

    def _over(self, progress: Progress) -> bool:
        """Whether training ends here; the same on every process, so time is asked of the first, and seldom."""
        stage = self.stage
        ends = (
            progress.step >= stage.max_steps
            or (stage.max_epochs and progress.epoch >= stage.max_epochs)
            or (stage.patience and progress.worse >= stage.patience)
        )
        if stage.max_minutes and progress.step % self.recipe.log_every == 0:
            late = torch.tensor([float(self.processes.first and progress.seconds >= 60 * stage.max_minutes)])
            ends = ends or bool(self.processes.sum(late.to(self.processes.device)).item())
        return bool(ends)

    def _asked_to_stop(self, stop: Callable[[], bool]) -> bool:
        """Whether to stop now; the same on every process."""
        if stop is never:
            return False
        asked = torch.tensor([float(self.processes.first and stop())])
        return bool(self.processes.sum(asked.to(self.processes.device)).item())

    def _open(self) -> tuple[DocumentBatches, Validation]:
        """What is trained on, and what it is measured with."""
        batches, plan = self._batches(self.data.train, self.times), self._batches(self.data.valid).plan()
        pieces = (batches.plan(piece=piece).rows for piece in range(batches.pieces))
        for split, there in (("train", any(map(len, pieces))), ("valid", len(plan.rows))):
            if not there:
                raise InputError("no sentence has both sides and fits into rows.max_tokens", self.recipe.data / split)
        return batches, Validation(self.data.valid, plan, self.stage.validation_sample, self.processes)

    def _batches(self, corpus: Corpus, times: Array | None = None) -> DocumentBatches:
        return DocumentBatches(
            corpus.documents,
            corpus.source,
            corpus.target,
            self.rows,
            self.system.layout(self.rows, vocabulary_of(self.subwords)),
            self.stage.batch_tokens,
            shuffle_rows=self.system.sentence_level,
            times=times,
        )

    def _build(self) -> tuple[Transformer, dict[str, float]]:
        """The model as the stage starts, and the factor of each of its parameters to the learning rate."""
        torch.manual_seed(self.recipe.seed * 1000 + self.number)
        model = self.config.build(self.subwords, self.stage.dropout)
        before: ModelConfig | None = None
        start = self.stage.start and model_folder(str(self.stage.start))
        if start is not None:
            before = read_config(start)
            if not self.recipe.model.can_start_from(before.sizes):
                raise InputError(f"stages[0].start: {start} has other sizes: {to_mapping(before.sizes)}")
            if Subwords.load(start / "tokenizer.json").hash != self.subwords.hash:
                raise InputError(f"stages[0].start: {start} has other subwords than {self.recipe.data}")
            weights = start / "model.safetensors"
        elif self.number > 0:
            earlier = StageTraining(self.recipe, self.number - 1, self.data, self.processes)
            result = read_json(earlier.folder / "result.json", "no earlier stage")
            before = earlier.config
            weights = earlier.checkpoints.path(result["best_step"]) / "model.safetensors"
        if before is not None:
            start_from(model, weights, before, self.config)
        return model, rates_of(model, self.sentence_rate)

    def _resume(self, learner: Learner) -> Progress:
        """From the newest checkpoint, which has to be the same for all processes, or from the start."""
        processes = self.processes
        newest = max((self.checkpoints, self.stopped), key=lambda checkpoints: max(checkpoints.steps(), default=0))
        progress = newest.resume(learner.model, learner.optimizer) or Progress()
        steps_there = processes.sum(torch.tensor([float(progress.step)], device=processes.device)).item()
        if steps_there != processes.world * progress.step:
            raise InputError(
                "the processes do not see the same checkpoints: `out` must be one folder for all", self.folder
            )
        learner.scale_losses(progress)
        return progress

    def _greeting(self, model: Transformer, progress: Progress) -> str:
        parameters = sum(parameter.numel() for parameter in model.parameters())
        where = f"{self.processes.world} x {self.processes.device.type}"
        return (
            f"stage {self.number + 1}, {self.stage.system}: {parameters:,} parameters, {self.recipe.precision} on"
            f" {where}" + (f", from step {progress.step}" if progress.step else "")
        )

    def _finish(self, progress: Progress, validation: Validation, cast: Any, log: Log) -> None:
        """Write the model folder: the mean of the last checkpoints, or the best one where the mean is worse.

        It is worse when training was still gaining fast: the mean then looks back to weaker weights.
        """
        paths = self.checkpoints.last(self.stage.average)
        best = self.checkpoints.path(progress.best_step) / "model.safetensors"
        measured = {}
        for kind, weights in (("average", average_weights(paths)), ("best", average_weights([best]))):
            model = self.config.build(self.subwords)
            model.load_state_dict(weights)
            model.to(self.processes.device)
            measured[kind] = (validation.loss(model, cast, alone=True), model, weights)
        kind = "average" if measured["average"][0] <= measured["best"][0] else "best"
        loss, model, weights = measured[kind]
        bleu = validation.bleu(ModelFolder(self.config, self.subwords, model))
        result: dict[str, Any] = {
            "stage": self.number + 1,
            "system": self.stage.system,
            "steps": progress.step,
            "epochs": progress.epoch,
            "seconds": round(progress.seconds, 1),
            "best_step": progress.best_step,
            "best_loss": progress.best_loss,
            "model": kind,
            "averaged": len(paths) if kind == "average" else 1,
            "loss": loss,
            "bleu": bleu,
        }
        save_model(
            self.model_folder,
            self.config,
            weights,
            self.subwords,
            model_card(self.recipe, self.stage, result),
        )
        shutil.rmtree(self.stopped.folder, ignore_errors=True)
        log.record(progress.step, "model", True, of=kind, checkpoints=result["averaged"], loss=loss, bleu=bleu)
        write_json(self.folder / "result.json", result)


def _languages(recipe: Recipe, corpus: Corpus) -> tuple[str, str] | None:
    """Of the models of a training: as `docflat prepare` was told, or as the model has them that it starts from."""
    start = recipe.stages[0].start
    return corpus.languages or (languages_of(model_folder(str(start))) if start else None)


def model_card(recipe: Recipe, stage: Stage, result: dict[str, Any]) -> str:
    """README.md of the model folder: what it is and what it was made of."""
    facts = {
        "system": stage.system,
        "training data": Path(recipe.data).name,
        "steps": f"{result['steps']} ({result['epochs']} epochs)",
        "weights": f"mean of the last {result['averaged']} checkpoints"
        if result["model"] == "average"
        else f"of step {result['best_step']}, the best",
        "validation loss": f"{result['loss']:.4f} nats a token, without smoothing",
        "validation BLEU": "not measured"
        if result["bleu"] is None
        else f"{result['bleu']:.1f} (greedy, on about {stage.validation_sample} sentences)",
        "seed, precision": f"{recipe.seed}, {recipe.precision}",
        "made with": f"docflat {__version__}",
    }
    table = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    return (
        f"---\nlibrary_name: docflat\ntags: [translation, document-level]\n---\n# {stage.system}\n\n"
        f"| | |\n|---|---|\n{table}\n\n"
        "Use it with `docflat translate --model FOLDER`, or in Python:\n"
        '`Translator.load("FOLDER").translate(["A sentence.", "The next one."])`.\n'
    )
