"""Training: the stages of a recipe, one after the other, each of them one loop."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from docflat import __version__
from docflat.atomic import alone
from docflat.batches import Batch, Batches, Plan, ahead
from docflat.checkpoints import (
    Checkpoints,
    ModelConfig,
    ModelFolder,
    Progress,
    average_weights,
    read_config,
    read_json,
    save_model,
    start_from,
    vocabulary_of,
    write_json,
)
from docflat.console import warn
from docflat.corpus import Array, Corpus
from docflat.errors import InputError
from docflat.graphs import DoesNotFit, Shapes, StepGraph, fill, pack, shapes_around
from docflat.layers import has_kernel
from docflat.log import Log
from docflat.meter import Meter
from docflat.processes import Processes
from docflat.recipe import Recipe, Stage
from docflat.settings import to_mapping
from docflat.shipped import model_folder
from docflat.subwords import Subwords
from docflat.systems import System, find_system
from docflat.transformer import Transformer
from docflat.validation import Validation

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


SAMPLE = 64  # batches, from which the shapes of a graph are taken


@dataclass(frozen=True)
class Step:
    """One update's share of this process."""

    batches: list[Batch]
    numbers: list[int]  # which of the step's micro-batches they are
    labels: int  # of all micro-batches of the step
    epoch: int  # where the next step starts
    batch: int
    packed: list[Tensor] | None = None  # its one batch as a graph of the step reads it


def steps_from(
    batches: Batches,
    seeds: list[int],
    progress: Progress,
    accumulate: int,
    processes: Processes,
    pack: Callable[[Batch], list[Tensor] | None] = lambda batch: None,
) -> Iterator[Callable[[], Step]]:
    """The steps of a training from where it stands, epoch after epoch, without end.

    pack: for a graph of the step; None where there is none, or the batch does not fit.
    """

    def planned(epoch: int) -> Future[Plan]:
        return planner.submit(batches.plan, np.random.default_rng([*seeds, epoch]))

    epoch, number = progress.epoch, progress.batch
    planner = ThreadPoolExecutor(1)
    # The next epoch is planned during this one: that takes seconds, in which a GPU would have nothing to do.
    plan, upcoming = planned(epoch).result(), planned(epoch + 1)
    try:
        while True:
            chosen: list[tuple[Plan, int]] = []
            while len(chosen) < accumulate:
                while number == len(plan):  # with sampling an epoch can be empty
                    epoch, number = epoch + 1, 0
                    plan, upcoming = upcoming.result(), planned(epoch + 1)
                chosen.append((plan, number))
                number += 1
            after = (epoch + 1, 0) if number == len(plan) else (epoch, number)

            def lay_out(chosen: list[tuple[Plan, int]] = chosen, after: tuple[int, int] = after) -> Step:
                own = list(range(processes.rank, accumulate, processes.world))
                laid_out = [chosen[i][0][chosen[i][1]] for i in own]
                packed = pack(laid_out[0])
                if processes.device.type == "cuda" and packed is None:
                    laid_out = [batch.pin() for batch in laid_out]
                return Step(laid_out, own, int(sum(plan.labels[n] for plan, n in chosen)), *after, packed)

            yield lay_out
    finally:
        planner.shutdown(wait=False, cancel_futures=True)


def learning_rate(step: int, peak: float, warmup: int, left: float = math.inf, cooldown: int = 0) -> float:
    """Linear warm-up, inverse square root, at last a straight line to 0; step counts from 1.

    left: steps from here to the end, this one included.
    """
    return peak * min(step / warmup, math.sqrt(warmup / step)) * min(1, left / max(1, cooldown))


def train(recipe: Recipe) -> list[dict[str, Any]]:
    """Train all stages, or go on where an earlier call was stopped. One result for each stage."""
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
        return [stage.run() for stage in processes.together(begin)]


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
        before = read_json(path, "cannot read the earlier recipe")
        for key, old, new in differences(before, now):
            if key.rpartition(".")[2] not in CHANGEABLE:
                raise InputError(
                    f"{key} was {old!r} when this training began and is {new!r} now; choose another `out`,"
                    f" or remove {recipe.out} to start afresh",
                    path,
                )
            stage = re.match(r"stages\[(\d+)\]", key)
            if stage and (recipe.out / f"stage-{int(stage[1]) + 1}" / "result.json").exists():
                warn(f"stage {int(stage[1]) + 1} is finished, so {key} = {new!r} comes too late for it")
    try:
        recipe.out.mkdir(parents=True, exist_ok=True)
        write_json(path, now)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from None


