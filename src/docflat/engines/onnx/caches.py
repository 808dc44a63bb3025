"""Caches: the keys and values of a search's tokens, and which of them each hypothesis is made of.

A step writes its tokens' keys and values to slots of their own, `beam` a row, where they stay: a hypothesis that goes
on from another one takes over what it sees. Slots that no hypothesis sees any more are written to again, so that
attention reads little more than what is seen. Where a row's tokens stand depends on that row alone, so that sums are
made in the same order whatever else is in the batch.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from docflat.data.rows import Array
from docflat.engines.onnx.padding import HIDDEN

GROWTH = 8  # rows have a multiple of so many slots


class Caches:
    """Slots of all rows; the first ones of each are those of its prefix."""

    def __init__(self, names: Sequence[str], prefix: Array, beam: int, heads: int, size: int, reserve: Reserve) -> None:
        """prefix (rows,): slots that each row fills before hypotheses part."""
        self.beam, self.reserve = beam, reserve
        room = whole(int(prefix.max(initial=0)) + 5 * beam)
        self.arrays = reserve.take(names, (len(prefix), heads, room, size))
        for array in self.arrays.values():
            array[:] = 0
        self.bias = self._bias_of_prefix(prefix, room)

    def _bias_of_prefix(self, prefix: Array, room: int) -> Array:
        """(rows, 1, beam, room): all of the prefix is seen."""
        visible = np.arange(room) < prefix[:, None]
        bias = np.where(visible, np.float32(0), HIDDEN)[:, None, None]
        return np.repeat(bias, self.beam, axis=2)

    @property
    def room(self) -> int:
        return self.bias.shape[3]

    def next_slots(self) -> tuple[Array, bool]:
        """Where the next tokens go, (rows, beam), each seen by its hypothesis; and whether arrays are new ones."""
        visible = (self.bias[:, 0] == 0).any(1)  # (rows, room)
        missing = int(visible.sum(1).max(initial=0)) + self.beam - self.room
        if missing > 0:
            # More slots are read for nothing at every step, fewer are copied more often.
            self._grow(whole(max(missing, self.room // 2)))
            visible = np.pad(visible, ((0, 0), (0, self.room - visible.shape[1])))
        slots = np.argsort(visible, axis=1, kind="stable")[:, : self.beam]
        row, k = np.ogrid[: len(slots), : self.beam]
        self.bias[row, 0, k, slots] = 0
        return slots, missing > 0

    def _grow(self, more: int) -> None:
        """By so many slots a row."""
        self.bias = np.pad(self.bias, ((0, 0), (0, 0), (0, 0), (0, more)), constant_values=HIDDEN)
        rows, heads, room, size = next(iter(self.arrays.values())).shape
        larger = self.reserve.take(list(self.arrays), (rows, heads, room + more, size))
        for name, array in self.arrays.items():
            larger[name][:, :, :room], larger[name][:, :, room:] = array, 0
        self._replace(larger)

    def reorder(self, parents: Array) -> None:
        """Let hypothesis k of each row continue its hypothesis parents[row, k]."""
        row = np.arange(len(parents))[:, None]
        self.bias[:, 0] = self.bias[row, 0, parents]

    def select_rows(self, rows: Array) -> None:
        """Go on with these rows only."""
        self.bias = self.bias[rows]
        shape = next(iter(self.arrays.values())).shape
        fewer = self.reserve.take(list(self.arrays), (len(rows), *shape[1:]))
        for name, array in self.arrays.items():
            np.take(array, rows, axis=0, out=fewer[name])
        self._replace(fewer)

    def _replace(self, arrays: dict[str, Array]) -> None:
        self.reserve.give_back(self.arrays)
        self.arrays = arrays

    def close(self) -> None:
        """The search is over."""
        self.reserve.give_back(self.arrays)


def whole(number: int) -> int:
    """Up to a multiple of GROWTH."""
    return -(-number // GROWTH) * GROWTH


class Reserve:
    """Memory that searches use one after the other: new memory costs more than what is written to it.

    At most two pieces wait to be used again, as a search that outgrows one goes on in the other; none that is large.
    """

    LARGE = 2**25  # numbers, 128 MiB of them

    def __init__(self) -> None:
        self._waiting: list[Array] = []
        self._alone = threading.Lock()

    def take(self, names: Sequence[str], shape: tuple[int, ...]) -> dict[str, Array]:
        """Arrays of this shape, one behind the other, with anything in them."""
        count = len(names) * int(np.prod(shape))
        with self._alone:
            place = next((n for n, piece in enumerate(self._waiting) if piece.size >= count), None)
            piece = np.empty(count, dtype=np.float32) if place is None else self._waiting.pop(place)
        return dict(zip(names, piece[:count].reshape(len(names), *shape), strict=True))

    def give_back(self, arrays: dict[str, Array]) -> None:
        """Nobody reads these any more."""
        piece = next(iter(arrays.values()))
        while isinstance(piece.base, np.ndarray):
            piece = piece.base
        with self._alone:
            pieces = [one for one in (*self._waiting, piece) if one.size < self.LARGE]
            self._waiting = sorted(pieces, key=lambda one: -one.size)[:2]
