"""The engine on ONNX Runtime: plain Transformers and DocFlat on a CPU, without torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from docflat.data.flat_layout import FlatSide
from docflat.data.rows import Array
from docflat.engines.engine import Encoded, Hypothesis, Shown, ShownContext, TargetContext
from docflat.engines.onnx.beam import Beam
from docflat.engines.onnx.caches import Reserve
from docflat.engines.onnx.decoder import DecoderGraph, context_graph
from docflat.engines.onnx.encoder import encoder_graph
from docflat.engines.onnx.graph import Graph
from docflat.engines.onnx.head import head_graph, listed_graph, shortlist_graph
from docflat.engines.onnx.others import Others
from docflat.engines.onnx.padding import Padded
from docflat.engines.onnx.reader import ReaderGraph, target_graph
from docflat.engines.onnx.recurrent_search import RecurrentSearch
from docflat.engines.onnx.search import Head, Memory, Search
from docflat.engines.onnx.sessions import Session
from docflat.engines.onnx.shortlist import Shortlist
from docflat.engines.onnx.weights import Weights
from docflat.engines.onnx.whole_rows import attention_weights, label_scores, read_rows
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.support.errors import InputError


@dataclass(frozen=True)
class FlatBatchAttention:
    """Which sides have it, and what its gate is."""

    gate: str
    gamma: float
    encoder: bool
    decoder: bool

    def of(self, side: bool) -> tuple[str, float] | None:
        return (self.gate, self.gamma) if side else None


@dataclass(frozen=True)
class Model:
    """What graphs are made of."""

    weights: Weights
    sizes: ModelSizes
    vocabulary: Vocabulary
    flat: FlatBatchAttention | None = None

    @property
    def source_flat(self) -> tuple[str, float] | None:
        return self.flat.of(self.flat.encoder) if self.flat else None

    @property
    def target_flat(self) -> tuple[str, float] | None:
        return self.flat.of(self.flat.decoder) if self.flat else None

    def encoder_graph(self) -> Graph:
        return encoder_graph(self.weights, self.sizes, self.source_flat)

    def decoder_graph(self) -> Graph:
        return DecoderGraph(self.weights, self.sizes, self.target_flat).graph

    def target_graph(self) -> Graph:
        return target_graph(self.weights, self.sizes, self.target_flat)

    def reader_graph(self) -> Graph:
        return ReaderGraph(self.weights, self.sizes).graph

    def context_graph(self) -> Graph:
        """For a model whose target rows see each other."""
        return context_graph(self.weights, self.sizes)

    def head_graph(self) -> Graph:
        return head_graph(self.weights, self.sizes, self.vocabulary)

    def shortlist_graph(self) -> Graph:
        return shortlist_graph(self.weights, self.sizes, self.vocabulary)

    def listed_graph(self) -> Graph:
        return listed_graph(self.weights, self.sizes)

    def graphs(self) -> list[Graph]:
        """All of them."""
        context = [self.context_graph()] if self.target_flat is not None else []
        heads = [self.head_graph(), self.listed_graph(), self.shortlist_graph()]
        return [self.encoder_graph(), *context, self.decoder_graph(), self.target_graph(), self.reader_graph(), *heads]


class OnnxEngine:
    """As `Engine`. Sessions are made when first asked for."""

    name = "onnx"
    searches_together = False
    looks_ahead = False
    keeps_rows = False
    search_rows = 24  # more are padded more, and their keys and values leave the processor's cache
    scoring_budget = 2048

    def __init__(self, model: Model, threads: int = 0, shortlist: Shortlist | None = None) -> None:
        """shortlist: the words that searches weigh, if they are to."""
        self.model, self.threads, self.shortlist = model, threads, shortlist
        self.sees_growing = model.target_flat is not None
        self.reserve = Reserve()

    @property
    def vocabulary(self) -> Vocabulary:
        return self.model.vocabulary

    @property
    def precision(self) -> str:
        return "int8" if self.model.weights.int8 else "fp32"

    @property
    def alignment_layers(self) -> int:
        return self.model.sizes.decoder_layers

    @cached_property
    def encoder(self) -> Session:
        return self._session(self.model.encoder_graph())

    @cached_property
    def decoder(self) -> Session:
        return self._session(self.model.decoder_graph())

    @cached_property
    def target(self) -> Session:
        return self._session(self.model.target_graph())

    @cached_property
    def reader(self) -> Session:
        return self._session(self.model.reader_graph())

    @cached_property
    def context(self) -> Session:
        return self._session(self.model.context_graph())

    @cached_property
    def head(self) -> Session:
        return self._session(self.model.head_graph())

    @cached_property
    def short_head(self) -> Session:
        return self._session(self.model.shortlist_graph())

    @cached_property
    def listed(self) -> Session:
        """What the head of a shortlist reads."""
        return self._session(self.model.listed_graph())

    def _session(self, graph: Graph) -> Session:
        return Session(graph, self.threads)

    def prepare(self) -> None:
        """Make the sessions that any translation needs now, side by side."""
        heads = ["head"] if self.shortlist is None else ["short_head", "listed"]
        with ThreadPoolExecutor(self.threads or None) as pool:
            list(pool.map(lambda name: getattr(self, name), ["decoder", "encoder", *heads]))

    def longest(self, source_tokens: int) -> int:
        return 2 * source_tokens + 20

    def encode(self, source: FlatSide) -> Memory:
        rows = Padded.of(source.rows)
        inputs = {"tokens": source.tokens, "positions": source.positions, **rows.inputs()}
        if self.model.source_flat is not None:
            merged = np.arange(len(source.tokens))
            merged[source.current] = len(merged) + np.arange(len(source.current))
            inputs |= {"flat": source.current, "merged": merged, **Padded.of(source.groups).inputs("flat_")}
        names = [name for name in self.encoder.outputs if name.startswith("memory")]
        made = dict(zip(names, self.encoder.run(names, inputs), strict=True))
        tokens = np.where(rows.hidden[:, 0, 0] == 0, source.tokens[rows.padded], self.vocabulary.eos)
        return Memory(made, rows.hidden, tokens)

    def search(
        self,
        encoded: Encoded,
        prefix: FlatSide,
        limits: Sequence[int],
        beam: int,
        length_penalty: float,
        context: TargetContext | ShownContext | None = None,
        shortlist: bool = False,
        n_best: int = 1,
    ) -> list[Hypothesis]:
        assert isinstance(encoded, Memory)
        assert not isinstance(context, ShownContext)  # which is of engines that keep rows
        vocabulary = self.vocabulary
        others = self._others(prefix, context)
        hypotheses = Beam(limits, beam, length_penalty, vocabulary.eos, n_best)
        head = self._head(encoded.tokens, shortlist)
        words = vocabulary.text_size if head.shortlist is None else head.shortlist.count
        # Twice the beam: even if each hypothesis ends, beam others are left to go on.
        count = min(2 * beam, words - vocabulary.mask - 1)
        if self.model.sizes.architecture.recurrent_decoder:
            searched = (self.decoder, head, encoded, prefix, hypotheses, count)
            return RecurrentSearch(self.model.sizes, *searched, lambda: (self.target, self.reader)).run()
        return Search(
            self.model.sizes, self.decoder, head, encoded, prefix, others, hypotheses, count, self.reserve
        ).run()

    def _head(self, tokens: Array, shortlist: bool) -> Head:
        """Of the words that these source tokens can become; without a shortlist, of all."""
        if self.shortlist is None or not shortlist:
            return Head(self.head, {}, None)
        words = self.shortlist.of(tokens, self.vocabulary)
        made = self.listed.run(self.listed.outputs, {"list": words.ids})
        return Head(self.short_head, dict(zip(self.listed.outputs, made, strict=True)), words)

    def _others(self, prefix: FlatSide, context: TargetContext | None) -> Others | None:
        if not self.sees_growing:
            return None
        sizes = self.model.sizes
        if context is not None:
            return self._shown(context.side, context.row)
        if prefix.group_rows.longest > 1:
            raise InputError("only the engine torch has the global context 'partial'")
        return Others.nobody(len(prefix.rows), sizes.heads, sizes.dim // sizes.heads)

    def _shown(self, side: FlatSide, rows: Array) -> Others:
        """What these rows of a side see of those before them."""
        names = ("context_keys", "context_values")
        tokens, positions = side.tokens[side.current], side.positions[side.current]
        padded = Padded.of(side.groups).padded
        keys, values = self.context.run(names, {"tokens": tokens, "positions": positions, "padded": padded})
        group = np.searchsorted(side.group_rows.starts[1:], rows, side="right")
        return Others(keys, values, group, side.sentences.starts[rows] - side.groups.starts[group])

    def score(self, encoded: Encoded, target: FlatSide, labels: Array) -> Array:
        assert isinstance(encoded, Memory)
        return self._score(encoded, target, labels)

    def score_candidates(self, source: FlatSide, target: FlatSide, counts: Array, labels: Array) -> Callable[[], Array]:
        memory = self.encode(source).take(np.repeat(np.arange(len(counts)), counts))
        return lambda: self._score(memory, target, labels)

    def _score(self, memory: Memory, target: FlatSide, labels: Array) -> Array:
        (states,) = self._read(memory, target, target.current, "states")
        return label_scores(self.head, states, labels)

    def _read(self, memory: Memory, target: FlatSide, asked: Array, output: str) -> list[Array]:
        return read_rows(self.target, self.reader, memory, target, self.sees_growing, asked, [output])

    def source_weights(self, source: FlatSide, target: FlatSide, layer: int) -> list[Array]:
        memory, tokens = self.encode(source), np.arange(len(target.tokens))
        (asked,) = self._read(memory, target, tokens, f"queries_{layer}")
        return list(attention_weights(memory, asked, target, layer, self.model.sizes.heads))

    def show_source(self, side: FlatSide) -> list[Shown]:
        raise TypeError("this engine keeps no rows")

    def show_target(self, side: FlatSide) -> list[Shown]:
        raise TypeError("this engine keeps no rows")

    def encode_among(self, source: FlatSide, shown: Sequence[Sequence[Shown]]) -> Memory:
        raise TypeError("this engine keeps no rows")
