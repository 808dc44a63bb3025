"""Training: the stages of a recipe, one after the other, each of them one loop."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from docflat import __version__
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
    write_json,
)
from docflat.corpus import Corpus
from docflat.decoding import DecodingSettings, Mode
from docflat.errors import InputError
from docflat.log import Log
from docflat.processes import Processes
from docflat.recipe import Recipe, Stage
from docflat.settings import to_mapping
from docflat.subwords import Subwords
from docflat.systems import System, find_system
from docflat.transformer import Transformer
from docflat.translator import Translator, symbols_of

# Dense bf16 peak of the data sheets, FLOP/s, for the share of it that training reaches (MFU).
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "A40": 149.7e12, "L40": 181e12}

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


@dataclass(frozen=True)
class Step:
    """One update's share of this process."""

    batches: list[Batch]
    numbers: list[int]  # which of the step's micro-batches they are
    labels: int  # of all micro-batches of the step
    epoch: int  # where the next step starts
    batch: int


def steps_from(
    batches: Batches, seeds: list[int], progress: Progress, accumulate: int, processes: Processes
) -> Iterator[Callable[[], Step]]:
    """The steps of a training from where it stands, epoch after epoch, without end."""
    epoch, number = progress.epoch, progress.batch
    plan = batches.plan(np.random.default_rng([*seeds, epoch]))
    while True:
        chosen: list[tuple[Plan, int]] = []
        while len(chosen) < accumulate:
            if number == len(plan):
                epoch, number = epoch + 1, 0
                plan = batches.plan(np.random.default_rng([*seeds, epoch]))
            chosen.append((plan, number))
            number += 1

        def lay_out(chosen: list[tuple[Plan, int]] = chosen, epoch: int = epoch, number: int = number) -> Step:
            own = list(range(processes.rank, accumulate, processes.world))
            laid_out = [chosen[i][0][chosen[i][1]] for i in own]
            if processes.device.type == "cuda":
                laid_out = [batch.pin() for batch in laid_out]
            return Step(laid_out, own, int(sum(plan.labels[n] for plan, n in chosen)), epoch, number)

        yield lay_out


def learning_rate(step: int, peak: float, warmup: int) -> float:
    """Linear warm-up, then inverse square root; step counts from 1."""
    return peak * min(step / warmup, math.sqrt(warmup / step))


def train(recipe: Recipe) -> list[dict[str, Any]]:
    """Train all stages, or go on where an earlier call was stopped. One result for each stage."""
    processes = Processes.start(recipe.device)
    try:
        for number, stage in enumerate(recipe.stages):
            if stage.accumulate % processes.world:
                raise InputError(
                    f"stages[{number}].accumulate: {stage.accumulate} micro-batches a step cannot be shared"
                    f" equally by {processes.world} processes"
                )
        if processes.first:
            remember(recipe)
        processes.wait()
        return [StageTraining(recipe, number, processes).run() for number in range(len(recipe.stages))]
    finally:
        processes.stop()


