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
    bias: Array  # (groups, 1, of_group, 1, most) 0 or UNSEEN
    place: Array  # (rows,) group * of_group + place in it

    @classmethod
    def nobody(cls, rows: int, heads: int, size: int) -> Others:
        nothing = np.zeros((1, heads, 1, size), dtype=np.float32)
        bias = np.full((1, 1, max(FEWEST, rows), 1, 1), UNSEEN)
        return cls(nothing, nothing, bias, np.arange(rows))

    @classmethod
    def of_groups(cls, keys: Array, values: Array, group: Array, count: Array) -> Others:
        """group (rows,): which each belongs to, in order; count (rows,): how many tokens of it each sees."""
        place = np.arange(len(group)) - np.searchsorted(group, group)
        of_group = max(FEWEST, int(place.max(initial=0)) + 1)
        visible = np.zeros((len(keys), of_group), dtype=np.int64)
        visible[group, place] = count
        hidden = np.arange(keys.shape[2]) >= visible[:, :, None]
        bias = np.where(hidden, UNSEEN, np.float32(0))[:, None, :, None]
        return cls(keys, values, np.ascontiguousarray(bias), group * of_group + place)

    def select_rows(self, rows: Array) -> None:
        """Go on with these rows only."""
        self.place = self.place[rows]

    def inputs(self) -> dict[str, Array]:
        by_group = np.zeros(self.bias.shape[0] * self.bias.shape[2], dtype=np.int64)
        by_group[self.place] = np.arange(len(self.place))
        arrays = {"context_keys": self.keys, "context_values": self.values, "context_bias": self.bias}
        return {**arrays, "by_group": by_group, "by_row": self.place}
