"""Flat tokens and rows that are padded: where each stands in the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from docflat.data.flat_layout import FlatSegments
from docflat.data.rows import Array

HIDDEN = np.float32(-np.inf)
# Queries of a row: products of a single one add up in another order, which depends on how many keys there are; those of
# several add up the same way whatever padding stands behind.
FEWEST = 2


@dataclass(frozen=True)
class Padded:
    """Segments as rows of one length."""

    padded: Array  # (segments, longest) which token stands there; behind the last one of a segment, any
    back: Array  # (tokens,) where each stands in segments * longest
    hidden: Array  # (segments, 1, 1, longest) 0 where a token stands, else minus infinity

    @classmethod
    def of(cls, segments: FlatSegments) -> Padded:
        """Of two places at least."""
        starts, lengths = segments.starts[:-1].astype(np.int64), segments.lengths
        place = np.arange(max(FEWEST, segments.longest))
        there = place < lengths[:, None]
        padded = np.where(there, starts[:, None] + place, 0)
        hidden = np.where(there | (lengths == 0)[:, None], np.float32(0), HIDDEN)
        return cls(padded, np.flatnonzero(there), hidden[:, None, None])

    def inputs(self, prefix: str = "") -> dict[str, Array]:
        return {f"{prefix}padded": self.padded, f"{prefix}back": self.back, f"{prefix}hidden": self.hidden}
