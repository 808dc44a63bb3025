"""How far engines agree: the share of sentences that get the same words, and BLEU, in one run.

    python benchmarks/engines.py --lines 700 --pair europarl/dev.en europarl/dev.de --pair ted/dev.en ted/dev.de \
      --pair news/dev.en news/dev.de

Sentence by sentence, with int8 products and a beam of 5: torch with batches of 64, and of 16; ONNX Runtime with all
words, with a shortlist, and in fp32. Torch rounds what products read with one scale for a whole batch, so that its
words depend on the batch: how far it agrees with itself is the measure for how far others can agree with it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from docflat.support.console import print_table
from docflat.translation.translator import Translator
from docflat.weights.shipped import model_folder

VARIANTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "torch, batch 64": ("torch", "int8", {"batch_size": 64}),
    "torch, batch 16": ("torch", "int8", {"batch_size": 16}),
    "onnx": ("onnx", "int8", {"shortlist": False}),
    "onnx, shortlist": ("onnx", "int8", {"shortlist": True}),
    "onnx, fp32": ("onnx", "fp32", {"shortlist": False}),
}


def read_pair(source: Path, target: Path, most: int) -> list[tuple[str, str]]:
    sides = [path.read_text(encoding="utf-8").split("\n") for path in (source, target)]
    return [pair for pair in zip(*sides, strict=True) if all(map(str.strip, pair))][:most]


def same(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """In per cent."""
    return 100 * sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=model_folder, default=model_folder("en-de"))
    parser.add_argument("--pair", type=Path, nargs=2, action="append", required=True, metavar="FILE")
    parser.add_argument("--lines", type=int, default=700, help="of each pair")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pairs = [read_pair(source, target, options.lines) for source, target in options.pair]
    sources = [source for part in pairs for source, _ in part]
    translated: dict[str, list[str]] = {}
    for name in options.variants:
        engine, precision, settings = VARIANTS[name]
        translator = Translator.load(options.model, engine=engine, precision=precision, threads=options.threads)
        translated[name] = translator.translate(sources, mode="sentence", **settings)
        print(f"{name}: done", flush=True)
    rows = []
    for name, lines in translated.items():
        scores, start = [], 0
        for part in pairs:
            references = [[target for _, target in part]]
            scores.append(BLEU().corpus_score(lines[start : start + len(part)], references).score)
            start += len(part)
        rows.append([name, *(same(lines, others) for others in translated.values()), *scores])
    sets = [f"BLEU, {files[0].parent.name}" for files in options.pair]
    print_table(["what", *(f"same as {name}, %" for name in translated), *sets], rows, options.json)


if __name__ == "__main__":
    main()
