"""Requests of texts on their way to a model process: joined, gathered, counted in seconds, done again, given up."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import Any

from docflat.service.messages import Message
from docflat.service.metrics import Metrics
from docflat.service.problems import Problem
from docflat.service.settings import Model, Settings
from docflat.service.speed import Speed
from docflat.service.supervisor import ModelProcess, ProcessGone, Task

GATHER_SECONDS = 0.005  # texts that arrive within it are translated together
GATHERED_SECONDS = 2.0  # of estimated work in one call: more would keep who comes next waiting
MOST_TRIES = 3  # of a task whose process dies: it may be what kills it
SLOW = 60.0  # seconds that any task may take beside ten times what was estimated


@dataclass(frozen=True)
class TextRequest:
    """A list of texts, one document."""

    model: Model
    texts: tuple[str, ...]
    format: str = "text"  # or html, xml
    split: str = "sentences"  # or nonewlines, none
    context: tuple[str, ...] = ()  # read before the texts, not translated for the client
    context_used: bool = True  # false: every sentence is translated as if it stood alone
    related: bool = True  # false: each text is a document of its own
    terms: tuple[str, ...] = ()
    glossary: tuple[tuple[str, str], ...] = ()
    compare: bool = False  # whether to say what each sentence reads without context
    tags: tuple[tuple[str, Any], ...] = ()  # of XML: what `TagRules` are told

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts)) + sum(map(len, self.context))

    def message(self, id: str) -> Message:
        return {
            "id": id,
            "model": self.model.name,
            "source": self.model.source,
            "target": self.model.target,
            "texts": self.texts,
            "format": self.format,
            "split": self.split,
            "context": self.context,
            "context_used": self.context_used,
            "related": self.related,
            "terms": self.terms,
            "glossary": dict(self.glossary),
            "compare": self.compare,
            "tags": dict(self.tags),
        }

    @property
    def key(self) -> bytes:
        """The same for requests with the same answer."""
        return sha256(json.dumps(self.message("")).encode()).digest()


@dataclass
class _Work:
    id: str
    request: TextRequest
    answer: asyncio.Future[Message]
    seconds: float  # estimated
    waiting: int = 0  # clients
    tries: int = 0
    process: ModelProcess | None = None  # that it is with


@dataclass
class Texts:
    """The queue of texts and the processes that work on it."""

    settings: Settings
    metrics: Metrics
    processes: list[ModelProcess] = field(default_factory=list)
    speed: Speed = field(default_factory=Speed)
    _queue: deque[_Work] = field(default_factory=deque)
    _known: dict[bytes, _Work] = field(default_factory=dict)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _loops: list[asyncio.Task[None]] = field(default_factory=list)
    _ids: count[int] = field(default_factory=count)

    async def start(self) -> None:
        self.processes = [ModelProcess(self.settings) for _ in range(self.settings.text_processes)]
        await asyncio.gather(*(process.start() for process in self.processes))
        self._loops = [asyncio.create_task(self._serve(process)) for process in self.processes]

    async def stop(self) -> None:
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*(process.stop() for process in self.processes))

    @property
    def ready(self) -> bool:
        return any(process.ready for process in self.processes)

    @property
    def waiting_seconds(self) -> float:
        """Until a text that arrives now would be begun, by the speed that was measured."""
        seconds = sum(work.seconds for work in self._known.values() if not work.answer.done())
        return seconds / max(1, len(self.processes))

    async def translate(self, request: TextRequest) -> Message:
        """The answer of a model process. Whoever is cancelled while it waits has gone away."""
        work = self._known.get(request.key)
        if work is None:
            waiting = self.waiting_seconds
            if waiting > self.settings.text_seconds:
                self.metrics.refused.labels("texts").inc()
                raise Problem(429, "busy", waiting - self.settings.text_seconds / 2)
            work = _Work(
                str(next(self._ids)),
                request,
                asyncio.get_running_loop().create_future(),
                self.speed.estimate(request.characters * (1 + request.compare)),
            )
            self._known[request.key] = work
            self._queue.append(work)
            self._arrived.set()
        else:
            self.metrics.joined.inc()
        work.waiting += 1
        try:
            message = await asyncio.shield(work.answer)
        finally:
            work.waiting -= 1
            if not work.waiting and not work.answer.done():
                # Most clients that give up send the same again at once: that one is to find the work done, not begun.
                loop = asyncio.get_running_loop()
                loop.call_later(self.settings.grace_seconds, self._give_up_if_alone, work)
        return self._result(message)

    def _result(self, message: Message) -> Message:
        if message["kind"] == "done":
            result: Message = message["result"]
            return result
        if message["fault"] == "input":
            raise Problem(400, "text_refused", reason=message["message"])
        raise Problem(503, "model_failed", 1)

    def _give_up_if_alone(self, work: _Work) -> None:
        """Nobody waits for it any more, and nobody has come back."""
        if work.waiting or self._known.get(work.request.key) is not work:
            return
        done = work.answer.done()
        self._forget(work)
        if done:
            return
        self.metrics.abandoned.inc()
        if work in self._queue:
            self._queue.remove(work)
        elif work.process is not None:
            work.process.cancel(work.id)

    def _forget(self, work: _Work) -> None:
        if self._known.get(work.request.key) is work:
            del self._known[work.request.key]
        if not work.answer.done():
            work.answer.cancel()

    async def _serve(self, process: ModelProcess) -> None:
        while True:
            while not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
            await asyncio.sleep(GATHER_SECONDS)
            if gathered := self._gather():
                await self._work(process, gathered)
            if not process.ready:
                self.metrics.restarts.labels("texts").inc()
                await process.restart()

    def _gather(self) -> list[_Work]:
        """What is translated together; a task that a process died of goes alone."""
        gathered: list[_Work] = []
        seconds = 0.0
        while self._queue:
            work = self._queue[0]
            if gathered and (seconds + work.seconds > GATHERED_SECONDS or work.tries):
                break
            gathered.append(self._queue.popleft())
            seconds += work.seconds
            if work.tries:
                break
        return gathered

    async def _work(self, process: ModelProcess, gathered: Sequence[_Work]) -> None:
        loop = asyncio.get_running_loop()
        started = time.monotonic()
        estimate = sum(work.seconds for work in gathered)
        tasks = [Task(work.id, loop.create_future(), started + SLOW + 10 * estimate) for work in gathered]
        for work in gathered:
            work.process = process
        process.run({"kind": "texts", "tasks": [work.request.message(work.id) for work in gathered]}, tasks)
        # Each client gets its answer as soon as it is there.
        await asyncio.gather(*(self._end(work, task) for work, task in zip(gathered, tasks, strict=True)))
        if not any(work.tries for work in gathered):
            characters = sum(work.request.characters * (1 + work.request.compare) for work in gathered)
            self.speed.learn(characters, time.monotonic() - started)

    async def _end(self, work: _Work, task: Task) -> None:
        try:
            message = await task.ended
        except ProcessGone:
            work.tries += 1
            if work.answer.done():  # it was given up
                return
            if work.tries < MOST_TRIES:
                self._queue.appendleft(work)
                self._arrived.set()
                return
            message = {"kind": "failed", "fault": "bug", "message": ""}
        if not work.answer.done():
            work.answer.set_result(message)
        if work.waiting:  # else it is kept for a client that may come back
            self._forget(work)
