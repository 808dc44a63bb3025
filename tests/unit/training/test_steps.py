"""Steps are laid out in the background: in their order, with their errors, and no longer than they are wanted."""

from __future__ import annotations

import time

import pytest

from docflat.training.steps import ahead


def test_ahead_keeps_the_order_and_hands_errors_on() -> None:
    assert list(ahead(((lambda n=n: n) for n in range(50)), depth=3)) == list(range(50))

    def fail() -> int:
        raise KeyError("mine")

    items = ahead([lambda: 1, fail])
    assert next(items) == 1
    with pytest.raises(KeyError, match="mine"):
        next(items)


def test_ahead_stops_when_it_is_closed() -> None:
    made = []

    def endless():
        n = 0
        while True:
            n += 1
            yield lambda n=n: made.append(n)

    items = ahead(endless(), depth=2)
    next(items)
    items.close()
    time.sleep(0.3)
    count = len(made)
    time.sleep(0.3)
    assert len(made) == count <= 5
