"""How fast this machine translates, as measured: what waits is counted in seconds of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from docflat.formats import PACKED

_FIRST = 100.0  # characters a second, until something was measured
_OVERHEAD = 0.02  # seconds of any call
_SHARE = 0.2  # of the newest measurement in the mean
_SHORTEST = 40  # characters: the time of less says nothing
_PACKED_TEXT = 0.2  # characters a byte of these, until some were measured: they are packed, and hold more than text


@dataclass
class Speed:
    characters: float = _FIRST  # a second
    text: dict[str, float] = field(default_factory=dict)  # characters a byte of files, by suffix

    def estimate(self, characters: int) -> float:
        return _OVERHEAD + characters / self.characters

    def learn(self, characters: int, seconds: float) -> None:
        if characters >= _SHORTEST and seconds > 0:
            measured = characters / max(0.001, seconds - _OVERHEAD)
            self.characters += _SHARE * (measured - self.characters)

    def estimate_file(self, size: int, suffix: str, twice: bool) -> float:
        share = self.text.get(suffix, _PACKED_TEXT if suffix in PACKED else 1.0)
        return self.estimate(int(size * share) * (1 + twice))

    def learn_file(self, size: int, suffix: str, characters: int, seconds: float, twice: bool) -> None:
        self.text[suffix] = characters / size
        self.learn(characters * (1 + twice), seconds)
