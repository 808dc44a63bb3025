"""Windows: documents in the mode `stream`, each with the sentences around its current one.

The window of a sentence is half before it and half after it; at the ends of a document, where one half would be
missing, it moves so that it is still whole. So a sentence sees as many others as a full group of training has, and
stands in the middle of them, or at an edge where its document ends there. No more than that is held of a document,
however long it is: reading stays half a window ahead of translating, and what has left the window is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from docflat.data.rows import Rows
from docflat.engines.engine import Shown

if TYPE_CHECKING:
    from docflat.data.rows import Ids
    from docflat.data.subwords import SideName


class Window:
    """A document on its way. Places count from the start of the document."""

    def __init__(self, number: int, document: Iterable[Ids], size: int, context: int) -> None:
        """number: of the document; context: sentences of local context, which may lie before the window."""
        self.number, self.size, self.context = number, size, context
        self.todo = iter(document)
        self.place = -1  # of the current sentence
        self.first = self.end = 0  # the places first ... end - 1 are held
        self.source: list[Ids] = []  # of these
        self.target: list[Ids] = []  # of first ... place - 1
        self.shown: dict[SideName, dict[int, Shown]] = {"source": {}, "target": {}}  # by place

    @property
    def start(self) -> int:
        """The window is the places start ... end - 1: the last that were read."""
        return max(0, self.end - self.size)

    @property
    def current(self) -> Ids:
        return self.source[self.place - self.first]

    def advance(self) -> bool:
        """Go on to the next sentence; whether there is one."""
        self.place += 1
        end = max(0, self.place - self.size // 2) + self.size
        self.source += islice(self.todo, end - self.end)
        self.end = self.first + len(self.source)
        passed = max(0, self.start - self.context) - self.first
        self.first += passed
        del self.source[:passed], self.target[:passed]
        for by_place in self.shown.values():
            for place in [place for place in by_place if place < self.start]:
                del by_place[place]
        return self.place < self.end

    def finish(self, translation: Ids) -> None:
        self.target.append(translation)


def lay_windows(windows: Sequence[Window]) -> tuple[list[Ids], list[Ids], Rows]:
    """What windows hold: sentences, their translations so far, and the rows of the windows, a group each."""
    source: list[Ids] = []
    target: list[Ids] = []
    columns: list[tuple[int, int, int, int]] = []
    for number, window in enumerate(windows):
        shift = len(source) - window.first
        source += window.source
        target += window.target
        target += [[]] * (len(source) - len(target))
        columns += (
            (place + shift, min(window.context, place), place, number)
            for place in range(window.start, window.end)
            if source[place + shift]  # an empty sentence is no row
        )
    sentence, context, place, group = (np.array(column, dtype=np.int64) for column in zip(*columns, strict=True))
    return source, target, Rows(sentence, context, sentence, place, group)


def show_once(
    windows: Sequence[Window], side: SideName, rows: Rows, show: Callable[[Rows], list[Shown]]
) -> list[list[Shown]]:
    """What these rows show others, by window: computed once for each, when it is first here."""
    by_window = [window.shown[side] for window in windows]
    new = rows.take(
        np.array(
            [place not in by_window[group] for group, place in zip(rows.group, rows.place, strict=True)], dtype=bool
        )
    )
    if len(new):
        for group, place, shown in zip(new.group, new.place.tolist(), show(new), strict=True):
            by_window[group][place] = shown
    return [list(one.values()) for one in by_window]
