"""Decoding against full recomputation and exhaustive search."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from conftest import (
    BOS,
    EOS,
    INDEX_TOKENS,
    MASK,
    TARGET_FLAT_VARIANTS,
    TEXT_SIZE,
    VARIANTS,
    Ids,
    Sentences,
    build,
    slow_flat_batch,
)
from decoding_checks import CLOSE
from docflat.data.flat_layout import Layout
from docflat.data.rows import Rows
from docflat.engines.torch.search import beam_search
from docflat.model.batch import make_batch, make_side
from docflat.model.cache.decoding_state import GlobalContext
from docflat.systems.docflat import DocFlat
from recomputed_decoding import Recomputed


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
            state.select_rows(torch.tensor(kept))
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
        memory = model.encode(side)
        found = {penalty: beam_search(model, memory, prefix, limits, 128, penalty, None, 5) for penalty in penalties}
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
                ranked = np.argsort(-np.array(scores), kind="stable")[:5].tolist()
                best = found[penalty][row]
                assert [one.tokens for one in (best, *best.alternatives)] == [texts[n] for n in ranked]
                for one, n in zip((best, *best.alternatives), ranked, strict=True):
                    assert one.score == pytest.approx(scores[n], rel=1e-5)
                    assert sum(one.log_probabilities) == pytest.approx(totals[n], rel=1e-5)
                lengths.add(len(best.tokens))
    assert len(lengths) > 1, "not always the shortest or the longest"
