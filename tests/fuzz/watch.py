"""Many inputs in one process that is watched: a hang or a bomb ends it, is noted, and the next process goes on."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import resource
import signal
import struct
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from fuzz.inputs import make
from fuzz.readers import READERS, Reader, read_one

MOST_SECONDS, MOST_MEMORY = 5, 1 << 30  # of one input: CPU time, and address space beyond what the process had before
_AFTER = 1_000  # inputs between two notes of how far it is
_SAMPLES = 3  # inputs that are kept of one fault
_LISTED = 20  # of the slowest inputs


class TooSlow(BaseException):
    """No reader may catch it."""


@dataclass
class State:
    """How far a run is; on disk after every `_AFTER` inputs."""

    seed: int
    number: int = 0  # of the next input
    counts: dict[str, int] = field(default_factory=dict)  # by reader and outcome
    faults: dict[str, int] = field(default_factory=dict)  # by what went wrong where
    slowest: list[tuple[float, str, int]] = field(default_factory=list)  # CPU seconds, reader, number
    cpu_seconds: float = 0
    peak_memory: int = 0  # bytes, of a whole process
    hungriest: list[tuple[int, str, int]] = field(default_factory=list)  # bytes that the peak rose by, reader, number
    fatal: list[int] = field(default_factory=list)  # inputs that ended a process


def chosen(names: str = "") -> list[Reader]:
    """The readers, each as often as its weight says. names: a regular expression."""
    return [reader for reader in READERS if re.search(names, reader.name) for _ in range(reader.weight)]


def input_of(reader: Reader, seed: int, number: int) -> bytes:
    return make(reader.kind, Random(f"{seed}:{number}"))


def check_random(seed: int, number: int) -> Random:
    return Random(f"{seed}:{number}:check")


def signature(error: BaseException) -> str:
    """What went wrong, and where in docflat."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/docflat/" in frame.filename]
    frames = frames or traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    what = re.sub(r"\d+", "N", str(error)) if type(error).__name__ == "WrongFile" else ""
    return f"{type(error).__name__} {place} {what[:80]}".strip()


