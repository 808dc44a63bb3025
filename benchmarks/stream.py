"""The mode `stream` with documents of 10 to 10,000 sentences: time per sentence and memory, in one run.

    python benchmarks/stream.py --lengths 10,100,1000,10000
    python benchmarks/stream.py --probe runs/probe-demo

A small docflat-c with random weights; documents one at a time, so that a batch is one sentence, which comes out as long
as it came in. The lengths take turns of some sentences each, in which documents go on where they were, so that a busy
moment of the machine meets all of them. Time is that of the processor, of one thread; the median turn counts. Memory is
the peak of a process of its own for each length, beyond what it has when some short documents are translated. Text
comes from a generator: nothing else holds the document.

--probe: what a batch of one sentence loses, and what the window gives back, on the probe with a model of
`docflat probe --demo`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from docflat.data.row_settings import RowSettings
from docflat.data.rows import Ids
from docflat.decoding.passes import Passes
from docflat.decoding.settings import DecodingSettings
from docflat.engines.torch.engine import TorchEngine
from docflat.evaluation.probe.language import Language
from docflat.evaluation.probe.probe import Probe, accuracies
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.support.console import print_table
from docflat.systems import find_system
from docflat.translation.translator import Translator

SMALL = ModelSizes(dim=64, heads=4, feed_forward=256, encoder_layers=2, decoder_layers=2)
VOCABULARY = Vocabulary(1256, 1000, bos=1, eos=2, mask=3)


def build(name: str, base: bool, window: int, words: int, beam: int) -> Passes:
    torch.manual_seed(1)
    system = find_system(name)
    model = system.build(ModelSizes() if base else SMALL, VOCABULARY, system.read_options({})).eval()
    model.longest = lambda source_tokens: words  # type: ignore[method-assign]
    with torch.no_grad():
        model.embedding.weight[VOCABULARY.eos] = 0  # some other word always leads: none ends before its limit
    rows = system.rows_of(RowSettings())
    settings = DecodingSettings(mode="stream", window=window, beam=beam, batch_size=1)
    return Passes(TorchEngine(model), system.layout(rows, VOCABULARY), rows, settings)


def document(sentences: int, words: int, seed: int) -> Iterator[Ids]:
    rng = np.random.default_rng(seed)
    for _ in range(sentences):
        yield rng.integers(VOCABULARY.mask + 1, VOCABULARY.text_size, words).tolist()


def translations(passes: Passes, sentences: int, words: int) -> Iterator[Ids]:
    """Of documents of so many sentences, one after the other, without end."""
    seed = 0
    while True:
        seed += 1
        for _, ids in passes.stream([document(sentences, words, seed)]):
            yield ids


def times(passes: Passes, lengths: list[int], words: int, turn: int) -> dict[int, list[float]]:
    """Seconds per sentence of each turn. The longest document is translated once, the others in every fourth turn."""
    streams = {length: translations(passes, length, words) for length in lengths}
    for stream in streams.values():
        next(stream)  # a first time for everything
    seconds: dict[int, list[float]] = {length: [] for length in lengths}
    longest = max(lengths)
    turns = max(5, longest // turn)
    for number in range(turns):
        for length in lengths:
            if length < longest and turns >= 20 and number % 4:
                continue
            start = time.process_time()
            for ids in islice(streams[length], turn):
                assert len(ids) == words
            seconds[length].append((time.process_time() - start) / turn)
    return seconds


def status(key: str) -> int:
    """A line of /proc/self/status in KiB; VmRSS: resident memory, VmHWM: its peak."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1])


def peak(passes: Passes, sentences: int, words: int) -> tuple[float, float]:
    """MiB of the process while it translates a document, and how many more than after short ones."""
    for _ in islice(translations(passes, 10, words), 50):
        pass
    before = status("VmRSS")
    for _ in passes.stream([document(sentences, words, 1)]):
        pass
    most = status("VmHWM")
    return most / 1024, (most - before) / 1024


def print_probe(folder: Path, as_json: bool) -> None:
    """Right pronouns by distance, and how many translations are those of one batch of the whole document."""
    translator = Translator.load(folder / "models" / "docflat-c" / "model", device="cpu")
    test = Probe(Language(1)).test()
    sources = [one.document.source for one in test]
    choices = (("sequential", 16), ("stream", 16), ("sequential", 1), ("sequential", 8), ("stream", 8))
    found = {
        (mode, window): list(translator.translate_documents(sources, beam=1, batch_size=1, mode=mode, window=window))
        for mode, window in choices
    }
    rows: list[list[str | int | float | None]] = []
    for mode, window in choices:
        both = zip(found[choices[0]], found[mode, window], strict=True)
        same = [one == other for pair in both for one, other in zip(*pair, strict=True)]
        rows.append([mode, window, *accuracies(test, found[mode, window]).values(), 100 * sum(same) / len(same)])
    print_table(["mode", "window", *(f"{n} back" for n in range(1, 9)), "same %"], rows, as_json)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="10,100,1000", help="sentences of a document")
    parser.add_argument("--system", default="docflat-c")
    parser.add_argument("--base", action="store_true", help="as large as Transformer-base")
    parser.add_argument("--window", type=int, default=16)
    parser.add_argument("--words", type=int, default=10, help="subwords a sentence")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--turn", type=int, default=50, help="sentences of a turn")
    parser.add_argument("--probe", type=Path, metavar="FOLDER", help="measure this instead")
    parser.add_argument("--peak-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.probe:
        print_probe(options.probe, options.json)
        return
    passes = build(options.system, options.base, options.window, options.words, options.beam)
    if options.peak_of:
        print(*peak(passes, options.peak_of, options.words))
        return
    lengths = [int(length) for length in options.lengths.split(",")]
    seconds = times(passes, lengths, options.words, options.turn)
    rows = []
    for length in lengths:
        own = subprocess.run(
            [sys.executable, *sys.argv, "--peak-of", str(length)], check=True, capture_output=True, text=True
        )
        most, more = map(float, own.stdout.split())
        rows.append((length, len(seconds[length]), 1000 * statistics.median(seconds[length]), most, more))
    print_table(
        ["sentences", "turns", "ms a sentence", "vs the shortest", "peak MiB", "vs the shortest", "more than before"],
        [
            [length, turns, each, each / rows[0][2], most, most / rows[0][3], more]
            for length, turns, each, most, more in rows
        ],
        options.json,
    )


if __name__ == "__main__":
    main()
