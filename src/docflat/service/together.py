"""Several requests in one call of the engine, each a document of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Documents = list[Sequence[str]]
Done = Callable[[int], None]


@dataclass
class _Call:
    documents: Documents
    settings: dict[str, Any]
    done: Done
    answer: list[list[str]] | None = None
    error: BaseException | None = None
    ended: bool = False


@dataclass
class Together:
    """A translator whose callers, a thread each, all wait until each of them asks for something or has left.

    Then what they ask is one call. The translation of a document does not depend on the others in a call, so a request
    gets what it would get alone. It may be asked several times: glossaries and placeholders translate sentences again.
    """

    translator: Any
    callers: int
    calls: list[_Call] = field(default_factory=list)
    condition: threading.Condition = field(default_factory=threading.Condition)

    @property
    def languages(self) -> tuple[str, str] | None:
        languages: tuple[str, str] | None = self.translator.languages
        return languages

    def align(self, pairs: Sequence[tuple[str, str]]) -> Any:
        with self.condition:
            return self.translator.align(pairs)

    def translate_documents(
        self, documents: Iterable[Sequence[str]], chunk: int = 2000, done: Done = lambda n: None, **settings: Any
    ) -> Iterator[list[str]]:
        listed = list(documents)
        if not listed:
            return iter(())
        call = _Call(listed, settings, done)
        with self.condition:
            self.calls.append(call)
            self.condition.notify_all()
            self.condition.wait_for(lambda: call.ended)
        if call.error is not None:
            raise call.error
        return iter(call.answer or [])

    def leave(self) -> None:
        with self.condition:
            self.callers -= 1
            self.condition.notify_all()

    def serve(self) -> None:
        """Answer the callers until all have left, in the thread that the engine knows."""
        with self.condition:
            while self.callers:
                self.condition.wait_for(lambda: len(self.calls) >= self.callers)
                calls, self.calls = self.calls, []
                while calls:
                    same = [call for call in calls if call.settings == calls[0].settings]
                    calls = [call for call in calls if call.settings != calls[0].settings]
                    self._run(same)
                self.condition.notify_all()

    def _run(self, calls: list[_Call]) -> None:
        """As one; if one of them is at fault or was given up, those that are not go on by themselves."""

        def done(sentences: int) -> None:
            for call in calls:
                call.done(0)

        try:
            documents = [document for call in calls for document in call.documents]
            answers = iter(list(self.translator.translate_documents(documents, done=done, **calls[0].settings)))
            for call in calls:
                call.answer = [next(answers) for _ in call.documents]
                call.ended = True
        except Exception as error:
            if len(calls) == 1:
                calls[0].error, calls[0].ended = error, True
            else:
                for call in calls:
                    self._run([call])


def run_together(translator: Any, tasks: Sequence[Any], do: Callable[[Any, Any], None]) -> None:
    """Do tasks, each with a translator whose calls go to the engine together. `do` raises nothing."""
    if len(tasks) == 1:
        do(tasks[0], translator)
        return
    shared = Together(translator, len(tasks))

    def run(task: Any) -> None:
        try:
            do(task, shared)
        finally:
            shared.leave()

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    shared.serve()
    for thread in threads:
        thread.join()
