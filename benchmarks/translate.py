"""Translation speed on a CPU, in one run: our systems in float32 and int8, and CTranslate2 in int8.

    python benchmarks/translate.py --threads 2

Transformer-base with 32,000 subwords and random weights; sentences of 30 subwords become 30, in batches of 16 sentences
with a beam of 5. The rounds go in turns, so that a busy moment of the machine meets all of them; the median counts.
CTranslate2 gets the weights of our sent2sent and doc2doc by `docflat export`.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from docflat.batches import Layout, Side, flatten_side
from docflat.caches import GlobalContext
from docflat.checkpoints import ModelConfig, ModelFolder
from docflat.config import ModelSizes, RowSettings
from docflat.console import print_table
from docflat.decoding import SentenceList, beam_search
from docflat.export import export_ctranslate2
from docflat.quantization import quantize
from docflat.rows import Rows
from docflat.systems import find_system
from docflat.transformer import Vocabulary

VOCABULARY = Vocabulary(32_256, 32_000, bos=1, eos=2, mask=3)


class Names:
    """In the place of subwords: names for ids, which is all that an export needs."""

    def names(self) -> list[str]:
        return ["<pad>", "<s>", "</s>", "<mask>", *(f"t{n}" for n in range(4, VOCABULARY.size))]

    def save(self, path: Path) -> None:
        pass


class Work:
    """Sentences to translate, laid out for a system."""

    def __init__(self, name: str, rows: int, length: int) -> None:
        self.system, self.length = find_system(name), length
        self.settings = self.system.rows_of(RowSettings())
        self.layout: Layout = self.system.layout(self.settings, VOCABULARY)
        rng = np.random.default_rng(1)
        words = [rng.integers(4, VOCABULARY.text_size, length).tolist() for _ in range(rows)]
        self.text, number = SentenceList(words), np.arange(rows)
        context = np.minimum(self.settings.context or 0, number)
        self.rows = Rows(number, context, number, number, 0 * number)

    def side(self, close: bool, prefix_only: bool = False) -> Side:
        rows = self.rows if close else self.layout.target_rows(self.rows)
        return flatten_side(self.text, rows, self.layout, close=close, prefix_only=prefix_only)

    def tokens(self, side: Side, names: list[str]) -> list[list[str]]:
        return [[names[token] for token in row.tolist()] for row in side.tokens.split(side.rows.lengths.tolist())]


def ours(work: Work, model: Any, beam: int) -> Callable[[], int]:
    source, prefix, whole = work.side(True), work.side(False, prefix_only=True), work.side(False)
    context = GlobalContext(whole, torch.arange(len(work.rows)))  # the first pass's translations

    def translate() -> int:
        with torch.inference_mode():
            found = beam_search(model, model.encode(source), prefix, [work.length] * len(work.rows), beam, 1.0, context)
        return sum(len(one.best) for one in found)

    return translate


def theirs(work: Work, model: Any, beam: int, threads: int, folder: Path) -> Callable[[], int]:
    import ctranslate2  # type: ignore[import-untyped, unused-ignore]

    names: Any = Names()
    config = ModelConfig(work.system.name, model.sizes, {}, work.settings)
    export_ctranslate2(ModelFolder(config, names, model), folder)
    translator = ctranslate2.Translator(str(folder), compute_type="int8", inter_threads=1, intra_threads=threads)
    source = work.tokens(work.side(True), names.names())
    prefixes = work.tokens(work.side(False, prefix_only=True), names.names())

    def translate() -> int:
        lengths = [len(prefix) + work.length for prefix in prefixes]
        found = translator.translate_batch(
            source,
            target_prefix=None if work.system.sentence_level else prefixes,
            beam_size=beam,
            min_decoding_length=min(lengths) if not work.system.sentence_level else work.length,
            max_decoding_length=max(lengths) if not work.system.sentence_level else work.length,
        )
        prefix = 0 if work.system.sentence_level else sum(len(one) for one in prefixes)
        return sum(len(one.hypotheses[0]) for one in found) - prefix

    return translate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default="sent2sent,doc2doc,docflat-c")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int, default=16, help="sentences a batch")
    parser.add_argument("--length", type=int, default=30, help="subwords a sentence")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fp32", action="store_true", help="our systems in float32 too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    runs: list[tuple[str, Callable[[], int]]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.systems.split(","):
            work = Work(name, options.rows, options.length)
            system = work.system
            for kind in ("fp32", "int8") if options.fp32 else ("int8",):
                torch.manual_seed(1)
                model = system.build(ModelSizes(), VOCABULARY, system.read_options({})).eval()
                if name == "sent2sent" and kind == "int8":
                    runs.append(
                        (
                            "CTranslate2 sent2sent int8",
                            theirs(work, model, options.beam, options.threads, Path(scratch) / name),
                        )
                    )
                if kind == "int8":
                    quantize(model)
                runs.append((f"{name} {kind}", ours(work, model, options.beam)))
        tokens = {name: translate() for name, translate in runs}  # and warm up
        seconds: dict[str, list[float]] = {name: [] for name, _ in runs}
        for _ in range(options.rounds):
            for name, translate in runs:
                start = time.perf_counter()
                translate()
                seconds[name].append(time.perf_counter() - start)
    speed = {name: tokens[name] / statistics.median(seconds[name]) for name, _ in runs}
    peer, base = speed.get("CTranslate2 sent2sent int8"), speed.get("doc2doc int8")
    print_table(
        ["what", "target tokens/s", "vs CTranslate2", "vs doc2doc int8"],
        [
            [name, value, value / peer if peer else None, value / base if base else None]
            for name, value in speed.items()
        ],
        options.json,
    )
    print(f"peak memory of all together: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
