"""Beam search over the graph of a decoder whose layers are recurrences: a vector a hypothesis instead of caches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from docflat.data.flat_layout import FlatSide
from docflat.data.rows import Array
from docflat.engines.onnx.beam import Beam
from docflat.engines.onnx.caches import Reserve
from docflat.engines.onnx.padding import FEWEST
from docflat.engines.onnx.search import Head, Memory, Search
from docflat.engines.onnx.sessions import Session
from docflat.engines.onnx.whole_rows import read_rows
from docflat.model.sizes import ModelSizes


class RecurrentStates:
    """The state of every layer before the newest token of each hypothesis, and after it; (rows, hypotheses, dim)."""

    def __init__(self, before: list[Array], after: list[Array]) -> None:
        self.before, self.after = before, after

    def reorder(self, parents: Array) -> None:
        """Hypothesis k of each row continues its hypothesis parents[row, k]: what was after is before now."""
        row = np.arange(len(parents))[:, None]
        for number, after in enumerate(self.after):
            if self.before[number].shape == (*parents.shape, after.shape[2]):
                self.before[number][:] = after[row, parents]  # where the decoder reads it
            else:
                self.before[number], self.after[number] = after[row, parents], np.empty_like(after[row, parents])

    def select_rows(self, rows: Array) -> None:
        """Go on with these rows only."""
        self.before, self.after = ([state[rows] for state in states] for states in (self.before, self.after))


class RecurrentSearch(Search):
    """As `Search`; a prefix of more than start symbols is read by the reader."""

    def __init__(
        self,
        sizes: ModelSizes,
        decoder: Session,
        head: Head,
        memory: Memory,
        prefix: FlatSide,
        beam: Beam,
        count: int,
        reader: Callable[[], tuple[Session, Session]],
    ) -> None:
        self.reader = reader
        super().__init__(sizes, decoder, head, memory, prefix, None, beam, count, Reserve())

    def _read_prefix(self, prefix: FlatSide) -> None:
        dim, layers = self.sizes.dim, range(self.sizes.decoder_layers)
        if prefix.rows.longest > 1:
            outputs = ["states", *(f"state_{number}" for number in layers)]
            tokens = np.arange(len(prefix.tokens))
            states, *after = read_rows(*self.reader(), self.memory, prefix, False, tokens, outputs)
            self.decoder.arrays["states"] = np.ascontiguousarray(states[prefix.current])
            after = [state[prefix.current][:, None] for state in after]
            self.states = RecurrentStates([np.empty(0)] * len(after), after)
        else:
            # Twice, the second time for nothing: see FEWEST.
            shape = (len(prefix.rows), FEWEST, dim)
            self.states = RecurrentStates(*([np.zeros(shape, dtype=np.float32) for _ in layers] for _ in range(2)))
            self._bind_steps()
            self.decoder.arrays["tokens"][:] = prefix.tokens[prefix.current][:, None]
            self.decoder.run()
        self._expand(1)
        self._bind_steps()

    def _bind_steps(self) -> None:
        rows, hypotheses = self.states.after[0].shape[:2]
        decoder = self.decoder
        for number, (before, after) in enumerate(zip(self.states.before, self.states.after, strict=True)):
            decoder.read(f"state_{number}", before)
            decoder.write(f"next_state_{number}", after)
        for name in ("tokens", "positions"):
            decoder.read(name, np.zeros((rows, hypotheses), dtype=np.int64))
        states = np.empty((rows * hypotheses, self.sizes.dim), dtype=np.float32)
        decoder.write("states", states)
        self.head.start(states, self.count)

    def _reorder(self, parents: Array) -> None:
        self.states.reorder(parents)

    def _select_rows(self, rows: Array) -> None:
        self.states.select_rows(rows)

    def step(self) -> None:
        arrays = self.decoder.arrays
        arrays["tokens"][:], arrays["positions"][:] = self.newest, self.positions[:, None]
        self.positions = self.positions + 1
        self.decoder.run()
        self._expand(self.beam.size)
