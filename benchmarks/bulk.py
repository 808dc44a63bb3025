"""docflat bulk against a plain loop; kills at random moments; two Ray nodes, one of which is killed; large plans.

python benchmarks/bulk.py throughput --source FILE [--documents 100000 --stub]
python benchmarks/bulk.py overhead --source FILE [--documents 2000]
python benchmarks/bulk.py memory --source FILE [--documents 1000000]
python benchmarks/bulk.py kills --source FILE [--kills 25 --engine ray]
python benchmarks/bulk.py nodes --source FILE
python benchmarks/bulk.py plan [--documents 10000000]

FILE: text with empty lines between documents, such as Europarl's. Each command prints a table; what it needs on the
disk lies in a temporary folder.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from docflat.bulk.settings import LOADER, Settings
from docflat.data.documents import read_source
from docflat.support.console import print_rows

HERE = Path(__file__)
COUNTS = "BULK_COUNTS"  # the folder for what workers count
DELAY = "BULK_DELAY"  # seconds that the stub takes for a document


class Stub:
    """Writes sentences backwards, in no time or in one that is asked for."""

    languages = None
    precision = "stub"

    def __init__(self) -> None:
        self.delay = float(os.environ.get(DELAY, "0"))

    def translate_documents(
        self,
        documents: Iterable[Sequence[str]],
        chunk: int = 2000,
        done: Callable[[int], None] = lambda sentences: None,
        **settings: Any,
    ) -> Iterator[list[str]]:
        for document in documents:
            if self.delay:
                time.sleep(self.delay)
            yield [sentence[::-1] for sentence in document]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[None]:
        return [None] * len(pairs)

    def count_tokens(self, translations: Sequence[str]) -> int:
        return sum(text.count(" ") + 1 for text in translations)


def load_stub(settings: Settings, threads: int) -> Stub:
    return Stub()


def settings_of(stub: bool, shard_size: int, counted: bool = False) -> Settings:
    loader = "bulk:load_counted" if counted else "bulk:load_stub" if stub else LOADER
    return Settings(model="en-de", loader=loader, shard_size=shard_size)


def write_input(source: Path, path: Path, documents: int, longest: int = 4) -> int:
    """The first documents of at most so many sentences, over and over if there are too few; how many sentences."""
    short = [one.source for one in islice(read_source(source), 4 * documents) if len(one.source) <= longest]
    sentences = 0
    with open(path, "w", encoding="utf-8") as file:
        for number in range(documents):
            document = short[number % len(short)]
            sentences += len(document)
            file.write(json.dumps({"id": number, "source": document}, ensure_ascii=False) + "\n")
    return sentences


def plain(path: Path, out: Path, stub: bool, counted: bool = False) -> None:
    """The loop that everybody would write."""
    from docflat import Translator

    translator: Any = Stub() if stub else Translator.load(threads=1)
    translator = Counted(translator) if counted else translator
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with open(out, "w", encoding="utf-8") as file:
        for record, target in zip(
            records, translator.translate_documents(record["source"] for record in records), strict=True
        ):
            file.write(json.dumps({**record, "target": target}, ensure_ascii=False) + "\n")


def drive(arguments: argparse.Namespace) -> None:
    """docflat bulk, with a model that its command line does not name."""
    from docflat.bulk.run import How, prepare, run

    settings = settings_of(arguments.stub, arguments.shard_size, arguments.counted)
    plan = prepare([arguments.input], arguments.out, settings, False, lambda message: None)
    how = How(arguments.engine, arguments.workers, 1, arguments.address)
    run(plan, settings, how)


def command(mode: str, *arguments: object) -> list[str]:
    return [sys.executable, str(HERE), mode, *map(str, arguments)]


def environment(delay: float = 0.0) -> dict[str, str]:
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    # Without tokens, for nothing here is to be reached from another machine.
    settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **settings, "PYTHONPATH": path, DELAY: str(delay)}


def timed(arguments: list[str]) -> tuple[float, float]:
    """Seconds by the clock, and of all its processes on the cores, those of Ray too."""
    start = time.perf_counter()
    process = subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    used: dict[int, float] = {}
    while process.poll() is None:  # Ray's processes are reaped by nobody that is asked here
        for pid in [process.pid, *descendants(process.pid)]:
            with contextlib.suppress(OSError):
                used[pid] = cores_of(pid)
        time.sleep(0.1)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"status {process.returncode}: {' '.join(arguments)}")
    return seconds, sum(used.values())


def cores_of(pid: int) -> float:
    """Seconds that a process was on the cores, without those of its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def merged(out: Path, to: Path) -> str:
    """The hash of the merged output."""
    from docflat.bulk.merge import merge
    from docflat.bulk.plan import read_plan

    merge(read_plan(out), to)
    return hashlib.sha256(to.read_bytes()).hexdigest()


