"""From cold: how long `echo "Hello." | docflat translate` takes on each engine, and the memory it takes, in one run.

    python benchmarks/startup.py --rounds 9
    python benchmarks/startup.py --rounds 3 --text examples/island.md

The whole life of a process with the model that ships, by the clock, in turns; its peak of resident memory. A first
round, which reads files from the disk and may write byte code, is not counted. `import torch` is what no program that
uses it can do without.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from docflat.support.console import print_table

TRANSLATE = [sys.executable, "-m", "docflat", "translate", "--device", "cpu", "--threads", "1"]
TORCH = "--engine torch"
COMMANDS = {
    "--engine onnx": [*TRANSLATE, "--engine", "onnx"],
    TORCH: [*TRANSLATE, "--engine", "torch"],
    "import torch": [sys.executable, "-c", "import torch"],
}


def run(command: list[str], text: str) -> tuple[float, float]:
    """Seconds, and MiB at the peak."""
    # Byte code is kept, as it is for a user: without it Python compiles all that it imports again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True)
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(text)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
    return taken, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--text", type=Path, help='a file, as a sentence a line (default: "Hello.")')
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    text = options.text.read_text(encoding="utf-8") if options.text else "Hello.\n"
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    memory: dict[str, float] = {}
    for number in range(options.rounds + 1):
        for name, command in COMMANDS.items():
            one, peak = run(command, text)
            memory[name] = max(peak, memory.get(name, 0.0))
            if number:
                taken[name].append(one)
    ratios = {name: [one / base for one, base in zip(taken[name], taken[TORCH], strict=True)] for name in COMMANDS}
    print_table(
        ["what", "s, median", "fastest", "slowest", f"to {TORCH}", "MiB"],
        [
            [name, statistics.median(all_), min(all_), max(all_), statistics.median(ratios[name]), memory[name]]
            for name, all_ in taken.items()
        ],
        options.json,
    )


if __name__ == "__main__":
    main()
