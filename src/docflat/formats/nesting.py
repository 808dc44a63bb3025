"""Which spans of a segment are in which: by their depth where a format says it, else by their ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from docflat.formats.segments import Span


def find_parents(spans: Sequence[Span]) -> list[int]:
    """The number of the span that each is in, the innermost; -1: it is in none. A point holds nothing."""
    parents: list[int] = []
    path: list[int] = []
    for number, span in enumerate(spans):
        if span.depth >= 0:
            del path[span.depth :]
        else:
            while path and span.start >= spans[path[-1]].end:
                path.pop()
        parents.append(path[-1] if path else -1)
        path.append(number)
    return parents


def longest_path(spans: Sequence[Span]) -> int:
    """How many spans are in each other at most."""
    depths: list[int] = []
    for parent in find_parents(spans):
        depths.append(1 + (depths[parent] if parent >= 0 else 0))
    return max(depths, default=0)


def walk_edges(spans: Sequence[Span], end: int) -> Iterator[tuple[int, Span, bool]]:
    """The edges of all spans as they are written, each with its place and whether the span starts there.

    Places ascend up to `end`: of spans that cross, or that leave the one they are in, the later or inner is cut short.
    """
    path: list[tuple[int, Span, int]] = []  # number, span, where it ends
    at = 0
    for number, (span, parent) in enumerate(zip(spans, find_parents(spans), strict=True)):
        while path and path[-1][0] != parent:
            _, last, until = path.pop()
            at = max(at, until)
            yield at, last, False
        outer = path[-1][2] if path else end
        at = max(at, min(span.start, outer))
        yield at, span, True
        path.append((number, span, max(at, min(span.end, outer))))
    for _, last, until in reversed(path):
        at = max(at, until)
        yield at, last, False


def add_spans(spans: Sequence[Span], more: Iterable[Span]) -> list[Span]:
    """Spans that say no depth among others: each after all that start where it does."""
    result: list[Span] = []
    waiting = sorted(more, key=lambda span: span.start)
    place = 0
    for span in spans:
        while place < len(waiting) and waiting[place].start < span.start:
            result.append(waiting[place])
            place += 1
        result.append(span)
    return result + waiting[place:]
