"""Decoding against full recomputation, exhaustive search, and plain loops over sentences.

The slow versions never cache: they ask the model for the logits of a whole batch (as in training, which the tests
in oracle/ hold to the paper) and, where rows grow together, write out what sees what.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor

import docflat.engines.torch.recording
import docflat.engines.torch.search
from conftest import (
    BOS,
    EOS,
    INDEX_TOKENS,
    MASK,
    PAD,
    SIZES,
    TARGET_FLAT_VARIANTS,
    TESTED,
    TEXT_SIZE,
    VARIANTS,
    Ids,
    Sentences,
    batch_of,
    build,
    build_variant,
    corpus_of,
    layout_for,
    random_documents,
    rows_array,
    rows_for,
    slow_attention,
    slow_flat_batch,
    slow_gate,
    slow_norm,
)
from docflat.data.flat_layout import Layout
from docflat.data.row_settings import RowSettings
from docflat.data.rows import Rows
from docflat.data.subwords import Subwords
from docflat.decoding.passes import Passes
from docflat.decoding.settings import DecodingSettings
from docflat.engines.torch.engine import TorchEngine, on_torch
from docflat.engines.torch.recording import Recorder
from docflat.engines.torch.search import Search, beam_search
from docflat.model.batch import Batch, Side, make_batch, make_side
from docflat.model.cache.decoding_state import GlobalContext
from docflat.model.cache.fixed_keys import Given
from docflat.model.cache.hypotheses import Paths
from docflat.model.layers import Attention
from docflat.model.segments import Segments
from docflat.model.transformer import Transformer
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS
from docflat.systems.abd import ABD
from docflat.systems.docflat import DocFlat
from docflat.systems.gtrans import GTrans
from docflat.translation.translator import Translator, split_long
from docflat.weights.config import ModelConfig, vocabulary_of
from docflat.weights.folders import ModelFolder

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
NEVER = (PAD, BOS, MASK)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models rarely stop by themselves; a low limit keeps the slow loops short."""
    for model in (Transformer, GTrans):
        monkeypatch.setattr(model, "longest", lambda self, tokens: limit_of(tokens))


def limit_of(source_tokens: int) -> int:
    return source_tokens + 3


# --- Caches against full recomputation ----------------------------------------------------------------------------


def prefix_of(target: Sentences, rows: Rows, layout: Layout) -> Side:
    """What decoding starts from."""
    return make_side(target, layout.target_rows(rows), layout, close=False, prefix_only=True)


def reads_rows(model: Transformer) -> bool:
    return isinstance(model, ABD) and model.target_rows is not None


def with_rows(model: Transformer, shown: Side, groups: Sequence[int], row: int) -> AbstractContextManager[Any]:
    """What ABD's decoder adds to a row: what its mean reads of its group's means, of the text that stands in for them.

    In training that is the target itself, future and all; decoding must make do with other text, said by the tests.
    """
    if not reads_rows(model):
        return nullcontext()
    embedded = model.embedding(shown.tokens, shown.positions).split(shown.rows.lengths.tolist())
    means = [sum(x) / len(x) for x in embedded]
    group = torch.stack([mean for mean, other in zip(means, groups, strict=True) if other == groups[row]])
    (read,) = slow_attention(model.target_rows, means[row][None], group, [range(len(group))])

    def mix_target(x: Tensor, side: Side, memory: Any) -> Tensor:
        return torch.stack([slow_norm(model.target_norm, h + read) for h in x])

    return patch.object(model, "mix_target", mix_target)


class Recomputed:
    """A batch in which the current sentence of any one row can be replaced, everything computed anew."""

    def __init__(self, variant: str, seed: int = 0, sizes: Sequence[int] = (3, 1, 2)) -> None:
        self.name, _ = VARIANTS[variant]
        self.model = build_variant(variant)
        self.documents = random_documents(np.random.default_rng(seed), sizes)
        self.batch, literal = batch_of(self.documents, self.name, context=2)
        self.rows = rows_array(literal)
        self.layout = layout_for(self.name)
        self.sentences = [y for document in self.documents for _, y in document]
        self.memory = self.model.encode(self.batch.source)
        self.prefix = prefix_of(corpus_of(self.documents).target, self.rows, self.layout)
        self.shown = self.batch.target  # what stands in for rows of which a whole text is read

    def replaced(self, current: dict[int, Ids]) -> Side:
        """The target with other current sentences in these rows; as local context they stay what they were."""
        sentences = Sentences([*self.sentences, *current.values()])
        numbers = self.rows.sentence.copy()
        numbers[list(current)] = len(self.sentences) + np.arange(len(current))
        rows = self.layout.target_rows(replace(self.rows, sentence=numbers))
        return make_side(sentences, rows, self.layout, close=False)

    def logits(self, side: Side, row: int) -> Tensor:
        """After each token of the row's current sentence: (tokens, text_size)."""
        start, end = side.sentences.starts[row : row + 2].tolist()
        with with_rows(self.model, self.shown, self.rows.group, row):
            return self.model.embedding.logits(self.model.decode(side, self.memory)[start:end])


