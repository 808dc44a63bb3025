"""Caches: the keys and values of a search's tokens, and which of them each hypothesis is made of.

A step writes its tokens' keys and values to slots of their own, `beam` a row, where they stay: a hypothesis that goes
on from another one takes over what it sees. Where a row's tokens stand depends on that row alone, so that sums are made
in the same order whatever else is in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docflat.data.rows import Array
from docflat.engines.onnx.padding import HIDDEN

COMPACT_EVERY = 8  # steps, after which slots that no hypothesis sees are given up


def whole(number: int) -> int:
    """Up to a multiple of 8."""
    return -(-number // 8) * 8


class Caches:
    """Slots of all rows; the first ones of each are those of its prefix."""

    def __init__(self, names: Sequence[str], prefix: Array, beam: int, heads: int, size: int) -> None:
        """prefix (rows,): slots that each row fills before hypotheses part."""
        self.beam, self.used = beam, prefix.astype(np.int64)
        self.first = int(prefix.min(initial=0))  # slots from here on may move
        room = whole(int(prefix.max(initial=0)) + (COMPACT_EVERY + 1) * beam)
        shape = (len(prefix), heads, room, size)
        self.arrays = {name: np.zeros(shape, dtype=np.float32) for name in names}
        self.bias = self._bias_of_prefix(prefix, room)

    def _bias_of_prefix(self, prefix: Array, room: int) -> Array:
        """(rows, 1, beam, room): all of the prefix is seen."""
        seen = np.arange(room) < prefix[:, None]
        bias = np.where(seen, np.float32(0), HIDDEN)[:, None, None]
        return np.repeat(bias, self.beam, axis=2)

    @property
    def room(self) -> int:
        return self.bias.shape[3]

    def next_slots(self) -> Array:
        """Where the next tokens go, (rows, beam); each hypothesis sees its own."""
        slots = self.used[:, None] + np.arange(self.beam)
        row, k = np.ogrid[: len(slots), : self.beam]
        self.bias[row, 0, k, slots] = 0
        self.used += self.beam
        return slots

    def reorder(self, parents: Array) -> None:
        """Let hypothesis k of each row continue its hypothesis parents[row, k]."""
        row = np.arange(len(parents))[:, None]
        self.bias[:, 0] = self.bias[row, 0, parents]

    def compact(self) -> bool:
        """Give up slots that nobody sees, and have room for as many steps again. Whether arrays are new ones."""
        seen = (self.bias[:, 0] == 0).any(1)  # (rows, room)
        self.used = seen.sum(1)
        start, most = self.first, int(self.used.max())
        index = np.argsort(~seen[:, start:], axis=1, kind="stable")[:, : most - start] + start
        room = whole(most + COMPACT_EVERY * self.beam)
        moved = np.take_along_axis(self.bias, index[:, None, None], 3)
        grows = room > self.room
        if grows:
            more = ((0, 0), (0, 0), (0, 0), (0, room - self.room))
            self.bias = np.pad(self.bias, more, constant_values=HIDDEN)
        self.bias[..., start:most], self.bias[..., most:] = moved, HIDDEN
        for name, array in self.arrays.items():
            if grows:
                larger = np.zeros((*array.shape[:2], room, array.shape[3]), dtype=np.float32)
                larger[:, :, :start] = array[:, :, :start]
                self.arrays[name] = larger
            for old, new, where in zip(array, self.arrays[name], index, strict=True):  # a row at a time is fastest
                new[:, start:most] = old.take(where, axis=1)
        return grows

    def select_rows(self, rows: Array) -> None:
        """Go on with these rows only."""
        self.used, self.bias = self.used[rows], self.bias[rows]
        self.arrays = {name: array[rows] for name, array in self.arrays.items()}
