"""Lanes: works by how long they are, so that a long one does not hold up short ones.

Each lane has a line of its own. A model process has one call of each lane at a time, and between the steps of a long
one it does what waits in the shorter lanes. So a short text waits for a step of a long one, never for all of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

# Estimated seconds of work: up to these a text goes into the lane. Those of the first are translated together.
LIMITS = (2.0, 20.0, float("inf"))
SHORTEST = 0


class Waiting(Protocol):
    @property
    def seconds(self) -> float: ...
    @property
    def tries(self) -> int: ...


W = TypeVar("W", bound=Waiting)


def lane_of(seconds: float) -> int:
    return next(lane for lane, limit in enumerate(LIMITS) if seconds <= limit)


class Lanes(Generic[W]):
    """What waits, in its lanes; and those that a process died of, which go alone: each may be what kills it."""

    def __init__(self) -> None:
        self._lanes: list[deque[W]] = [deque() for _ in LIMITS]
        self.suspects: deque[W] = deque()

    def __contains__(self, work: W) -> bool:
        return work in self.suspects or work in self._lanes[lane_of(work.seconds)]

    def add(self, work: W) -> None:
        if work.tries:
            self.suspects.append(work)
        else:
            self._lanes[lane_of(work.seconds)].append(work)

    def remove(self, work: W) -> None:
        (self.suspects if work in self.suspects else self._lanes[lane_of(work.seconds)]).remove(work)

    def take(self, is_busy: Callable[[int], bool]) -> Iterator[tuple[int, list[W]]]:
        """The next call of each lane in which the process has none."""
        for lane, waiting in enumerate(self._lanes):
            if waiting and not is_busy(lane):
                yield lane, self._gather(waiting) if lane == SHORTEST else [waiting.popleft()]

    def has_for(self, is_busy: Callable[[int], bool]) -> bool:
        return any(waiting and not is_busy(lane) for lane, waiting in enumerate(self._lanes))

    def _gather(self, waiting: deque[W]) -> list[W]:
        """As much as is translated together: more would keep who comes next waiting."""
        gathered, seconds = [waiting.popleft()], 0.0
        while waiting and (seconds := seconds + gathered[-1].seconds) + waiting[0].seconds <= LIMITS[SHORTEST]:
            gathered.append(waiting.popleft())
        return gathered