@torch.no_grad()
@pytest.mark.parametrize(
    ("variant", "given"),
    # Without a global context, rows of these systems grow together: see the next test.
    [
        (variant, given)
        for variant in VARIANTS
        for given in (True, False)
        if given or variant not in TARGET_FLAT_VARIANTS
    ],
)
def test_cached_decoding_is_full_recomputation(variant: str, given: bool) -> None:
    """A beam of hypotheses for every row, reordered and thinned out on the way; the other rows are as in training."""
    slow = Recomputed(variant)
    model, beam = slow.model, 3
    rng = np.random.default_rng(1)
    live = list(range(len(slow.rows)))
    context = GlobalContext(slow.batch.target, torch.arange(len(live))) if given else None
    slow.shown = slow.batch.target if given else slow.prefix
    state, logits = model.start_decoding(slow.memory, slow.prefix, beam, context)
    for row in live:
        torch.testing.assert_close(logits[row], slow.logits(slow.batch.target, row)[0], **CLOSE)

    hypotheses: dict[int, list[Ids]] = {row: [[] for _ in range(beam)] for row in live}
    for step in range(5):
        words = rng.integers(MASK + 1, TEXT_SIZE, (len(live), beam))
        logits = model.decode_one_token(state, torch.from_numpy(words))
        for n, row in enumerate(live):
            for k in range(beam):
                hypotheses[row][k] = [*hypotheses[row][k], int(words[n, k])]
                expected = slow.logits(slow.replaced({row: hypotheses[row][k]}), row)[-1]
                torch.testing.assert_close(logits[n, k], expected, **CLOSE)
        parents = rng.integers(0, beam, (len(live), beam))
        state.reorder(torch.from_numpy(parents))
        for n, row in enumerate(live):
            hypotheses[row] = [hypotheses[row][parent] for parent in parents[n]]
        if step in (1, 3):
            kept = [n for n in range(len(live)) if n % 3 != step % 2]
            state.keep(torch.tensor(kept))
            live = [live[n] for n in kept]


@torch.no_grad()
@pytest.mark.parametrize("variant", ["doc2doc", "docflat-c", "han", "hybrid"])
def test_a_long_search_gives_up_what_no_hypothesis_needs(variant: str) -> None:
    """Hypotheses that go on from one or two others leave slots behind; what is left is still the whole past."""
    slow = Recomputed(variant)
    model, beam, rows = slow.model, 3, range(len(slow.rows))
    rng = np.random.default_rng(3)
    context = GlobalContext(slow.batch.target, torch.arange(len(slow.rows)))
    state, _ = model.start_decoding(slow.memory, slow.prefix, beam, context)
    hypotheses: dict[int, list[Ids]] = {row: [[] for _ in range(beam)] for row in rows}
    for step in range(26):
        words = rng.integers(MASK + 1, TEXT_SIZE, (len(rows), beam))
        logits = model.decode_one_token(state, torch.from_numpy(words))
        for row in rows:
            hypotheses[row] = [[*old, int(word)] for old, word in zip(hypotheses[row], words[row], strict=True)]
            if step in (7, 8, 16, 25):
                for k in range(beam):
                    expected = slow.logits(slow.replaced({row: hypotheses[row][k]}), row)[-1]
                    torch.testing.assert_close(logits[row, k], expected, **CLOSE)
        parents = rng.integers(0, 2, (len(rows), beam))
        state.reorder(torch.from_numpy(parents))
        for row in rows:
            hypotheses[row] = [hypotheses[row][parent] for parent in parents[row]]
    assert state.paths.total < 26 * beam * 0.8


