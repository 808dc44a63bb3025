"""Scoring: log-probabilities of given translations, with their context or without.

Context is given, not scored: a score covers the tokens of the current sentence and its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from docflat.data.flat_layout import FlatSide, Layout, flatten_side, labels_of
from docflat.data.rows import Array, Ids, Rows, SentenceList, row_lengths, trim
from docflat.decoding.settings import DecodingSettings
from docflat.model.batch import Side, make_batch, make_side
from docflat.model.batch_attention import Memory, TargetAttending
from docflat.model.layers import Attention, Reach, attend
from docflat.model.segments import Segments
from docflat.model.transformer import Transformer
from docflat.weights.folders import ModelFolder


@dataclass(frozen=True)
class Scored:
    """A sentence as it was scored."""

    tokens: Ids  # without the end
    log_probabilities: list[float]  # of each token, and of the end

    @property
    def total(self) -> float:
        return sum(self.log_probabilities)


@dataclass(frozen=True)
class Candidates:
    """One source sentence and several translations of it, with context on both sides; all as ids."""

    source: Ids
    translations: Sequence[Ids]
    source_context: Sequence[Ids] = ()  # previous sentences, oldest first
    target_context: Sequence[Ids] = ()  # as many

    @property
    def tokens(self) -> int:
        """What it takes to score them, roughly."""
        target = sum(map(len, self.translations)) + len(self.translations) * sum(map(len, self.target_context))
        return len(self.source) + sum(map(len, self.source_context)) + target


@dataclass(frozen=True)
class _Running:
    """A batch of candidates on its way: only `scored` waits for the numbers."""

    scores: Tensor  # (current,) where the model is
    labels: Tensor  # (current,) on the host
    sentences: Segments  # over both, on the host
    counts: Array  # (examples,) candidates of each

    def scored(self) -> list[list[Scored]]:
        each = iter(split_scores(self.scores, self.labels, self.sentences))
        return [[next(each) for _ in range(count)] for count in self.counts]


class Scorer:
    """Scores given translations with a model."""

    def __init__(self, folder: ModelFolder, window: int = 0, budget: int = 0) -> None:
        """window: rows of a document that see each other, 0: as in training; budget: tokens a batch, 0: by device."""
        self.model, self.rows = folder.model, folder.config.rows
        self.layout: Layout = folder.system.layout(self.rows, self.model.vocabulary)
        self.window = window or self.rows.window or DecodingSettings.window
        self.device = self.model.embedding.weight.device
        self.budget = budget or (16384 if self.device.type == "cuda" else 2048)

    def documents(
        self,
        sources: Sequence[Sequence[Ids]],
        targets: Sequence[Sequence[Ids]],
        context: bool = True,
        done: Callable[[int], None] = lambda sentences: None,
    ) -> list[list[Scored]]:
        """Every sentence of documents, with the given translations as target context; or each alone."""
        source = SentenceList([ids for document in sources for ids in document])
        target = SentenceList([ids for document in targets for ids in document])
        sizes = np.array([len(document) for document in sources], dtype=np.int64)
        rows = self._document_rows(sizes, context)
        rows = trim(rows, source, target, self.rows.max_tokens, self.layout.target_context)
        found: list[Scored] = []
        for part in self._batches(rows, source, target):
            batch = make_batch(source, target, part, self.layout).to(self.device)
            with torch.inference_mode():
                scores = token_scores(self.model.logits(batch), batch.labels)
            found += split_scores(scores, batch.labels, batch.target.sentences)
            done(len(part))
        bounds = np.cumsum([0, *sizes])
        return [found[a:b] for a, b in pairwise(bounds)]

    def _document_rows(self, sizes: Array, context: bool) -> Rows:
        document = np.repeat(np.arange(len(sizes)), sizes)
        number = np.arange(len(document))
        place = number - np.repeat(np.cumsum(sizes) - sizes, sizes)
        if not context:
            return Rows(number, 0 * number, number, place, number)
        local = np.minimum(self.rows.context or 0, place)
        return Rows(number, local, number, place, document * (len(number) + 1) + place // self.window)

    def _batches(self, rows: Rows, source: SentenceList, target: SentenceList) -> Iterator[Rows]:
        """Whole groups, as many as the budget allows."""
        lengths = np.maximum(*row_lengths(rows, source, target, self.layout.target_context))
        edges = [*(np.flatnonzero(np.diff(rows.group)) + 1).tolist(), len(rows)]
        start = end = 0
        for edge in edges:
            if end > start and int(lengths[start:edge].sum()) > self.budget:
                yield rows.take(slice(start, end))
                start = end
            end = edge
        if end > start:
            yield rows.take(slice(start, end))

    def candidates(
        self, examples: Sequence[Candidates], done: Callable[[int], None] = lambda examples: None
    ) -> list[list[Scored]]:
        """All translations of each example. The source, and how translations begin alike, is computed once.

        An example sees its own context and nothing else of the batch.
        """
        found: list[list[Scored]] = []
        running: _Running | None = None
        start = tokens = 0
        for end, example in enumerate(examples):
            tokens += example.tokens
            if tokens < self.budget and end < len(examples) - 1:
                continue
            before, running = running, self._start(examples[start : end + 1])
            start, tokens = end + 1, 0
            if before is not None:  # a GPU works on the next batch meanwhile
                found += before.scored()
                done(len(before.counts))
        if running is not None:
            found += running.scored()
            done(len(running.counts))
        return found

    def _start(self, examples: Sequence[Candidates]) -> _Running:
        counts = np.array([len(example.translations) for example in examples], dtype=np.int64)
        source, source_rows = lay_context(
            [(example.source_context, [example.source]) for example in examples], self.rows.context or 0
        )
        target, target_rows = lay_context(
            [(example.target_context, example.translations) for example in examples], self.rows.context or 0
        )
        # Both sides lose the same context, that of the longest translation's row.
        shortest = self._trimmed_context(source, source_rows, target, target_rows, counts)
        source_rows = replace(source_rows, context=shortest)
        target_rows = self.layout.target_rows(replace(target_rows, context=np.repeat(shortest, counts)))
        source_side = make_side(source, source_rows, self.layout, close=True).to(self.device)
        flat_target = flatten_side(target, target_rows, self.layout, close=False)
        labels = torch.from_numpy(labels_of(flat_target, self.layout.eos))
        sharing = Sharing.of_rows(flat_target, counts, self.model.looks_ahead).to(self.device)
        target_side = Side.of_flat(flat_target)
        sentences = target_side.sentences
        target_side = target_side.to(self.device)
        with torch.inference_mode():
            memory = self.model.encode(source_side)
            states = decode_candidates(self.model, target_side, memory, sharing)
            logits = self.model.target_embedding.logits(states[sharing.current_first])
            scores = token_scores(logits, labels.to(self.device), sharing.current_spread)
        return _Running(scores, labels, sentences, counts)

    def _trimmed_context(
        self, source: SentenceList, source_rows: Rows, target: SentenceList, target_rows: Rows, counts: Array
    ) -> Array:
        """How much context each example can keep: (examples,)."""
        nothing = SentenceList([[]] * (max(len(source.ends), len(target.ends)) - 1))
        alone = trim(source_rows, source, nothing, self.rows.max_tokens, False).context
        if self.layout.target_context:
            least = trim(target_rows, target, target, self.rows.max_tokens).context
            alone = np.minimum(alone, np.minimum.reduceat(least, np.cumsum(counts) - counts))
        return alone


def lay_context(parts: Sequence[tuple[Sequence[Ids], Sequence[Ids]]], most: int) -> tuple[SentenceList, Rows]:
    """Rows of sentences that share a context: parts are (context, sentences). Every row is a group by itself."""
    texts: list[Ids] = []
    columns: list[tuple[int, int, int, int]] = []
    for context, sentences in parts:
        texts += context
        context_end = len(texts)
        for ids in sentences:
            columns.append((len(texts), min(most, len(context)), context_end, len(context)))
            texts.append(ids)
    sentence, count, end, place = (np.array(column, dtype=np.int64) for column in zip(*columns, strict=True))
    return SentenceList(texts), Rows(sentence, count, end, place, np.arange(len(sentence)))


def token_scores(logits: Tensor, labels: Tensor, spread: Tensor | None = None) -> Tensor:
    """Log-probabilities of the labels: (labels,). spread (labels,): which of the logits is for each of them."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    which = torch.arange(len(labels), device=labels.device) if spread is None else spread
    return logits[which, labels] - logits.logsumexp(-1)[which]


