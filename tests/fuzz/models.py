"""Models that translate in a moment, as no model should but any may."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from docflat.decoding.alignment import find_words
from fuzz.mutations import WORDS
from stubs import Stub

_MOST_WEIGHTS = 500_000
_ONE_LINE = [word for word in WORDS if "\n" not in word and "\ud800" not in word]


def _same(text: str) -> str:
    return text


def _shout(text: str) -> str:
    return text.upper()


def _backwards(text: str) -> str:
    return " ".join(reversed(text.split()))


def _forgets(text: str) -> str:
    return " ".join(text.split()[:-1])


def _stutters(text: str) -> str:
    return " ".join(word for word in text.split() for _ in (1, 2))


def _german(text: str) -> str:
    return "Das ist ein Satz."


def _silent(text: str) -> str:
    return ""


def random_model(random: Random) -> Stub:
    def raves(text: str) -> str:
        words = text.split(" ")
        for _ in range(1 + len(words) // 4):
            words.insert(random.randrange(len(words) + 1), random.choice(_ONE_LINE))
        return " ".join(words)

    changes: tuple[Callable[[str], str], ...] = (_same, _shout, _shout, _backwards, _forgets, _stutters, _german)
    return RandomLinks(random.choice((*changes, _silent, raves, raves)), random)


class RandomLinks(Stub):
    """Its alignment says anything."""

    languages = ("en", "de")

    def __init__(self, change: Callable[[str], str], random: Random) -> None:
        super().__init__(change)
        self.random = np.random.default_rng(random.randrange(1 << 30))

    def align(self, pairs):  # type: ignore[no-untyped-def]
        return [self._weights(*pair) for pair in pairs]

    def _weights(self, source: str, target: str):  # type: ignore[no-untyped-def]
        shape = len(find_words(target)), len(find_words(source))
        most = shape[0] * shape[1] > _MOST_WEIGHTS  # a model knows no sentences as long
        return None if most or self.random.random() < 0.5 else self.random.random(shape)
