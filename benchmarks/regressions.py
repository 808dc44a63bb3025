"""Whether docflat became slower: another state of the tree against this one, in turns, by processor time.

    git worktree add ../before 68a6d87
    python benchmarks/regressions.py ../before --rounds 5

Each task is a command of docflat, in a process of its own with one thread, with the same packages for both trees; its
time is that of the processor, the system's part included. From translating a text the time of translating one sentence
is taken away, from a training of many steps that of one of few: what is left is decoding, and steps. Model and recipe
are those of each tree, the recipe's settings are the same. The first round, which may write byte code, is not counted.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from docflat.support.console import print_table

HERE = Path(__file__).resolve().parents[1]
TRANSLATE = ("translate", "--device", "cpu", "--threads", "1")
TWO_PASS = ("--mode", "two-pass", "--beam", "5")
TORCH = (*TWO_PASS, "--precision", "int8")
FEW, MANY = 2, 14  # steps
TASKS = (
    "help",
    "first translation",
    "first translation, torch",
    "decoding, torch int8",
    "training steps, docflat-c",
    "decoding, usual engine",
)
RECIPE = """
precision: fp32
device: cpu
tensorboard: false
log_every: 1000
model: {dim: 128, heads: 4, feed_forward: 512, encoder_layers: 3, decoder_layers: 3}
stages:
  - {system: docflat-c, rows: {context: 3, max_tokens: 512}, batch_tokens: 1024, learning_rate: 1.0e-3,
     warmup_steps: 10, dropout: 0.1, validate_every: 1000, validation_sample: 0}
"""


class Tree:
    def __init__(self, root: Path, work: Path) -> None:
        self.root, self.work = root.resolve(), work
        work.mkdir()
        self.environment = {**os.environ, "PYTHONPATH": str(self.root / "src"), "OMP_NUM_THREADS": "1"}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # A tree of before had one engine, and no name for it.
        self.torch = ("--engine", "torch") if "--engine" in self.read("translate", "--help") else ()

    def read(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "docflat", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, check=True, text=True).stdout

    def run(self, *arguments: str, text: str = "") -> float:
        """Seconds of the processor."""
        source = self.work / "input"
        source.write_text(text, encoding="utf-8")
        with source.open() as stdin, (self.work / "log").open("w") as log:
            command = [sys.executable, "-m", "docflat", *arguments]
            process = subprocess.Popen(command, stdin=stdin, stdout=log, stderr=log, env=self.environment)
            _, status, usage = os.wait4(process.pid, 0)
        if status:
            message = (self.work / "log").read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"{self.root}: docflat {' '.join(arguments)}: {message[-2000:]}")
        return usage.ru_utime + usage.ru_stime

    def prepare(self, sides: dict[str, str]) -> None:
        """A corpus as this tree writes it, and a recipe."""
        for language, text in sides.items():
            (self.work / f"text.{language}").write_text(text, encoding="utf-8")
        (self.work / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
        files = ("--source", str(self.work / "text.en"), "--target", str(self.work / "text.de"))
        self.read("prepare", *files, "--out", str(self.work / "corpus"), "--vocabulary", "1000")

    def train(self, steps: int, number: int) -> float:
        out = self.work / f"run-{number}-{steps}"
        settings = (f"data={self.work / 'corpus'}", f"out={out}", f"stages.0.max_steps={steps}")
        return self.run("train", str(self.work / "recipe.yaml"), *settings)

    def measure(self, text: str, number: int, tasks: list[str]) -> dict[str, float]:
        taken: dict[str, float] = {}
        if TASKS[0] in tasks:
            taken[TASKS[0]] = self.run("--help")
        if TASKS[1] in tasks:
            taken[TASKS[1]] = self.run(*TRANSLATE, text="Hello.\n")
        if TASKS[2] in tasks or TASKS[3] in tasks:
            taken[TASKS[2]] = self.run(*TRANSLATE, *self.torch, *TORCH, text="Hello.\n")
        if TASKS[3] in tasks:
            taken[TASKS[3]] = self.run(*TRANSLATE, *self.torch, *TORCH, text=text) - taken[TASKS[2]]
        if TASKS[5] in tasks:
            usual = (*TRANSLATE, *TWO_PASS)
            taken[TASKS[5]] = self.run(*usual, text=text) - self.run(*usual, text="Hello.\n")
        if TASKS[4] in tasks:
            taken[TASKS[4]] = self.train(MANY, number) - self.train(FEW, number)
        return taken


def made_up() -> dict[str, str]:
    """Documents of ten sentences of words that nobody speaks."""
    draw = random.Random(1)
    syllables = ["ba", "ko", "li", "mu", "ne", "ra", "si", "to", "va", "ze"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(200)]
    sentences = [" ".join(draw.choices(words, k=draw.randint(5, 25))) for _ in range(200)]
    sides = (sentences, [" ".join(reversed(sentence.split())) for sentence in sentences])
    texts = ["\n\n".join("\n".join(side[n : n + 10]) for n in range(0, len(side), 10)) + "\n" for side in sides]
    return dict(zip(("en", "de"), texts, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the root of the other tree")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    options = parser.parse_args()
    island = (HERE / "examples" / "island.md").read_text(encoding="utf-8")
    paragraphs = [" ".join(part.split()) for part in island.split("\n\n") if not part.startswith("#")]
    text = 2 * (
        "\n".join(sentence for part in paragraphs for sentence in part.replace(". ", ".\n").split("\n")) + "\n\n"
    )
    taken: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory() as folder:
        trees = {name: Tree(root, Path(folder, name)) for name, root in (("before", options.before), ("now", HERE))}
        for tree in trees.values():
            if TASKS[4] in options.tasks:
                tree.prepare(made_up())
        for number in range(options.rounds + 1):
            for name, tree in trees.items():
                for task, seconds in tree.measure(text, number, options.tasks).items():
                    taken[task][name] += [seconds] if number else []
            print(f"round {number} of {options.rounds}", file=sys.stderr, flush=True)
    rows = []
    for task, times in taken.items():
        ratios = sorted(now / before for before, now in zip(times["before"], times["now"], strict=True))
        medians = (round(statistics.median(times[name]), 3) for name in ("before", "now"))
        rows.append(
            [task, *medians, *(round(ratio, 3) for ratio in (statistics.median(ratios), ratios[0], ratios[-1]))]
        )
    columns = ["task", "before, s", "now, s", "now / before", "lowest", "highest"]
    print_table(columns, rows, title=f"processor time, medians of {options.rounds} rounds")


if __name__ == "__main__":
    main()
