"""Training speed of the systems, in one run: useful target tokens a second, updates a second, peak memory.

    python benchmarks/train.py                                          made-up sentences, small model, CPU
    python benchmarks/train.py --data prepared/europarl --base --precision bf16 --compile --batch-tokens 32768

Tokens are those of the target side that the model processes, local context included, padding not.
An update is that of `docflat train`, with what it copies to a GPU; batches were laid out before.
The ratio is in updates a second to doc2doc; a stage II update has the same budget of tokens for every system.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from docflat.data.batches import DocumentBatches
from docflat.data.corpus import Corpus
from docflat.data.row_settings import RowSettings
from docflat.data.rows import SentenceList
from docflat.data.subwords import Subwords
from docflat.model.batch import Batch
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.support.console import print_table
from docflat.systems import SYSTEMS, find_system
from docflat.training.learner import Learner, rates_of
from docflat.training.meter import Meter
from docflat.training.recipe import Recipe, Stage
from docflat.training.steps import Step, steps_from
from docflat.training.torchrun import Processes
from docflat.weights.config import vocabulary_of
from docflat.weights.folders import Progress

SMALL = ModelSizes(dim=64, heads=4, feed_forward=256, encoder_layers=2, decoder_layers=2)


def made_up(sentences: int, vocabulary: int) -> tuple[Any, Any, Any]:
    """Documents of 10 pairs whose lengths are spread like those of real ones (median 24 subwords), both sides alike."""
    rng = np.random.default_rng(1)
    source = rng.lognormal(np.log(24), 0.6, sentences)
    sides = []
    for lengths in (source, source * rng.lognormal(0, 0.2, sentences)):
        clipped = np.clip(lengths, 1, 200).astype(int)
        sides.append(SentenceList([rng.integers(4, vocabulary, n).tolist() for n in clipped]))
    return np.append(np.arange(0, sentences, 10), sentences), sides[0], sides[1]


def read_data(options: argparse.Namespace, sentences: int) -> tuple[Vocabulary, tuple[Any, Any, Any]]:
    """A prepared corpus, or so many made-up sentences: its vocabulary; its documents, sources and targets."""
    if options.data:
        corpus = Corpus.open(options.data / "train")
        vocabulary = vocabulary_of(Subwords.load(options.data / "tokenizer.json"))
        return vocabulary, (corpus.documents, corpus.source, corpus.target)
    text_size = 32_000 if options.base else 1000
    return Vocabulary(text_size + 256, text_size, 1, 2, 3), made_up(sentences, text_size)


class CountsNothing(Meter):
    """What an update tells, and nobody asks here."""

    def __init__(self) -> None:
        pass

    def add(self, batch: Batch, plain: Tensor) -> None:
        pass


COUNTS_NOTHING = CountsNothing()


class Run:
    """One system's training, ready to be timed."""

    def __init__(
        self, name: str, data: tuple[Any, Any, Any], vocabulary: Vocabulary, options: argparse.Namespace
    ) -> None:
        system = find_system(name)
        sizes = ModelSizes() if options.base else SMALL
        processes = Processes.start("auto")
        self.name, self.device = name, processes.device
        torch.manual_seed(1)
        model = system.build(sizes, vocabulary, system.read_options({}), dropout=0.1)
        rows = system.rows_of(RowSettings())
        stage = Stage(name, rows=rows, batch_tokens=options.batch_tokens, accumulate=1)
        recipe = Recipe(Path(), Path(), (stage,), sizes, precision=options.precision, compile=options.compile)
        rates = rates_of(model, system.sentence_rate)  # some systems leave the sentence model as it was
        before = torch.cuda.memory_allocated() if self.device.type == "cuda" else 0
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        self.learner = Learner(model, rates, stage, recipe, processes, [1, 0])
        layout = system.layout(rows, vocabulary)
        batches = DocumentBatches(*data, rows, layout, options.batch_tokens, shuffle_rows=system.sentence_level)
        self.learner.prepare(batches)
        found = steps_from(batches, self.learner.seeds, Progress(), 1, processes, self.learner.pack)
        steps = [lay_out() for lay_out in islice(found, options.warmup + options.steps)]
        self.step(steps[: options.warmup])
        self.memory = (torch.cuda.max_memory_allocated() - before) / 2**30 if self.device.type == "cuda" else None
        self.timed = steps[options.warmup :]
        self.seconds: list[float] = []

    def step(self, steps: Sequence[Step]) -> None:
        for number, step in enumerate(steps, 1):
            self.learner.update(step, number, 1e-4, COUNTS_NOTHING)
        synchronize(self.device)

    def time(self) -> None:
        start = time.perf_counter()
        self.step(self.timed)
        self.seconds.append(time.perf_counter() - start)

    def result(self) -> list[Any]:
        seconds = statistics.median(self.seconds)
        tokens = sum(len(step.batches[0].target.tokens) for step in self.timed)
        labels = sum(step.labels for step in self.timed)
        return [self.name, tokens / seconds, labels / seconds, len(self.timed) / seconds, self.memory]

    def profile(self) -> str:
        """Where the time of a few updates goes, by kernel."""
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if self.device.type == "cuda":
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        with torch.profiler.profile(activities=kinds) as profiler:
            self.step(self.timed[:3])
        by = "self_cuda_time_total" if self.device.type == "cuda" else "self_cpu_time_total"
        return f"{self.name}\n" + profiler.key_averages().table(sort_by=by, row_limit=40, max_name_column_width=90)


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of `docflat prepare`")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="which, separated by commas")
    parser.add_argument("--base", action="store_true", help="Transformer-base instead of a small model")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--warmup", type=int, default=5, help="updates before the clock starts")
    parser.add_argument("--steps", type=int, default=20, help="updates to time, in each round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--setup-seconds", type=float, default=0, help="take on no further system after this long")
    parser.add_argument("--profile", type=Path, help="write here where the time of the first three goes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    vocabulary, data = read_data(options, 20_000)
    torch._dynamo.config.recompile_limit = 200  # all systems share the code that is compiled
    torch._dynamo.config.accumulated_recompile_limit = 1000
    runs: list[Run] = []
    begin = time.perf_counter()
    for name in options.systems.split(","):
        start = time.perf_counter()
        if options.setup_seconds and start - begin > options.setup_seconds:
            print(f"{name}: left out, the time to get ready is over", file=sys.stderr, flush=True)
            continue
        try:
            runs.append(Run(name, data, vocabulary, options))
        except RuntimeError as error:  # the others are worth having
            print(f"{name}: failed: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            continue
        print(f"{name}: ready after {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    for _ in range(options.rounds):  # in turns, so that a busy moment of the machine meets all of them
        for run in runs:
            run.time()
    if options.profile:
        options.profile.write_text("\n\n".join(run.profile() for run in runs[:3]), encoding="utf-8")
    rows = [run.result() for run in runs]
    base = next((row[3] for row in rows if row[0] == "doc2doc"), None)
    print_table(
        ["system", "target tokens/s", "predicted tokens/s", "updates/s", "peak GiB", "updates vs doc2doc"],
        [[*row, row[3] / base if base else None] for row in rows],
        options.json,
    )


if __name__ == "__main__":
    main()
