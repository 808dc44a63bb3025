"""Lines of a text or of cues: where to break it, and where a sentence goes on over a line's end."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from docflat.support.punctuation import CLAUSE_ENDS, CLOSING_QUOTES, WIDE, columns_before, ends_sentence

Break = tuple[int, int]  # the blanks text[a:b] that a break takes the place of; a == b between Chinese characters

_BLANKS = re.compile(r"[ \t\n\u3000]+")
_WIDE = re.compile(f"[{WIDE}]")
_NOT_FIRST = set("、。，．！？：；）］｝」』】〉》・ー…々ぁぃぅぇぉっゃゅょァィゥェォッャュョ)]},.!?:;%’”")
_NOT_LAST = set("（［｛「『【〈《([{‘“")
_REACH = 12  # candidates to either side of a place: enough, and the search stays short


def find_breaks(text: str, whole: Sequence[tuple[int, int]] = ()) -> list[Break]:
    """Where a text may be broken: between words, not inside the ranges `whole`."""
    breaks = {match.span() for match in _BLANKS.finditer(text)}
    for match in _WIDE.finditer(text):
        for place in (match.start(), match.end()):
            before, after = text[max(0, place - 1) : place], text[place : place + 1]
            if not (before.isspace() or after.isspace() or after in _NOT_FIRST or before in _NOT_LAST):
                breaks.add((place, place))
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    inside = {place for start, end in whole for place in range(start + 1, end)}
    return sorted((a, b) for a, b in breaks if first < a and b < last and a not in inside and b not in inside)


def choose_breaks(text: str, places: Sequence[float], width: int, whole: Sequence[tuple[int, int]] = ()) -> list[Break]:
    """A break near each of the places, which ascend: after punctuation rather, and with pieces within the width.

    places: as characters of the text; width: in columns.
    Fewer, if the text cannot be broken so often.
    """
    candidates = find_breaks(text, whole)
    places = list(places)[: len(candidates)]
    if not places:
        return []
    scale = max(1.0, len(text) / (len(places) + 1))
    starts, wide = [a for a, _ in candidates], columns_before(text)
    # best[c]: the least cost of all breaks so far with the last at candidate c, and where the one before it was.
    best: dict[int, tuple[float, int]] = {-1: (0.0, -1)}
    steps: list[dict[int, tuple[float, int]]] = []
    center = -1
    for number, place in enumerate(places):
        left = len(places) - 1 - number  # breaks that must still find room
        center = min(max(bisect_left(starts, place), center + 1), len(candidates) - 1 - left)
        reach = range(max(number, center - _REACH), min(len(candidates) - left, center + _REACH + 1))
        step: dict[int, tuple[float, int]] = {}
        for c in reach:
            cost = abs(candidates[c][0] - place) / scale - _welcome(text, candidates[c][0])
            options = [
                (
                    total
                    + cost
                    + _overflow(wide[candidates[c][0]] - wide[candidates[last][1] if last >= 0 else 0], width),
                    last,
                )
                for last, (total, _) in best.items()
                if last < c
            ]
            if options:
                step[c] = min(options)
        steps.append(step)
        best = step
    rest = {c: total + _overflow(wide[-1] - wide[candidates[c][1]], width) for c, (total, _) in best.items()}
    chosen = [min(rest, key=lambda c: (rest[c], c))]
    for step in reversed(steps[1:]):
        chosen.append(step[chosen[-1]][1])
    return [candidates[c] for c in reversed(chosen)]


def _overflow(length: int, width: int) -> float:
    return 0.5 + 2 * (length - width) / width if length > width else 0.0


def _welcome(text: str, place: int) -> float:
    """How good a break is for what stands before it."""
    before = text[max(0, place - 4) : place]
    return 0.4 if ends_sentence(before) else 0.25 if ends_sentence(before, CLAUSE_ENDS) else 0.0


def goes_on(before: str, after: str, also: str = "") -> bool | None:
    """Whether a sentence goes on over the end of a line, by the words there; None: they do not tell.

    also: signs after which no sentence goes on, beside those that end one, and the colon.
    """
    first = re.search(r"[^\W_]", after)
    ended = ends_sentence(before, ":" + also)
    if first and first[0].islower():
        return not ended or before.endswith(("...", "…"))
    if ended:
        return False
    return True if before.rstrip(CLOSING_QUOTES).endswith(tuple(CLAUSE_ENDS + "-")) else None
