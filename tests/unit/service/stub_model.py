"""A model for the tests of the service: quick, and told by its sentences to be slow, to hang, to fail, or to die.

Its translation of a sentence swaps capitals, and says how many sentences it read before it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

PAUSE = 0.01


class Stub:
    languages = None

    def translate_documents(
        self,
        documents: Iterable[Sequence[str]],
        chunk: int = 2000,
        done: Callable[[int], None] = lambda sentences: None,
        **settings: Any,
    ) -> Iterator[list[str]]:
        documents = list(documents)
        note("call", len(documents))
        for document in documents:
            for sentence in document:
                obey(sentence, done)
                done(1)
        for document in documents:
            alone = settings.get("mode") == "sentence"
            yield [
                text.swapcase() + ("" if alone or not place else f" nach {place}")
                for place, text in enumerate(document)
            ]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[None]:
        return [None] * len(pairs)


def note(*words: object) -> None:
    """A line for the test to read, where it asked for one."""
    if path := os.environ.get("STUB_NOTES"):
        with open(path, "a") as file:
            file.write(" ".join(map(str, words)) + "\n")


def noted(word: str) -> int:
    path = os.environ.get("STUB_NOTES")
    return Path(path).read_text().count(word) if path else 0


def obey(sentence: str, done: Callable[[int], None]) -> None:
    if match := re.search(r"sleep (\d+)", sentence):
        for _ in range(int(match[1])):
            time.sleep(PAUSE)
            done(0)
    if match := re.search(r"grind (\d+)", sentence):
        sum(range(int(match[1]) * 1_000_000))  # one step, in which no other thread gets a turn
    if "hang now" in sentence and not ("once" in sentence and noted("hung")):
        note("hung")
        time.sleep(1000)
    if "fail now" in sentence:
        raise RuntimeError(f"secret: {sentence}")
    if (match := re.search(r"die (\d+) times", sentence)) and noted("died") < int(match[1]):
        note("died")
        os._exit(9)


class English(Stub):
    """The same, of a model that says what its languages are."""

    languages = ("en", "de")


def load(folder: str, threads: int) -> Stub:
    note("load", folder)
    return Stub()


class Awake(Stub):
    """One that does as it is told no more."""

    def translate_documents(
        self, documents: Iterable[Sequence[str]], *rest: Any, **settings: Any
    ) -> Iterator[list[str]]:
        return iter([[text.swapcase() for text in document] for document in documents])


def load_awake(folder: str, threads: int) -> Stub:
    return Awake()