def throughput(arguments: argparse.Namespace, folder: Path) -> None:
    path = folder / "docs.jsonl"
    sentences = write_input(arguments.source, path, arguments.documents)
    print(f"{arguments.documents} documents, {sentences} sentences, {path.stat().st_size} bytes")
    stub = ["--stub"] if arguments.stub else []
    rows = []
    expected = ""
    for name in arguments.ways:
        engine, _, workers = name.partition(":")
        out = folder / name
        if engine == "plain":
            seconds, cores = timed(command("plain", path, out, *stub))
            digest = hashlib.sha256(out.read_bytes()).hexdigest()
        else:
            options = ["--engine", engine, "--workers", workers, "--shard-size", arguments.shard_size]
            seconds, cores = timed(command("drive", path, out, *options, *stub))
            digest = merged(out, folder / f"{name}.jsonl")
        expected = expected or digest
        row: dict[str, Any] = {"way": name, "seconds": round(seconds, 1), "core seconds": round(cores, 1)}
        if engine != "plain":
            receipts = [json.loads(one.read_text()) for one in (out / "done").rglob("*.json")]
            first = min(one["finished"] - one["seconds"] for one in receipts)
            working = max(one["finished"] for one in receipts) - first
            row["without start"] = round(working, 1)
            row["in shards"] = round(sum(one["seconds"] for one in receipts), 1)
            row["shards"] = len(receipts)
        row["documents/s"] = round(arguments.documents / seconds, 1)
        row["same bytes"] = digest == expected
        rows.append(row)
        print(json.dumps(row), flush=True)
    print_rows(rows)


