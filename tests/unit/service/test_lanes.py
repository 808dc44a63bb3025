"""Long texts beside short ones: who waits for whom, and what comes out."""

from __future__ import annotations

import asyncio
import io
import random
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from docflat.service.lanes import Lanes, lane_of
from docflat.service.messages import Message, read
from docflat.service.texts import TextRequest, Texts, _Hand, _Work
from docflat.service.translators import load
from docflat.service.worker import Worker
from docflat.translation.translator import Translator

from .conftest import SHIPPED, Start
from .stub_model import Stub
from .test_pressure import ask, clients, until

# By the first estimate of 100 characters a second.
SHORT, MIDDLING, LONG = "One.", "x" * 500, "y" * 5000


def task(id: str, text: str, **more: Any) -> Message:
    task = {"id": id, "model": "en-de", "source": "en", "target": "de", "texts": [text], "format": "text"}
    task |= {"split": "sentences", "context": [], "context_used": True, "related": True, "terms": [], "glossary": {}}
    return {**task, "compare": False, "tags": {}, **more}


class Heard(io.BytesIO):
    """What a worker says."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Callable[[], None]] = []

    def flush(self) -> None:
        for listener in self.listeners:
            listener()

    def ended(self) -> dict[str, Message]:
        """What was said of tasks that ended, in this order."""
        stream = io.BytesIO(self.getvalue())
        messages = []
        while (message := read(stream)) is not None:
            messages.append(message)
        return {message["id"]: message for message in messages if message["kind"] != "progress"}


def worker_with(translator: Any) -> tuple[Worker, Heard]:
    heard = Heard()
    worker = Worker(io.BytesIO(), heard)
    worker.translators["en-de"] = translator
    return worker, heard


def test_which_lane() -> None:
    assert [lane_of(seconds) for seconds in (0.1, 2.0, 2.1, 20.0, 20.1, 1e9)] == [0, 0, 1, 1, 2, 2]


def test_a_busy_process_goes_on_with_short_texts_when_another_has_taken_a_suspect() -> None:
    """One process works on a long text; one is being started again after a text that may have killed it."""

    class Process:
        def __init__(self, ready: bool) -> None:
            self.ready, self.restarted, self.ran = ready, asyncio.Event(), asyncio.Event()

        async def restart(self) -> None:
            await self.restarted.wait()
            self.ready = True

        def run(self, message: Message, tasks: Any) -> None:
            self.ran.set()

    async def serve() -> None:
        texts = Texts(MagicMock(), MagicMock())
        busy, dead = (_Hand(Process(ready)) for ready in (True, False))  # type: ignore[arg-type]
        never = asyncio.create_task(asyncio.sleep(60))
        busy.running[2] = never
        texts._hands = [busy, dead]
        loops = [asyncio.create_task(texts._serve(hand)) for hand in texts._hands]
        request = TextRequest(SimpleNamespace(name="m", source="en", target="de"), (SHORT,))  # type: ignore[arg-type]
        for tries in (1, 0):
            texts._add(_Work(str(tries), request, asyncio.get_running_loop().create_future(), 0.1, tries=tries))
        await asyncio.sleep(0.02)
        dead.process.restarted.set()  # type: ignore[attr-defined]
        try:
            for hand in (dead, busy):
                await asyncio.wait_for(hand.process.ran.wait(), 5)  # type: ignore[attr-defined]
        finally:
            for task in (*loops, never, *busy.running.values()):
                task.cancel()

    asyncio.run(serve())


class Work:
    def __init__(self, seconds: float, tries: int = 0) -> None:
        self.seconds, self.tries = seconds, tries


def test_short_ones_are_gathered_and_long_ones_go_alone() -> None:
    queue: Lanes[Work] = Lanes()
    works = [Work(0.9), Work(3.0), Work(0.9), Work(30.0), Work(0.9), Work(5.0), Work(0.5, tries=1)]
    for work in works:
        queue.add(work)
    first = dict(queue.take(lambda lane: False))
    assert first == {0: [works[0], works[2]], 1: [works[1]], 2: [works[3]]}
    assert dict(queue.take(lambda lane: lane > 0)) == {0: [works[4]]}
    assert queue.has_for(lambda lane: False)
    assert not queue.has_for(lambda lane: lane == 1)
    queue.remove(works[5])
    queue.remove(works[6])
    assert works[5] not in queue
    assert not queue.suspects


def test_a_short_text_neither_waits_for_long_ones_nor_is_refused_for_them(start: Start) -> None:
    with start(text_seconds=2.0) as service:
        long, middling = f"sleep 300 {LONG}", f"sleep 100 {MIDDLING}"
        with clients(service, [long]) as (slow,):
            until(lambda: service.noted("call") == 1)
            with clients(service, [middling]) as (middle,):
                until(lambda: service.noted("call") == 2)
                for number in range(3):
                    answer = ask(service, f"{SHORT} {number}.")
                    assert answer.json()["translatedText"] == f"oNE. {number}."
                assert not middle.done()
                refused = ask(service, f"another {LONG}")
                assert (refused.status_code, refused.headers["retry-after"].isdecimal()) == (429, True)
            assert not slow.done()
            assert middle.result().json()["translatedText"] == middling.swapcase()
        assert slow.result().json()["translatedText"] == long.swapcase()


def test_a_long_text_comes_to_its_end_however_many_short_ones_there_are(start: Start) -> None:
    with start(threads=1) as service, clients(service, [f"sleep 100 {LONG}"]) as (slow,):
        until(lambda: service.noted("call") == 1)
        deadline = time.monotonic() + 30
        stop = threading.Event()

        def pester(number: int) -> None:
            count = 0
            while not stop.is_set():
                count += 1
                assert ask(service, f"{SHORT} {number} {count}").status_code == 200

        threads = [threading.Thread(target=pester, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            until(slow.done)
        finally:
            stop.set()
        assert time.monotonic() < deadline
        for thread in threads:
            thread.join()


def test_what_dies_takes_nobody_with_it(start: Start) -> None:
    """A short text that was in the process with a long one that kills it is done again, and never with it."""
    with start() as service:
        deadly = f"sleep 30 die 9 times {LONG}"
        with clients(service, [deadly]) as (slow,):
            until(lambda: service.noted("call") == 1)
            answers = [ask(service, f"sleep 10 {number}") for number in range(3)]
        assert slow.result().status_code == 503
        assert [answer.json()["translatedText"] for answer in answers] == [f"SLEEP 10 {n}" for n in range(3)]


def test_a_long_text_that_nobody_waits_for_is_given_up(start: Start) -> None:
    from .test_pressure import leave, work

    with start(grace_seconds=0.1) as service:
        client = leave(service, f"sleep 3000 {LONG}")
        until(lambda: service.noted("call") == 1)
        client.close()
        until(lambda: work(service) == 0)
        with clients(service, [f"sleep 1 {LONG}"]) as (answer,):
            assert answer.result().status_code == 200


def test_seconds_of_a_call_are_its_own() -> None:
    """Or the speed that is learnt would be that of several at once."""
    worker, heard = worker_with(Stub())
    worker.todo.put((0, 1, {"kind": "texts", "lane": 0, "tasks": [task("short", "sleep 50")]}))
    worker.translate_texts(2, [task("long", "sleep 20")])
    assert list(heard.ended()) == ["short", "long"]
    seconds = {id: message["seconds"] for id, message in heard.ended().items()}
    assert seconds["short"] >= 0.5
    assert 0.2 <= seconds["long"] < 0.5


def test_only_shorter_lanes_are_let_pass() -> None:
    worker, heard = worker_with(Stub())
    for number, lane in enumerate((2, 1, 0)):
        worker.todo.put((lane, number, {"kind": "texts", "lane": lane, "tasks": [task(f"lane {lane}", "sleep 3")]}))
    worker.translate_texts(1, [task("first", "sleep 3")])
    assert list(heard.ended()) == ["lane 0", "first"]
    assert worker.todo.qsize() == 2


def test_a_long_text_reads_as_it_would_alone() -> None:
    """The model is asked for other texts in the middle of it, at every step that it takes."""
    translator = load(str(SHIPPED), 1)
    assert isinstance(translator, Translator)
    draw = random.Random(1)
    things = ["lamp", "door", "dog", "report", "bridge", "song"]
    text = " ".join(f"The {draw.choice(things)} was {n}. We like it because it is {n}." for n in range(40))
    short = task("short", "The lamp is new. It is bright.", compare=True)
    long = task("long", text, compare=True)
    alone, heard_alone = worker_with(translator)
    alone.translate_texts(2, [long])
    alone.translate_texts(0, [short])
    worker, heard = worker_with(translator)
    passed = []

    def come_in() -> None:
        if worker.todo.empty() and not lanes_busy[0]:
            passed.append(1)
            worker.todo.put((0, len(passed), {"kind": "texts", "lane": 0, "tasks": [short]}))

    lanes_busy = [0]
    let_pass = worker.let_pass

    def noting(lane: int) -> None:
        lanes_busy[0] += 1
        let_pass(lane)
        lanes_busy[0] -= 1

    worker.let_pass = noting  # type: ignore[method-assign]
    heard.listeners.append(come_in)
    worker.translate_texts(2, [long])
    assert len(passed) > 3
    for id in ("short", "long"):
        assert heard.ended()[id]["result"] == heard_alone.ended()[id]["result"]