@torch.no_grad()
@pytest.mark.parametrize("variant", TARGET_FLAT_VARIANTS)
def test_rows_that_grow_together_see_each_other_as_they_were(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partial global context: at step s a row sees the rows before it in its document as they are at step s."""
    slow = Recomputed(variant)
    model, rows = slow.model, len(slow.rows)
    assert isinstance(model, DocFlat)
    words = np.random.default_rng(2).integers(MASK + 1, TEXT_SIZE, (5, rows))
    state, logits = model.start_decoding(slow.memory, slow.prefix, 1)
    steps = [logits]
    for row_words in words:
        steps.append(model.decode_one_token(state, torch.from_numpy(row_words)[:, None])[:, 0])

    side = slow.replaced({row: words[:, row].tolist() for row in range(rows)})
    scope = model.target_flat.options.scope
    lengths, prefix_lengths = side.rows.lengths.tolist(), slow.prefix.rows.lengths.tolist()
    tokens = [(row, t) for row in range(rows) for t in range(lengths[row])]

    def step_of(row: int, t: int) -> int:
        """When a token came: 0 for everything that was forced."""
        return max(0, t - prefix_lengths[row] + 1)

    def flat(row: int, t: int) -> bool:
        return scope == "all" or t >= prefix_lengths[row] - 1

    sees: list[list[int]] = []
    for i, t in tokens:
        sees.append([])
        for m, (j, u) in enumerate(tokens):
            together = slow.rows.group[i] == slow.rows.group[j]
            before = (j < i and step_of(j, u) <= step_of(i, t)) or (j == i and u <= t)
            if flat(i, t) and flat(j, u) and together and before:
                sees[-1].append(m)
    monkeypatch.setattr(
        model, "mix_target", lambda x, side, memory: slow_flat_batch(model.target_flat, model.target_norm, x, sees)
    )
    for row in range(rows):
        expected = slow.logits(side, row)
        for step, step_logits in enumerate(steps):
            torch.testing.assert_close(step_logits[row], expected[step], **CLOSE)


# --- Search -------------------------------------------------------------------------------------------------------


def allowed(step: int, limit: int, text_size: int) -> list[int]:
    """No empty translation, the end where the limit is, and never a symbol that is not text."""
    if step >= limit:
        return [EOS]
    return [word for word in range(text_size) if word not in NEVER and (word != EOS or step > 0)]


class SlowBeam:
    """The beam of one row, hypotheses as (log-probability, tokens, whatever belongs to them)."""

    def __init__(self, limit: int, beam: int, penalty: float, text_size: int = TEXT_SIZE) -> None:
        self.limit, self.beam, self.penalty, self.text_size = limit, beam, penalty, text_size
        self.live: list[tuple[float, Ids, Any]] = [(0.0, [], None)]
        self.finished: list[tuple[float, Ids]] = []  # by score

    def step(self, logits: Sequence[Tensor]) -> None:
        """logits: one vector for each live hypothesis."""
        candidates = []
        for (score, tokens, extra), row in zip(self.live, logits, strict=True):
            log_probabilities = row.log_softmax(0).tolist()
            for word in allowed(len(tokens), self.limit, self.text_size):
                candidates.append((score + log_probabilities[word], [*tokens, word], extra))
        candidates.sort(key=lambda candidate: -candidate[0])
        for score, tokens, _ in candidates[: self.beam]:
            if tokens[-1] == EOS:
                self.finished.append((score / len(tokens) ** self.penalty, tokens[:-1]))
        going = [candidate for candidate in candidates[: 2 * self.beam] if candidate[1][-1] != EOS]
        self.live = going[: self.beam]

    @property
    def best(self) -> tuple[float, Ids]:
        return max(self.finished, key=lambda hypothesis: hypothesis[0])

    @property
    def done(self) -> bool:
        if not self.live:
            return True
        # As many as the beam is wide are enough only if the best of them leads over what is still growing.
        score, tokens, _ = self.live[0]
        if len(self.finished) >= self.beam and self.best[0] >= score / len(tokens) ** self.penalty:
            return True
        reachable = self.live[0][0] / (self.limit + 1) ** self.penalty
        return bool(self.finished) and self.best[0] >= reachable


@torch.no_grad()
@pytest.mark.parametrize("name", ["sent2sent", "docflat-c"])
def test_a_large_beam_is_exhaustive_search(name: str) -> None:
    words, limits, penalties = 3, [4, 1, 3], [0.0, 0.6, 1.0, 2.0]
    layout = Layout(EOS, BOS if name == "sent2sent" else None, MASK + 1 + words, INDEX_TOKENS)
    lone = Rows(*(np.arange(3), np.zeros(3, int), np.arange(3), np.arange(3), np.arange(3)))  # rows that see no other
    lengths = set()
    for seed in range(4):
        model = build(name, seed=seed, words=words)
        rng = np.random.default_rng(seed)
        source = [rng.integers(MASK + 1, MASK + 1 + words, n).tolist() for n in (3, 2, 5)]
        side = make_side(Sentences(source), lone, layout, close=True)
        prefix = make_side(Sentences([[]] * 3), lone, layout, close=False)
        found = {penalty: beam_search(model, model.encode(side), prefix, limits, 128, penalty) for penalty in penalties}
        for row, limit in enumerate(limits):
            texts = [list(text) for n in range(1, limit + 1) for text in product(range(4, 4 + words), repeat=n)]
            numbers = np.arange(len(texts))
            batch = make_batch(
                Sentences([source[row]] * len(texts)),
                Sentences(texts),
                Rows(numbers, 0 * numbers, numbers, np.full(len(texts), row), numbers),
                layout,
            )
            log_probabilities = model.logits(batch).log_softmax(-1).gather(1, batch.labels[:, None])[:, 0]
            totals = [float(part.sum()) for part in log_probabilities.split([len(text) + 1 for text in texts])]
            for penalty in penalties:
                scores = [total / (len(text) + 1) ** penalty for total, text in zip(totals, texts, strict=True)]
                best = int(np.argmax(scores))
                assert found[penalty][row].tokens == texts[best]
                assert found[penalty][row].score == pytest.approx(scores[best], rel=1e-5)
                lengths.add(len(texts[best]))
    assert len(lengths) > 1, "not always the shortest or the longest"


def slow_translation(
    model: Transformer,
    layout: Layout,
    source: Sequence[Ids],
    target: Sequence[Ids],
    place: int,
    window: int,
    context: int,
    beam: int,
    penalty: float,
    shown: str = "all",
    moving: bool = False,
) -> Ids:
    """One sentence of a document, given the target text of the others: a full training batch for every hypothesis.

    shown: to systems that read whole rows of target text; all of them, those so far, or the prefixes of all.
    moving: the window goes along with the sentence; else it is one of those that the document is cut into.
    """
    together = window_around(place, window, len(source)) if moving else range(len(source))
    seen = np.array([k for k in together if source[k] and (moving or k // window == place // window)])
    rows = Rows(seen, np.minimum(context, seen), seen, seen, np.zeros_like(seen))
    row = seen.tolist().index(place)
    search = SlowBeam(limit_of(len(source[place])), beam, penalty)
    shown_rows = layout.target_rows(rows.take(slice(0, row + 1)) if shown == "so far" else rows)
    shown_side = make_side(Sentences(target), shown_rows, layout, close=False, prefix_only=shown == "prefixes")

    def next_logits(tokens: Ids) -> Tensor:
        texts = [*target[:place], tokens, *target[place + 1 :]]
        batch = make_batch(Sentences(source), Sentences(texts), rows, layout)
        return model.logits(batch)[int(batch.target.sentences.starts[row + 1]) - 1]

    with with_rows(model, shown_side, shown_rows.group, row):
        while not search.done:
            search.step([next_logits(tokens) for _, tokens, _ in search.live])
    return search.best[1]


def window_around(place: int, window: int, sentences: int) -> range:
    """Half before and half after; at either end of the document so many that the window is whole."""
    places = range(sentences)
    starts = [start for start in places if start == 0 or start + window <= sentences]
    nearest = min(starts, key=lambda start: abs(start - (place - window // 2)))
    return places[nearest : nearest + window]


def slow_sentences(document: Sequence[Ids], translate: Callable[[int, list[Ids]], Ids]) -> list[Ids]:
    """Sentence by sentence; an empty one stays empty."""
    target: list[Ids] = [[] for _ in document]
    for place, ids in enumerate(document):
        if ids:
            target[place] = translate(place, target)
    return target


class Plain:
    """One row attends to itself and to its source."""

    def __init__(self, memory: Tensor) -> None:
        self.memory = memory

    def own(self, attention: Attention, x: Tensor, reach: str) -> Tensor:
        return attention.over(x, Segments.of_lengths(np.array([len(x)])), causal=True)

    def source(self, attention: Attention, x: Tensor, reach: str) -> Tensor:
        here, there = (Segments.of_lengths(np.array([len(part)])) for part in (x, self.memory))
        return attention.across(x, self.memory, here, there)


class SlowPartial:
    """Rows of one document that are searched together, without any cache.

    A hypothesis carries what came out of flat-batch attention and gate for each of its tokens, since that was
    settled when the token came; all else is computed anew at every step.
    """

    def __init__(self, model: DocFlat, batch: Batch, prefix: Side, limits: Sequence[int], beam: int, penalty: float):
        self.model, self.flat = model, model.target_flat
        self.whole = self.flat.options.scope == "all"
        self.memories = model.encode(batch.source).states.split(batch.source.rows.lengths.tolist())
        self.prefix_lengths = prefix.rows.lengths.tolist()
        tokens = prefix.tokens.split(self.prefix_lengths)
        self.forced = [self.embed(row.tolist(), 0) for row in tokens]  # (prefix, dim) each
        self.mixed = self.mix_prefixes()
        self.beams = [SlowBeam(limit, beam, penalty) for limit in limits]
        self.shown: list[Ids] = [[] for _ in limits]  # what the others see of a row

    def embed(self, tokens: Ids, first: int) -> Tensor:
        return self.model.embedding(torch.tensor(tokens, dtype=torch.long), first + torch.arange(len(tokens)))

    def in_flat(self, row: int) -> Tensor:
        """The forced tokens of a row that are in the flat sequence."""
        return self.forced[row] if self.whole else self.forced[row][-1:]

    def mix(self, x: Tensor, seen: Tensor) -> Tensor:
        (a,) = slow_attention(self.flat.attention, x[None], seen, [range(len(seen))])
        return slow_norm(self.model.target_norm, slow_gate(self.flat, x, a))

    def mix_prefixes(self) -> list[Tensor]:
        mixed = []
        for row, forced in enumerate(self.forced):
            mixed.append([])
            for t, x in enumerate(forced):
                if not self.whole and t < len(forced) - 1:
                    mixed[-1].append(slow_norm(self.model.target_norm, x))
                    continue
                own = forced[: t + 1] if self.whole else x[None]
                mixed[-1].append(self.mix(x, torch.cat([*(self.in_flat(j) for j in range(row)), own])))
        return [torch.stack(row) for row in mixed]

    def newest(self, row: int, tokens: Ids) -> Tensor:
        """What flat-batch attention makes of a hypothesis's last token, now."""
        own = self.embed(tokens, self.prefix_lengths[row])
        others = [self.embed(self.shown[j], self.prefix_lengths[j]) for j in range(row)]
        return self.mix(own[-1], torch.cat([*(self.in_flat(j) for j in range(row + 1)), *others, own]))

    def logits(self, row: int, grown: Sequence[Tensor]) -> Tensor:
        x = torch.cat([self.mixed[row], *(vector[None] for vector in grown)])
        for layer in self.model.decoder:
            x = layer(x, Plain(self.memories[row]))
        return self.model.embedding.logits(x[-1])

    def search(self) -> list[tuple[float, Ids]]:
        active = list(range(len(self.beams)))
        while active:
            for row in active:
                live = self.beams[row].live
                self.beams[row].step([self.logits(row, grown or []) for _, _, grown in live])
            for row in active:
                beam = self.beams[row]
                self.shown[row] = beam.best[1] if beam.done else beam.live[0][1]
            active = [row for row in active if not self.beams[row].done]
            for row in active:
                beam = self.beams[row]
                beam.live = [
                    (score, tokens, [*(grown or []), self.newest(row, tokens)]) for score, tokens, grown in beam.live
                ]
        return [beam.best for beam in self.beams]


def slow_partial_document(
    model: Transformer,
    layout: Layout,
    source: Sequence[Ids],
    first: Sequence[Ids],
    window: int,
    context: int,
    beam: int,
    penalty: float,
) -> list[Ids]:
    """The second pass over a document, window by window."""
    assert isinstance(model, DocFlat)
    target: list[Ids] = [[] for _ in source]
    for start in range(0, len(source), window):
        seen = np.array([k for k in range(start, min(start + window, len(source))) if source[k]], dtype=np.int64)
        if len(seen):
            rows = Rows(seen, np.minimum(context, seen), seen, seen, np.zeros_like(seen))
            batch = make_batch(Sentences(source), Sentences(first), rows, layout)
            prefix = make_side(Sentences(first), rows, layout, close=False, prefix_only=True)
            limits = [limit_of(len(source[k])) for k in seen]
            for k, (_, tokens) in zip(
                seen, SlowPartial(model, batch, prefix, limits, beam, penalty).search(), strict=True
            ):
                target[k] = tokens
    return target


def source_documents(seed: int = 0) -> list[list[Ids]]:
    """Documents to translate: of several sentences, of one, of none, with empty sentences, all of them empty."""
    rng = np.random.default_rng(seed)
    documents = [[x for x, _ in document] for document in random_documents(rng, [5, 1, 3], longest=4)]
    documents[0][2] = []
    return [*documents, [], [[], []]]


def decoder_for(name: str, model: Transformer, context: int = 2, max_tokens: int = 512, **settings: Any) -> Passes:
    rows = replace(rows_for(name, context), max_tokens=max_tokens)
    return Passes(TorchEngine(model), layout_for(name), rows, DecodingSettings(**settings))


def quiet(sentences: int) -> None:
    pass


def modes(decoder: Passes, documents: list[list[Ids]]) -> dict[str, list[list[Ids]]]:
    """Translations in every mode there is."""
    first = decoder.sentence_by_sentence(documents, quiet)
    results = {"sentence": first, "sequential": decoder.sequential(documents, quiet), "stream": [[] for _ in documents]}
    for number, ids in decoder.stream(documents):
        results["stream"][number].append(ids)
    for kind in ("first-pass", "partial"):
        decoder.settings = replace(decoder.settings, global_context=kind)
        results[f"two-pass, {kind}"] = decoder.second_pass(documents, first, quiet)
    return results


@torch.no_grad()
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", VARIANTS)
def test_modes_are_plain_loops_over_sentences(variant: str) -> None:
    """Each mode but the partial one is a loop; what differs is which text the other sentences have."""
    name, _ = VARIANTS[variant]
    model, layout = build_variant(variant), layout_for(name)
    window, beam, penalty, documents = 3, 2, 0.8, source_documents()
    context = rows_for(name, 2).context
    decoder = decoder_for(name, model, window=window, beam=beam, length_penalty=penalty, batch_size=4)
    results = modes(decoder, documents)
    for number, document in enumerate(documents):

        def translate(
            place: int,
            target: Sequence[Ids],
            window: int = window,
            context: int = context,
            shown: str = "all",
            moving: bool = False,
            document: Any = document,
        ) -> Ids:
            return slow_translation(
                model, layout, document, target, place, window, context, beam, penalty, shown, moving
            )

        empty: list[Ids] = [[] for _ in document]
        alone = slow_sentences(
            document, lambda place, _, translate=translate, empty=empty: translate(place, empty, 1, 0)
        )
        assert results["sentence"][number] == alone
        assert results["sequential"][number] == slow_sentences(document, partial(translate, shown="so far"))
        streamed = slow_sentences(document, partial(translate, shown="so far", moving=True))
        assert results["stream"][number] == streamed
        second = slow_sentences(document, lambda place, _, translate=translate, alone=alone: translate(place, alone))
        assert results["two-pass, first-pass"][number] == second
        if reads_rows(model):
            prefixes = partial(translate, target=alone, shown="prefixes")
            second = slow_sentences(document, lambda place, _, prefixes=prefixes: prefixes(place))
        elif variant in TARGET_FLAT_VARIANTS:
            second = slow_partial_document(model, layout, document, alone, window, context, beam, penalty)
        assert results["two-pass, partial"][number] == second  # the others have no global context on the target side
    if variant != "sent2sent":
        assert results["sentence"] != results["sequential"], "context matters, or this shows nothing"


def again(search: Search, keep: bool) -> tuple[Callable[[], None], int]:
    """In the place of a recorder: the step itself."""
    return search.step, 0


def tensors_in(thing: Any) -> Iterator[Tensor]:
    """All tensors that hang on it, but for weights and what is not read when tensors stay in their place."""
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, dict):
        yield from (tensor for part in thing.values() for tensor in tensors_in(part))
    elif isinstance(thing, list | tuple):
        yield from (tensor for part in thing for tensor in tensors_in(part))
    elif hasattr(thing, "__dict__") and not isinstance(thing, torch.nn.Module):
        unread = ("slots",) if isinstance(thing, Paths) else ("seen",) if isinstance(thing, Given) else ()
        yield from tensors_in({name: part for name, part in vars(thing).items() if name not in unread})


