"""Passes: the ways to go through a document with a beam search.

Documents come as lists of sentences, sentences as lists of ids; so do their translations, or as what a search says of
them: `Hypothesis`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import TypeVar

import numpy as np

from docflat.data.flat_layout import FlatSide, Layout, flatten_side, labels_of
from docflat.data.row_settings import RowSettings
from docflat.data.rows import Array, Ids, Rows, SentenceList, trim
from docflat.decoding.editing import EditedSentence, Objection, find_objections
from docflat.decoding.scoring import score_target
from docflat.decoding.settings import DecodingSettings
from docflat.decoding.stream_windows import Window, lay_windows, show_once
from docflat.engines.engine import NOTHING, Encoded, Engine, Hypothesis, ShownContext, TargetContext

T = TypeVar("T")


class Passes:
    """A model with what it takes to go through documents of ids, one way or another."""

    def __init__(self, engine: Engine, layout: Layout, rows: RowSettings, settings: DecodingSettings) -> None:
        """rows: those the model was trained on."""
        self.engine, self.layout, self.settings = engine, layout, settings
        self.context, self.max_tokens = rows.context or 0, rows.max_tokens
        self.batch_size = settings.batch_size or engine.search_rows

    def sentence_by_sentence(self, documents: Sequence[Sequence[Ids]], done: Callable[[int], None]) -> list[list[Ids]]:
        """Every sentence alone: no context of any kind. `done` hears how many sentences were translated."""
        return tokens_of(self.drafts(documents, done))

    def drafts(self, documents: Sequence[Sequence[Ids]], done: Callable[[int], None]) -> list[list[Hypothesis]]:
        """The same, as they were searched."""
        walk = Walk(documents, context=0, window=1)
        empty = SentenceList([[]] * len(walk.source.ends))
        for batch in walk.batches(self.batch_size):
            self._search(walk, batch.sentence, batch, self._encode(walk.source, batch), empty, None)
            done(len(batch))
        return walk.translations()

    def second_pass(
        self,
        documents: Sequence[Sequence[Ids]],
        first: Sequence[Sequence[Ids]],
        done: Callable[[int], None],
    ) -> list[list[Ids]]:
        """Every sentence with its context, whose translations are those of a first pass."""
        return tokens_of(self.search_again(documents, first, done))

    def search_again(
        self,
        documents: Sequence[Sequence[Ids]],
        first: Sequence[Sequence[Ids]],
        done: Callable[[int], None],
    ) -> list[list[Hypothesis]]:
        """The same, as they were searched."""
        walk, target = self._second_walk(documents, first)
        for batch in walk.batches(self.batch_size):
            self._search_again(walk, batch, np.arange(len(batch)), self._encode(walk.source, batch), target)
            done(len(batch))
        return walk.translations()

    def edit(
        self, documents: Sequence[Sequence[Ids]], drafts: Sequence[Sequence[Hypothesis]], done: Callable[[int], None]
    ) -> list[list[EditedSentence]]:
        """Every sentence again with its context where that objects to a token of its draft; the others stay.

        Drafts are scored and searched again in the same batches: what both read of the source is encoded once.
        """
        first = tokens_of(drafts)
        walk, target = self._second_walk(documents, first, min(self.context, self.settings.edit_context))
        alone = [draft for document in drafts for draft in document]
        walk.target = list(alone)
        objections: list[list[Objection]] = [[] for _ in alone]
        # Many rows, of which some are searched again: of those that are of like length, as many as suit the engine.
        for batch in walk.batches(2 * (self.settings.batch_size or 64)):
            encoded, side = self._encode(walk.source, batch), self._target(target, batch)
            scored = score_target(self.engine, encoded, side, labels_of(side, self.layout.eos))
            for sentence, there in zip(batch.sentence, scored, strict=True):
                objections[sentence] = find_objections(
                    alone[sentence], there.log_probabilities, self.settings.tolerance
                )
            wanted = np.flatnonzero([bool(objections[sentence]) for sentence in batch.sentence])
            for part in self._of_like_length(walk, batch, wanted):
                self._search_again(walk, batch, part, encoded, target)
            done(len(batch))
        return walk.by_document(
            [
                EditedSentence(draft, against, translation)
                for draft, against, translation in zip(alone, objections, walk.target, strict=True)
            ]
        )

    def _of_like_length(self, walk: Walk, batch: Rows, wanted: Array) -> list[Array]:
        """Some rows of a batch in parts of at most `batch_size`, those with long sentences together."""
        ends, rows = walk.source.ends, batch.sentence[wanted]
        order = np.argsort(ends[rows] - ends[rows + 1], kind="stable")
        count = -(-len(wanted) // self.batch_size)
        return [np.sort(wanted[part]) for part in np.array_split(order, count)] if count else []

    def _search_again(self, walk: Walk, batch: Rows, wanted: Array, encoded: Encoded, target: SentenceList) -> None:
        """Translate some rows of a batch with their context, whose translations are in `target`."""
        context = None
        if self.settings.global_context == "first-pass":
            context = TargetContext(self._target(target, batch), wanted)
        if len(wanted) < len(batch):
            encoded = encoded.take(wanted, batch.context[wanted] + 1)
        self._search(walk, batch.sentence[wanted], batch.take(wanted), encoded, target, context)

    def _second_walk(
        self, documents: Sequence[Sequence[Ids]], first: Sequence[Sequence[Ids]], context: int | None = None
    ) -> tuple[Walk, SentenceList]:
        """Rows that fit with their context, and the first translations, which are part of it.

        context: sentences of it; None: as many as in training.
        """
        walk = Walk(documents, self.context if context is None else context, self.settings.window)
        target = SentenceList([ids for document in first for ids in document])
        walk.rows = trim(walk.rows, walk.source, target, self.max_tokens, self.layout.target_context)
        return walk, target

    def score(self, documents: Sequence[Sequence[Ids]], first: Sequence[Sequence[Ids]]) -> list[list[list[float]]]:
        """Log-probabilities of first translations with their context, as the second pass sees it.

        Of each token, and of the end; none of an empty sentence.
        """
        walk, target = self._second_walk(documents, first)
        scores: list[list[float]] = [[] for _ in walk.target]
        for rows in walk.batches(self.batch_size):
            side = self._target(target, rows)
            encoded = self._encode(walk.source, rows)
            scored = score_target(self.engine, encoded, side, labels_of(side, self.layout.eos))
            for sentence, one in zip(rows.sentence, scored, strict=True):
                scores[sentence] = one.log_probabilities
        return walk.by_document(scores)

    def last_sentences(
        self, documents: Sequence[Sequence[Ids]], first: Sequence[Sequence[Ids]], done: Callable[[int], None]
    ) -> list[Ids]:
        """The last sentence of each document, after given translations of those before it; no other row is seen."""
        walk = Walk(documents, self.context, window=1)
        target = SentenceList([ids for document in first for ids in document])
        rows = walk.rows.take(np.flatnonzero(np.isin(walk.rows.sentence, np.cumsum(walk.sizes) - 1)))
        walk.rows = trim(rows, walk.source, target, self.max_tokens, self.layout.target_context)
        for batch in walk.batches(self.batch_size):
            self._search(walk, batch.sentence, batch, self._encode(walk.source, batch), target, None)
            done(len(batch))
        return [document[-1].tokens for document in walk.translations()]

    def sequential(self, documents: Sequence[Sequence[Ids]], done: Callable[[int], None]) -> list[list[Ids]]:
        """Every sentence with its context, whose translations are the final ones; documents go in lockstep."""
        return tokens_of(self.search_in_order(documents, done))

    def search_in_order(
        self, documents: Sequence[Sequence[Ids]], done: Callable[[int], None]
    ) -> list[list[Hypothesis]]:
        """The same, as they were searched."""
        walk = Walk(documents, self.context, self.settings.window)
        walk.rows = trim(walk.rows, walk.source, SentenceList([[]] * len(walk.source.ends)), self.max_tokens)
        blocks = walk.blocks()
        # The n-th block of every document at a time: by then the translations before it are known.
        nth = np.array([int(block.place[0]) // self.settings.window for block in blocks])
        for round_ in range(int(nth.max(initial=-1)) + 1):
            ready = [block for block, n in zip(blocks, nth, strict=True) if n == round_]
            for start in range(0, len(ready), self.batch_size):
                self._blocks_in_lockstep(walk, ready[start : start + self.batch_size], done)
        return walk.translations()

    def _blocks_in_lockstep(self, walk: Walk, blocks: list[Rows], done: Callable[[int], None]) -> None:
        encoded = self._encode(walk.source, concatenate(blocks))
        offsets = np.cumsum([0, *(len(block) for block in blocks)])
        for step in range(max(len(block) for block in blocks)):
            active = [number for number, block in enumerate(blocks) if len(block) > step]
            target, visible = walk.so_far([blocks[number].take(slice(0, step + 1)) for number in active])
            visible = trim(visible, target, target, self.max_tokens)
            last = np.arange(1, len(active) + 1) * (step + 1) - 1
            current = visible.take(last)
            context = TargetContext(self._target(target, visible), last)
            sentences = np.array([blocks[number].sentence[step] for number in active])
            encoded_current = encoded.take(offsets[active] + step, current.context + 1)
            self._search(walk, sentences, current, encoded_current, target, context)
            done(len(active))

    def stream(self, documents: Iterable[Iterable[Ids]]) -> Iterator[tuple[int, Ids]]:
        """Every sentence in the window around it, with final translations; documents go in lockstep.

        Yields translations as they come, each with the number of its document. Documents are read as far as needed,
        so they may be endless.
        """
        for number, translation in self.search_stream(documents):
            yield number, translation.tokens

    def search_stream(self, documents: Iterable[Iterable[Ids]]) -> Iterator[tuple[int, Hypothesis]]:
        """The same, as they were searched."""
        waiting = enumerate(documents)
        windows: list[Window] = []
        while True:
            for number, document in islice(waiting, self.batch_size - len(windows)):
                windows.append(Window(number, document, self.settings.window, self.context))
            if not windows:
                return
            windows = [window for window in windows if window.advance()]
            going = [window for window in windows if window.current]
            translations = iter(self._windows_in_lockstep(going) if going else ())
            for window in windows:
                translation = next(translations) if window.current else NOTHING
                window.finish(translation.tokens)
                yield window.number, translation

    def _windows_in_lockstep(self, windows: Sequence[Window]) -> list[Hypothesis]:
        """The translations of the current sentences."""
        sentences, translations, rows = lay_windows(windows)
        source, target = SentenceList(sentences), SentenceList(translations)
        rows = trim(rows, source, SentenceList([[]] * len(sentences)), self.max_tokens)
        place = np.array([window.place for window in windows])
        current = np.flatnonzero(rows.place == place[rows.group])
        so_far = trim(rows.take(rows.place <= place[rows.group]), target, target, self.max_tokens)
        last = np.flatnonzero(so_far.place == place[so_far.group])

        engine = self.engine
        context: TargetContext | ShownContext
        if engine.keeps_rows:
            shown_source = show_once(windows, "source", rows, lambda new: engine.show_source(self._source(source, new)))
            encoded = engine.encode_among(self._source(source, rows.take(current)), shown_source)
            finished = so_far.take(so_far.place < place[so_far.group])
            shown_target = show_once(
                windows, "target", finished, lambda new: engine.show_target(self._target(target, new))
            )
            context = ShownContext(shown_target)
            current = np.arange(len(current))
        else:
            # Other systems keep nothing: the whole window is computed anew for each sentence.
            encoded = self._encode(source, rows)
            context = TargetContext(self._target(target, so_far), last)
        encoded = encoded.take(current, so_far.context[last] + 1)
        lengths = [len(window.current) for window in windows]
        return self._translate(lengths, so_far.take(last), encoded, target, context)

    def _encode(self, source: SentenceList, rows: Rows) -> Encoded:
        return self.engine.encode(self._source(source, rows))

    def _source(self, source: SentenceList, rows: Rows) -> FlatSide:
        return flatten_side(source, rows, self.layout, close=True)

    def _target(self, target: SentenceList, rows: Rows, prefix_only: bool = False) -> FlatSide:
        rows = self.layout.target_rows(rows)
        return flatten_side(target, rows, self.layout, close=False, prefix_only=prefix_only)

    def _search(
        self,
        walk: Walk,
        sentences: Array,
        rows: Rows,
        encoded: Encoded,
        target: SentenceList,
        context: TargetContext | None,
    ) -> None:
        """Translate `sentences`, whose rows have their context in `target`."""
        lengths = (walk.source.ends[sentences + 1] - walk.source.ends[sentences]).tolist()
        hypotheses = self._translate(lengths, rows, encoded, target, context)
        for sentence, hypothesis in zip(sentences, hypotheses, strict=True):
            walk.target[sentence] = hypothesis

    def _translate(
        self,
        lengths: Sequence[int],
        rows: Rows,
        encoded: Encoded,
        target: SentenceList,
        context: TargetContext | ShownContext | None,
    ) -> list[Hypothesis]:
        """lengths: of the source sentences."""
        prefix = self._target(target, rows, prefix_only=True)
        limits = [self.engine.longest(length) for length in lengths]
        settings, beam = self.settings, (self.settings.beam, self.settings.length_penalty)
        return self.engine.search(encoded, prefix, limits, *beam, context, settings.shortlist, settings.n_best)


class Walk:
    """Documents on their way through decoding: their sentences, the rows to decode, the translations so far."""

    def __init__(self, documents: Sequence[Sequence[Ids]], context: int, window: int) -> None:
        sentences = [ids for document in documents for ids in document]
        self.sizes = np.array([len(document) for document in documents], dtype=np.int64)
        self.source = SentenceList(sentences)
        self.target = [NOTHING] * len(sentences)
        document = np.repeat(np.arange(len(documents)), self.sizes)
        number = np.arange(len(sentences))
        place = number - np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        group = document * (len(sentences) + 1) + place // window
        rows = Rows(number, np.minimum(context, place), number, place, group)
        # An empty sentence stays empty; as context it is still there.
        self.rows = rows.take(np.flatnonzero(np.diff(self.source.ends)))

    def blocks(self) -> list[Rows]:
        """Rows that see each other."""
        if not len(self.rows):
            return []
        edges = np.flatnonzero(np.diff(self.rows.group)) + 1
        bounds = [0, *edges.tolist(), len(self.rows)]
        return [self.rows.take(slice(a, b)) for a, b in pairwise(bounds)]

    def batches(self, size: int) -> list[Rows]:
        """Whole blocks, those of like length together, in batches of about `size` rows; fewer where they are long."""
        lengths = np.diff(self.source.ends)
        blocks = sorted(self.blocks(), key=lambda block: -int(lengths[block.sentence].max()))
        batches: list[list[Rows]] = []
        count = longest = 0
        for block in blocks:
            count += len(block)
            # Caches grow with rows times steps: of sentences of more than 128 tokens, fewer go together.
            if not batches or count * max(longest, 128) > size * 128:
                batches.append([])
                count, longest = len(block), int(lengths[block.sentence].max())
            batches[-1].append(block)
        return [concatenate(batch) for batch in batches]

    def so_far(self, blocks: Sequence[Rows]) -> tuple[SentenceList, Rows]:
        """The translations that these rows read, and the rows with their sentences counted among them.

        Not among all sentences of the walk: this is done for every sentence, and documents can be long.
        """
        texts: list[Ids] = []
        rows = []
        for block in blocks:
            first = int((block.sentence - block.context).min())
            shift = len(texts) - first
            texts += [one.tokens for one in self.target[first : int(block.sentence[-1]) + 1]]
            moved = replace(block, sentence=block.sentence + shift, context_end=block.context_end + shift)
            rows.append(moved)
        return SentenceList(texts), concatenate(rows)

    def translations(self) -> list[list[Hypothesis]]:
        return self.by_document(self.target)

    def by_document(self, sentences: Sequence[T]) -> list[list[T]]:
        bounds = np.cumsum([0, *self.sizes])
        return [list(sentences[a:b]) for a, b in pairwise(bounds)]


def tokens_of(documents: Sequence[Sequence[Hypothesis]]) -> list[list[Ids]]:
    return [[one.tokens for one in document] for document in documents]


def concatenate(parts: Sequence[Rows]) -> Rows:
    return Rows(
        np.concatenate([rows.sentence for rows in parts]),
        np.concatenate([rows.context for rows in parts]),
        np.concatenate([rows.context_end for rows in parts]),
        np.concatenate([rows.place for rows in parts]),
        np.concatenate([rows.group for rows in parts]),
    )