def differences(a: Any, b: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted(a.keys() | b.keys()):
            yield from differences(a.get(name), b.get(name), f"{key}.{name}" if key else name)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, pair in enumerate(zip(a, b, strict=True)):
            yield from differences(*pair, f"{key}[{number}]")
    elif a != b:
        yield key, a, b


def compile_parts(model: Transformer) -> None:
    """Compile what a batch passes through, each once for batches of all lengths.

    Layer by layer, not as a whole: the layers of a stack share one compilation, which takes seconds instead of
    minutes, and nothing could be fused across them anyway but what lies between two matrix products.
    """
    # Two lengths that are equal by chance must not be taken for one and the same: that would compile anew later.
    torch.fx.experimental._config.use_duck_shape = False
    # The gradients of a norm in one kernel, for its input and its weights, are slower than in two (docs/speed.md).
    fused = {"triton.mix_order_reduction": False}
    options = {name: value for name, value in fused.items() if name in torch._inductor.list_options()}
    how: dict[str, Any] = {"dynamic": True, "options": options}
    model.start_source = torch.compile(model.start_source, **how)  # type: ignore[method-assign]
    model.start_target = torch.compile(model.start_target, **how)  # type: ignore[method-assign]
    model.grade = torch.compile(model.grade, **how)
    with torch.device("meta"):
        base = {name for name, _ in Transformer(model.sizes, model.vocabulary).named_children()}
    own = [part for name, part in model.named_children() if name not in base]
    for part in (*model.encoder, *model.decoder, *own):
        part.compile(**how)


class Learner:
    """A model and how it is updated."""

    def __init__(
        self,
        model: Transformer,
        rates: Mapping[str, float],
        stage: Stage,
        recipe: Recipe,
        processes: Processes,
        seeds: list[int],
    ) -> None:
        """rates: of each parameter by name, its factor to the learning rate; with 0 it stays as it is."""
        self.stage, self.processes, self.seeds = stage, processes, seeds
        self.model = model.to(processes.device).train()
        self.model.word_dropout = stage.word_dropout
        groups: dict[float, list[torch.nn.Parameter]] = {}
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_(rates[name] > 0)
            if rates[name] > 0:
                groups.setdefault(rates[name], []).append(parameter)
        self.optimizer = torch.optim.Adam(
            [{"params": group, "factor": factor} for factor, group in groups.items()],
            lr=0.0,
            betas=stage.betas,
            fused=True,
        )
        self.runner: Any = self.model
        if recipe.compile:
            compile_parts(self.model)
        if processes.world > 1:
            self.runner = DistributedDataParallel(self.runner)
        half = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[recipe.precision]
        kind = processes.device.type
        self.cast = contextlib.nullcontext() if half is None else torch.autocast(kind, half)
        self.half = recipe.precision == "fp16"
        self.scaler = torch.amp.GradScaler(kind, init_scale=2.0**13, enabled=self.half)
        # One batch a step, on one GPU, in a precision that needs no scaled losses: this can be recorded as a graph.
        self.records = stage.accumulate == processes.world == 1 and recipe.compile and self.model.recordable
        self.records &= kind == "cuda" and half == torch.bfloat16 and has_kernel(self._any_query(torch.bfloat16))
        self.graph: StepGraph | None = None
        self.shapes: Shapes | None = None

    def _any_query(self, dtype: torch.dtype) -> Tensor:
        sizes = self.model.sizes
        return torch.empty(1, sizes.heads, sizes.dim // sizes.heads, dtype=dtype, device=self.processes.device)

    def prepare(self, batches: Batches) -> None:
        """Get ready for batches like these."""
        if self.records:
            # Those of the first epoch, also when a later one goes on: what is recorded must not depend on that.
            plan = batches.plan(np.random.default_rng([*self.seeds, 0]))
            some = [plan[number] for number in range(0, len(plan), 1 + len(plan) // SAMPLE)]
            if some:  # with sampling an epoch can be empty
                self.shapes = shapes_around(some, batches.budget)

    def pack(self, batch: Batch) -> list[Tensor] | None:
        """The batch as the graph reads it, in memory that a GPU can copy from; None: it goes another way."""
        if self.shapes is not None:
            with contextlib.suppress(DoesNotFit):
                return [flat.pin_memory() for flat in pack(fill(batch, self.shapes))]
        return None

    def scale_losses(self, progress: Progress) -> None:
        """Go on with losses scaled for fp16 as they were."""
        if self.half and progress.loss_scale:
            as_it_was = {"scale": progress.loss_scale, "_growth_tracker": progress.loss_scale_steps}
            self.scaler.load_state_dict({**self.scaler.state_dict(), **as_it_was})

    def note_scale(self, progress: Progress) -> None:
        if self.half:
            state = self.scaler.state_dict()
            progress.loss_scale, progress.loss_scale_steps = state["scale"], state["_growth_tracker"]

    def update(self, step: Step, number: int, rate: float, meter: Meter) -> None:
        """One step: all its micro-batches, then the optimiser."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        if step.packed is not None and self._has_graph(step.batches[0]):
            meter.add(step.batches[0], self._replay(step.packed, number))
        else:
            self._go_through(step, number, meter)
        if self.stage.clip:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.stage.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.graph is None:
            self.optimizer.zero_grad(set_to_none=True)

    def _seed(self, number: int, micro: int) -> None:
        """Chance depends on the micro-batch alone: not on how many processes there are, nor on interruptions."""
        torch.manual_seed(int(np.random.SeedSequence([*self.seeds, number, micro]).generate_state(1)[0]))

    def _has_graph(self, batch: Batch) -> bool:
        """The first time, record one; where that cannot be done, say so once and train without."""
        if self.graph is None and self.shapes is not None:
            try:
                self.graph = StepGraph(self.model, self.cast, self.stage.label_smoothing, fill(batch, self.shapes))
            except RuntimeError as error:
                warn(f"a step cannot be recorded as a CUDA graph, so steps are slower: {str(error).splitlines()[0]}")
                self.shapes = None
                self.optimizer.zero_grad(set_to_none=True)
        return self.graph is not None

    def _replay(self, packed: list[Tensor], number: int) -> Tensor:
        """The gradients of a step from its graph; its plain loss."""
        assert self.graph is not None
        self._seed(number, 0)
        return self.graph(packed)

    def _go_through(self, step: Step, number: int, meter: Meter) -> None:
        """The gradients of a step, batch by batch."""
        world = self.processes.world
        if self.graph is not None:  # its gradients stay where they are
            torch._foreach_zero_([x.grad for x in self.model.parameters() if x.grad is not None])
        for nth, (micro, batch) in enumerate(zip(step.numbers, step.batches, strict=True)):
            self._seed(number, micro)
            last = nth == len(step.batches) - 1
            with contextlib.nullcontext() if last or world == 1 else self.runner.no_sync():
                with self.cast:
                    loss, plain = self.runner(batch.to(self.processes.device), self.stage.label_smoothing)
                # DistributedDataParallel takes the mean over processes; the loss is a mean over labels.
                self.scaler.scale(loss * (world / step.labels)).backward()
            meter.add(batch, plain)


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
        self.subwords = data.subwords
        self.rows = self.system.rows_of(self.stage.rows, f"stages[{number}].rows")
        # Now, not when the stage begins: a mistake in it should not show after hours of the stage before.
        sampling = self.stage.sampling
        self.times = data.train.times(sampling, f"stages[{number}].sampling") if sampling else None
        self.config = ModelConfig(self.stage.system, recipe.model, self.stage.options, self.rows)

    def run(self) -> dict[str, Any]:
        result = self.folder / "result.json"
        if not result.exists():
            self._train()
            self.processes.wait()
        return read_json(result, "no result")

    def _batches(self, corpus: Corpus, times: Array | None = None) -> Batches:
        return Batches(
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
            if before.sizes != self.recipe.model:
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
        return model, self._rates(model, fresh=before is None)

    def _rates(self, model: Transformer, fresh: bool) -> dict[str, float]:
        """By name; fresh: nothing was trained before, so everything is trained alike."""
        factor = self.system.sentence_rate if self.stage.sentence_rate is None else self.stage.sentence_rate
        with torch.device("meta"):
            shared = set(Transformer(self.recipe.model, model.vocabulary).state_dict())
        rates = {name: factor if name in shared and not fresh else 1.0 for name, _ in model.named_parameters()}
        if not any(rates.values()):
            raise InputError(f"stages[{self.number}].sentence_rate: with 0 nothing of {self.stage.system} is trained")
        return rates

    def _train(self) -> None:
        stage, processes = self.stage, self.processes
        batches, plan = self._batches(self.data.train, self.times), self._batches(self.data.valid).plan()
        for split, rows in (("train", batches.plan().rows), ("valid", plan.rows)):
            if not len(rows):
                raise InputError("no sentence has both sides and fits into rows.max_tokens", self.recipe.data / split)
        validation = Validation(self.data.valid, plan, stage.validation_sample, processes)
        learner = Learner(*self._build(), stage, self.recipe, processes, [self.recipe.seed, self.number])
        progress = self.checkpoints.resume(learner.model, learner.optimizer) or Progress()
        steps_there = processes.sum(torch.tensor([float(progress.step)], device=processes.device)).item()
        if steps_there != processes.world * progress.step:
            raise InputError(
                "the processes do not see the same checkpoints: `out` must be one folder for all", self.folder
            )
        learner.scale_losses(progress)
        log = Log(self.folder, progress.step, self.recipe.tensorboard, silent=not processes.first)
        parameters = sum(parameter.numel() for parameter in learner.model.parameters())
        log.say(
            f"stage {self.number + 1}, {stage.system}: {parameters:,} parameters, {self.recipe.precision} on"
            f" {processes.world} x {processes.device.type}" + (f", from step {progress.step}" if progress.step else "")
        )
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
            progress.epoch, progress.batch = step.epoch, step.batch
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
        log.record(progress.step, "model", True, of=kind, checkpoints=result["averaged"], loss=loss, bleu=bleu)
        write_json(self.folder / "result.json", result)


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
