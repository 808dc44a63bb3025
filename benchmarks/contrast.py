"""Speed of contrastive scoring, in one run: all candidates of a set against its references alone, each once.

    python benchmarks/contrast.py --set contrapro.jsonl.xz                  a base model of random weights
    python benchmarks/contrast.py --set contrapro.jsonl.xz --model runs/first/model

The time is that from text to scores, subwords included, without loading. Both ways take turns, and the best turn of
each counts. Without a model, subwords are learned from the set itself; weights do not change the time.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from docflat.data.row_settings import RowSettings
from docflat.data.subwords import Subwords
from docflat.engines.torch.engine import on_torch
from docflat.evaluation.contrastive.examples import ContrastiveExample, read_contrastive
from docflat.evaluation.contrastive.scoring import draw, score_examples
from docflat.model.sizes import ModelSizes
from docflat.support.console import print_table
from docflat.systems import find_system
from docflat.translation.translator import Translator
from docflat.weights.config import ModelConfig
from docflat.weights.folders import ModelFolder


def made_up(examples: Sequence[ContrastiveExample], system: str, device: str) -> Translator:
    texts = [text for example in examples for text in (*example.source_context, example.source)]
    targets = [text for example in examples for text in (*example.target_context, *example.candidates)]
    subwords = Subwords.learn(texts, 32_000, target_texts=targets)
    found = find_system(system)
    config = ModelConfig(system, ModelSizes(), dict(found.preset), found.rows_of(RowSettings()))
    torch.manual_seed(1)
    model = config.build(subwords).eval()
    model.to(device, torch.bfloat16 if device == "cuda" else None)
    return Translator(on_torch(ModelFolder(config, subwords, model)))


def seconds(translator: Translator, examples: Sequence[ContrastiveExample]) -> float:
    start = time.perf_counter()
    score_examples(translator, examples)  # ends with numbers on the host, so the GPU is done
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=Path, required=True, help="a contrastive set")
    parser.add_argument("--model", type=Path, help="a model folder")
    parser.add_argument("--systems", default="docflat-c", help="of the models of random weights, separated by commas")
    parser.add_argument("--limit", type=int, help="examples, drawn at random")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    whole = read_contrastive(options.set)
    examples = draw(whole, options.limit, seed=1)
    once = [replace(example, contrastives=()) for example in examples]
    rows = []
    for name in ["given"] if options.model else options.systems.split(","):
        translator = Translator.load(options.model) if options.model else made_up(whole, name, device)
        score_examples(translator, examples[:200])  # kernels are chosen and memory is taken on first use
        turns = [(seconds(translator, once), seconds(translator, examples)) for _ in range(options.turns)]
        alone, everything = (min(column) for column in zip(*turns, strict=True))
        system, size = translator.model.config.system, translator.model.subwords.text_size
        rows.append([system, size, len(examples), alone, everything, everything / alone])
    columns = ["system", "subwords", "examples", "references alone (s)", "all candidates (s)", "ratio"]
    cpu = f"{platform.machine()}, {torch.get_num_threads()} threads"
    machine = torch.cuda.get_device_name() if device == "cuda" else cpu
    print_table(columns, rows, options.json, f"{machine}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
