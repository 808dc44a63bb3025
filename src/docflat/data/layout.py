"""The layout of a system's rows: what `docflat.data.batches` makes flat sides of them by. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from docflat.data.rows import Array, Rows

PartName = Literal["context", "previous", "recurrence"]


@dataclass(frozen=True)
class Layout:
    """How rows of a system become flat sides: the ids they are built with, and what else its model reads."""

    eos: int
    bos: int | None  # the start symbol of every sentence; None: its index token instead
    first_index: int
    index_tokens: int
    target_context: bool = True  # target rows have the local context too
    slot: bool = False  # a place for a vector, after every source row and before every target row
    parts: tuple[PartName, ...] = ()  # what sides keep at hand beside their rows

    def starts(self, places: Array) -> Array:
        """The start symbols of sentences at these places of their documents."""
        if self.bos is not None:
            return np.full(len(places), self.bos)
        return self.first_index + np.clip(places, 0, self.index_tokens - 1)

    def target_rows(self, rows: Rows) -> Rows:
        """Rows as their target side has them."""
        return rows if self.target_context else replace(rows, context=np.zeros_like(rows.context))
