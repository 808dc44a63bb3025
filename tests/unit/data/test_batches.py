"""Batches of a corpus, against the transcription of `flat_checks`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from torch import Tensor

from conftest import LiteralRow, corpus_of, literal_rows, numbered_documents, ragged_lengths
from docflat.data.batches import DocumentBatches, Plan, cut
from docflat.data.flat_layout import Layout
from docflat.data.row_settings import RowSettings
from docflat.model.batch import Batch
from flat_checks import INDEXED, LAYOUTS, SLOT, SOURCE_ONLY, check_batch, sentences_of


def greedy_cut(rows: Sequence[LiteralRow], budget: int, slot: bool = False) -> list[list[LiteralRow]]:
    batches: list[list[LiteralRow]] = []
    source = target = budget + 1
    for row in rows:
        x, y = len(row.source) + slot, len(row.target) + slot
        source, target = source + x, target + y
        if source > budget or target > budget:
            batches.append([])
            source, target = x, y
        batches[-1].append(row)
    return batches


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(("context", "window"), [(0, 0), (1, 3), (3, 0), (3, 1), (3, 4)])
@pytest.mark.parametrize(("max_tokens", "budget"), [(12, 40), (30, 30), (512, 600)])
def test_a_corpus_in_its_own_order(
    seed: int, layout: Layout, context: int, window: int, max_tokens: int, budget: int
) -> None:
    documents = numbered_documents(ragged_lengths(np.random.default_rng(seed), documents=9))
    target_context = layout.target_context
    settings = RowSettings(context=context, max_tokens=max_tokens, window=window, target_context=target_context)
    # The slot counts for the budget; a row that fills it without must lose context, or go.
    fitting = replace(settings, max_tokens=min(max_tokens, budget - layout.vector_place))
    expected = greedy_cut(literal_rows(documents, fitting, layout), budget, layout.vector_place)
    plan = DocumentBatches(*corpus_of(documents), settings, layout, budget).plan()
    assert len(plan) == len(expected)
    for number, rows in enumerate(expected):
        groups = [(row.document, row.place // window if window else 0) for row in rows]
        batch = plan[number]
        check_batch(batch, rows, groups, layout)
        check_batch(
            Batch.of_flat(batch).map_tensors(Tensor.clone), rows, groups, layout
        )  # moved elsewhere, it is the same
        assert not batch.source.mixed.any()
        assert len(batch.source.tokens) <= budget
        assert len(batch.target.tokens) <= budget
        assert plan.labels[number] == sum(len(row.labels) for row in rows)


@pytest.mark.parametrize("budget", [40, 600])
def test_without_the_document_mask_a_batch_is_one_group(budget: int) -> None:
    documents = numbered_documents(ragged_lengths(np.random.default_rng(4), documents=9))
    settings = RowSettings(max_tokens=30, document_mask=False)
    expected = greedy_cut(literal_rows(documents, settings, INDEXED), budget)
    plan = DocumentBatches(*corpus_of(documents), settings, INDEXED, budget).plan()
    assert len(plan) == len(expected)
    assert any(len({row.document for row in rows}) > 1 for rows in expected)
    for number, rows in enumerate(expected):
        check_batch(plan[number], rows, ["all"] * len(rows))


def test_without_the_document_mask_a_window_still_holds_or_is_refused() -> None:
    """config.py: at most `window` rows of a document see each other."""
    corpus = corpus_of(numbered_documents([[(2, 2)] * 9]))
    try:
        settings = RowSettings(context=0, document_mask=False, window=3)
    except ValueError:
        return
    (batch,) = (DocumentBatches(*corpus, settings, INDEXED, 600).plan()[0],)
    assert batch.target.groups.lengths.max() <= 3 * 3  # three rows of a start symbol and two words


def check_epoch(
    plan: Plan, rows: Sequence[LiteralRow], budget: int, mask: bool = True, layout: Layout = INDEXED
) -> None:
    """An epoch of training on rows without chance in them: all rows once, in document order, budget filled."""
    by_sentence = {row.sentence: row for row in rows}
    following = {a.sentence: b.sentence for a, b in pairwise(rows) if a.document == b.document}
    last = set(by_sentence) - set(following)
    first = set(by_sentence) - set(following.values())
    stream: dict[int, list[LiteralRow]] = {}
    for number in range(len(plan)):
        batch = plan[number]
        found = [by_sentence[sentence] for sentence in sentences_of(batch)]
        check_batch(batch, found, [row.document if mask else 0 for row in found], layout)
        assert len(batch.source.tokens) <= budget
        assert len(batch.target.tokens) <= budget
        assert plan.labels[number] == len(batch.labels)
        for a, b in pairwise(found):
            assert following.get(a.sentence) == b.sentence or (a.sentence in last and b.sentence in first)
        stream[int(plan.order[number])] = found
    epoch = [row.sentence for which in sorted(stream) for row in stream[which]]
    assert sorted(epoch) == sorted(by_sentence)
    assert len(set(epoch)) == len(epoch)
    # Filled: no batch had room for the row after it. The first is short on purpose, to move the boundaries.
    for which in range(1, len(stream) - 1):
        more = [*stream[which], stream[which + 1][0]]
        tokens = max(sum(len(row.source) for row in more), sum(len(row.target) for row in more))
        assert tokens + layout.vector_place * len(more) > budget


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("mask", "layout"),
    [(True, INDEXED), (False, INDEXED), (True, SLOT), (True, SOURCE_ONLY)],
    ids=["mask", "no mask", "slot", "source only"],
)
@pytest.mark.parametrize(("context", "max_tokens", "budget"), [(0, 512, 512), (3, 20, 60), (3, 60, 200)])
def test_an_epoch_of_training(
    seed: int, mask: bool, layout: Layout, context: int, max_tokens: int, budget: int
) -> None:
    rng = np.random.default_rng(seed)
    lengths = ragged_lengths(rng, documents=40)
    lengths += [[(5000, 3)], [(4, 4), (2, 5000), (3, 3)], [(0, 0)], [(1, 1)] * 50]
    documents = numbered_documents(lengths)
    settings = RowSettings(
        context=context,
        max_tokens=max_tokens,
        index_shift=0,
        document_mask=mask,
        target_context=layout.target_context,
    )
    batches = DocumentBatches(*corpus_of(documents), settings, layout, budget)
    plan = batches.plan(np.random.default_rng([seed, 0]))
    check_epoch(plan, literal_rows(documents, settings, layout), budget, mask, layout)


def contents(plan: Plan) -> list[list[int]]:
    return [sentences_of(plan[number]) for number in range(len(plan))]


@pytest.mark.parametrize("lengths", [[[(4, 5)] * 7] * 60, [[(4, 5)] * 420]], ids=["documents", "one document"])
def test_seeds_and_epochs(lengths: list[list[tuple[int, int]]]) -> None:
    batches = DocumentBatches(
        *corpus_of(numbered_documents(lengths)), RowSettings(context=1, max_tokens=40), INDEXED, 240
    )
    same = [batches.plan(np.random.default_rng([7, 0])) for _ in range(2)]
    assert contents(same[0]) == contents(same[1])
    for number in range(len(same[0])):
        assert same[0][number].target.tokens.tolist() == same[1][number].target.tokens.tolist()
        assert same[0][number].source.tokens.tolist() == same[1][number].source.tokens.tolist()
    starts = []
    for epoch in range(4):
        batch_starts = [rows[0] for rows in contents(batches.plan(np.random.default_rng([7, epoch])))]
        assert len(batch_starts) > 15
        assert batch_starts != sorted(batch_starts), "the order of batches is shuffled"
        starts.append(frozenset(batch_starts))
    assert len(set(starts)) >= 3, "batches start elsewhere in the next epoch"


def test_irrelevant_global_context_mixes_documents() -> None:
    documents = numbered_documents([[(3, 3)] * 10] * 60)
    corpus = corpus_of(documents)
    settings = RowSettings(context=2, global_context="irrelevant", document_mask=False, index_shift=0)
    rows = {row.sentence: row for row in literal_rows(documents, settings, INDEXED)}
    plan = DocumentBatches(*corpus, settings, INDEXED, 512).plan(np.random.default_rng(0))
    seen, pairs, same = [], 0, 0
    for number in range(len(plan)):
        found = [rows[sentence] for sentence in sentences_of(plan[number])]
        check_batch(plan[number], found, ["all"] * len(found))  # the local context is still the right one
        seen += [row.sentence for row in found]
        for n, row in enumerate(found):
            pairs += n
            same += sum(other.document == row.document for other in found[:n])
    assert sorted(seen) == sorted(rows)
    # Two rows of a batch are of the same document about as often as chance has it (1 in 60).
    assert pairs > 1000
    assert same / pairs < 2 / 60


def test_context_free_rows_do_not_come_between_the_others() -> None:
    """Without the mask, the rows of a batch see each other; context-free ones, mixed in, are only left out of it."""
    documents = numbered_documents([[(3, 3)] * 10] * 60)
    settings = RowSettings(context=2, global_context="irrelevant", document_mask=False, context_free=0.2)
    plan = DocumentBatches(*corpus_of(documents), settings, INDEXED, 512).plan(np.random.default_rng(0))
    for number in range(len(plan)):
        target = plan[number].target
        sentences = dict.fromkeys(target.sentences.lengths.tolist())
        assert list(sentences) == [4]  # so a group of n rows has 4 n tokens
        assert sum(length > 4 for length in target.groups.lengths.tolist()) == 1


def test_irrelevant_global_context_cannot_be_had_with_the_mask() -> None:
    with pytest.raises(ValueError, match="document_mask"):
        RowSettings(global_context="irrelevant")


@pytest.mark.parametrize("mask", [True, False])
def test_context_free_rows_are_groups_of_their_own(mask: bool) -> None:
    documents = numbered_documents([[(2, 3)] * 5] * 40)
    settings = RowSettings(context_free=0.5, index_shift=0, document_mask=mask)
    plan = DocumentBatches(*corpus_of(documents), settings, INDEXED, 512).plan(np.random.default_rng(0))
    alone: set[int] = set()
    together: set[int] = set()
    for number in range(len(plan)):
        batch = plan[number]
        sentences = sentences_of(batch)
        groups = np.searchsorted(batch.target.groups.starts, batch.target.sentences.starts[:-1], side="right")
        for n, sentence in enumerate(sentences):
            has_context = int(batch.target.rows.lengths[n]) > int(batch.target.sentences.lengths[n])
            (together if has_context else alone).add(sentence)
        # A row at place 1 or later without local context is context-free.
        free = [n for n, sentence in enumerate(sentences) if sentence % 5 and sentence in alone]
        for n in free:
            assert (groups == groups[n]).sum() == 1
    documents_alone = {sentence // 5 for sentence in alone if sentence % 5}
    assert 8 <= len(documents_alone) <= 32
    assert not documents_alone & {sentence // 5 for sentence in together}


def test_index_tokens_stop_at_the_last_one_and_shift_on_both_sides() -> None:
    documents = numbered_documents([[(1, 1)] * 9])
    settings = RowSettings(context=1, index_shift=0)
    batch = DocumentBatches(*corpus_of(documents), settings, INDEXED, 512).plan()[0]
    for side in (batch.source, batch.target):
        starts = [token for token in side.tokens.tolist() if 100 <= token < 1000]
        assert starts == [100, 100, 101, 101, 102, 102, 103, 103, 104, 104, 105, 105, 105, 105, 105, 105, 105]

    settings = RowSettings(context=1, index_shift=1)
    found = set()
    for seed in range(30):
        batch = DocumentBatches(*corpus_of(documents), settings, INDEXED, 512).plan(np.random.default_rng(seed))[0]
        source, target = (
            [token for token in side.tokens.tolist() if 100 <= token < 1000] for side in (batch.source, batch.target)
        )
        assert source == target
        found.add(source[0])
        assert source[::2] == [min(source[0] + n, 105) for n in range(9)]
    assert found == set(range(100, 106))


def test_an_epoch_with_mixed_groups() -> None:
    """What is said to be of one document is; most of what is said to be mixed is not, in the right share."""
    documents = numbered_documents([[(3, 3)] * 8] * 200)
    rows = {row.sentence: row for row in literal_rows(documents, RowSettings(context=2), SLOT)}
    settings = RowSettings(context=2, mixed=0.5, index_shift=0)
    plan = DocumentBatches(*corpus_of(documents), settings, SLOT, 300).plan(np.random.default_rng(0))
    seen, mixed_rows, mixed_pairs, same = [], 0, 0, 0
    for number in range(len(plan)):
        batch = plan[number]
        found = [rows[sentence] for sentence in sentences_of(batch)]
        edges = list(pairwise(batch.source.group_rows.starts.tolist()))
        groups = [n for n, (start, end) in enumerate(edges) for _ in range(start, end)]
        check_batch(batch, found, groups, SLOT)  # every row keeps its own local context
        assert batch.source.mixed.tolist() == batch.target.mixed.tolist()
        assert max(len(batch.source.tokens), len(batch.target.tokens)) <= 300
        whole = []
        for (start, end), mixed in zip(edges, batch.source.mixed.tolist(), strict=True):
            group = found[start:end]
            whole += [] if mixed else [group[0].document]
            assert len(group) <= 8
            for a, b in pairwise(group):
                if mixed:
                    mixed_pairs += 1
                    same += a.document == b.document
                else:
                    assert b.sentence == a.sentence + 1
            mixed_rows += mixed * len(group)
        assert len(set(whole)) == len(whole), "a document is not cut within a batch"
        seen += [row.sentence for row in found]
    assert sorted(seen) == sorted(rows)
    assert 0.4 < mixed_rows / len(rows) < 0.6  # 100 of 200 documents, give or take three standard deviations
    assert mixed_pairs > 500
    assert same / mixed_pairs < 0.05  # chance: 7 in 799


@pytest.mark.parametrize("seed", range(5))
def test_cut_with_a_short_first_batch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source, target = rng.integers(1, 30, 200), rng.integers(1, 30, 200)
    bounds = cut((source, target), budget=100, first=35).tolist()
    start, expected = 0, [0]
    while start < 200:
        budget, end = (35 if start == 0 else 100), start
        while end < 200 and max(source[start : end + 1].sum(), target[start : end + 1].sum()) <= budget:
            end += 1
        start = end
        expected.append(end)
    assert bounds == expected
