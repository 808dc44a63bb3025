"""A model process: `python -m docflat.service.worker`, started by the web process, which it talks to over its pipes.

A thread reads what is asked; the main thread translates. So it hears of a task that is cancelled while it translates,
and between the steps of a long text it does what has come in for a shorter lane.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from docflat.service.messages import Message, encode, read
from docflat.support.errors import InputError

log = logging.getLogger("docflat.service")


class Cancelled(Exception):
    """Nobody waits for this task any more."""


class _Refused(InputError):
    """A file that cannot be translated, under the name that its sender knows."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place


class _Unwritten(Exception):
    """A translation that the disk did not take."""


class Worker:
    def __init__(self, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self.stdin, self.stdout = stdin, stdout
        self.writing = threading.Lock()
        self.todo: queue.PriorityQueue[tuple[int, int, Message]] = queue.PriorityQueue()  # lane, number, message
        self.numbers = count()
        self.elsewhere = 0.0  # seconds that were spent on other calls in the middle of one
        self.cancelled: set[str] = set()
        self.translators: dict[str, Any] = {}

    def say(self, **message: Any) -> None:
        with self.writing:
            self.stdout.write(encode(message))
            self.stdout.flush()

    def listen(self) -> None:
        """The thread that reads. When the web process is gone this one has nothing to live for."""
        while (message := read(self.stdin)) is not None:
            if message["kind"] == "ping":
                self.say(kind="pong", number=message["number"])
            elif message["kind"] == "cancel":
                self.cancelled.add(message["id"])
            else:
                self.todo.put((message.get("lane", 0), next(self.numbers), message))
        os._exit(0)

    def load(self, message: Message) -> None:
        module, _, name = message["loader"].partition(":")
        import_module("docflat.service.translators")  # ready is who need not import anything more
        loader: Callable[[str, int], Any] = getattr(import_module(module), name)
        try:
            for model in message["models"]:
                self.translators[model["name"]] = loader(model["folder"], message["threads"])
        except InputError as error:
            self.say(kind="broken", message=str(error))
            return
        if message["nice"]:  # not before: on a busy machine it would take minutes until the service is there
            os.nice(message["nice"])
        self.say(kind="ready")

    def run(self) -> None:
        threading.Thread(target=self.listen, daemon=True).start()
        while True:
            _, _, message = self.todo.get()
            if message["kind"] == "load":
                self.load(message)
            elif message["kind"] == "texts":
                self.translate_texts(message["lane"], message["tasks"])
            else:
                self.answer(message, partial(self.translate_file, message))

    def answer(self, task: Message, do: Callable[[], Message]) -> None:
        """Do a task, and say how it ended, whatever happens: the others must not suffer.

        seconds: of this call, without those that others took in the middle of it.
        """
        started = time.monotonic() - self.elsewhere
        try:
            result = do()
            self.say(kind="done", id=task["id"], result=result, seconds=time.monotonic() - self.elsewhere - started)
        except Cancelled:
            self.say(kind="failed", id=task["id"], fault="cancelled", message="")
        except InputError as error:
            self.say(kind="failed", id=task["id"], fault="input", place=error.place, message=error.message)
        except _Unwritten as error:
            log.error("a translation cannot be stored: %s", error)
            self.say(kind="failed", id=task["id"], fault="disk", message="")
        except MemoryError:
            os._exit(1)
        except Exception as error:
            # The traceback has places in the code, and the kind of the error: its words could be a client's text.
            frames = _frames(error)
            log.error("a task failed: %s at %s", type(error).__name__, frames)
            self.say(kind="failed", id=task["id"], fault="bug", message=type(error).__name__)
        self.cancelled.discard(task["id"])

    def translate_texts(self, lane: int, tasks: list[Message]) -> None:
        from docflat.service.together import run_together
        from docflat.service.translators import IN_SHORT_STEPS, translate_texts

        settings = IN_SHORT_STEPS if lane else {}

        def translate(task: Message, translator: Any) -> None:
            self.answer(task, lambda: translate_texts(translator, task, self.checking(lane, task), **settings))

        by_model: dict[str, list[Message]] = {}
        for task in tasks:
            by_model.setdefault(task["model"], []).append(task)
        for name, group in by_model.items():
            run_together(self.translators[name], group, translate)

    def checking(self, lane: int, task: Message) -> Callable[[int], None]:
        """What a task calls after each of its steps."""

        def done(sentences: int) -> None:
            if task["id"] in self.cancelled:
                raise Cancelled
            if lane and threading.current_thread() is threading.main_thread():
                self.say(kind="progress", id=task["id"], done=0, total=0)
                self.let_pass(lane)

        done(0)
        return done

    def let_pass(self, lane: int) -> None:
        """Do one call of a shorter lane, if there is one: one, as the long one is to come to its end too."""
        try:
            first = self.todo.get_nowait()
        except queue.Empty:
            return
        if first[0] >= lane:
            self.todo.put(first)
            return
        started, before = time.monotonic(), self.elsewhere
        self.translate_texts(first[0], first[2]["tasks"])
        self.elsewhere = before + time.monotonic() - started

    def translate_file(self, task: Message) -> Message:
        from docflat.service.translators import FileTask, read_one_file, translate_one_file

        path = Path(task["path"])
        file = FileTask(
            path,
            Path(task["out"]),
            task["source"],
            task["target"],
            task["terms"],
            task["glossary"],
            task["keys"],
            Path(task["sentences"]) if task["sentences"] else None,
        )
        try:
            planned = read_one_file(file)
            total = planned.sentences * (2 if file.sentences else 1)
            so_far = 0

            def done(sentences: int) -> None:
                nonlocal so_far
                so_far += sentences
                if task["id"] in self.cancelled:
                    raise Cancelled
                self.say(kind="progress", id=task["id"], done=min(so_far, total), total=total)

            done(0)
            return translate_one_file(self.translators[task["model"]], file, planned, done)
        except InputError as error:
            if error.place.startswith(f"{path.parent}{os.sep}") and not error.place.startswith(str(path)):
                raise _Unwritten(error.message) from None
            # The client knows its file by its own name, not by that of the spool.
            client_name = error.place.replace(str(path), task["name"])
            raise _Refused(client_name, error.message.replace(path.name, task["name"])) from None


def _frames(error: BaseException) -> str:
    places, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{Path(code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " > ".join(places)


def main() -> None:
    # Ctrl-C in a terminal reaches every process of it; this one ends when the web process does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(stream=sys.stderr, format="docflat: %(message)s")
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whoever prints does not print into the messages
    worker = Worker(os.fdopen(os.dup(0), "rb"), stdout)
    try:
        worker.run()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
