"""The learner: a model and how a step updates it, compiled, in half precision, as a graph, on several processes."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from docflat.data.batches import DocumentBatches
from docflat.model.batch import Batch
from docflat.model.layers import has_kernel
from docflat.model.transformer import Transformer
from docflat.training.cuda_graph import DoesNotFit, Shapes, StepGraph, fill, pack, shapes_around
from docflat.training.meter import Meter
from docflat.training.recipe import Recipe, Stage
from docflat.training.steps import Step
from docflat.training.torchrun import Processes
from docflat.weights.folders import Progress

logger = logging.getLogger(__name__)

SAMPLE = 64  # batches, from which the shapes of a graph are taken


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
        self.records &= not self.model.sizes.architecture.recurrent_decoder
        self.records &= kind == "cuda" and half == torch.bfloat16 and has_kernel(self._any_query(torch.bfloat16))
        self.graph: StepGraph | None = None
        self.shapes: Shapes | None = None

    def _any_query(self, dtype: torch.dtype) -> Tensor:
        sizes = self.model.sizes
        return torch.empty(1, sizes.heads, sizes.dim // sizes.heads, dtype=dtype, device=self.processes.device)

    def prepare(self, batches: DocumentBatches) -> None:
        """Get ready for batches like these."""
        if self.records:
            # Those of the first epoch, also when a later one goes on: what is recorded must not depend on that.
            plan = batches.plan(np.random.default_rng([*self.seeds, 0]), 0)
            some = [Batch.of_flat(plan[number]) for number in range(0, len(plan), 1 + len(plan) // SAMPLE)]
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
                logger.warning(
                    f"a step cannot be recorded as a CUDA graph, so steps are slower: {str(error).splitlines()[0]}"
                )
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


def sentence_model(model: Transformer) -> Transformer:
    """What a model shares with every other of its sizes: shapes only."""
    with torch.device("meta"):
        return Transformer(model.sizes, model.vocabulary)


def rates_of(model: Transformer, factor: float) -> dict[str, float]:
    """By name, of each parameter its factor to the learning rate: this one for what the sentence model has too."""
    shared = set(sentence_model(model).state_dict())
    return {name: factor if name in shared else 1.0 for name, _ in model.named_parameters()}


def compile_parts(model: Transformer) -> None:
    """Compile what a batch passes through, each once for batches of all lengths.

    Layer by layer, not as a whole: the layers of a stack share one compilation, which takes seconds instead of
    minutes, and nothing could be fused across them anyway but what lies between two matrix products.
    """
    # Two lengths that are equal by chance must not be taken for one and the same: that would compile anew later.
    torch.fx.experimental._config.use_duck_shape = False
    # The gradients of a norm in one kernel, for its input and its weights, are slower than in two
    # (docs/log/2026-11-18-training-on-a-gpu).
    fused = {"triton.mix_order_reduction": False}
    options = {name: value for name, value in fused.items() if name in torch._inductor.list_options()}
    how: dict[str, Any] = {"dynamic": True, "options": options}
    model.start_source = torch.compile(model.start_source, **how)  # type: ignore[method-assign]
    model.start_target = torch.compile(model.start_target, **how)  # type: ignore[method-assign]
    model.grade = torch.compile(model.grade, **how)
    base = {name for name, _ in sentence_model(model).named_children()}
    added = [part for name, part in model.named_children() if name not in base]
    for part in (*model.encoder, *model.decoder, *added):
        part.compile(**how)
