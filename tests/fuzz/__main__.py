"""`make fuzz MINUTES=...`: inputs without end over all readers; what goes wrong lies in the run's folder afterwards."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.readers import read_one
from fuzz.watch import Run, State, read_sample, shrunk, signature


def summary(state: State) -> str:
    outcomes = Counter[str]()
    for name, count in state.counts.items():
        outcomes[name.rpartition(": ")[2]] += count
    over = sum(count for name, count in state.faults.items() if "TooSlow" in name)
    memory = sum(count for name, count in state.faults.items() if "MemoryError" in name)
    ended = len(state.fatal)
    seconds = state.cpu_seconds
    slowest = state.slowest[0][0] if state.slowest else 0
    return (
        f"{state.number} inputs: {outcomes['read']} read, {outcomes['refused']} refused, "
        f"{sum(state.faults.values()) - over - memory} exceptions, {over} over 5 s, {memory} over 1 GiB, "
        f"{ended} ended the process; {seconds:.0f} s of CPU, {state.number / max(seconds, 1e-9):.0f} a second, "
        f"slowest {slowest:.2f} s, peak {state.peak_memory >> 20} MiB"
    )


def table(state: State) -> str:
    by_reader: dict[str, Counter[str]] = {}
    for name, count in state.counts.items():
        reader, _, outcome = name.rpartition(": ")
        by_reader.setdefault(reader, Counter())[outcome] += count
    lines = [f"{'reader':28}{'read':>10}{'refused':>10}{'faults':>8}"]
    for reader, one in sorted(by_reader.items()):
        lines.append(f"{reader:28}{one['read']:>10}{one['refused']:>10}{one['fault']:>8}")
    return "\n".join(lines)


def replay(files: list[Path], shrink: float) -> int:
    """Run samples again; shrink: seconds to make each shorter."""
    bad = 0
    with tempfile.TemporaryDirectory() as folder:

        def fault(file: Path, data: bytes) -> BaseException | None:
            reader, _, random = read_sample(file)
            try:
                read_one(reader, data, random, Path(folder))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # panics of Rust are no Exception
                return error
            return None

        for file in files:
            _, data, _ = read_sample(file)
            error = fault(file, data)
            print(file.name, "is fine" if error is None else signature(error))
            if error is None:
                continue
            bad += 1
            if shrink:
                name = signature(error)

                def fails(shorter: bytes, file: Path = file, name: str = name) -> bool:
                    again = fault(file, shorter)
                    return again is not None and signature(again) == name

                data = shrunk(data, fails, time.time() + shrink)
                file.write_bytes(data)
                error = fault(file, data) or error
            told = [
                str(error)[:300],
                *traceback.format_tb(error.__cause__.__traceback__ if error.__cause__ else error.__traceback__)[-4:],
            ]
            print(*told, data[:600], f"({len(data)} bytes)", sep="\n")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--inputs", type=int, default=1 << 62)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="(default: the time)")
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"), help="a run that is there goes on")
    parser.add_argument("--readers", default="", metavar="REGEX")
    parser.add_argument("--replay", nargs="+", type=Path, metavar="SAMPLE", help="run these again, and nothing else")
    parser.add_argument("--shrink", type=float, default=0, metavar="SECONDS", help="with --replay: make each shorter")
    arguments = parser.parse_args()
    if arguments.replay:
        return min(1, replay(arguments.replay, arguments.shrink))
    run = Run(arguments.out, arguments.seed, arguments.readers)

    def tell(state: State) -> None:
        print(time.strftime("%H:%M:%S"), summary(state), flush=True)

    print(
        f"seed {run.state.seed}, {len(set(run.readers))} readers, process {os.getpid()}, into {arguments.out}",
        flush=True,
    )
    state = run.go(arguments.inputs, time.time() + 60 * arguments.minutes, tell)
    print(table(state))
    for name, count in sorted(state.faults.items()):
        print(f"{count:8} {re.sub(chr(10), ' ', name)}")
    for seconds, reader, number in state.slowest[:5]:
        print(f"{seconds:8.2f} s {reader}, input {number}")
    for size, reader, number in state.hungriest[:5]:
        print(f"{size >> 20:8} MiB {reader}, input {number}")
    print(summary(state))
    return min(1, len(state.faults) + len(state.fatal))


if __name__ == "__main__":
    sys.exit(main())
