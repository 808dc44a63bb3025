"""Scoring: log-probabilities of given translations, with their context or without.

Context is given, not scored: a score covers the tokens of the current sentence and its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from docflat.data.flat_layout import FlatSegments, FlatSide, Layout, flatten_batch, flatten_side, labels_of
from docflat.data.rows import Array, Ids, Rows, SentenceList, row_lengths, trim
from docflat.decoding.settings import DecodingSettings
from docflat.engines.engine import Encoded, Engine
from docflat.engines.loading import LoadedModel


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

    wait: Callable[[], Array]  # -> (current,) log-probabilities
    labels: Array  # (current,)
    sentences: FlatSegments  # over both
    counts: Array  # (examples,) candidates of each

    def scored(self) -> list[list[Scored]]:
        each = iter(split_scores(self.wait(), self.labels, self.sentences))
        return [[next(each) for _ in range(count)] for count in self.counts]


class Scorer:
    """Scores given translations with a model."""

    def __init__(self, model: LoadedModel, window: int = 0, budget: int = 0) -> None:
        """window: rows of a document that see each other, 0: as in training; budget: tokens a batch, 0: by device."""
        self.engine, self.rows = model.engine, model.config.rows
        self.layout: Layout = model.layout
        self.window = window or self.rows.window or DecodingSettings.window
        self.budget = budget or self.engine.scoring_budget

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
        scored: list[Scored] = []
        for part in self._batches(rows, source, target):
            batch = flatten_batch(source, target, part, self.layout)
            scored += score_target(self.engine, self.engine.encode(batch.source), batch.target, batch.labels)
            done(len(part))
        bounds = np.cumsum([0, *sizes])
        return [scored[a:b] for a, b in pairwise(bounds)]

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
        scored: list[list[Scored]] = []
        running: _Running | None = None
        start = tokens = 0
        for end, example in enumerate(examples):
            tokens += example.tokens
            if tokens < self.budget and end < len(examples) - 1:
                continue
            before, running = running, self._start(examples[start : end + 1])
            start, tokens = end + 1, 0
            if before is not None:  # a GPU works on the next batch meanwhile
                scored += before.scored()
                done(len(before.counts))
        if running is not None:
            scored += running.scored()
            done(len(running.counts))
        return scored

    def among(
        self,
        examples: Sequence[Candidates],
        company: Sequence[Sequence[Candidates]],
    ) -> list[list[Scored]]:
        """All translations of each example, each after the sentences of its company in the batch, of which the first
        translation is read. They see each other as rows of a document do.
        """
        source: list[Ids] = []
        target: list[Ids] = []
        columns: list[tuple[int, int, int, int, int]] = []
        last: list[bool] = []  # of each row: whether it is an example's
        for example, others in zip(examples, company, strict=True):
            for translation in example.translations:
                group = len(last)
                for row, text in [*((other, other.translations[0]) for other in others), (example, translation)]:
                    source += row.source_context
                    target += row.target_context
                    before = len(row.source_context)
                    columns.append((len(source), min(self.rows.context or 0, before), len(source), before, group))
                    source.append(row.source)
                    target.append(text)
                    last.append(False)
                last[-1] = True
        rows = Rows(*(np.array(column, dtype=np.int64) for column in zip(*columns, strict=True)))
        sides = SentenceList(source), SentenceList(target)
        rows = trim(rows, *sides, self.rows.max_tokens, self.layout.target_context)
        scored: list[Scored] = []
        for part in self._batches(rows, *sides):
            batch = flatten_batch(*sides, part, self.layout)
            scored += score_target(self.engine, self.engine.encode(batch.source), batch.target, batch.labels)
        each = (one for one, wanted in zip(scored, last, strict=True) if wanted)
        return [[next(each) for _ in example.translations] for example in examples]

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
        source_side = flatten_side(source, source_rows, self.layout, close=True)
        target_side = flatten_side(target, target_rows, self.layout, close=False)
        labels = labels_of(target_side, self.layout.eos)
        scores = self.engine.score_candidates(source_side, target_side, counts, labels)
        return _Running(scores, labels, target_side.sentences, counts)

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


def score_target(engine: Engine, encoded: Encoded, target: FlatSide, labels: Array) -> list[Scored]:
    """Of the current sentence of each row."""
    return split_scores(engine.score(encoded, target, labels), labels, target.sentences)


def split_scores(scores: Array, labels: Array, sentences: FlatSegments) -> list[Scored]:
    """By sentence."""
    bounds = sentences.starts.tolist()
    numbers, ids = scores.tolist(), labels.tolist()
    return [Scored(ids[a : b - 1], numbers[a:b]) for a, b in pairwise(bounds)]
