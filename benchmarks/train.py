"""Training speed of the systems, in one run: useful target tokens a second, updates a second, peak memory.

    python benchmarks/train.py                                          made-up sentences, small model, CPU
    python benchmarks/train.py --data prepared/europarl --base --precision bf16 --compile --batch-tokens 32768

Tokens are those of the target side that the model processes, local context included, padding not (there is none).
The ratio is in updates a second to doc2doc; a stage II update has the same budget of tokens for every system.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch

from docflat.batches import Batches
from docflat.checkpoints import vocabulary_of
from docflat.config import ModelSizes, RowSettings
from docflat.console import print_table
from docflat.corpus import Corpus
from docflat.decoding import SentenceList
from docflat.subwords import Subwords
from docflat.systems import SYSTEMS, find_system
from docflat.transformer import Vocabulary

SMALL = ModelSizes(dim=64, heads=4, feed_forward=256, encoder_layers=2, decoder_layers=2)


def made_up(sentences: int, vocabulary: int) -> tuple[Any, Any, Any]:
    """Documents of 10 sentences whose lengths are spread like those of real ones (median 24 subwords)."""
    rng = np.random.default_rng(1)
    sides = []
    for _ in range(2):
        lengths = np.clip(rng.lognormal(np.log(24), 0.6, sentences), 1, 200).astype(int)
        sides.append(SentenceList([rng.integers(4, vocabulary, n).tolist() for n in lengths]))
    return np.arange(0, sentences + 1, 10), sides[0], sides[1]


def measure(name: str, data: tuple[Any, Any, Any], vocabulary: Vocabulary, options: argparse.Namespace) -> list[Any]:
    system = find_system(name)
    sizes = ModelSizes() if options.base else SMALL
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(1)
    model = system.build(sizes, vocabulary, system.read_options({}), dropout=0.1).to(device).train()
    rows = system.rows_of(RowSettings())
    batches = Batches(*data, rows, system.layout(rows, vocabulary), options.batch_tokens, shuffle_rows=system.sentence_level)
    plan = batches.plan(np.random.default_rng(1))
    wanted = options.warmup + options.steps
    if len(plan) < wanted:
        raise SystemExit(f"the data has {len(plan)} batches, but --warmup and --steps want {wanted}")
    laid_out = [plan[number].to(device) for number in range(wanted)]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    runner: Any = torch.compile(model, dynamic=True) if options.compile else model
    half = {"fp32": None, "bf16": torch.bfloat16}[options.precision]
    cast = nullcontext() if half is None else torch.autocast(device.type, half)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start = 0.0
    for number, batch in enumerate(laid_out):
        if number == options.warmup:
            synchronize(device)
            start = time.perf_counter()
        with cast:
            loss, _ = runner(batch, 0.1)
        (loss / len(batch.labels)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    synchronize(device)
    seconds = time.perf_counter() - start
    timed = laid_out[options.warmup :]
    tokens = sum(len(batch.target.tokens) for batch in timed)
    labels = sum(len(batch.labels) for batch in timed)
    memory = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else None
    return [name, tokens / seconds, labels / seconds, len(timed) / seconds, memory]


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
    parser.add_argument("--steps", type=int, default=20, help="updates to time")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    if options.data:
        vocabulary = vocabulary_of(Subwords.load(options.data / "tokenizer.json"))
        corpus = Corpus.open(options.data / "train")
        data: tuple[Any, Any, Any] = (corpus.documents, corpus.source, corpus.target)
    else:
        text_size = 32_000 if options.base else 1000
        vocabulary = Vocabulary(text_size + 256, text_size, 1, 2, 3)
        data = made_up(20_000, text_size)
    rows = [measure(name, data, vocabulary, options) for name in options.systems.split(",")]
    base = next((row[3] for row in rows if row[0] == "doc2doc"), None)
    print_table(
        ["system", "target tokens/s", "predicted tokens/s", "updates/s", "peak GiB", "updates vs doc2doc"],
        [[*row, row[3] / base if base else None] for row in rows],
        options.json,
    )


if __name__ == "__main__":
    main()
