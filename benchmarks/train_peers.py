"""Training speed of stage I against peers, on the same sentence pairs in the same run.

    python benchmarks/train_peers.py                                    made-up sentences, small model, CPU
    python benchmarks/train_peers.py --data prepared/europarl --base --warmup 12

docflat: sent2sent as `docflat train` does it, on a GPU compiled and recorded as a graph.
huggingface: a MarianMTModel of the same sizes with its own attention and its trainer's loss, on padded batches of
sentences of like length; huggingface-compiled: that, compiled.
torch: a compiled torch.nn.Transformer of the same sizes on random rows of 32 tokens, which need no padding and no shape
but one; what to expect where nothing is lost. All have dropout 0.1, label smoothing 0.1 and a fused Adam.

No batch is seen twice: a library that is fast only for sizes it has met before is not fast in training. Tokens are
those of the target side without padding; batches have at most --batch-tokens with it. The memory is what a peer takes
by itself while it warms up.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from train import COUNTS_NOTHING, SMALL, read_data  # beside this file

from docflat.data.batches import DocumentBatches
from docflat.data.row_settings import RowSettings
from docflat.data.subwords import Subwords
from docflat.model.batch import Batch
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.support.console import print_table
from docflat.systems import find_system
from docflat.training.cuda_graph import shapes_around
from docflat.training.learner import SAMPLE, Learner
from docflat.training.recipe import Recipe, Stage
from docflat.training.steps import Step
from docflat.training.torchrun import Processes

SMOOTHING, DROPOUT = 0.1, 0.1
ROW = 32  # tokens of a row for the stock Transformer
IGNORED = -100  # the label of padding


@dataclass(frozen=True)
class Task:
    """What all of them train on."""

    sizes: ModelSizes
    vocabulary: Vocabulary
    sample: list[Batch]  # from all over the data
    warmup: list[Batch]
    rounds: list[list[Batch]]  # none is seen twice: in training, too, sizes hardly ever repeat
    batch_tokens: int
    pad_to: int
    device: torch.device
    precision: Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Peer:
    model: nn.Module
    loss: Callable[[Any], Tensor] | None  # of a batch, the mean over its labels; None: it has an update of its own
    warmup: Sequence[Any]
    rounds: Sequence[Sequence[Any]]
    tokens: Sequence[int]  # useful target tokens of each round
    update: Callable[[Any], None] | None = None


def ours(task: Task) -> Peer:
    """As `docflat train` does it; batches were laid out before, and are copied to the GPU step by step."""
    system = find_system("sent2sent")
    model = system.build(task.sizes, task.vocabulary, system.read_options({}), dropout=DROPOUT)
    stage = Stage("sent2sent", batch_tokens=task.batch_tokens, accumulate=1, dropout=DROPOUT, label_smoothing=SMOOTHING)
    gpu = task.device.type == "cuda"  # on a CPU, attention would be compiled anew for every longest sentence
    recipe = Recipe(Path(), Path(), (stage,), task.sizes, precision=task.precision, compile=gpu)
    rates = {name: 1.0 for name, _ in model.named_parameters()}
    learner = Learner(model, rates, stage, recipe, Processes.start("auto"), [1, 0])
    if learner.records:
        learner.shapes = shapes_around(task.sample, task.batch_tokens)

    def laid_out(batch: Batch) -> Step:
        return Step([batch], [0], len(batch.labels), 0, 0, 0, learner.pack(batch))

    warmup, *rounds = ([laid_out(batch) for batch in batches] for batches in (task.warmup, *task.rounds))
    tokens = [sum(step.labels for step in steps) for steps in rounds]
    return Peer(model, None, warmup, rounds, tokens, lambda step: learner.update(step, 1, 1e-4, COUNTS_NOTHING))


def marian(sizes: ModelSizes, vocabulary: Vocabulary, dropout: float = 0.0) -> Any:
    """Hugging Face's Transformer of these sizes with random weights; it knows no index tokens."""
    from transformers import MarianConfig, MarianMTModel  # type: ignore[import-not-found, unused-ignore]

    config = MarianConfig(
        vocab_size=vocabulary.text_size,
        d_model=sizes.dim,
        encoder_layers=sizes.encoder_layers,
        decoder_layers=sizes.decoder_layers,
        encoder_attention_heads=sizes.heads,
        decoder_attention_heads=sizes.heads,
        encoder_ffn_dim=sizes.feed_forward,
        decoder_ffn_dim=sizes.feed_forward,
        activation_function="relu",
        dropout=dropout,
        activation_dropout=dropout,
        scale_embedding=True,
        pad_token_id=Subwords.pad,
        bos_token_id=vocabulary.bos,
        eos_token_id=vocabulary.eos,
        decoder_start_token_id=vocabulary.bos,
        forced_eos_token_id=None,
    )
    return MarianMTModel(config)


