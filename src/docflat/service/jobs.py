"""Jobs: files that are translated after the request that brought them, and outlive the process.

A file is queued, running, done or failed. After a kill what was running is queued again; what was done stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from docflat.formats import FORMATS
from docflat.service import store
from docflat.service.messages import Message
from docflat.service.metrics import Metrics
from docflat.service.problems import Problem
from docflat.service.settings import Model, Settings
from docflat.service.speed import Speed
from docflat.service.spool import Spool
from docflat.service.store import Store, when_disk_allows
from docflat.service.supervisor import NICE, ModelProcess, ProcessGone, Task

log = logging.getLogger("docflat.service")

MOST_TRIES = 3  # processes that die of a file before it is taken to be what kills them
_SWEEP_SECONDS = 30.0  # how often old jobs are looked for
_NAME = 200  # characters of a file's name


@dataclass(frozen=True)
class Order:
    """What a client wants done with its files."""

    model: Model
    owner: str = ""
    compare: bool = False
    terms: tuple[str, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()  # of JSON, whose strings are to be translated; none: found out


@dataclass(frozen=True)
class JobFile:
    number: int
    name: str
    suffix: str
    size: int
    state: str
    fault: Mapping[str, Any] | None
    report: Mapping[str, Any] | None

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed")


@dataclass(frozen=True)
class Job:
    id: str
    order: Order
    secret: str  # hashed
    created: float
    ended: float | None
    files: Sequence[JobFile]

    @property
    def state(self) -> str:
        states = {file.state for file in self.files}
        if states <= {"done", "failed"}:
            return "done" if "done" in states else "failed"
        return "queued" if states == {"queued"} else "running"


@dataclass
class Progress:
    """Of a file that is being translated; it need not survive."""

    process: ModelProcess
    task: str
    started: float
    done: int = 0
    total: int = 0

    @property
    def seconds_left(self) -> float | None:
        if not self.done:
            return None
        return (time.monotonic() - self.started) * (self.total - self.done) / self.done


@dataclass
class Jobs:
    settings: Settings
    metrics: Metrics
    store: Store
    processes: list[ModelProcess] = field(default_factory=list)
    speed: Speed = field(default_factory=Speed)
    running: dict[tuple[str, int], Progress] = field(default_factory=dict)
    _watchers: dict[str, set[asyncio.Event]] = field(default_factory=dict)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _loops: list[asyncio.Task[None]] = field(default_factory=list)
    closed: bool = False

    def __post_init__(self) -> None:
        self.spool = Spool(self.settings.folder / "spool")
        self.models = {model.name: model for model in self.settings.models}

    async def start(self) -> None:
        self._go_on()
        await asyncio.to_thread(self.spool.clean, {row["id"] for row in self.store.rows("select id from jobs")})
        self.processes = [ModelProcess(self.settings, NICE) for _ in range(self.settings.document_processes)]
        await asyncio.gather(*(process.start() for process in self.processes))
        self._loops = [asyncio.create_task(self._serve(process)) for process in self.processes]
        self._loops.append(asyncio.create_task(self._sweep()))

    def _go_on(self) -> None:
        """After a stop or a kill: what was running is queued again; what no model is there for any more fails."""
        with self.store.transaction() as connection:
            connection.execute("update files set state = 'queued' where state = 'running'")
            waiting = connection.execute(
                "select distinct jobs.id, jobs.model from jobs join files on files.job = jobs.id where state = 'queued'"
            ).fetchall()
            for row in waiting:
                if row["model"] not in self.models:
                    fault = json.dumps({"code": "model_gone", "pair": row["model"]})
                    query = "update files set state = 'failed', fault = ? where job = ? and state = 'queued'"
                    connection.execute(query, (fault, row["id"]))
                    connection.execute("update jobs set ended = ? where id = ?", (time.time(), row["id"]))

    def close(self) -> None:
        """Those who watch jobs are told that there is nothing more to come: the server stops."""
        self.closed = True
        for id in self._watchers:
            self._tell(id)

    async def stop(self) -> None:
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await asyncio.gather(*(process.stop() for process in self.processes))

    @property
    def ready(self) -> bool:
        return any(process.ready for process in self.processes)

    # What clients ask.

    @property
    def waiting_seconds(self) -> float:
        """Until a file that arrives now would be begun, by the speed that was measured."""
        waiting = self.store.rows(
            "select files.size, files.suffix, jobs.compare from files join jobs on jobs.id = files.job"
            " where files.state in ('queued', 'running')"
        )
        seconds = sum(self.speed.estimate_file(row["size"], row["suffix"], row["compare"]) for row in waiting)
        return seconds / max(1, len(self.processes))

    async def add(self, order: Order, files: Sequence[tuple[BinaryIO, str, int]]) -> tuple[Job, str]:
        """A new job of files (their streams, names and sizes), and its secret: it is accepted, so it will be done."""
        suffixes = [suffix_of(name) for _, name, _ in files]
        waiting = self.waiting_seconds
        if waiting > self.settings.document_seconds:
            self.metrics.refused.labels("documents").inc()
            raise Problem(503, "busy", min(3600.0, waiting - self.settings.document_seconds / 2))
        id, secret = secrets.token_urlsafe(18), secrets.token_hex(32)
        streams = [(stream, suffix) for (stream, _, _), suffix in zip(files, suffixes, strict=True)]
        try:
            await asyncio.to_thread(self.spool.keep, id, streams)
        except OSError as error:
            log.error("the spool cannot be written: %s", error.strerror)
            raise Problem(507, "disk_full", 60) from None
        rows = [
            (id, number, name[-_NAME:], suffix, size)
            for number, ((_, name, size), suffix) in enumerate(zip(files, suffixes, strict=True), 1)
        ]
        values = (id, order.owner, hash_of(secret), order.model.name, order.compare)
        texts = (json.dumps(order.terms), json.dumps(dict(order.glossary)), json.dumps(order.keys), time.time())

        def insert() -> None:
            with self.store.transaction() as connection:
                connection.execute("insert into jobs values (?, ?, ?, ?, ?, ?, ?, ?, ?, null)", (*values, *texts))
                connection.executemany(
                    "insert into files (job, number, name, suffix, size, state) values (?, ?, ?, ?, ?, 'queued')", rows
                )

        try:
            await asyncio.to_thread(insert)
        except sqlite3.OperationalError:
            self.spool.remove(id)
            raise
        self._arrived.set()
        return self.get(id, order.owner), secret

    def get(self, id: str, owner: str | None) -> Job:
        """A job of this owner; of another's nothing is said, not even that it is there. None: whoever owns it."""
        row = self.store.row("select * from jobs where id = ?", (id,))
        if row is None or owner not in (None, row["owner"]):
            raise Problem(404, "no_job")
        order = Order(
            self.models.get(row["model"]) or Model(Path(), *row["model"].split("-")),
            row["owner"],
            bool(row["compare"]),
            tuple(json.loads(row["terms"])),
            json.loads(row["glossary"]),
            tuple(json.loads(row["keys"])),
        )
        files = [
            JobFile(
                file["number"],
                file["name"],
                file["suffix"],
                file["size"],
                file["state"],
                json.loads(file["fault"]) if file["fault"] else None,
                json.loads(file["report"]) if file["report"] else None,
            )
            for file in self.store.rows("select * from files where job = ? order by number", (id,))
        ]
        return Job(row["id"], order, row["secret"], row["created"], row["ended"], files)

    async def delete(self, job: Job) -> None:
        """Now: what runs is given up, and its files are gone."""
        await asyncio.to_thread(self.store.change, "delete from jobs where id = ?", (job.id,))
        for (id, _), progress in self.running.items():
            if id == job.id:
                progress.process.cancel(progress.task)
        await asyncio.to_thread(self.spool.remove, job.id)
        self._tell(job.id)

    @contextlib.contextmanager
    def watch(self, ids: Sequence[str]) -> Iterator[asyncio.Event]:
        """An event that is set whenever something about one of these jobs has changed."""
        changed = asyncio.Event()
        for id in ids:
            self._watchers.setdefault(id, set()).add(changed)
        try:
            yield changed
        finally:
            for id in ids:
                self._watchers[id].discard(changed)
                if not self._watchers[id]:
                    del self._watchers[id]

    async def wait(self, job: Job) -> Job:
        """The job when it has ended."""
        with self.watch([job.id]) as changed:
            while (job := self.get(job.id, job.order.owner)).ended is None:
                changed.clear()
                await changed.wait()
        return job

    # The work.

    def _tell(self, id: str) -> None:
        for event in self._watchers.get(id, ()):
            event.set()

    async def _serve(self, process: ModelProcess) -> None:
        while True:
            self._arrived.clear()
            place = await when_disk_allows(self._take)
            if place is None:
                await self._arrived.wait()
                continue
            await self._run(process, *place)
            if not process.ready:
                self.metrics.restarts.labels("documents").inc()
                await process.restart()

    def _take(self) -> tuple[str, int] | None:
        with self.store.transaction() as connection:
            query = "select place, job, number from files where state = 'queued' order by place limit 1"
            row = connection.execute(query).fetchone()
            if row is None:
                return None
            connection.execute("update files set state = 'running' where place = ?", (row["place"],))
            return row["job"], row["number"]

    async def _run(self, process: ModelProcess, id: str, number: int) -> None:
        with contextlib.suppress(Problem):  # it was deleted
            job = self.get(id, None)
            file = job.files[number - 1]
            started = time.monotonic()
            task = Task(f"{id}/{number}", asyncio.get_running_loop().create_future(), self._deadline())
            progress = self.running[id, number] = Progress(process, task.id, started)

            def hear(done: int, total: int) -> None:
                progress.done, progress.total = done, total
                task.deadline = self._deadline()
                self._tell(id)

            task.on_progress = hear
            self._tell(id)
            process.run(self._message(task.id, job, file), [task])
            try:
                message = await task.ended
            except ProcessGone:
                message = None
            finally:
                del self.running[id, number]
            if message is not None and message.get("fault") == "disk":
                await asyncio.sleep(store.DISK_SECONDS)
            seconds = time.monotonic() - started
            await when_disk_allows(lambda: self._end(job, file, message, seconds))

    def _deadline(self) -> float:
        return time.monotonic() + self.settings.silence_seconds

    def _message(self, task: str, job: Job, file: JobFile) -> Message:
        return {
            "kind": "file",
            "id": task,
            "path": str(self.spool.source(job.id, file.number, file.suffix)),
            "out": str(self.spool.result(job.id, file.number, file.suffix)),
            "sentences": str(self.spool.sentences(job.id, file.number)) if job.order.compare else "",
            "name": file.name,
            "model": job.order.model.name,
            "source": job.order.model.source,
            "target": job.order.model.target,
            "terms": job.order.terms,
            "glossary": dict(job.order.glossary),
            "keys": job.order.keys,
        }

    def _end(self, job: Job, file: JobFile, message: Message | None, seconds: float) -> None:
        place = (job.id, file.number)
        if message is not None and message.get("fault") == "disk":
            self.store.change("update files set state = 'queued' where job = ? and number = ?", place)
            self._tell(job.id)
            return
        if message is None:
            row = self.store.row("select tries from files where job = ? and number = ?", place)
            if row is not None and row["tries"] + 1 < MOST_TRIES:
                query = "update files set state = 'queued', tries = tries + 1 where job = ? and number = ?"
                self.store.change(query, place)
                self._tell(job.id)
                return
            message = {"kind": "failed", "fault": "bug"}
        state, fault, report = "failed", "", ""
        if message["kind"] == "done":
            state, report = "done", json.dumps(message["result"])
        elif message["fault"] == "input":
            fault = json.dumps({"code": "text_refused", "place": message["place"], "reason": message["message"]})
        else:
            fault = json.dumps({"code": "model_failed"})
        with self.store.transaction() as connection:
            query = "update files set state = ?, fault = ?, report = ? where job = ? and number = ?"
            changed = connection.execute(query, (state, fault, report, *place)).rowcount
            query = "select count(*) from files where job = ? and state in ('queued', 'running')"
            if not connection.execute(query, (job.id,)).fetchone()[0]:
                connection.execute("update jobs set ended = ? where id = ?", (time.time(), job.id))
        if state == "done":
            characters = message["result"]["characters"]
            self.speed.learn_file(file.size, file.suffix, characters, seconds, job.order.compare)
            self.metrics.characters.labels("documents").inc(characters)
        if changed:
            self.metrics.jobs.labels(state).inc()
        else:  # it was deleted while it was translated; what the process has written since goes too
            self.spool.remove(job.id)
        self._tell(job.id)

    async def _sweep(self) -> None:
        """Remove the jobs that ended long enough ago."""
        while True:
            before = time.time() - self.settings.retention
            for row in self.store.rows("select id, owner from jobs where ended < ?", (before,)):
                await when_disk_allows(partial(self.store.change, "delete from jobs where id = ?", (row["id"],)))
                await asyncio.to_thread(self.spool.remove, row["id"])
                self._tell(row["id"])
            await asyncio.sleep(min(_SWEEP_SECONDS, max(0.05, self.settings.retention / 4)))


def hash_of(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def suffix_of(name: str) -> str:
    suffix = PurePosixPath("_" + name.replace("\\", "/").rpartition("/")[2].strip()).suffix.lower()
    if suffix not in FORMATS:
        raise Problem(400, "file_kind", kind=suffix or name[-20:] or "-", kinds=" ".join(FORMATS))
    return suffix
