"""Batches: an epoch's rows in the order of their documents, cut under a token budget. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from docflat.data.flat_layout import FlatBatch, Layout, flatten_batch
from docflat.data.row_settings import RowSettings
from docflat.data.rows import Array, Rows, Sentences, document_order, document_rows, mix, row_lengths

PIECE = 1 << 22  # sentences that are planned at once: some hundred bytes of memory each


def cut(lengths: tuple[Array, Array], budget: int, first: int | None = None) -> Array:
    """Cut rows into batches, filled in order as far as whole rows allow: (batches + 1,) boundaries.

    Neither side of a batch has more than `budget` tokens; the first one no more than `first`, unless its first row has.
    """
    totals = [np.concatenate([[0], np.cumsum(side)]) for side in lengths]
    bounds, start, allowed = [0], 0, budget if first is None else first
    while start < len(lengths[0]):
        end = min(int(np.searchsorted(total, total[start] + allowed, side="right")) - 1 for total in totals)
        start = max(end, start + 1)
        bounds.append(start)
        allowed = budget
    return np.array(bounds)


class DocumentBatches:
    """The batches of a corpus, epoch by epoch: the same for the same seed on every machine."""

    def __init__(
        self,
        documents: Array,
        source: Sentences,
        target: Sentences,
        settings: RowSettings,
        layout: Layout,
        budget: int,
        shuffle_rows: bool = False,
        times: Array | None = None,
        piece: int = PIECE,
    ) -> None:
        """shuffle_rows: rows stand alone (a sentence system), so they are mixed freely.

        times (documents,): how often an epoch of training sees each document; none: once.
        piece: sentences that are planned at once, for the arrays of a large corpus would not fit into memory.
        """
        if layout.vector_place:  # a row as long as the budget would leave no room for its vector
            settings = replace(settings, max_tokens=min(settings.max_tokens, budget - 1))
        self.documents, self.source, self.target = documents, source, target
        self.settings, self.layout, self.budget, self.times = settings, layout, budget, times
        self.shuffle_rows = shuffle_rows or settings.global_context == "irrelevant"
        sentences = len(source.ends) - 1 if times is None else int((times * np.diff(documents)).sum())
        self.pieces = max(1, -(-sentences // piece))

    def plan(self, rng: np.random.Generator | None = None, piece: int | None = None) -> Plan:
        """Rows cut into batches; with `rng` as an epoch of training, without as they stand in the corpus.

        piece: of the `pieces` of an epoch, each of which has its share of the documents; none: all of the epoch.
        """
        order = document_order(len(self.documents) - 1, rng, self.times if rng is not None else None)
        if piece is not None and self.pieces > 1:
            order = order[piece :: self.pieces]
            if rng is not None:  # the generator is at the same place in every piece
                rng = np.random.default_rng([int(rng.integers(1 << 62)), piece])
        rows = document_rows(
            self.documents, self.source, self.target, self.settings, self.layout.index_tokens, rng, order
        )
        first = None
        if rng is not None:
            if self.shuffle_rows:
                rows = rows.take(rng.permutation(len(rows)))
            # Moves every later boundary, so that even a corpus of one long document is cut anew each epoch.
            first = int(rng.integers(self.budget // 4, self.budget + 1))
            rows = mix(rows, self.settings.mixed or 0.0, rng)
        source, target = row_lengths(rows, self.source, self.target, self.layout.target_context)
        bounds = cut((source + self.layout.vector_place, target + self.layout.vector_place), self.budget, first)
        order = np.arange(len(bounds) - 1) if rng is None else rng.permutation(len(bounds) - 1)
        lengths_read = self.target.ends[rows.sentence + 1] - self.target.ends[rows.sentence] + 1
        totals = np.concatenate([[0], np.cumsum(lengths_read)])
        return Plan(self, rows, bounds, order, (totals[bounds[1:]] - totals[bounds[:-1]])[order])


@dataclass(frozen=True)
class Plan:
    """An epoch's batches, not yet laid out."""

    batches: DocumentBatches
    rows: Rows
    bounds: Array  # (batches + 1,) in rows
    order: Array  # (batches,)
    labels: Array  # (batches,) how many tokens each batch predicts, in the order of `order`

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, number: int) -> FlatBatch:
        which = self.order[number]
        rows = self.rows.take(slice(self.bounds[which], self.bounds[which + 1]))
        # Rows that stay alone come last, so that they do not stand between rows that see each other.
        rows = rows.take(np.argsort(rows.group < 0, kind="stable"))
        source = self.batches
        return flatten_batch(source.source, source.target, rows, source.layout, not source.settings.document_mask)