def hugging_face(task: Task, compile_: bool = False) -> Peer:
    from transformers.trainer_pt_utils import LabelSmoother  # type: ignore[import-not-found, unused-ignore]

    model = marian(task.sizes, task.vocabulary, DROPOUT).to(task.device).train()
    runner: Any = torch.compile(model, dynamic=True) if compile_ else model
    smoother: Any = LabelSmoother(SMOOTHING, IGNORED)

    def loss(batch: tuple[Tensor, Tensor, Tensor, int]) -> Tensor:
        source, target, labels, count = batch
        # No mask for the target, as its collator gives none: the causal one hides the padding.
        output = runner(
            input_ids=source, attention_mask=source != Subwords.pad, decoder_input_ids=target, use_cache=False
        )
        return smoother(output, labels, num_items_in_batch=count)

    rounds = [padded(batches, task) for batches in task.rounds]
    tokens = [sum(count for *_, count in batches) for batches in rounds]
    return Peer(model, loss, padded(task.warmup, task), rounds, tokens)


def padded(batches: Sequence[Batch], task: Task) -> list[tuple[Tensor, Tensor, Tensor, int]]:
    """The same sentences, those of like length together: source, target and labels (rows, tokens); how many labels."""
    sides: list[list[Tensor]] = [[], [], []]
    for batch in batches:
        lengths = batch.target.rows.lengths.tolist()
        sides[0] += batch.source.tokens.split(batch.source.rows.lengths.tolist())
        sides[1] += batch.target.tokens.split(lengths)
        sides[2] += batch.labels.split(lengths)

    def longer(pair: tuple[Tensor, ...]) -> int:
        return max(len(pair[0]), len(pair[1]))

    def ceiling(length: int) -> int:
        return -(-length // task.pad_to) * task.pad_to

    cuts: list[list[tuple[Tensor, ...]]] = [[]]
    # By the longer side, which the budget is about: batches are as full as can be.
    for pair in sorted(zip(*sides, strict=True), key=lambda pair: (longer(pair), len(pair[1]))):
        if cuts[-1] and (len(cuts[-1]) + 1) * ceiling(longer(pair)) > task.batch_tokens:
            cuts.append([])
        cuts[-1].append(pair)

    def pad(sentences: Sequence[Tensor], value: int) -> Tensor:
        block = torch.full((len(sentences), ceiling(max(map(len, sentences)))), value)
        for row, tokens in zip(block, sentences, strict=True):
            row[: len(tokens)] = tokens
        return block.to(task.device)

    laid_out = []
    for number in np.random.default_rng(1).permutation(len(cuts)):
        source, target, labels = zip(*cuts[number], strict=True)
        count = sum(map(len, labels))
        laid_out.append((pad(source, Subwords.pad), pad(target, Subwords.pad), pad(labels, IGNORED), count))
    return laid_out


class Stock(nn.Module):
    """torch.nn.Transformer between one table that embeds and predicts."""

    def __init__(self, sizes: ModelSizes, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, sizes.dim)
        nn.init.normal_(self.embedding.weight, std=sizes.dim**-0.5)
        self.transformer = nn.Transformer(
            sizes.dim,
            sizes.heads,
            sizes.encoder_layers,
            sizes.decoder_layers,
            sizes.feed_forward,
            DROPOUT,
            batch_first=True,
        )
        for module in self.transformer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0  # the others have none there
        self.dropout = nn.Dropout(DROPOUT)
        self.positions: Tensor
        self.register_buffer("positions", torch.randn(ROW, sizes.dim))  # any will do: what counts is the time
        self.mask: Tensor
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(ROW))

    def embed(self, tokens: Tensor) -> Tensor:
        """(rows, ROW) -> (rows, ROW, dim)."""
        return self.dropout(self.embedding(tokens) * self.positions.shape[1] ** 0.5 + self.positions)

    def forward(self, source: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        """(rows, ROW) each -> the mean loss."""
        states = self.transformer(self.embed(source), self.embed(target), tgt_mask=self.mask, tgt_is_causal=True)
        logits = nn.functional.linear(states, self.embedding.weight).flatten(0, 1)
        return nn.functional.cross_entropy(logits, labels.flatten(), label_smoothing=SMOOTHING)


def stock(task: Task) -> Peer:
    model = Stock(task.sizes, task.vocabulary.text_size).to(task.device).train()
    runner = torch.compile(model, dynamic=False)
    rows = task.batch_tokens // ROW
    warmup, *rounds = (
        [torch.randint(4, task.vocabulary.text_size, (3, rows, ROW), device=task.device) for _ in batches]
        for batches in (task.warmup, *task.rounds)
    )
    return Peer(model, lambda batch: runner(*batch), warmup, rounds, [len(batches) * rows * ROW for batches in rounds])


PEERS: dict[str, Callable[[Task], Peer]] = {
    "docflat": ours,
    "torch": stock,
    "huggingface": hugging_face,
    "huggingface-compiled": lambda task: hugging_face(task, compile_=True),
}


class Run:
    """The training of one of them, ready to be timed."""

    def __init__(self, name: str, task: Task) -> None:
        self.name, self.cuda = name, task.device.type == "cuda"
        torch.manual_seed(1)
        before = 0
        if self.cuda:
            torch.cuda.init()  # before it there is no peak to forget
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        self.peer = PEERS[name](task)
        self.optimizer = torch.optim.Adam(self.peer.model.parameters(), lr=1e-4, fused=True)
        self.cast = torch.autocast(task.device.type, torch.bfloat16) if task.precision == "bf16" else nullcontext()
        self.step(self.peer.warmup)
        self.seconds: list[float] = []
        self.memory = (torch.cuda.max_memory_allocated() - before) / 2**30 if self.cuda else None

    def step(self, batches: Sequence[Any]) -> None:
        for batch in batches:
            if self.peer.update is not None:
                self.peer.update(batch)
                continue
            assert self.peer.loss is not None
            with self.cast:
                loss = self.peer.loss(batch)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        if self.cuda:
            torch.cuda.synchronize()

    def time(self) -> None:
        start = time.perf_counter()
        self.step(self.peer.rounds[len(self.seconds)])
        self.seconds.append(time.perf_counter() - start)

    def result(self) -> list[Any]:
        speed = statistics.median(n / s for n, s in zip(self.peer.tokens, self.seconds, strict=False))
        updates = statistics.median(len(b) / s for b, s in zip(self.peer.rounds, self.seconds, strict=False))
        return [self.name, speed, updates, self.memory]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def guarded(name: str, action: Callable[[], Any]) -> bool:
    """Whether it went well; one that fails must not take the others along."""
    try:
        action()
    except Exception as error:
        say(f"{name}: failed: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
    else:
        return True
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return False


def read_task(options: argparse.Namespace) -> Task:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    budget = options.batch_tokens or (32_768 if device.type == "cuda" else 2048)
    wanted = options.warmup + options.rounds * options.steps
    vocabulary, data = read_data(options, (wanted + 2) * budget // 20)  # a sentence has some 30 tokens
    system = find_system("sent2sent")
    rows = system.rows_of(RowSettings())
    plan = DocumentBatches(*data, rows, system.layout(rows, vocabulary), budget, shuffle_rows=True).plan(
        np.random.default_rng(1)
    )
    if len(plan) < wanted:
        raise SystemExit(f"the data has {len(plan)} batches, but {wanted} are wanted")
    batches = [Batch.of_flat(plan[number]) for number in range(wanted)]
    sizes = ModelSizes() if options.base else SMALL
    precision: Literal["fp32", "bf16"] = options.precision or ("bf16" if device.type == "cuda" else "fp32")
    firsts = range(options.warmup, wanted, options.steps)
    rounds = [batches[first : first + options.steps] for first in firsts]
    spread = range(0, len(plan), 1 + len(plan) // SAMPLE)  # as `Learner.prepare` does
    sample = [Batch.of_flat(plan[number]) for number in spread]
    warmup = batches[: options.warmup]
    return Task(sizes, vocabulary, sample, warmup, rounds, budget, options.pad_to, device, precision)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of `docflat prepare`")
    parser.add_argument("--peers", default="docflat,torch,huggingface", help=f"of {', '.join(PEERS)}")
    parser.add_argument("--base", action="store_true", help="Transformer-base instead of a small model")
    parser.add_argument("--precision", choices=("fp32", "bf16"), help="default: bf16 on a GPU")
    parser.add_argument("--batch-tokens", type=int, help="default: 32768 on a GPU, 2048 elsewhere")
    parser.add_argument("--pad-to", type=int, default=1, help="huggingface: lengths are multiples of this")
    parser.add_argument("--warmup", type=int, default=5, help="updates before the clock starts")
    parser.add_argument("--steps", type=int, default=20, help="flat batches to time, in each round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    torch._dynamo.config.recompile_limit = 200
    task = read_task(options)
    runs: list[Run] = []
    for name in options.peers.split(","):
        start = time.perf_counter()
        if guarded(name, lambda name=name: runs.append(Run(name, task))):  # type: ignore[misc]
            say(f"{name}: ready after {time.perf_counter() - start:.0f} s")
    for number in range(options.rounds):  # in turns, so that a busy moment of the machine meets all of them
        runs = [run for run in runs if guarded(run.name, run.time)]
        for name, tokens, updates, *_ in (run.result() for run in runs):
            say(f"round {number + 1}: {name}: {tokens:,.0f} target tokens/s, {updates:.2f} updates/s so far")
    rows = [run.result() for run in runs]
    base = next((row[1] for row in rows if row[0] == "docflat"), None)
    print_table(
        ["what", "target tokens/s", "updates/s", "peak GiB", "docflat to it"],
        [[*row, base / row[1] if base else None] for row in rows],
        options.json,
    )


if __name__ == "__main__":
    main()