def overhead(arguments: argparse.Namespace, folder: Path) -> None:
    """Which part of a worker's time on the cores is not the model's, beside that of the plain loop in the same run.

    Both are counted in the worker itself, so that neither the start nor what else runs on the machine says anything.
    """
    path = folder / "docs.jsonl"
    sentences = write_input(arguments.source, path, arguments.documents, arguments.longest)
    print(f"{arguments.documents} documents, {sentences} sentences, {path.stat().st_size} bytes")
    rows: list[dict[str, Any]] = []
    expected = ""
    for name in arguments.ways:
        engine, _, workers = name.partition(":")
        out, counts = folder / name, folder / f"{name}.counts"
        counts.mkdir()
        os.environ[COUNTS] = str(counts)
        options = ["--engine", engine, "--workers", workers, "--shard-size", arguments.shard_size, "--counted"]
        seconds, cores = timed(
            command("plain", path, out, "--counted") if engine == "plain" else command("drive", path, out, *options)
        )
        digest = (
            hashlib.sha256(out.read_bytes()).hexdigest() if engine == "plain" else merged(out, folder / f"{name}.jsonl")
        )
        expected = expected or digest
        model, whole = (sum(one) for one in zip(*map(read_counts, counts.glob("[0-9]*[0-9]")), strict=True))
        rows.append(
            {
                "way": name,
                "of the model, core seconds": round(model, 2),
                "beside it": round(whole - model, 2),
                "beside it, %": round(100 * (whole / model - 1), 2),
                "all processes with starts": round(cores, 1),
                "seconds": round(seconds, 1),
                "same bytes": digest == expected,
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    print_rows(rows)


class Counted:
    """A model, with the time that it takes on the cores beside that of its whole process, since it was loaded."""

    def __init__(self, model: Any) -> None:
        self.model, self.used = model, 0.0
        self.loaded, self.lock = time.process_time(), threading.Lock()
        self.file = Path(os.environ[COUNTS], str(os.getpid()))
        threading.Thread(target=self._go_on, daemon=True).start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def translate_documents(self, documents: Iterable[Sequence[str]], **settings: Any) -> Iterator[list[str]]:
        translated = self.model.translate_documents(documents, **settings)
        while True:
            start = time.process_time()
            one = next(translated, None)
            self.used += time.process_time() - start
            if one is None:
                return
            self._note()
            yield one

    def _note(self) -> None:
        with self.lock:
            part = self.file.with_suffix(".part")
            part.write_text(f"{self.used} {time.process_time() - self.loaded}")
            part.replace(self.file)

    def _go_on(self) -> None:
        """Every moment, for nobody says when a worker is about to end."""
        while True:
            self._note()
            time.sleep(0.5)


def load_counted(settings: Settings, threads: int) -> Any:
    from docflat.bulk.documents import load

    return Counted(load(settings, threads))


def read_counts(file: Path) -> tuple[float, float]:
    """Core seconds of the model, and of its process since it was loaded."""
    model, whole = file.read_text().split()
    return float(model), float(whole)


def memory(arguments: argparse.Namespace, folder: Path) -> None:
    """Memory of the first process and of a worker while documents go through: what a document adds to it."""
    path, out = folder / "docs.jsonl", folder / "out"
    write_input(arguments.source, path, arguments.documents, arguments.longest)
    options = ["--engine", arguments.engine, "--workers", 1, "--shard-size", arguments.shard_size, "--stub"]
    driver = subprocess.Popen(command("drive", path, out, *options), env=environment(), start_new_session=True)
    samples: dict[int, list[tuple[int, int]]] = {}  # by process: documents that were done, bytes
    while driver.poll() is None:
        done = sum(documents_of(one) for one in receipts_in(out))
        for pid in [driver.pid, *descendants(driver.pid)]:
            with contextlib.suppress(OSError, IndexError):
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                samples.setdefault(pid, []).append((done, pages * os.sysconf("SC_PAGE_SIZE")))
        time.sleep(0.2)
    rows = []
    for pid, points in samples.items():
        points = [(done, size) for done, size in points if size]  # none of what has ended
        later = [(done, size) for done, size in points if done > arguments.documents // 4]
        if len({done for done, _ in later}) < 3:
            continue
        slope, _ = statistics.linear_regression(*zip(*later, strict=True))
        at = {name: min(points, key=lambda one: abs(one[0] - share * arguments.documents))[1] >> 20
              for name, share in (("quarter", 0.25), ("half", 0.5), ("end", 1.0))}  # fmt: skip
        what = "first process" if pid == driver.pid else "another"
        rows.append({"process": what, **{f"MiB, {name}": size for name, size in at.items()},
                     "bytes a document": round(slope, 2)})  # fmt: skip
    print_rows(rows)


def documents_of(receipt: Path) -> int:
    """By its name, FIRST-LAST.json."""
    first, _, last = receipt.stem.partition("-")
    return int(last) - int(first) + 1


def kills(arguments: argparse.Namespace, folder: Path) -> None:
    """A run is killed, somewhere, again and again; in the end its output is that of one that was left alone."""
    path = folder / "docs.jsonl"
    write_input(arguments.source, path, arguments.documents)
    options = ["--stub", "--shard-size", 4000]
    subprocess.run(command("drive", path, folder / "alone", *options), env=environment(), check=True)
    expected = merged(folder / "alone", folder / "alone.jsonl")
    chance = random.Random(arguments.seed)
    out = folder / "killed"
    counts: dict[str, int] = {}
    run = command("drive", path, out, *options, "--engine", arguments.engine)
    driver: subprocess.Popen[bytes] | None = None
    start = time.perf_counter()
    while sum(counts.values()) < arguments.kills:
        if driver is None or driver.poll() is not None:
            if driver is not None and driver.returncode == 0:
                break
            driver = subprocess.Popen(
                run,
                env=environment(arguments.delay),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            begun = len(receipts_in(out))
            while driver.poll() is None and len(receipts_in(out)) == begun:
                time.sleep(0.02)
        time.sleep(chance.random() * arguments.pause)
        victims = victims_of(driver.pid, arguments.engine)
        kind = chance.choice(sorted(victims)) if victims else ""
        if kind:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(victims[kind]), signal.SIGKILL)
                counts[kind] = counts.get(kind, 0) + 1
                with contextlib.suppress(subprocess.TimeoutExpired):
                    driver.wait(0.5)
    if driver is not None:
        driver.wait()
    done = len(receipts_in(out))
    subprocess.run(run, env=environment(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print_rows(
        [
            {
                "engine": arguments.engine,
                **{f"kills of {kind}": count for kind, count in sorted(counts.items())},
                "shards": len(receipts_in(out)),
                "done before the last run": done,
                "seconds": round(time.perf_counter() - start),
                "same bytes": merged(out, folder / "killed.jsonl") == expected,
            }
        ]
    )


def receipts_in(out: Path) -> list[Path]:
    return list((out / "done").rglob("*.json"))


def victims_of(driver: int, engine: str) -> dict[str, list[int]]:
    """Processes of a run, by what they are."""
    names = {"raylet/raylet": "raylet", "ray::MapWorker": "actor", "spawn_main": "worker"}
    victims: dict[str, list[int]] = {"driver": [driver]}
    for pid in descendants(driver):
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            for mark, kind in names.items():
                if mark in line.split(" --")[0] and (kind != "worker" or engine == "local"):
                    victims.setdefault(kind, []).append(pid)
    return victims


def descendants(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, new = [], [root]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found


def nodes(arguments: argparse.Namespace, folder: Path) -> None:
    """A cluster of two nodes on this machine, one of which is killed when a third of the shards is done."""
    path, out = folder / "docs.jsonl", folder / "out"
    write_input(arguments.source, path, arguments.documents)
    options = ["--stub", "--shard-size", 4000]
    subprocess.run(command("drive", path, folder / "alone", *options), env=environment(), check=True)
    expected = merged(folder / "alone", folder / "alone.jsonl")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    block = ["--num-cpus", "1", "--block", "--disable-usage-stats"]
    commands = [
        [*ray, "start", "--head", "--node-ip-address", "127.0.0.1", "--port", str(port), "--include-dashboard=false"],
        [*ray, "start", "--address", f"127.0.0.1:{port}", "--node-ip-address", "127.0.0.2"],
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment(arguments.delay)}
    started = []
    try:
        for one in commands:
            started.append(subprocess.Popen([*one, *block], start_new_session=True, **quiet))  # type: ignore[call-overload]
            time.sleep(10)
        start = time.perf_counter()
        run = command("drive", path, out, *options, "--engine", "ray", "--address", f"127.0.0.1:{port}")
        driver = subprocess.Popen(run, env=environment(arguments.delay))
        total = len(receipts_in(folder / "alone"))
        while driver.poll() is None and len(receipts_in(out)) < total // 3:
            time.sleep(0.05)
        hosts = {json.loads(one.read_text())["host"] for one in receipts_in(out)}
        before = len(receipts_in(out))
        for pid in [*descendants(started[1].pid), started[1].pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        status = driver.wait(arguments.patience)
        row = {
            "shards": total,
            "done when the node was killed": before,
            "status": status,
            "seconds": round(time.perf_counter() - start),
            "same bytes": merged(out, folder / "killed.jsonl") == expected,
        }
        print_rows([row])
        del hosts
    finally:
        for process in reversed(started):
            for pid in [*descendants(process.pid), process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def plan(arguments: argparse.Namespace, folder: Path) -> None:
    """Documents of 1 KB each, all different; time and the largest memory of making the plan and of finding it again."""
    rows = []
    for documents in arguments.documents:
        path, out = folder / "docs.jsonl", folder / f"out{documents}"
        text = "The quick brown fox jumps over the lazy dog. " * 22
        with open(path, "w") as file:
            for number in range(documents):
                file.write(f'{{"id": {number:010}, "text": "{text}"}}\n'.replace(": 0", ": 10", 1))
        row: dict[str, Any] = {"documents": documents, "bytes": path.stat().st_size}
        for what in ("made", "found again"):
            start = time.perf_counter()
            process = subprocess.Popen(command("make-plan", path, out), env=environment())
            _, _, usage = os.wait4(process.pid, 0)
            row[f"{what}, s"] = round(time.perf_counter() - start, 1)
            row[f"{what}, MiB"] = usage.ru_maxrss >> 10
        row["plan, bytes"] = (out / "shards.jsonl").stat().st_size
        row["shards"] = sum(1 for _ in open(out / "shards.jsonl"))  # noqa: SIM115
        rows.append(row)
        print(json.dumps(row), flush=True)
        path.unlink()
    print_rows(rows)


def make_plan(path: Path, out: Path) -> None:
    from docflat.bulk.plan import Plan
    from docflat.bulk.run import prepare

    found: Plan = prepare([path], out, settings_of(True, 256 << 10), False, lambda message: None)
    assert sum(1 for _ in found.read_shards()) == found.shards


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    for name, documents in (
        ("throughput", 2000),
        ("overhead", 2000),
        ("memory", 10**6),
        ("kills", 4000),
        ("nodes", 2000),
    ):
        mode = modes.add_parser(name)
        mode.add_argument("--source", type=Path, required=True, metavar="FILE")
        mode.add_argument("--documents", type=int, default=documents)
        mode.add_argument("--delay", type=float, default=0.01, help="seconds of the stub for a document")
    ways = ["plain", "local:1", "local:2", "ray:1", "ray:2"]
    for mode, usual in (
        (modes.choices["throughput"], ways),
        (modes.choices["overhead"], ["plain", "local:1", "ray:1"]),
    ):
        mode.add_argument("--stub", action="store_true", help="a model that takes no time")
        mode.add_argument("--shard-size", type=int, default=256 << 10)
        mode.add_argument("--ways", nargs="+", default=usual)
    modes.choices["memory"].add_argument("--engine", choices=("local", "ray"), default="local")
    modes.choices["memory"].add_argument("--shard-size", type=int, default=256 << 10)
    modes.choices["memory"].add_argument("--longest", type=int, default=4, help="sentences of a document")
    modes.choices["overhead"].add_argument("--longest", type=int, default=1, help="sentences of a document")
    modes.choices["kills"].add_argument("--kills", type=int, default=25)
    modes.choices["kills"].add_argument("--engine", choices=("local", "ray"), default="local")
    modes.choices["kills"].add_argument("--pause", type=float, default=2.0, help="seconds between kills at most")
    modes.choices["kills"].add_argument("--seed", type=int, default=0)
    modes.choices["nodes"].add_argument("--patience", type=float, default=300.0)
    modes.add_parser("plan").add_argument("--documents", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    for name in ("plain", "drive", "make-plan"):  # what the others start
        mode = modes.add_parser(name)
        mode.add_argument("input", type=Path)
        mode.add_argument("out", type=Path)
        mode.add_argument("--stub", action="store_true")
        mode.add_argument("--counted", action="store_true")
        mode.add_argument("--engine", default="local")
        mode.add_argument("--workers", type=int)
        mode.add_argument("--address")
        mode.add_argument("--shard-size", type=int, default=256 << 10)
    arguments = parser.parse_args()
    if arguments.mode == "plain":
        plain(arguments.input, arguments.out, arguments.stub, arguments.counted)
    elif arguments.mode == "drive":
        drive(arguments)
    elif arguments.mode == "make-plan":
        make_plan(arguments.input, arguments.out)
    else:
        measure = {
            "throughput": throughput,
            "overhead": overhead,
            "memory": memory,
            "kills": kills,
            "nodes": nodes,
            "plan": plan,
        }[arguments.mode]
        with tempfile.TemporaryDirectory() as folder:
            measure(arguments, Path(folder))


if __name__ == "__main__":
    main()
