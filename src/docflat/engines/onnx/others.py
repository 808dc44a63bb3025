"""What flat-batch attention of the target side sees of other rows: keys and values by group, and who sees which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from docflat.data.rows import Array
from docflat.engines.onnx.padding import FEWEST

UNSEEN = np.float32(-1e30)  # not minus infinity: a first row sees nothing, and a softmax over nothing is no number


@dataclass
class Others:
    """Rows of a group stand at places of it; a row sees the first tokens of its group."""

    keys: Array  # (groups, heads, most, size)
    values: Array
    group: Array  # (rows,) which each belongs to, in order
    count: Array  # (rows,) how many tokens of it each sees

    def __post_init__(self) -> None:
        self._crop()

    @classmethod
    def nobody(cls, rows: int, heads: int, size: int) -> Others:
        nothing = np.zeros((1, heads, 1, size), dtype=np.float32)
        return cls(nothing, nothing, np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64))

    def select_rows(self, rows: Array) -> None:
        """Go on with these rows only."""
        self.group, self.count = self.group[rows], self.count[rows]
        self._crop()

    def _crop(self) -> None:
        """Leave out what no row sees: every step reads all that is here."""
        groups, self.group = np.unique(self.group, return_inverse=True)
        most = max(1, int(self.count.max(initial=0)))
        if len(groups) < len(self.keys) or most < self.keys.shape[2]:
            self.keys, self.values = (np.ascontiguousarray(x[groups, :, :most]) for x in (self.keys, self.values))

    def inputs(self) -> dict[str, Array]:
        place = np.arange(len(self.group)) - np.searchsorted(self.group, self.group)
        of_group = max(FEWEST, int(place.max(initial=0)) + 1)
        visible = np.zeros((len(self.keys), of_group), dtype=np.int64)
        visible[self.group, place] = self.count
        hidden = np.arange(self.keys.shape[2]) >= visible[:, :, None]
        bias = np.where(hidden, UNSEEN, np.float32(0))[:, None, :, None]  # (groups, 1, of_group, 1, most)
        by_row = self.group * of_group + place
        by_group = np.zeros(visible.size, dtype=np.int64)
        by_group[by_row] = np.arange(len(by_row))
        arrays = {"context_keys": self.keys, "context_values": self.values}
        return {**arrays, "context_bias": np.ascontiguousarray(bias), "by_group": by_group, "by_row": by_row}
