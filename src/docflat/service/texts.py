"""Requests of texts on their way to a model process: joined, gathered, counted in seconds, done again, given up."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import count
from typing import Any

from docflat.service.lanes import Lanes, lane_of
from docflat.service.messages import Message
from docflat.service.metrics import Metrics
from docflat.service.problems import Problem
from docflat.service.settings import Model, Settings
from docflat.service.speed import Speed
from docflat.service.supervisor import ModelProcess, ProcessGone, Task

GATHER_SECONDS = 0.005  # texts that arrive within it are translated together
MOST_TRIES = 3  # of a task whose process dies: it may be what kills it
SLOW = 60.0  # seconds without progress that any task may take, beside ten times what was estimated


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
    started: float = 0.0

    @property
    def seconds_left(self) -> float:
        return self.seconds if self.process is None else max(0.0, self.seconds - time.monotonic() + self.started)


@dataclass
class _Hand:
    """A process and what it is doing, by lane."""

    process: ModelProcess
    running: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)  # there may be something to do for it

    def is_busy(self, lane: int) -> bool:
        return lane in self.running


@dataclass
class Texts:
    """The queue of texts and the processes that work on it."""

    settings: Settings
    metrics: Metrics
    processes: list[ModelProcess] = field(default_factory=list)
    speed: Speed = field(default_factory=Speed)
    _lanes: Lanes[_Work] = field(default_factory=Lanes)
    _known: dict[bytes, _Work] = field(default_factory=dict)
    _hands: list[_Hand] = field(default_factory=list)
    _loops: list[asyncio.Task[None]] = field(default_factory=list)
    _ids: count[int] = field(default_factory=count)

    async def start(self) -> None:
        self.processes = [ModelProcess(self.settings) for _ in range(self.settings.text_processes)]
        await asyncio.gather(*(process.start() for process in self.processes))
        self._hands = [_Hand(process) for process in self.processes]
        self._loops = [asyncio.create_task(self._serve(hand)) for hand in self._hands]

    async def stop(self) -> None:
        for loop in [*self._loops, *(task for hand in self._hands for task in hand.running.values())]:
            loop.cancel()
        await asyncio.gather(*(process.stop() for process in self.processes))

    @property
    def ready(self) -> bool:
        return any(process.ready for process in self.processes)

    @property
    def waiting_seconds(self) -> float:
        """Of all that waits or is being translated, by the speed that was measured."""
        return self._seconds_before(float("inf"))

    def _seconds_before(self, seconds: float) -> float:
        """Until a text of so many seconds that arrives now would be begun: longer ones do not hold it up."""
        lane = lane_of(seconds)
        before = [w for w in self._known.values() if lane_of(w.seconds) <= lane and not w.answer.done()]
        return sum(work.seconds_left for work in before) / max(1, len(self.processes))

    async def translate(self, request: TextRequest) -> Message:
        """The answer of a model process. Whoever is cancelled while it waits has gone away."""
        work = self._known.get(request.key)
        if work is None:
            seconds = self.speed.estimate(request.characters * (1 + request.compare))
            waiting = self._seconds_before(seconds)
            if waiting > self.settings.text_seconds:
                self.metrics.refused.labels("texts").inc()
                raise Problem(429, "busy", waiting - self.settings.text_seconds / 2)
            work = _Work(str(next(self._ids)), request, asyncio.get_running_loop().create_future(), seconds)
            self._known[request.key] = work
            self._add(work)
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
            raise Problem(400, "text_refused", place=message["place"], reason=message["message"])
        raise Problem(503, "model_failed", 1)

    def _add(self, work: _Work) -> None:
        work.process = None
        self._lanes.add(work)
        self._wake_all()

    def _wake_all(self) -> None:
        for hand in self._hands:
            hand.wake.set()

    def _give_up_if_alone(self, work: _Work) -> None:
        """Nobody waits for it any more, and nobody has come back."""
        if work.waiting or self._known.get(work.request.key) is not work:
            return
        done = work.answer.done()
        self._forget(work)
        if done:
            return
        self.metrics.abandoned.inc()
        if work in self._lanes:
            self._lanes.remove(work)
        elif work.process is not None:
            work.process.cancel(work.id)

    def _forget(self, work: _Work) -> None:
        if self._known.get(work.request.key) is work:
            del self._known[work.request.key]
        if not work.answer.done():
            work.answer.cancel()

    async def _serve(self, hand: _Hand) -> None:
        while True:
            hand.wake.clear()
            if not hand.process.ready:
                if not hand.running:
                    self.metrics.restarts.labels("texts").inc()
                    await hand.process.restart()
                    continue
            elif self._lanes.suspects:
                if not hand.running:
                    suspect = self._lanes.suspects.popleft()
                    self._wake_all()  # those that left their other lanes empty for it
                    await self._work(hand, 0, [suspect])
                    continue
            elif self._lanes.has_for(hand.is_busy):
                await asyncio.sleep(GATHER_SECONDS)
                for lane, gathered in self._lanes.take(hand.is_busy):
                    hand.running[lane] = asyncio.create_task(self._work(hand, lane, gathered))
            await hand.wake.wait()

    async def _work(self, hand: _Hand, lane: int, gathered: Sequence[_Work]) -> None:
        """One call of a process."""
        loop, now = asyncio.get_running_loop(), time.monotonic()
        patience = SLOW + 10 * sum(work.seconds for work in gathered)
        tasks = [Task(work.id, loop.create_future(), now + patience) for work in gathered]
        for work, task in zip(gathered, tasks, strict=True):
            work.process, work.started = hand.process, now
            task.on_progress = partial(_extend, task, patience)
        messages = [work.request.message(work.id) for work in gathered]
        hand.process.run({"kind": "texts", "lane": lane, "tasks": messages}, tasks)
        # Each client gets its answer as soon as it is there.
        ended = await asyncio.gather(*(self._end(work, task) for work, task in zip(gathered, tasks, strict=True)))
        if all(seconds is not None for seconds in ended):
            characters = sum(work.request.characters * (1 + work.request.compare) for work in gathered)
            self.speed.learn(characters, max(seconds or 0.0 for seconds in ended))
        hand.running.pop(lane, None)
        hand.wake.set()

    async def _end(self, work: _Work, task: Task) -> float | None:
        """Seconds that the process took for the whole call, up to now; None: it did not do it."""
        try:
            message = await task.ended
        except ProcessGone:
            work.tries += 1
            if work.answer.done():  # it was given up
                return None
            if work.tries < MOST_TRIES:
                self._add(work)
                return None
            message = {"kind": "failed", "fault": "bug", "message": ""}
        if not work.answer.done():
            work.answer.set_result(message)
        if work.waiting:  # else it is kept for a client that may come back
            self._forget(work)
        return float(message["seconds"]) if message["kind"] == "done" else None


def _extend(task: Task, patience: float, done: int, total: int) -> None:
    """It goes on: it does not hang."""
    task.deadline = time.monotonic() + patience