def remember(recipe: Recipe) -> None:
    """Keep the recipe beside what it makes; refuse to go on with one that computes something else."""
    path = recipe.out / "recipe.json"
    now = to_mapping(recipe)
    if path.exists():
        before = read_json(path, "cannot read the earlier recipe")
        for key, old, new in differences(before, now):
            if key.rpartition(".")[2] not in CHANGEABLE:
                raise InputError(
                    f"{key} was {old!r} when this training began and is {new!r} now; choose another `out`,"
                    f" or remove {recipe.out} to start afresh",
                    path,
                )
    recipe.out.mkdir(parents=True, exist_ok=True)
    write_json(path, now)


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

    def __init__(self, recipe: Recipe, number: int, processes: Processes) -> None:
        self.recipe, self.number, self.processes = recipe, number, processes
        self.stage: Stage = recipe.stages[number]
        self.system: System = find_system(self.stage.system)
        self.folder = recipe.out / f"stage-{number + 1}"
        last = number == len(recipe.stages) - 1
        self.model_folder = recipe.out / "model" if last else self.folder / "model"
        self.checkpoints = Checkpoints(self.folder / "checkpoints", self.stage.average)
        self.subwords = Subwords.load(recipe.data / "tokenizer.json")
        self.rows = self.system.read_rows(self.stage.rows)
        self.config = ModelConfig(self.stage.system, recipe.model, self.stage.options, self.rows)

    def run(self) -> dict[str, Any]:
        result = self.folder / "result.json"
        if not result.exists():
            self._train()
            self.processes.wait()
        return read_json(result, "no result")

    def _batches(self, corpus: Corpus) -> Batches:
        symbols = symbols_of(self.system, self.subwords)
        return Batches(
            corpus.documents,
            corpus.source,
            corpus.target,
            self.rows,
            symbols,
            self.stage.batch_tokens,
            shuffle_rows=self.system.sentence_level,
        )

    def _open(self, split: str) -> Corpus:
        folder = self.recipe.data / split
        if not folder.exists():
            raise InputError(f"there is no {split} data here; `docflat prepare` writes it", self.recipe.data)
        return Corpus.open(folder)

    def _build(self) -> Transformer:
        """The model as the stage starts."""
        torch.manual_seed(self.recipe.seed * 1000 + self.number)
        model = self.config.build(self.subwords, self.stage.dropout)
        start, system = self.stage.start, None
        if start is not None:
            config = read_config(start)
            if config.sizes != self.recipe.model:
                raise InputError(f"stages[0].start: {start} has other sizes: {to_mapping(config.sizes)}")
            if Subwords.load(start / "tokenizer.json").hash != self.subwords.hash:
                raise InputError(f"stages[0].start: {start} has other subwords than {self.recipe.data}")
            weights, system = start / "model.safetensors", config.system
        elif self.number > 0:
            before = read_json(self.folder.parent / f"stage-{self.number}" / "result.json", "no earlier stage")
            checkpoints = Checkpoints(self.folder.parent / f"stage-{self.number}" / "checkpoints", 1)
            weights = checkpoints.path(before["best_step"]) / "model.safetensors"
            system = self.recipe.stages[self.number - 1].system
        if system is not None:
            start_from(model, weights, same_system=system == self.stage.system)
        return model

    def _train(self) -> None:
        stage, recipe, processes = self.stage, self.recipe, self.processes
        batches = self._batches(self._open("train"))
        validation = self._batches(valid := self._open("valid")).plan()
        sample = validation_sample(valid, stage.validation_sample)
        model = self._build().to(processes.device)
        model.word_dropout = stage.word_dropout
        optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=stage.betas, fused=True)
        progress = self.checkpoints.resume(model, optimizer) or Progress()
        if not len(batches.plan(np.random.default_rng([recipe.seed, self.number, 0]))):
            raise InputError("no sentence fits into rows.max_tokens; there is nothing to train on", recipe.data)

        runner: Any = torch.compile(model, dynamic=True) if recipe.compile else model
        if processes.world > 1:
            runner = DistributedDataParallel(runner)
        half = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[recipe.precision]
        cast = contextlib.nullcontext() if half is None else torch.autocast(processes.device.type, half)
        scaler = torch.amp.GradScaler(
            processes.device.type,
            init_scale=progress.loss_scale or 2.0**13,
            enabled=recipe.precision == "fp16",
        )
        log = Log(self.folder, progress.step, recipe.tensorboard, silent=not processes.first)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        log.say(
            f"stage {self.number + 1}, {stage.system}: {parameters:,} parameters, {recipe.precision} on"
            f" {processes.world} x {processes.device.type}" + (f", from step {progress.step}" if progress.step else "")
        )
        meter = Meter(model, processes, log, recipe.log_every, stage)
        seeds = [recipe.seed, self.number]
        steps = ahead(steps_from(batches, seeds, progress, stage.accumulate, processes))
        model.train()
        meter.start(progress)

        while not self._over(progress):
            step = next(steps)
            progress.step += 1
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(progress.step, stage.learning_rate, stage.warmup_steps)
            for nth, (number, batch) in enumerate(zip(step.numbers, step.batches, strict=True)):
                # Chance depends on the micro-batch alone: not on how many processes there are, nor on interruptions.
                torch.manual_seed(int(np.random.SeedSequence([*seeds, progress.step, number]).generate_state(1)[0]))
                last = nth == len(step.batches) - 1
                with contextlib.nullcontext() if last or processes.world == 1 else runner.no_sync():
                    with cast:
                        loss, plain = runner(batch.to(processes.device), stage.label_smoothing)
                    # DistributedDataParallel takes the mean over processes; the loss is a mean over labels.
                    scaler.scale(loss * (processes.world / step.labels)).backward()
                meter.add(batch, plain)
            if stage.clip:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), stage.clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            progress.epoch, progress.batch = step.epoch, step.batch
            meter.step(progress, learning_rate(progress.step, stage.learning_rate, stage.warmup_steps))

            if progress.step % stage.validate_every == 0 or self._over(progress):
                loss = self._validate(model, validation, cast)
                bleu = self._bleu(model, valid, sample)
                if not math.isfinite(loss):
                    raise InputError(f"the validation loss is {loss} at step {progress.step}: lower the learning rate")
                improved = progress.best_loss is None or loss < progress.best_loss
                progress.worse = 0 if improved else progress.worse + 1
                if improved:
                    progress.best_loss, progress.best_step = loss, progress.step
                progress.loss_scale = scaler.get_scale()
                meter.validated(progress, loss, bleu)
                if processes.first:
                    self.checkpoints.save(model, optimizer, progress)
                processes.wait()
                meter.start(progress)
        steps.close()
        if processes.first:
            self._finish(progress, validation, valid, sample, log)
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

    @torch.inference_mode()
    def _validate(self, model: Transformer, plan: Plan, cast: Any) -> float:
        """Cross-entropy per token on the validation set, without smoothing."""
        model.eval()
        total = torch.zeros(1, dtype=torch.float64, device=self.processes.device)
        for number in range(self.processes.rank, len(plan), self.processes.world):
            with cast:
                total += model(plan[number].to(self.processes.device))[1]
        model.train()
        return float(self.processes.sum(total)) / int(plan.labels.sum())

    def _bleu(self, model: Transformer, valid: Corpus, sample: list[int]) -> float | None:
        """BLEU of a greedy translation of some validation documents, by the model's own context."""
        if not sample or not self.processes.first:
            return None
        from sacrebleu.metrics.bleu import BLEU

        model.eval()
        translator = Translator(ModelFolder(self.config, self.subwords, model))
        mode: Mode = "sentence" if self.system.sentence_level else "sequential"
        documents = [document_ids(valid, number) for number in sample]
        with (
            torch.inference_mode(),
            torch.autocast("cuda", torch.bfloat16, enabled=self.processes.device.type == "cuda"),
        ):
            hypotheses = translator.translate_ids([source for source, _ in documents], DecodingSettings(mode, beam=1))
        model.train()
        decode = self.subwords.decode
        system = [decode(ids) for document in hypotheses for ids in document]
        references = [decode(ids) for _, target in documents for ids in target]
        return float(BLEU().corpus_score(system, [references]).score)

    def _finish(self, progress: Progress, plan: Plan, valid: Corpus, sample: list[int], log: Log) -> None:
        """Write the model folder: the mean of the last checkpoints, or the best one where the mean is worse.

        It is worse when training was still gaining fast: the mean then looks back to weaker weights.
        """
        alone = StageTraining(self.recipe, self.number, Processes(0, 1, self.processes.device))
        paths = self.checkpoints.last(self.stage.average)
        best = self.checkpoints.path(progress.best_step) / "model.safetensors"
        measured = {}
        for kind, weights in (("average", average_weights(paths)), ("best", average_weights([best]))):
            model = self.config.build(self.subwords)
            model.load_state_dict(weights)
            model.to(self.processes.device)
            measured[kind] = (alone._validate(model, plan, contextlib.nullcontext()), model, weights)
        kind = "average" if measured["average"][0] <= measured["best"][0] else "best"
        loss, model, weights = measured[kind]
        bleu = alone._bleu(model, valid, sample)
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


