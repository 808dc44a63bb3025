"""Time `prepare`: sentence pairs per second, wall time, peak memory.

    python benchmarks/prepare.py train.en.xz train.de.xz --valid dev.en dev.de --out prepared

Without files it makes up a text; that says how the machine does, not how fast real text is.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import resource
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path

import tokenizers

from docflat.data.documents import FilePair
from docflat.data.preparing import prepare


def make_up(folder: Path, sentences: int) -> FilePair:
    """A parallel text of made-up words, as skewed as real ones, in documents of some ten sentences."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyzäöüß"
    words = ["".join(rng.choices(letters, k=rng.randint(1, 10))) for _ in range(50_000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    paths = folder / "train.source", folder / "train.target"
    with open(paths[0], "w", encoding="utf-8") as source, open(paths[1], "w", encoding="utf-8") as target:
        for _ in range(sentences):
            boundary = rng.random() < 0.1
            for file in (source, target):
                sentence = rng.choices(words, cum_weights=weights, k=rng.randint(5, 45))
                file.write(" ".join(sentence).capitalize() + (".\n\n" if boundary else ".\n"))
    return FilePair(*paths)


def peak_memory() -> float:
    """Of this process and its children, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    used = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used) * unit / 2**30


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("files", nargs="*", type=Path, metavar="SOURCE TARGET", help="training text")
    parser.add_argument("--valid", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--out", type=Path, help="keep the result here")
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--index-tokens", type=int, default=256)
    parser.add_argument("--learn-from", type=int, default=1_000_000)
    parser.add_argument("--moses", nargs=2, metavar=("SOURCE", "TARGET"), help="languages")
    parser.add_argument("--sentences", type=int, default=100_000, help="of the made-up text")
    arguments = parser.parse_args()
    if len(arguments.files) not in (0, 2):
        parser.error("give a source and a target file, or none")
    with tempfile.TemporaryDirectory() as scratch:
        pair = FilePair(*arguments.files) if arguments.files else make_up(Path(scratch), arguments.sentences)
        start = time.perf_counter()
        result = prepare(
            [pair],
            arguments.out or Path(scratch) / "out",
            [FilePair(*arguments.valid)] if arguments.valid else [],
            vocabulary=arguments.vocabulary,
            index_tokens=arguments.index_tokens,
            moses=tuple(arguments.moses) if arguments.moses else None,
            learn_from=arguments.learn_from,
        )
        wall = time.perf_counter() - start
    print(f"train      {result.train}")
    print(f"valid      {result.valid}")
    sentences = result.train.sentences + (result.valid.sentences if result.valid else 0)
    print(f"speed      {sentences / wall:,.0f} sentence pairs/s, counting, learning and encoding included")
    print(f"wall       {wall:.1f} s")
    print(f"memory     {peak_memory():.2f} GiB at most, this process and its children")
    made_up = "" if arguments.files else f"made-up text of {arguments.sentences} sentences|"
    print(
        f"signature  {made_up}vocabulary:{result.text_size}|learn_from:{arguments.learn_from}|"
        f"cores:{os.cpu_count()}|python:{platform.python_version()}|tokenizers:{tokenizers.__version__}"
    )


if __name__ == "__main__":
    main()
