"""From cold: how long `echo "Hello." | docflat translate` takes, in turns with `import torch`, in one run.

    python benchmarks/startup.py --rounds 9

The whole life of a process with the model that ships, by the clock. A first round, which reads files from the disk and
may write byte code, is not counted. `import torch` is what no program that uses it can do without; ours defers a part
of it (`docflat.cli.startup`), so that the ratio can be below 1.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

from docflat.support.console import print_table

TRANSLATE, TORCH = "docflat translate", "import torch"
COMMANDS = {
    TRANSLATE: [sys.executable, "-m", "docflat", "translate"],
    TORCH: [sys.executable, "-c", "import torch"],
}


def seconds(command: list[str]) -> float:
    # Byte code is kept, as it is for a user: without it Python compiles all that it imports again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(command, input="Hello.\n", text=True, stdout=subprocess.DEVNULL, env=environment, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(options.rounds + 1):
        for name, command in COMMANDS.items():
            one = seconds(command)
            if number:
                taken[name].append(one)
    ratios = {name: [one / base for one, base in zip(taken[name], taken[TORCH], strict=True)] for name in COMMANDS}
    print_table(
        ["what", "s, median", "fastest", "slowest", "to import torch"],
        [
            [name, statistics.median(all_), min(all_), max(all_), statistics.median(ratios[name])]
            for name, all_ in taken.items()
        ],
        options.json,
    )


if __name__ == "__main__":
    main()
