"""Rolling captions: each cue repeats the last lines of the one before and adds one. They are what machines write."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_FEWEST = 3  # cues that repeat the one before
_SHARE = 0.25  # of all cues; in other subtitles a cue repeats another because somebody says so
_MOST_LINES = 4  # that are repeated


def count_repeats(cues: Sequence[Sequence[str]]) -> list[int]:
    """Of each cue, given its lines without codes: how many of its first lines repeat the last of the cue before.

    None at all, unless that is the way of the whole file.
    """
    repeats = [0][: len(cues)]
    for before, here in pairwise(cues):
        most = range(min(len(before), len(here), _MOST_LINES), 0, -1)
        repeats.append(next((count for count in most if before[-count:] == here[:count]), 0))
    rolling = sum(0 < count < len(lines) for count, lines in zip(repeats, cues, strict=True))
    return repeats if rolling >= max(_FEWEST, _SHARE * len(cues)) else [0] * len(cues)
