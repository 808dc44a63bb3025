"""Processes of this machine, a few cores each. One that dies is replaced, and its shard is done again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from docflat.bulk.diary import MOST_DEATHS
from docflat.bulk.plan import Plan
from docflat.bulk.receipts import Receipt
from docflat.bulk.settings import Settings
from docflat.bulk.shards import Shard
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    shard: Shard | None = None
    loaded: bool = False


def run_local(
    plan: Plan,
    settings: Settings,
    shards: Sequence[Shard],
    done: Callable[[Receipt], None],
    workers: int,
    threads: int,
) -> list[Shard]:
    """Do all shards; those over which process after process died."""
    pool = _Pool(plan, settings, deque(shards), done, threads)
    try:
        for _ in range(min(workers, len(shards))):
            pool.start()
        pool.run()
    finally:
        pool.stop()
    return pool.lost


class _Pool:
    def __init__(
        self, plan: Plan, settings: Settings, shards: deque[Shard], done: Callable[[Receipt], None], threads: int
    ) -> None:
        self.plan, self.settings, self.shards, self.done, self.threads = plan, settings, shards, done, threads
        self.workers: list[_Worker] = []
        self.deaths: Counter[str] = Counter()  # by shard; "": while the model was loaded
        self.lost: list[Shard] = []

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self.plan, self.settings, self.threads), daemon=True)
        with _environment({name: str(self.threads) for name in _THREADS}):
            process.start()
        theirs.close()
        self.workers.append(_Worker(process, ours))

    def run(self) -> None:
        while any(worker.shard is not None or not worker.loaded for worker in self.workers):
            ready = wait([worker.connection for worker in self.workers])
            for worker in [worker for worker in self.workers if worker.connection in ready]:
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    self._replace(worker)
                    continue
                self._hear(worker, *message)

    def _hear(self, worker: _Worker, kind: str, value: Any) -> None:
        if kind == "fault":
            raise InputError(value)
        if kind == "bug":
            raise RuntimeError(f"in a worker:\n{value}")
        if kind == "done":
            self.done(value)
        worker.loaded = True
        worker.shard = self.shards.popleft() if self.shards else None
        if worker.shard is not None:
            careful = self.deaths[worker.shard.name] >= MOST_DEATHS
            worker.connection.send((worker.shard, careful))

    def _replace(self, worker: _Worker) -> None:
        worker.process.join()
        self.workers.remove(worker)
        name = worker.shard.name if worker.shard is not None else ""
        self.deaths[name] += 1
        if worker.shard is None:
            if self.deaths[""] >= MOST_DEATHS:
                code = worker.process.exitcode
                raise InputError(f"workers end while they load the model, the last with exit code {code}")
        elif self.deaths[name] <= MOST_DEATHS + worker.shard.documents:
            self.shards.appendleft(worker.shard)
        else:  # it ends processes at no document
            self.lost.append(worker.shard)
        if self.shards:
            self.start()

    def stop(self) -> None:
        for worker in self.workers:
            worker.connection.close()
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join()


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """What a process is started with: libraries read the number of their threads when they are imported."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(connection: Connection, plan: Plan, settings: Settings, threads: int) -> None:
    """A worker: shards in, receipts out, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; this one ends with the first
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        from docflat.bulk.translate_shard import TranslateShard

        translate = TranslateShard(plan, settings, threads)
        connection.send(("ready", None))
        while True:
            connection.send(("done", translate(*connection.recv())))
    except (EOFError, BrokenPipeError):
        pass
    except InputError as error:
        connection.send(("fault", str(error)))
    except MemoryError:
        os._exit(1)
    except Exception:
        connection.send(("bug", traceback.format_exc()))


def _end_with_parent() -> None:
    """When the first process was killed nobody gives this one work, and the next run does its shard again."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
