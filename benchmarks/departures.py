"""What departing from a paper changes on the probe (docs/systems.md): a system as it is here, and as the paper has it.

    python benchmarks/departures.py --out runs/departures
    python benchmarks/departures.py --out runs/departures --variants han,han-before --seeds 2

Each variant is the probe's training with some settings changed, or a part of the model exchanged; all start from the
same sentence model and see the same data. Right references in per cent by distance, as `docflat probe` has them.
What is in --out is not trained again.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager as Context
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from docflat.evaluation.probe.language import Language
from docflat.evaluation.probe.probe import Probe, accuracies, first_model, prepared_data, recipe, translate
from docflat.model.layers import Attention
from docflat.support.console import print_table
from docflat.systems.docflat import CLOSED, FlatBatchAttention
from docflat.training.loop import train
from docflat.training.recipe import Recipe
from docflat.translation.translator import Translator


class ElementGate(nn.Module):
    """The other reading of an element-wise layer: a weight and a bias for each element, sigmoid(w * a + b)."""

    def __init__(self, dim: int, inputs: int, bias: float | None = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.full((dim,), bias or 0.0))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.weight * x + self.bias)


class PaperAttention(Attention):
    """The paper's equation to the letter: scaled by the model's width, no output matrix."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__(dim, heads)
        del self.output

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = super().project(x)
        return queries / math.sqrt(self.heads), keys, values

    def queries(self, x: Tensor) -> Tensor:
        return super().queries(x) / math.sqrt(self.heads)

    def join(self, mixed: Tensor) -> Tensor:
        return mixed.flatten(-2)


def close_gate(attention: FlatBatchAttention) -> None:
    """As `close`, but there is no output to silence."""
    with torch.no_grad():
        nn.init.constant_(attention.gate.bias, CLOSED)


@contextmanager
def exchanged(**parts: Any) -> Iterator[None]:
    """Parts of flat-batch attention, which then is not folded for decoding."""
    close = parts.pop("close", FlatBatchAttention.close)
    with (
        patch.multiple("docflat.systems.docflat", **parts),
        patch.multiple(FlatBatchAttention, fold=lambda self: None, close=close),
    ):
        yield


@dataclass(frozen=True)
class Variant:
    system: str
    what: str
    stage: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, Any] = field(default_factory=dict)
    parts: Callable[[], Context[None]] = nullcontext

    def recipe(self, base: Recipe, out: Path) -> Recipe:
        (stage,) = base.stages
        stage = replace(stage, **self.stage, rows=replace(stage.rows, **self.rows))
        return replace(base, out=out, stages=(stage,))


WHOLE_BATCH = {"document_mask": False, "window": 0}
VARIANTS = {
    "docflat-c": Variant("docflat-c", "as it is"),
    "docflat-c-element": Variant("docflat-c", "gate of w * a + b", parts=lambda: exchanged(Gate=ElementGate)),
    "docflat-c-attention": Variant(
        "docflat-c",
        "no output matrix, scaled by the width",
        parts=lambda: exchanged(Attention=PaperAttention, close=close_gate),
    ),
    "docflat-c-batch": Variant("docflat-c", "all rows of a batch see each other", rows=WHOLE_BATCH),
    "docflat-c-small": Variant(
        "docflat-c",
        "all rows of a batch of 256 tokens see each other, 8 batches a step",
        stage={"batch_tokens": 256, "accumulate": 8},
        rows=WHOLE_BATCH,
    ),
    "han": Variant("han", "as it is"),
    "han-before": Variant("han", "without inner norms", stage={"options": {"inner_norms": False}}),
    "abd": Variant("abd", "as it is"),
    "abd-batch": Variant("abd", "all rows of a batch", rows=WHOLE_BATCH),
    "gtrans": Variant("gtrans", "as it is"),
    "gtrans-before": Variant("gtrans", "0.4 of the rate", stage={"learning_rate": 8e-4}),
}


def measure(probe: Probe, out: Path, name: str) -> dict[str, Any]:
    variant, folder = VARIANTS[name], out / f"seed-{probe.language.seed}"
    data = prepared_data(probe, folder)
    train(recipe(probe, folder, data, "sent2sent", probe.first_steps, start=None))
    base = recipe(probe, folder, data, variant.system, probe.steps, start=first_model(folder))
    with variant.parts():
        train(variant.recipe(base, folder / "variants" / name))
        model = folder / "variants" / name / "model"
        translator = Translator.load(model, device="cpu", first_pass=first_model(folder), engine="torch")
        test = probe.test()
        right = accuracies(test, translate(translator, test))
    return {"variant": name, "system": variant.system, "what": variant.what, "seed": probe.language.seed, **right}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variants", type=lambda text: text.split(","), default=list(VARIANTS), metavar="A,B")
    parser.add_argument("--seeds", type=lambda text: [int(n) for n in text.split(",")], default=[1], metavar="N,N")
    parser.add_argument("--steps", type=int, default=Probe(Language(1)).steps)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for seed in options.seeds:
        for name in options.variants:
            file = options.out / f"{name}-{seed}.json"
            if not file.exists():
                row = measure(Probe(Language(seed), steps=options.steps), options.out, name)
                file.write_text(json.dumps(row) + "\n", encoding="utf-8")
            rows.append(json.loads(file.read_text(encoding="utf-8")))
    print_table(list(rows[0]), [list(row.values()) for row in rows], options.json)


if __name__ == "__main__":
    main()
