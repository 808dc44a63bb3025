"""A model process as the web process sees it: started, asked, and replaced when it dies or hangs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from docflat.service.messages import Message, encode, read_async
from docflat.service.settings import Settings
from docflat.support.errors import InputError

log = logging.getLogger("docflat.service")

NICE = 19  # of processes for documents: texts, which somebody waits for, come first
PING_SECONDS = 2.0
_START_SECONDS = 300.0  # that loading the models may take


class ProcessGone(Exception):
    """The process died, or hung and was killed."""


@dataclass
class Task:
    """What a process is working on."""

    id: str
    ended: asyncio.Future[Message]
    deadline: float  # of the monotonic clock; later it is taken to hang
    on_progress: Callable[[int, int], None] = lambda done, total: None


@dataclass
class ModelProcess:
    settings: Settings
    nice: int = 0
    restarts: int = 0
    ready: bool = False
    tasks: dict[str, Task] = field(default_factory=dict)
    _process: asyncio.subprocess.Process | None = None
    _loops: list[asyncio.Task[None]] = field(default_factory=list)
    _heard: float = 0.0
    _loaded: asyncio.Future[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start it and wait until its models are loaded; what is wrong with a model is an InputError."""
        environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "docflat.service.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
        )
        self._loaded = asyncio.get_running_loop().create_future()
        # Who stops it while it loads does not ask how that ended.
        self._loaded.add_done_callback(lambda loaded: loaded.cancelled() or loaded.exception())
        self._heard = time.monotonic()
        self._send(
            {
                "kind": "load",
                "models": [{"name": model.name, "folder": str(model.folder)} for model in self.settings.models],
                "loader": self.settings.loader,
                "threads": self.settings.threads,
                "nice": self.nice,
            }
        )
        self._loops = [asyncio.create_task(self._listen(self._process)), asyncio.create_task(self._watch())]
        try:
            await asyncio.wait_for(asyncio.shield(self._loaded), _START_SECONDS)
        except asyncio.TimeoutError:
            await self.stop()
            raise ProcessGone("a model process took too long to load its models") from None
        except BaseException:
            await self.stop()
            raise

    async def restart(self) -> None:
        """A new process in its place; tried until there is one, for without it there is no service."""
        self.restarts += 1
        pause = 0.1
        while True:
            await self.stop()
            try:
                return await self.start()
            except (ProcessGone, InputError, OSError) as error:
                log.error("a model process did not start: %s", error)
                await asyncio.sleep(pause)
                pause = min(30.0, 2 * pause)

    async def stop(self) -> None:
        self.ready = False
        for loop in self._loops:
            loop.cancel()
        self._loops = []
        if self._process is not None:
            self._kill()
            await self._process.wait()
            # The pipes' transports close by themselves only when both ends are gone.
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process = None
        self._lose_tasks()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            # Its own `kill` looks for the exit status first, and takes it from whoever waits for it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    def _lose_tasks(self) -> None:
        tasks, self.tasks = self.tasks, {}
        for task in tasks.values():
            if not task.ended.done():
                task.ended.set_exception(ProcessGone("the model process ended"))
        if self._loaded is not None and not self._loaded.done():
            self._loaded.set_exception(ProcessGone("the model process ended while it loaded its models"))

    def _send(self, message: Message) -> None:
        if self._process is None or self._process.stdin is None or self._process.stdin.is_closing():
            raise ProcessGone("the model process ended")
        self._process.stdin.write(encode(message))

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while (message := await read_async(process.stdout)) is not None:
            self._heard = time.monotonic()
            self._hear(message)
        self.ready = False
        self._kill()
        self._lose_tasks()

    def _hear(self, message: Message) -> None:
        kind = message["kind"]
        if kind in ("ready", "broken") and self._loaded is not None and not self._loaded.done():
            self.ready = kind == "ready"
            if self.ready:
                self._loaded.set_result(None)
            else:
                self._loaded.set_exception(InputError(message["message"]))
        elif kind == "progress" and message["id"] in self.tasks:
            self.tasks[message["id"]].on_progress(message["done"], message["total"])
        elif kind in ("done", "failed") and message["id"] in self.tasks:
            task = self.tasks.pop(message["id"])
            if not task.ended.done():
                task.ended.set_result(message)

    async def _watch(self) -> None:
        """Ask whether it is there. What is silent too long, or works on one task too long, hangs, and is killed.

        What works is silent too where a machine is so busy that its priority gets it no turn, or in a step that lets no
        other thread in: the time that a task has is the limit for it.
        """
        number = 0
        while True:
            await asyncio.sleep(PING_SECONDS)
            number += 1
            now = time.monotonic()
            with contextlib.suppress(ProcessGone):
                self._send({"kind": "ping", "number": number})
            silent = self.ready and now - self._heard > self.settings.answer_seconds and not self._is_at_work()
            late = [task for task in self.tasks.values() if now > task.deadline]
            if silent or late:
                log.error("model process %s hangs: it is replaced", self.pid)
                self._kill()

    def _is_at_work(self) -> bool:
        """Whether a thread of it is on a processor, or in the queue for one or for the disk; not known: no."""
        states = []
        for path in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                states.append(path.read_text().rpartition(")")[2].split()[0])
        return "R" in states or "D" in states

    def run(self, message: Message, tasks: Sequence[Task]) -> None:
        """Ask for tasks; each ends by itself."""
        for task in tasks:
            self.tasks[task.id] = task
        try:
            self._send(message)
        except ProcessGone:
            self._lose_tasks()

    def cancel(self, id: str) -> None:
        with contextlib.suppress(ProcessGone):
            self._send({"kind": "cancel", "id": id})