class Meter:
    """Counts what is trained and logs it; reads the loss from the device only when it logs."""

    def __init__(
        self,
        model: Transformer,
        processes: Processes,
        log: Log,
        every: int,
        stage: Stage,
    ) -> None:
        self.processes, self.log, self.every = processes, log, every
        self.max_steps, self.max_minutes = stage.max_steps, stage.max_minutes
        sizes = model.sizes
        square = sizes.dim * sizes.dim
        feed_forward = 2 * sizes.dim * sizes.feed_forward
        # Weights each token meets, for FLOPs: the source also makes keys and values for every decoder layer.
        self.per_source = sizes.encoder_layers * (4 * square + feed_forward) + sizes.decoder_layers * 2 * square
        self.per_target = sizes.decoder_layers * (6 * square + feed_forward)
        self.per_label = sizes.dim * model.vocabulary.text_size
        name = torch.cuda.get_device_name(processes.device) if processes.device.type == "cuda" else ""
        self.peak = next((peak for key, peak in PEAKS.items() if key in name), None)

    def start(self, progress: Progress) -> None:
        """Begin to count, from now."""
        self.clock, self.before = time.monotonic(), progress.seconds
        self.steps, self.flops = 0, 0.0
        self.losses = torch.zeros(1, dtype=torch.float64, device=self.processes.device)
        self.labels, self.targets = 0, 0
        self.since = self.clock

    def add(self, batch: Batch, plain: Tensor) -> None:
        self.losses += plain
        self.labels += len(batch.labels)
        self.targets += len(batch.target.tokens)
        self.flops += 6 * (
            len(batch.source.tokens) * self.per_source
            + len(batch.target.tokens) * self.per_target
            + len(batch.labels) * self.per_label
        )

    def step(self, progress: Progress, rate: float) -> None:
        now = time.monotonic()
        progress.seconds = self.before + now - self.clock
        self.steps += 1
        if progress.step % self.every:
            return
        counts = torch.tensor([self.labels, self.targets, self.flops], dtype=torch.float64, device=self.losses.device)
        loss, labels, targets, flops = self.processes.sum(torch.cat([self.losses, counts])).tolist()
        seconds = time.monotonic() - self.since
        left = (self.max_steps - progress.step) * seconds / self.steps
        if self.max_minutes:
            left = min(left, 60 * self.max_minutes - progress.seconds)
        self.log.record(
            progress.step,
            "train",
            loss=loss / labels,
            epoch=progress.epoch,
            rate=rate,
            target_tokens_per_second=targets / seconds,
            mfu=flops / seconds / (self.peak * self.processes.world) if self.peak else None,
            validation=progress.best_loss,
            time_left=clock(left),
        )
        self.steps, self.flops, self.labels, self.targets = 0, 0.0, 0, 0
        self.losses.zero_()
        self.since = time.monotonic()

    def validated(self, progress: Progress, loss: float, bleu: float | None) -> None:
        self.log.record(
            progress.step,
            "validation",
            True,
            loss=loss,
            perplexity=math.exp(min(loss, 50)),
            bleu=bleu,
            best_step=progress.best_step,
        )


def clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, int(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def validation_sample(corpus: Corpus, sentences: int) -> list[int]:
    """Whole documents, evenly spread, of about so many sentences together."""
    sizes = np.diff(corpus.documents)
    if not sentences or not len(sizes):
        return []
    wanted = max(1, min(len(sizes), round(sentences / sizes.mean())))
    return [int(number) for number in np.linspace(0, len(sizes) - 1, wanted).round()]


def document_ids(corpus: Corpus, number: int) -> tuple[list[list[int]], list[list[int]]]:
    """Source and target sentences of a document as ids."""
    sentences = range(int(corpus.documents[number]), int(corpus.documents[number + 1]))
    return [corpus.source[i].tolist() for i in sentences], [corpus.target[i].tolist() for i in sentences]


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
