"""How fast this machine translates, as measured: what waits is counted in seconds of it."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST = 100.0  # characters a second, until something was measured
_OVERHEAD = 0.02  # seconds of any call
_SHARE = 0.2  # of the newest measurement in the mean
_SHORTEST = 40  # characters: the time of less says nothing


@dataclass
class Speed:
    characters: float = _FIRST  # a second

    def estimate(self, characters: int) -> float:
        return _OVERHEAD + characters / self.characters

    def learn(self, characters: int, seconds: float) -> None:
        if characters >= _SHORTEST and seconds > 0:
            measured = characters / max(0.001, seconds - _OVERHEAD)
            self.characters += _SHARE * (measured - self.characters)
