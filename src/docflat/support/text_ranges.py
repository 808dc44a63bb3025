"""Ranges of a text: pairs of places, start and end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

Range = tuple[int, int]


def strip(text: str, start: int, end: int) -> Range | None:
    """The range without blanks at its ends; None: there is nothing else."""
    piece = text[start:end]
    if not piece.strip():
        return None
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def join_ranges(ranges: Iterable[Range]) -> list[Range]:
    """In order; those that overlap are one."""
    joined: list[Range] = []
    for start, end in sorted(ranges):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def overlap(place: Range, ranges: Sequence[Range]) -> bool:
    """Whether it shares letters with any of these, which are in order and apart."""
    last = bisect_left(ranges, (place[1], 0)) - 1  # of those that start before its end
    return last >= 0 and ranges[last][1] > place[0]
