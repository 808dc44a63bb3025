"""What training counts: loss, tokens a second, the share of the device's peak, time left."""

from __future__ import annotations

import math
import time

import torch
from torch import Tensor

from docflat.model.batch import Batch
from docflat.model.transformer import Transformer
from docflat.training.log import Log
from docflat.training.recipe import Stage
from docflat.training.torchrun import Processes
from docflat.weights.folders import Progress

# Dense bf16 peak of the data sheets, FLOP/s, for the share of it that training reaches (MFU).
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "A40": 149.7e12, "L40": 181e12}


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
