"""Beam search over the graph of a decoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from docflat.data.flat_layout import FlatSide
from docflat.data.rows import Array
from docflat.engines.engine import Hypothesis
from docflat.engines.onnx.beam import Beam
from docflat.engines.onnx.caches import Caches, Reserve
from docflat.engines.onnx.others import Others
from docflat.engines.onnx.padding import FEWEST, HIDDEN
from docflat.engines.onnx.sessions import Binding, Session
from docflat.engines.onnx.shortlist import Words
from docflat.model.sizes import ModelSizes

# Of the rows, how many must be finished before the others go on by themselves: that copies caches.
LEAVE_AT = 0.25


@dataclass
class Memory:
    """What a decoder reads of the source."""

    parts: dict[str, Array]  # by the names of the decoder's inputs: (rows, heads, longest, size)
    hidden: Array  # (rows, 1, 1, longest)
    tokens: Array  # (rows, longest) which were encoded

    def take(self, rows: Array, sentences: Array | None = None) -> Memory:
        """As `Encoded.take`; the sentences of a row are not told apart."""
        if len(rows) == len(self.hidden) and (rows == np.arange(len(rows))).all():
            return self
        hidden = self.hidden[rows]
        longest = int((hidden == 0).any(0).sum())
        parts = {name: np.ascontiguousarray(part[rows, :, :longest]) for name, part in self.parts.items()}
        return Memory(parts, np.ascontiguousarray(hidden[..., :longest]), self.tokens[rows, :longest])


class Head(Binding):
    """States to the best words."""

    def __init__(self, session: Session, inputs: dict[str, Array], shortlist: Words | None) -> None:
        """inputs: of a shortlist, the weights of its words."""
        super().__init__(session.session)
        self.shortlist = shortlist
        for name, array in inputs.items():
            self.read(name, array)
        if shortlist is not None:
            self.read("unlisted", np.ascontiguousarray(shortlist.unlisted))
            self.read("weights", np.ascontiguousarray(shortlist.weights))

    def select_rows(self, rows: Array) -> None:
        """Go on with these rows only."""
        if self.shortlist is not None:
            for name in ("unlisted", "weights"):
                self.read(name, np.ascontiguousarray(self.arrays[name][rows]))

    def start(self, states: Array, count: int) -> None:
        """Read from and write to arrays of this size."""
        rows = len(states)
        self.read("states", states)
        self.read("count", np.array([count]))
        if self.shortlist is None:
            self.read("labels", np.zeros(rows, dtype=np.int64))  # nobody asks for theirs
        self.write("best", np.empty((rows, count), dtype=np.float32))
        self.write("words", np.empty((rows, count), dtype=np.int64))
        self.write("ends", np.empty(rows, dtype=np.float32))

    def words(self, rows: int) -> tuple[Array, Array, Array]:
        """(rows, hypotheses, count), twice, and (rows, hypotheses)."""
        self.run()
        best, words, ends = (self.arrays[name] for name in ("best", "words", "ends"))
        if self.shortlist is not None:
            words = self.shortlist.ids[words]
        return best.reshape(rows, -1, best.shape[1]), words.reshape(rows, -1, best.shape[1]), ends.reshape(rows, -1)


class Search:
    """Rows on their way."""

    def __init__(
        self,
        sizes: ModelSizes,
        decoder: Session,
        head: Head,
        memory: Memory,
        prefix: FlatSide,
        others: Others | None,
        beam: Beam,
        count: int,
        reserve: Reserve,
    ) -> None:
        """others: for a model whose target rows see each other. count: words that are asked for at a step."""
        self.sizes, self.head, self.beam, self.count = sizes, head, beam, count
        self.memory, self.others, self.reserve = memory, others, reserve
        self.decoder = decoder.bind()
        self.width = max(FEWEST, beam.size)  # tokens of a row that are decoded at a step
        self.positions = prefix.positions[prefix.current] + 1  # (rows,) of the next token
        self.rows = np.arange(len(prefix.rows))  # which row each row of the arrays is
        self.hypotheses: dict[int, Hypothesis] = {}  # by row
        self.caches: list[Caches] = []
        self._read_memory()
        self._read_prefix(prefix)

    # The prefix

    def _read_prefix(self, prefix: FlatSide) -> None:
        sizes, lengths = self.sizes, prefix.rows.lengths.astype(np.int64)
        size = sizes.dim // sizes.heads
        names = [f"{kind}_{number}" for number in range(sizes.decoder_layers) for kind in ("keys", "values")]
        self.caches = [Caches(names, lengths, self.width, sizes.heads, size, self.reserve)]
        if self.others is not None:
            ones = np.ones_like(lengths)
            self.caches.append(Caches(("flat_keys", "flat_values"), ones, self.width, sizes.heads, size, self.reserve))
        self._read_context(prefix, lengths - 1)
        self._read_starts(prefix, lengths - 1)

    def _read_context(self, prefix: FlatSide, lengths: Array) -> None:
        """All that stands before the start symbols; lengths (rows,)."""
        longest = int(lengths.max(initial=0))
        if not longest:
            return
        longest = max(FEWEST, longest)
        rows, room = len(lengths), self.caches[0].room
        place = np.arange(longest)
        where = prefix.rows.starts[:-1, None] + np.minimum(place, np.maximum(lengths - 1, 0)[:, None])
        bias = np.where(np.arange(room) <= place[:, None], np.float32(0), HIDDEN)
        inputs = {"bias": np.ascontiguousarray(np.broadcast_to(bias, (rows, 1, longest, room)))}
        slots = np.ascontiguousarray(np.broadcast_to(place, (rows, longest)))
        if self.others is not None:  # it is about the sentences to come only
            nobody = Others.nobody(1, self.sizes.heads, self.sizes.dim // self.sizes.heads)
            inputs |= nobody.inputs() | {"by_row": np.zeros(rows, dtype=np.int64)}
            near = np.where(np.arange(self.caches[1].room) < 1, np.float32(0), HIDDEN)
            inputs["flat_bias"] = np.ascontiguousarray(np.broadcast_to(near, (rows, 1, longest, len(near))))
            inputs |= {"flat_slots": np.zeros_like(slots), "current": np.zeros(slots.shape, dtype=bool)}
        self._decode(prefix.tokens[where], slots, slots, inputs)

    def _read_starts(self, prefix: FlatSide, before: Array) -> None:
        """The start symbols; before (rows,): tokens that stand there already."""
        # Twice, the second time for nothing: what hypotheses see, the first of them sees now.
        twice = np.repeat(prefix.tokens[prefix.current][:, None], FEWEST, axis=1)
        slots = before[:, None] + np.arange(FEWEST)
        inputs = {"bias": np.ascontiguousarray(self.caches[0].bias[:, :, :FEWEST])}
        if self.others is not None:
            inputs |= self.others.inputs()
            inputs["flat_bias"] = np.ascontiguousarray(self.caches[1].bias[:, :, :FEWEST])
            inputs |= {"flat_slots": slots - before[:, None], "current": np.ones(slots.shape, dtype=bool)}
        self._decode(twice, np.repeat(before[:, None], FEWEST, axis=1), slots, inputs)
        self._expand(1)
        self._bind_steps()

    def _decode(self, tokens: Array, positions: Array, slots: Array, inputs: dict[str, Array]) -> None:
        decoder = self.decoder
        self._bind_caches()
        for name, array in {**inputs, "tokens": tokens, "positions": positions, "slots": slots}.items():
            decoder.read(name, np.ascontiguousarray(array))
        decoder.write("states", np.empty((tokens.size, self.sizes.dim), dtype=np.float32))
        decoder.run()

    # Steps

    def _read_memory(self) -> None:
        for name, part in self.memory.parts.items():
            self.decoder.read(name, part)
        self.decoder.read("memory_hidden", self.memory.hidden)

    def _bind_caches(self) -> None:
        for caches in self.caches:
            for name, array in caches.arrays.items():
                self.decoder.read(name, array)
                self.decoder.write(f"next_{name}", array)

    def _bind_steps(self) -> None:
        """Read from and write to arrays of the rows that are left."""
        rows, beam, decoder = len(self.rows), self.width, self.decoder
        self._bind_caches()
        for name in ("tokens", "positions", "slots"):
            decoder.read(name, np.zeros((rows, beam), dtype=np.int64))
        decoder.read("bias", self.caches[0].bias)
        states = np.empty((rows * beam, self.sizes.dim), dtype=np.float32)
        decoder.write("states", states)
        if self.others is not None:
            decoder.read("flat_slots", np.zeros((rows, beam), dtype=np.int64))
            decoder.read("current", np.ones((rows, beam), dtype=bool))
            decoder.read("flat_bias", self.caches[1].bias)
            for name, array in self.others.inputs().items():
                decoder.read(name, array)
        self.head.start(states, self.count)

    def _expand(self, hypotheses: int) -> None:
        """Choose words by the states that the decoder wrote last; hypotheses of each row: how many of them count."""
        states = self.decoder.arrays["states"]
        if self.head.arrays.get("states") is not states:
            self.head.start(states, self.count)
        parents, words = self.beam.expand(*(x[:, :hypotheses] for x in self.head.words(len(self.rows))))
        if self.width > self.beam.size:
            parents, words = (np.repeat(x, self.width, axis=1) for x in (parents, words))
        self.newest = words
        self._reorder(parents)

    def _reorder(self, parents: Array) -> None:
        """Let hypothesis k of each row continue its hypothesis parents[row, k]."""
        for caches in self.caches:
            caches.reorder(parents)

    def _select_rows(self, rows: Array) -> None:
        """Go on with the caches of these rows only."""
        for caches in self.caches:
            caches.select_rows(rows)

    def step(self) -> None:
        slots = [caches.next_slots() for caches in self.caches]
        if any(are_new for _, are_new in slots):
            self._bind_steps()
        arrays = self.decoder.arrays
        arrays["tokens"][:], arrays["positions"][:] = self.newest, self.positions[:, None]
        for name, (places, _) in zip(("slots", "flat_slots"), slots, strict=False):
            arrays[name][:] = places
        self.positions = self.positions + 1
        self.decoder.run()
        self._expand(self.beam.size)

    def run(self) -> list[Hypothesis]:
        """To the end; of each row."""
        self.leave_finished()
        while len(self.rows):
            self.step()
            self.leave_finished()
        for caches in self.caches:
            caches.close()
        return [self.hypotheses[row] for row in range(len(self.hypotheses))]

    def leave_finished(self) -> None:
        """Go on without rows that are finished, once they are many."""
        live = self.beam.live
        if live.all() or (live.mean() > 1 - LEAVE_AT):
            return
        done, going = np.flatnonzero(~live), np.flatnonzero(live)
        for row, hypothesis in zip(self.rows[done].tolist(), self.beam.best(done), strict=True):
            self.hypotheses[row] = hypothesis
        self.rows = self.rows[going]
        if not len(going):
            return
        self.newest, self.positions = self.newest[going], self.positions[going]
        self.beam.select_rows(going)
        self.memory = self.memory.take(going)
        self.head.select_rows(going)
        self._select_rows(going)
        if self.others is not None:
            self.others.select_rows(going)
        self._read_memory()
        self._bind_steps()