def split_scores(scores: Tensor, labels: Tensor, sentences: Segments) -> list[Scored]:
    """By sentence."""
    bounds = sentences.starts.tolist()
    numbers, ids = scores.tolist(), labels.tolist()
    return [Scored(ids[a : b - 1], numbers[a:b]) for a, b in pairwise(bounds)]


@dataclass(frozen=True)
class Sharing:
    """Translations of one source that begin alike: a decoder has the same states there, and computes them once."""

    row: Tensor  # (rows,) which source row each target row translates
    first: Tensor  # (computed,) which tokens of the target side are computed
    spread: Tensor  # (tokens,) which of these each token is
    current_first: Tensor  # (computed current,) the same among the tokens of the current sentences
    current_spread: Tensor  # (current,)
    sources: Segments  # over the computed tokens: one segment a source row

    @classmethod
    def of_rows(cls, side: FlatSide, counts: Array, looks_ahead: bool) -> Sharing:
        """counts (source rows,): the target rows of each. looks_ahead: states differ before the words do."""
        source = np.repeat(np.arange(len(counts)), counts)  # (rows,)
        own = np.arange(len(side.tokens))
        same = own if looks_ahead else same_beginnings(side, (np.cumsum(counts) - counts)[source])
        current = side.current
        first, spread = distinct(same)
        current_first, current_spread = distinct(np.searchsorted(current, same[current]))
        of_source = np.repeat(source, side.rows.lengths)
        return cls(
            torch.from_numpy(source),
            torch.from_numpy(first),
            torch.from_numpy(spread),
            torch.from_numpy(current_first),
            torch.from_numpy(current_spread),
            Segments.of_lengths(np.bincount(of_source[first], minlength=len(counts))),
        )

    def to(self, device: torch.device) -> Sharing:
        def move(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        return Sharing(
            move(self.row),
            move(self.first),
            move(self.spread),
            move(self.current_first),
            move(self.current_spread),
            self.sources.each(move),
        )


def same_beginnings(side: FlatSide, leader: Array) -> Array:
    """leader (rows,): the row that each is compared with. For each token the one it equals, itself if there is none.

    Tokens are equal if all before them are too: (tokens,).
    """
    tokens, starts = side.tokens, side.rows.starts.astype(np.int64)
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    own = np.arange(len(tokens))
    place = own - starts[row]
    other = starts[leader[row]] + place  # the same place in the leader, unless that is shorter
    inside = other < starts[leader[row] + 1]
    differs = ~inside | (tokens[np.where(inside, other, 0)] != tokens)
    alike = np.minimum.reduceat(np.where(differs, place, len(tokens)), starts[:-1])  # (rows,) how many tokens
    return np.where(place < alike[row], other, own)


def distinct(same: Array) -> tuple[Array, Array]:
    """Those that equal themselves, and for each which of these it equals."""
    own = same == np.arange(len(same))
    return np.flatnonzero(own), (np.cumsum(own) - 1)[same]


class SharedAttending(TargetAttending):
    """Attention of the computed tokens of target rows that share their beginnings and their source."""

    def __init__(self, side: Side, memory: Memory, sharing: Sharing, paired: bool) -> None:
        super().__init__(side, memory)
        self.sharing = sharing
        # One that reads sentence by sentence needs them beside each row.
        self.beside = TargetAttending(side, memory.take(sharing.row, side.row_pieces.lengths)) if paired else None

    def own(self, attention: Attention, x: Tensor, reach: Reach, earlier: Tensor | None = None) -> Tensor:
        first, spread = self.sharing.first, self.sharing.spread
        if earlier is not None:
            return super().own(attention, x[spread], reach, earlier[spread])[first]
        query, key, value = (part[spread] for part in attention.project(x))
        segments = self.side.pieces if reach == "sentence" else self.side.rows
        return attention.join(attend(query, key, value, segments, segments, causal=True)[first])

    def source(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        memory, sources = self.memory, self.sharing.sources
        if reach == "context":
            assert memory.context is not None
            return attention.across(x, memory.context[0], sources, memory.context[1])
        if self.beside is not None:
            return self.beside.source(attention, x[self.sharing.spread], reach)[self.sharing.first]
        return attention.across(x, memory.states, sources, memory.rows)


def decode_candidates(model: Transformer, target: Side, memory: Memory, sharing: Sharing) -> Tensor:
    """As `Transformer.decode`, for several target rows to each row of the source: (current, dim)."""
    vector = None if memory.vector is None else memory.vector[sharing.row]
    x = model.mix_target(model.embed_target(target), target, replace(memory, vector=vector))
    attending = SharedAttending(target, memory, sharing, model.paired)
    states = model.decode_layers(x[sharing.first], attending)[sharing.spread]
    return model.finish(states[target.current], states, attending)