@torch.no_grad()
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_recording_knows_all_tensors_of_a_step(variant: str) -> None:
    """One that it did not know would keep what the batch before had in it."""
    slow = Recomputed(variant)
    context = GlobalContext(slow.batch.target, torch.arange(len(slow.rows)))
    with torch.inference_mode():
        search = Search(slow.model, slow.memory, slow.prefix, [9] * len(slow.rows), 3, 1.0, context)
        search.state.make_room(4)
        search.step()
        tensors = search.tensors()
        known = {tensor.data_ptr() for tensor in tensors}
        everything = {tensor.data_ptr() for tensor in tensors_in([search.state, search.beam, search.words])}
        assert everything - {0} <= known
        search.each(torch.clone)
        assert not known & {tensor.data_ptr() for tensor in search.tensors()} - {0}


@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_search_in_place_finds_what_a_search_with_growing_caches_finds(
    variant: str, beam: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the other tests hold to slow loops. Room is made several times, and rows end at different times."""
    monkeypatch.setattr(docflat.engines.torch.search, "FIRST_ROOM", 2)
    name, _ = VARIANTS[variant]
    lengths = set()
    for seed in range(3):
        model = build_variant(variant, seed=seed)
        documents = random_documents(np.random.default_rng(seed), [4, 2])
        batch, literal = batch_of(documents, name, context=2)
        rows, target = rows_array(literal), corpus_of(documents).target
        prefix = prefix_of(target, rows, layout_for(name))
        context = GlobalContext(batch.target, torch.arange(len(rows)))
        given = (prefix, [3, 17, 2, 6, 30, 5], beam, 2.0, context)  # a penalty that makes long ones good
        expected = beam_search(model, model.encode(batch.source), *given)
        with torch.inference_mode():
            search = Search(model, model.encode(batch.source), *given)
            assert search.state.stays
            search.run_in_place(again)
        for row, hypothesis in enumerate(expected):
            assert search.found[row].tokens == hypothesis.tokens
            assert search.found[row].score == pytest.approx(hypothesis.score, rel=1e-9)
            lengths.add(len(hypothesis.tokens))
    assert max(lengths) > 6, "beyond the first room, of 2, and the second, of 4"
    assert len(lengths) > 2


@torch.no_grad()
def test_rows_that_see_each_other_grow_cannot_stay_in_place() -> None:
    slow = Recomputed("docflat-c")
    state, _ = slow.model.start_decoding(slow.memory, slow.prefix, 2)
    assert not state.stays


class Mimic(Recorder):
    """A recorder without a GPU: it plays a search of its own, which shares nothing but the recording's tensors."""

    def capture(self, search: Search) -> Callable[[], None]:
        shared = {id(tensor): tensor for tensor in search.tensors()}
        memo: dict[int, Any] = {**shared, id(search.model): search.model}
        memo |= {id(part): part for part in search.model.modules()}
        own = deepcopy(search, memo)
        vars(own).pop("step", None)  # which counts, in the test below
        return own.step


@torch.no_grad()
@pytest.mark.parametrize("sizes", [[4, 2], [1], [1, 1]])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_recording_is_played_again_for_other_batches_of_its_shapes(variant: str, sizes: list[int]) -> None:
    """With other words in them; on a GPU as a graph in float32, and else by one that knows nothing but its tensors."""
    name, _ = VARIANTS[variant]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = build_variant(variant).to(device)
    if device.type == "cuda":
        model = model.float()
    recorder = Recorder() if device.type == "cuda" else Mimic()
    made = []
    for seed in range(3):
        documents = [
            [(x[::-1] if seed == 1 else x, [*y[1:], *y[:1]] if seed == 2 else y) for x, y in document]
            for document in random_documents(np.random.default_rng(0), sizes)
        ]
        batch, literal = batch_of(documents, name, context=2)
        rows = rows_array(literal)
        prefix = prefix_of(corpus_of(documents).target, rows, layout_for(name)).to(device)
        context = GlobalContext(batch.target.to(device), torch.arange(len(rows), device=device))
        given = (prefix, [9, 17, 3, 6, 8, 5][: len(rows)], 3, 2.0, context)
        source = batch.source.to(device)
        with torch.inference_mode(), on_stream_of(recorder, device):
            plain = Search(model, model.encode(source), *given)
            plain.run()
            search = Search(model, model.encode(source), *given)
            steps = counted(search)
            search.run_in_place(recorder.record)
        made.append(len(steps))
        assert recorder.works
        for row in range(len(rows)):
            assert search.found[row].tokens == plain.found[row].tokens
            assert search.found[row].score == pytest.approx(plain.found[row].score, rel=1e-4)
    assert made[0] > 0
    assert made[1:] == [0, 0], "everything was played"


def on_stream_of(recorder: Recorder, device: torch.device) -> AbstractContextManager[Any]:
    return torch.cuda.stream(recorder.stream(device)) if device.type == "cuda" else nullcontext()


def counted(search: Search) -> list[None]:
    """Grows by one with each step that the search itself makes, and does not play."""
    made: list[None] = []
    step = search.step

    def count() -> None:
        made.append(None)
        step()

    search.step = count  # type: ignore[method-assign]
    return made


@torch.no_grad()
def test_logits_that_are_no_numbers_end_a_search() -> None:
    """As those of a training that went astray do."""
    slow = Recomputed("doc2doc")
    slow.model.embedding.weight.fill_(float("nan"))
    found = beam_search(slow.model, slow.memory, slow.prefix, [70] * len(slow.rows), 3, 1.0)
    assert all(hypothesis.tokens == [] for hypothesis in found)


@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("variant", TARGET_FLAT_VARIANTS)
def test_partial_search_is_a_slow_simulation(variant: str, beam: int) -> None:
    """Rows end at different times, hypotheses overtake each other, and the others see it."""
    name, _ = VARIANTS[variant]
    changed_by_others = 0.0
    for seed in range(2):
        model = build_variant(variant, seed=seed)
        assert isinstance(model, DocFlat)
        documents = random_documents(np.random.default_rng(seed), [4, 2])
        limits = [3, 7, 2, 6, 4, 5]
        batch, literal = batch_of(documents, name, context=2)
        rows, target = rows_array(literal), corpus_of(documents).target
        prefix = make_side(target, rows, layout_for(name), close=False, prefix_only=True)
        found = beam_search(model, model.encode(batch.source), prefix, limits, beam, 1.0)
        expected = []
        for start, end in ((0, 4), (4, 6)):  # document by document
            own = rows.take(slice(start, end))
            corpus = corpus_of(documents)
            lone = make_batch(corpus.source, corpus.target, own, layout_for(name))
            own_prefix = make_side(target, own, layout_for(name), close=False, prefix_only=True)
            expected += SlowPartial(model, lone, own_prefix, limits[start:end], beam, 1.0).search()
        assert [row.tokens for row in found] == [tokens for _, tokens in expected]
        assert [row.score for row in found] == pytest.approx([score for score, _ in expected], rel=1e-5)
        assert all(len(row.tokens) <= limit for row, limit in zip(found, limits, strict=True))
        for row in range(1, 4):  # each alone, with the same source memory: what it does without the others
            memory = model.encode(batch.source).take(torch.tensor([row]), torch.tensor([9]))
            own_prefix = make_side(
                target, rows.take(slice(row, row + 1)), layout_for(name), close=False, prefix_only=True
            )
            (alone,) = beam_search(model, memory, own_prefix, [limits[row]], beam, 1.0)
            changed_by_others += abs(alone.score - expected[row][0])
    assert changed_by_others > 0.01, "the other rows matter"


@torch.no_grad()
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", ["sent2sent", "doc2doc", "docflat-d"])
def test_a_beam_of_one_is_greedy(name: str) -> None:
    model, layout = build(name), layout_for(name)
    documents = source_documents(seed=3)
    found = decoder_for(name, model, beam=1).sentence_by_sentence(documents, quiet)
    for document, translations in zip(documents, found, strict=True):
        for place, (source, translation) in enumerate(zip(document, translations, strict=True)):
            tokens: Ids = []
            while source:
                rows = Rows(*(np.array([n]) for n in (0, 0, 0, place, 0)))
                batch = make_batch(Sentences([source]), Sentences([tokens]), rows, layout)
                logits = model.logits(batch)[-1].tolist()
                choice = allowed(len(tokens), limit_of(len(source)), TEXT_SIZE)
                word = max(choice, key=logits.__getitem__)
                if word == EOS:
                    break
                tokens.append(word)
            assert translation == tokens


# --- Documents ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_batch_size_changes_nothing(variant: str) -> None:
    name, _ = VARIANTS[variant]
    model = build_variant(variant)
    documents = source_documents()
    expected = modes(decoder_for(name, model, batch_size=64, window=2, beam=3), documents)
    for batch_size in (1, 3):
        assert modes(decoder_for(name, model, batch_size=batch_size, window=2, beam=3), documents) == expected


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", VARIANTS)
def test_other_documents_change_nothing(variant: str) -> None:
    name, _ = VARIANTS[variant]
    model = build_variant(variant)
    documents = source_documents()
    together = modes(decoder_for(name, model, window=4, beam=2), documents)
    for number, document in enumerate(documents):
        alone = modes(decoder_for(name, model, window=4, beam=2), [document])
        assert {mode: [result[number]] for mode, result in together.items()} == alone


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_window_changes_what_sees_the_batch_alone(variant: str) -> None:
    name, _ = VARIANTS[variant]
    model = build_variant(variant)
    documents = [[x for x, _ in document] for document in random_documents(np.random.default_rng(0), [6] * 5)]
    narrow = modes(decoder_for(name, model, window=1, beam=2), documents)
    wide = modes(decoder_for(name, model, window=6, beam=2), documents)
    for mode in narrow:
        changes = "batch" in TESTED[name].source + TESTED[name].target and mode != "sentence"
        assert (narrow[mode] != wide[mode]) == changes, mode


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", VARIANTS)
def test_sentences_in_are_sentences_out(variant: str) -> None:
    name, _ = VARIANTS[variant]
    model = build_variant(variant, dtype=torch.float32)
    nothing: list[list[Ids]] = []
    for documents in (nothing, [[]], [[[]]], [[[5]]], [[[], [], [5, 6], [], [7], []], [[6]]]):
        for window in (2, 16):
            results = modes(decoder_for(name, model, window=window, beam=2), documents)
            for translations in results.values():
                assert [len(document) for document in translations] == [len(document) for document in documents]
                for document, translated in zip(documents, translations, strict=True):
                    assert [bool(ids) for ids in translated] == [bool(ids) for ids in document]
                    for ids in translated:
                        assert all(MASK < word < TEXT_SIZE for word in ids), "nothing but text"


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", ["doc2doc", "docflat-c"])
def test_rows_that_would_be_too_long_lose_context(name: str) -> None:
    """With room for no context at all, doc2doc is its own first pass; nothing crashes on the way there."""
    model = build(name)
    documents = [[x for x, _ in document] for document in random_documents(np.random.default_rng(0), [6, 3], longest=9)]
    seen = []
    for max_tokens in (512, 30, 20, 14, 8):
        results = modes(decoder_for(name, model, max_tokens=max_tokens, beam=2, window=4), documents)
        assert all([len(document) for document in result] == [6, 3] for result in results.values())
        seen.append(results)
    assert seen[0]["sequential"] != seen[2]["sequential"]
    if name == "doc2doc":
        long = [n for n, ids in enumerate(documents[0]) if len(ids) >= 7]
        assert long
        for mode, result in seen[-1].items():
            for n in long:
                assert result[0][n] == seen[-1]["sentence"][0][n], mode


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (Transformer, GTrans):
        monkeypatch.setattr(model, "longest", lambda self, tokens: limit_of(tokens))
    decoder = decoder_for("docflat-c", build("docflat-c"), beam=1, batch_size=2, window=2)
    documents = [[x for x, _ in document] for document in random_documents(np.random.default_rng(0), [5, 2])]
    first = decoder.sentence_by_sentence(documents, quiet)
    for walk in (
        decoder.sentence_by_sentence,
        decoder.sequential,
        lambda documents, done: decoder.second_pass(documents, first, done),
    ):
        heard: list[int] = []
        walk(documents, heard.append)
        assert sum(heard) == 7


# --- The Python API -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.learn(["the cat sat on the mat, the dog too."] * 3, vocabulary=280, index_tokens=4)


def translator_for(name: str, subwords: Subwords, max_tokens: int = 24) -> Translator:
    torch.manual_seed(0)
    config = ModelConfig(name, SIZES, {}, RowSettings(max_tokens=max_tokens, context_free=0.2))
    system = SYSTEMS[name]
    model = system.build(SIZES, vocabulary_of(subwords), system.read_options({})).eval()
    return Translator(on_torch(ModelFolder(config, subwords, model)))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_translator_keeps_lines_apart(name: str, subwords: Subwords) -> None:
    translator = translator_for(name, subwords)
    words = "the cat, the dog. " * 6
    documents = [["the cat", "", words, "a\u2028b", ""], [], [""], ["x"], [words, words]]
    choices: list[dict[str, Any]] = [{"chunk": 1}, {"mode": "sentence"}]
    if name != "sent2sent":
        choices += [{"mode": "sequential"}, {"mode": "two-pass"}]
        if "batch" in SYSTEMS[name].target:
            choices += [{"mode": "two-pass", "global_context": "partial"}]
        choices += [{"mode": "stream"}, {"mode": "stream", "window": 2, "batch_size": 1}]
    for chosen in choices:
        results = list(translator.translate_documents(documents, beam=2, **chosen))
        assert [len(result) for result in results] == [len(document) for document in documents]
        for document, result in zip(documents, results, strict=True):
            for text, translation in zip(document, result, strict=True):
                assert isinstance(translation, str)
                assert "\n" not in translation
                if not text:
                    assert translation == ""
    assert translator.translate(documents[0], beam=2) == next(translator.translate_documents(documents, beam=2))
    if name == "doc2doc":
        with pytest.raises(InputError, match="it has no global context to choose"):
            translator.decoder.settings(mode="two-pass", global_context="partial")


# Without target context: whether a model with these options sees target text, and whether that may be chosen.
@pytest.mark.parametrize(
    ("name", "options", "reads", "chooses"),
    [
        ("doc2doc", {}, False, False),
        ("abd", {}, False, False),
        ("abd", {"decoder": True}, True, False),
        ("docflat-c", {}, True, True),
        ("docflat-c", {"encoder": False}, True, True),
        ("docflat-c", {"decoder": False}, False, False),
    ],
)
def test_what_is_seen_of_other_rows_is_asked_of_the_model(
    name: str, options: dict[str, bool], reads: bool, chooses: bool, subwords: Subwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = SYSTEMS[name].rows_of(RowSettings(target_context=False, context_free=0.2))
    config = ModelConfig(name, SIZES, options, rows)
    translator = Translator(on_torch(ModelFolder(config, subwords, config.build(subwords).eval())))
    assert translator.decoder.reads_target == reads
    searched = []
    monkeypatch.setattr(Passes, "sentence_by_sentence", lambda self, documents, done: searched.append(1) or documents)
    translator.translate(["the cat", "the dog"], mode="two-pass", beam=1)
    assert bool(searched) == reads  # in a first pass
    if chooses:
        assert translator.decoder.settings(mode="two-pass", global_context="partial").global_context == "partial"
    else:
        message = rf"^no row of this {name} sees others grow: it has no global context to choose$"
        with pytest.raises(InputError, match=message):
            translator.decoder.settings(mode="two-pass", global_context="partial")


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("mode", ["sentence", "sequential", "two-pass", "stream"])
def test_progress_is_told_in_sentences(mode: str, subwords: Subwords) -> None:
    """Not in the pieces of long ones; empty ones are done too. A bar has as many as there are sentences."""
    translator = translator_for("docflat-c", subwords)
    documents = [["the cat", "", "the cat, the dog. " * 6, "sat"], ["too. " * 20], ["", ""]]
    for some in (documents, documents[2:]):
        for chunk in (1, 2000):
            heard: list[int] = []
            list(translator.translate_documents(some, chunk, heard.append, mode=mode, beam=1, batch_size=2))
            assert sum(heard) == sum(map(len, some))
            assert min(heard) > 0
    assert len(heard) == 1  # nothing but empty ones
    heard = []
    list(translator.translate_documents(documents[:1], done=heard.append, mode=mode, beam=1, batch_size=1, window=2))
    assert len(heard) > 1  # on the way, not only at the end


@torch.no_grad()
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "variant", [one for one, (name, _) in VARIANTS.items() if name in SYSTEMS and one != "sent2sent"]
)
def test_two_passes_with_and_without_a_first_one_that_nobody_reads(
    variant: str, subwords: Subwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only sentence of a document is not searched in the first pass; the second finds what it would have found."""
    name, options = VARIANTS[variant]
    folders = [
        ModelFolder(ModelConfig(name, SIZES, options, rows_for(name, 2)), subwords, build_variant(variant, seed=seed))
        for seed in (0, 1)
    ]
    looks_ahead = folders[0].model.looks_ahead
    one, two, three, *alone = (x for ((x, _),) in random_documents(np.random.default_rng(3), [1] * 9))
    documents: list[list[Ids]] = [*([x] for x in alone), [one, [], []], [[], two], [three, one], [], [[], []]]
    needed = [[] if not looks_ahead and number < 7 else document for number, document in enumerate(documents)]

    searched: list[Sequence[Ids]] = []
    plain = Passes.sentence_by_sentence

    def spy(self: Passes, documents: Sequence[Sequence[Ids]], done: Callable[[int], None]) -> list[list[Ids]]:
        searched.extend(documents)
        return plain(self, documents, done)

    kinds: list[Any] = ["first-pass", "partial"] if "batch" in SYSTEMS[name].target else ["first-pass"]
    for kind, other in product(kinds, (None, folders[1])):
        translator = Translator(on_torch(folders[0]), other and on_torch(other))
        settings = DecodingSettings("two-pass", kind, beam=3, window=3, batch_size=4)
        first = translator.decoder.passes(settings, translator.first_pass).sentence_by_sentence(documents, quiet)
        decoder = translator.decoder.passes(settings)
        heard: list[int] = []
        with monkeypatch.context() as patched:
            patched.setattr(Passes, "sentence_by_sentence", spy)
            found = translator.decoder.decode(documents, settings, heard.append)
        assert found == decoder.second_pass(documents, first, quiet)
        assert sum(heard) == 10
        if translator.decoder.reads_target:
            assert [list(filter(None, document)) for document in searched] == [list(filter(None, x)) for x in needed]
        searched.clear()
        if looks_ahead:  # its own first translation is read: without it another one is found
            assert found[:7] != decoder.second_pass(documents, [[[] for _ in x] for x in documents], quiet)[:7]


def test_long_sentences_are_cut_into_pieces_that_fit(subwords: Subwords) -> None:
    text = "the cat sat on the mat, the dog too. " * 30 + "x" * 500
    for limit in (5, 16, 100, 10_000):
        pieces = split_long(text.strip(), subwords, limit)
        assert all(0 < len(piece) <= limit for piece in pieces)
        back = "".join(subwords.decode(piece).replace(" ", "") for piece in pieces)
        assert back == text.replace(" ", "")
    assert len(split_long("the cat sat", subwords, 10_000)) == 1
    assert split_long("", subwords, 10) == [[]]


def test_scores_are_what_the_model_says() -> None:
    """A finished hypothesis's score is its log-probability, the end included, by its length with the end."""
    model = build("sent2sent")
    documents = random_documents(np.random.default_rng(0), [4])
    batch, literal = batch_of(documents, "sent2sent")
    rows = rows_array(literal)
    layout = layout_for("sent2sent")
    with torch.no_grad():
        prefix = make_side(Sentences([[]] * 4), rows, layout, close=False)
        found = beam_search(model, model.encode(batch.source), prefix, [9] * 4, 4, 0.7)
        corpus = corpus_of(documents)
        texts = Sentences([hypotheses.tokens for hypotheses in found])
        scored = make_batch(corpus.source, texts, rows, layout)
        log_probabilities = model.logits(scored).log_softmax(-1).gather(1, scored.labels[:, None])[:, 0]
    totals = log_probabilities.split(scored.target.sentences.lengths.tolist())
    for hypotheses, total in zip(found, totals, strict=True):
        assert hypotheses.score == pytest.approx(float(total.sum()) / len(total) ** 0.7, rel=1e-5)
        assert math.isfinite(hypotheses.score)