class Run:
    """A run in a folder, where it goes on after a stop."""

    def __init__(self, folder: Path, seed: int, names: str = "") -> None:
        self.folder, self.readers = folder, chosen(names)
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "state.json"
        self.state = State(**json.loads(self.file.read_text())) if self.file.exists() else State(seed)
        self.now = mmap.mmap(-1, 8)  # the number of the input at hand, for the watching process

    def go(self, inputs: int, until: float, tell: Callable[[State], object] = lambda state: None) -> State:
        """So many inputs in all, or up to this time."""
        while self.state.number < inputs and time.time() < until:
            process = os.fork()
            if not process:
                code = 1
                try:
                    self._work(inputs, until)
                    code = 0
                finally:
                    os._exit(code)
            if self._watch(process, tell):
                self.state = State(**json.loads(self.file.read_text()))
            else:
                (fatal,) = struct.unpack("q", self.now[:8])
                if self.file.exists():
                    self.state = State(**json.loads(self.file.read_text()))
                self.state.fatal.append(fatal)
                self._save()
        return self.state

    def reader_of(self, number: int) -> Reader:
        return self.readers[number % len(self.readers)]

    def _watch(self, process: int, tell: Callable[[State], object]) -> bool:
        """Whether the process came to its end. The timer within it cannot stop what never comes back to Python."""
        ticks = os.sysconf("SC_CLK_TCK")
        seen, since, told = -1, 0.0, time.time()
        while True:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return status == 0
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            used = (int(fields[11]) + int(fields[12])) / ticks
            (number,) = struct.unpack("q", self.now[:8])
            if number != seen:
                seen, since = number, used
            elif used - since > 4 * MOST_SECONDS:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                return False
            if time.time() - told > 30 and self.file.exists():
                told = time.time()
                tell(State(**json.loads(self.file.read_text())))
            time.sleep(0.05)

    def _work(self, inputs: int, until: float) -> None:
        address_space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (address_space + MOST_MEMORY,) * 2)
        signal.signal(signal.SIGPROF, _stop)
        state, counts, faults = self.state, Counter(self.state.counts), Counter(self.state.faults)
        slowest = list(map(tuple, state.slowest))
        clock = time.process_time()
        before, watcher, peak = state.cpu_seconds, os.getppid(), _peak()
        hungriest = list(map(tuple, state.hungriest))
        with TemporaryDirectory(dir=_memory_folder()) as folder:
            while state.number < inputs and time.time() < until and os.getppid() == watcher:
                for number in range(state.number, min(inputs, state.number + _AFTER)):
                    if number in state.fatal:
                        faults["the process was ended"] += 1
                        continue
                    self.now[:8] = struct.pack("q", number)
                    started = time.process_time()
                    reader = self.reader_of(number)
                    counts[f"{reader.name}: {self._attempt(reader, number, Path(folder), faults)}"] += 1
                    slowest.append((time.process_time() - started, reader.name, number))
                    if _peak() > peak:
                        hungriest.append((_peak() - peak, reader.name, number))
                        peak = _peak()
                state.number = min(inputs, state.number + _AFTER)
                slowest = sorted(slowest, reverse=True)[:_LISTED]
                hungriest = sorted(hungriest, reverse=True)[:_LISTED]
                state.counts, state.faults, state.slowest = dict(counts), dict(faults), slowest
                state.hungriest = hungriest
                state.cpu_seconds = before + time.process_time() - clock
                state.peak_memory = max(state.peak_memory, _peak())
                self._save()

    def _attempt(self, reader: Reader, number: int, folder: Path, faults: Counter[str]) -> str:
        seed = self.state.seed
        data = input_of(reader, seed, number)
        try:
            return limited(reader, data, check_random(seed, number), folder)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            name = f"{reader.name}: {signature(error)}"
            faults[name] += 1
            if faults[name] <= _SAMPLES:
                self._keep(name, reader, number, data, traceback.format_exc(limit=-12))
            return "fault"

    def _keep(self, name: str, reader: Reader, number: int, data: bytes, trace: str) -> None:
        stem = sample_name(reader, self.state.seed, number, hashlib.sha256(name.encode()).hexdigest()[:6])
        (self.folder / stem).write_bytes(data)
        (self.folder / f"{stem}.trace").write_text(f"{name}\n{trace}", errors="replace")

    def _save(self) -> None:
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(asdict(self.state), indent=1))
        part.replace(self.file)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def limited(reader: Reader, data: bytes, random: Random, folder: Path) -> str:
    """Read within the limit of time, where this process has the timer's handler."""
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        return read_one(reader, data, random, folder)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def sample_name(reader: Reader, seed: int, number: int, mark: str) -> str:
    return f"{reader.name.replace(' ', '_').replace('.', '')}-{seed}-{number}-{mark}.sample"


def read_sample(file: Path) -> tuple[Reader, bytes, Random]:
    """A sample's reader, input and random source."""
    name, seed, number, _ = file.name.split("-")
    reader = next(one for one in READERS if sample_name(one, 0, 0, "").startswith(f"{name}-"))
    return reader, file.read_bytes(), check_random(int(seed), int(number))


def shrunk(data: bytes, fails: Callable[[bytes], bool], until: float) -> bytes:
    """A shorter input that fails too: stretches are left out, long ones first."""
    size = max(1, len(data) // 2)
    while time.time() < until:
        for start in range(0, len(data), size):
            shorter = data[:start] + data[start + size :]
            if fails(shorter):
                data = shorter
                break
        else:
            if size == 1:
                return data
            size = max(1, size // 2)
    return data


def _stop(number: int, frame: object) -> None:
    raise TooSlow(f"more than {MOST_SECONDS} s")


def _memory_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def samples() -> Iterator[Path]:
    yield from sorted((Path(__file__).parent / "samples").glob("*.sample"))
