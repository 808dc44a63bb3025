"""Rows against a transcription with loops over documents and sentences (conftest.literal_rows)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest

from conftest import corpus_of, literal_rows, numbered_documents, ragged_lengths
from docflat.data.flat_layout import Layout
from docflat.data.row_settings import RowSettings
from docflat.data.rows import MIXED, Rows, document_order, document_rows, mix, row_lengths, trim

SYMBOLS = Layout(eos=2, bos=None, first_index=100, index_tokens=6)


def document_of(starts: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    return np.searchsorted(starts, sentences, side="right") - 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("context", [0, 1, 3])
@pytest.mark.parametrize("max_tokens", [9, 16, 512])
@pytest.mark.parametrize("window", [0, 1, 3])
@pytest.mark.parametrize("target_context", [True, False], ids=["both sides", "source only"])
def test_rows_of_a_corpus(seed: int, context: int, max_tokens: int, window: int, target_context: bool) -> None:
    documents = numbered_documents(ragged_lengths(np.random.default_rng(seed), documents=8))
    settings = RowSettings(
        context=context, target_context=target_context, max_tokens=max_tokens, window=window, context_free=0.5
    )
    expected = literal_rows(documents, settings, replace(SYMBOLS, target_context=target_context))
    corpus = corpus_of(documents)
    rows = document_rows(*corpus, settings, SYMBOLS.index_tokens)

    assert rows.sentence.tolist() == [row.sentence for row in expected]
    assert rows.place.tolist() == [row.place for row in expected]
    contexts = zip(rows.context_end - rows.context, rows.context_end, strict=True)
    assert [list(range(*ends)) for ends in contexts] == [row.context for row in expected]
    source, target = row_lengths(rows, corpus.source, corpus.target, target_context)
    assert source.tolist() == [len(row.source) for row in expected]
    assert target.tolist() == [len(row.target) for row in expected]

    together = [bool(a == b) for a, b in pairwise(rows.group)]
    blocks = [(row.document, row.place // window if window else 0) for row in expected]
    assert together == [a == b for a, b in pairwise(blocks)]


@pytest.mark.parametrize("side", [0, 1])
def test_a_sentence_of_5000_tokens_is_left_out_and_cuts_the_context_after_it(side: int) -> None:
    lengths = [(3, 3)] * 8
    lengths[2] = (5000, 4) if side == 0 else (4, 5000)
    corpus = corpus_of(numbered_documents([lengths]))
    rows = document_rows(*corpus, RowSettings(context=3, max_tokens=100), SYMBOLS.index_tokens)
    assert rows.sentence.tolist() == [0, 1, 3, 4, 5, 6, 7]
    assert rows.place.tolist() == [0, 1, 3, 4, 5, 6, 7]
    assert rows.context.tolist() == [0, 1, 0, 1, 2, 3, 3]


def test_a_row_may_be_exactly_as_long_as_allowed() -> None:
    # Source with start symbol and </s>: 6 + 2 = 8. Target is read without </s>: 7 + 1 = 8.
    corpus = corpus_of(numbered_documents([[(6, 7)], [(7, 7)], [(6, 8)]]))
    rows = document_rows(*corpus, RowSettings(max_tokens=8), SYMBOLS.index_tokens)
    assert rows.sentence.tolist() == [0]


def test_empty_sentences_are_no_rows_but_keep_their_place() -> None:
    corpus = corpus_of(numbered_documents([[(2, 2), (0, 0), (3, 0), (0, 3), (2, 2)], [(0, 0)], [(1, 1)]]))
    rows = document_rows(*corpus, RowSettings(context=3), SYMBOLS.index_tokens)
    assert rows.sentence.tolist() == [0, 4, 6]
    assert rows.place.tolist() == [0, 4, 0]
    assert rows.context.tolist() == [0, 3, 0]  # the empty ones are still there as context


def test_nothing_to_learn_from() -> None:
    for lengths in ([], [[(0, 0)]], [[(600, 1)]]):
        corpus = corpus_of(numbered_documents(lengths))
        for rng in (None, np.random.default_rng(0)):
            assert len(document_rows(*corpus, RowSettings(), SYMBOLS.index_tokens, rng)) == 0


def test_in_training_documents_are_shuffled_and_their_sentences_are_not() -> None:
    documents = numbered_documents(ragged_lengths(np.random.default_rng(5), documents=30))
    corpus = corpus_of(documents)
    settings = RowSettings(context=2, max_tokens=20, index_shift=0)
    expected = {row.sentence: row for row in literal_rows(documents, settings, SYMBOLS)}
    orders = []
    for seed in range(3):
        rows = document_rows(*corpus, settings, SYMBOLS.index_tokens, np.random.default_rng(seed))
        assert sorted(rows.sentence.tolist()) == sorted(expected)
        for sentence, context, end, place in zip(
            rows.sentence, rows.context, rows.context_end, rows.place, strict=True
        ):
            row = expected[sentence]
            assert list(range(end - context, end)) == row.context
            assert place == row.place
        document = document_of(corpus.documents, rows.sentence)
        order = [int(document[0])] + [int(b) for a, b in pairwise(document) if a != b]
        assert len(order) == len(set(order)), "a document's rows stand together"
        for number in order:
            assert (np.diff(rows.sentence[document == number]) > 0).all()
        assert ((rows.group[1:] == rows.group[:-1]) == (document[1:] == document[:-1])).all()
        orders.append(order)
    assert orders[0] != sorted(orders[0])
    assert orders[0] != orders[1] != orders[2]


def test_the_same_seed_gives_the_same_rows() -> None:
    corpus = corpus_of(numbered_documents(ragged_lengths(np.random.default_rng(1), documents=20)))
    settings = RowSettings(local_context="irrelevant", context_free=0.3, index_shift=0.5)
    a, b = (document_rows(*corpus, settings, SYMBOLS.index_tokens, np.random.default_rng(9)) for _ in range(2))
    for name in ("sentence", "context", "context_end", "place", "group"):
        assert getattr(a, name).tolist() == getattr(b, name).tolist()


def check_alone(rows: Rows, alone: np.ndarray) -> None:
    """These rows have no local context, and share their group with no other row."""
    assert not rows.context[alone].any()
    groups, counts = np.unique(rows.group, return_counts=True)
    count = dict(zip(groups.tolist(), counts.tolist(), strict=True))
    assert all(count[group] == 1 for group in rows.group[alone].tolist())


def sampled(corpus: tuple[np.ndarray, ...], times: list[float], seed: int) -> tuple[Rows, list[int]]:
    """Rows of an epoch, and how often each document is in it."""
    settings = RowSettings(context=2, max_tokens=512, index_shift=0)
    rng = np.random.default_rng(seed)
    order = document_order(len(times), rng, np.array(times))
    rows = document_rows(*corpus, settings, SYMBOLS.index_tokens, rng, order)
    firsts = Counter(rows.sentence[rows.place == 0].tolist())
    return rows, [firsts[int(start)] for start in corpus[0][:-1]]


def test_documents_are_seen_as_often_as_is_said() -> None:
    corpus = corpus_of(numbered_documents([[(3, 3)] * size for size in (3, 1, 4, 2)]))
    rows, seen = sampled(corpus, [2, 0, 1, 3], seed=1)
    assert seen == [2, 0, 1, 3]
    assert Counter(rows.sentence.tolist()) == {0: 2, 1: 2, 2: 2, 4: 1, 5: 1, 6: 1, 7: 1, 8: 3, 9: 3}
    # Each time is a document of its own, in its order, and its rows see each other and no others.
    blocks = [list(block) for _, block in groupby(range(len(rows)), key=lambda i: int(rows.group[i]))]
    assert sorted([rows.sentence[i] for i in block] for block in blocks) == sorted(
        [[0, 1, 2]] * 2 + [[4, 5, 6, 7]] + [[8, 9]] * 3
    )
    assert len({int(rows.group[block[0]]) for block in blocks}) == len(blocks) == 6
    assert (rows.context == np.minimum(rows.place, 2)).all()


def test_fractions_are_chances() -> None:
    corpus = corpus_of(numbered_documents([[(1, 1)]] * 4000))
    times = [0.25] * 2000 + [2.5] * 2000
    seen = [sampled(corpus, times, seed)[1] for seed in (1, 1, 2)]
    assert seen[0] == seen[1] != seen[2]
    assert set(seen[0][:2000]) == {0, 1}
    assert set(seen[0][2000:]) == {2, 3}
    # Four standard deviations of a binomial of 2000: 4 * sqrt(2000 / 4).
    assert abs(sum(seen[0][:2000]) - 500) < 90
    assert abs(sum(seen[0][2000:]) - 5000) < 90


def test_without_chance_every_document_is_there_once() -> None:
    corpus = corpus_of(numbered_documents([[(3, 3)] * 2] * 3))
    order = document_order(3, None, np.array([0, 2, 0.5]))
    rows = document_rows(*corpus, RowSettings(context=2), SYMBOLS.index_tokens, None, order)
    assert rows.sentence.tolist() == list(range(6))


def test_context_free_rows_are_alone() -> None:
    corpus = corpus_of(numbered_documents([[(2, 3)] * 6] * 100))
    settings = RowSettings(context_free=1.0)
    rows = document_rows(*corpus, settings, SYMBOLS.index_tokens, np.random.default_rng(0))
    assert len(rows) == 600
    check_alone(rows, np.ones(600, dtype=bool))

    settings = RowSettings(context_free=0.4)
    rows = document_rows(*corpus, settings, SYMBOLS.index_tokens, np.random.default_rng(0))
    document = document_of(corpus.documents, rows.sentence)
    free = [number for number in range(100) if not rows.context[document == number].any()]
    assert 25 <= len(free) <= 55  # 40 of 100, give or take three standard deviations
    check_alone(rows, np.isin(document, free))
    for number in set(range(100)) - set(free):
        assert rows.context[document == number].tolist() == [0, 1, 2, 3, 3, 3]
        assert len(set(rows.group[document == number].tolist())) == 1


def test_context_free_rows_are_alone_with_irrelevant_local_context_too() -> None:
    corpus = corpus_of(numbered_documents([[(2, 3)] * 6] * 100))
    settings = RowSettings(context_free=0.5, local_context="irrelevant")
    rows = document_rows(*corpus, settings, SYMBOLS.index_tokens, np.random.default_rng(0))
    groups, counts = np.unique(rows.group, return_counts=True)
    check_alone(rows, np.isin(rows.group, groups[counts == 1]))


def test_index_shift_moves_whole_documents() -> None:
    corpus = corpus_of(numbered_documents([[(2, 3)] * 4] * 300))
    rows = document_rows(*corpus, RowSettings(index_shift=1.0), SYMBOLS.index_tokens, np.random.default_rng(0))
    document = document_of(corpus.documents, rows.sentence)
    shifts = rows.place - (rows.sentence - corpus.documents[document])
    by_document = [set(shifts[document == number].tolist()) for number in range(300)]
    assert all(len(shift) == 1 for shift in by_document)
    assert set(range(SYMBOLS.index_tokens)) <= set.union(*by_document), "every index token starts some document"
    assert min(set.union(*by_document)) == 0
    assert rows.context.tolist() == [0, 1, 2, 3] * 300  # what is there before a sentence does not change

    rows = document_rows(*corpus, RowSettings(index_shift=0.25), SYMBOLS.index_tokens, np.random.default_rng(0))
    document = document_of(corpus.documents, rows.sentence)
    shifts = rows.place - (rows.sentence - corpus.documents[document])
    shifted = len(set(document[shifts > 0].tolist())) / 300
    assert 0.25 * 6 / 7 - 0.08 < shifted < 0.25 + 0.08


def test_irrelevant_local_context_is_the_context_of_another_document() -> None:
    documents = numbered_documents(ragged_lengths(np.random.default_rng(3), documents=25, empty=0.0))
    corpus = corpus_of(documents)
    settings = RowSettings(context=3, local_context="irrelevant")
    usual = document_rows(*corpus, RowSettings(context=3), SYMBOLS.index_tokens)
    for seed in range(3):
        rows = document_rows(*corpus, settings, SYMBOLS.index_tokens, np.random.default_rng(seed))
        assert sorted(rows.sentence.tolist()) == usual.sentence.tolist()
        has = rows.context > 0
        assert has.mean() > 0.5
        ends = rows.context_end - corpus.documents[document_of(corpus.documents, rows.context_end - 1)]
        assert (rows.context == np.minimum(3, ends))[has].all(), "as long as the real context of some row"
        own = document_of(corpus.documents, rows.sentence)
        first = document_of(corpus.documents, rows.context_end - rows.context)
        last = document_of(corpus.documents, rows.context_end - 1)
        assert (first == last)[has].all(), "a context is from one document"
        assert (first != own)[has].all(), "an irrelevant context is not of the row's own document"


def test_trim_takes_the_oldest_context_first() -> None:
    corpus = corpus_of(numbered_documents([[(9, 1), (2, 2), (2, 2), (2, 2)]]))
    rows = Rows(np.array([3]), np.array([3]), np.array([3]), np.array([3]), np.array([0]))
    for max_tokens, context in [(20, 3), (19, 2), (10, 2), (9, 1), (7, 1), (6, 0), (1, 0)]:
        trimmed = trim(rows, corpus.source, corpus.target, max_tokens)
        assert trimmed.context.tolist() == [context], max_tokens
        assert trimmed.context_end.tolist() == [3]


def test_a_long_target_context_costs_nothing_where_the_target_has_none() -> None:
    corpus = corpus_of(numbered_documents([[(2, 50), (2, 2), (2, 2)]]))
    rows = Rows(np.array([2]), np.array([2]), np.array([2]), np.array([2]), np.array([0]))
    assert trim(rows, corpus.source, corpus.target, 10).context.tolist() == [1]
    assert trim(rows, corpus.source, corpus.target, 10, target_context=False).context.tolist() == [2]


def columns(rows: Rows) -> list[tuple[int, int, int, int]]:
    """All of each row but its group."""
    parts = (rows.sentence, rows.context, rows.context_end, rows.place)
    return list(zip(*(part.tolist() for part in parts), strict=True))


def stretches(groups: np.ndarray) -> list[tuple[int, int]]:
    """Neighbours of the same group, as (group, how many)."""
    return [(group, len(list(same))) for group, same in groupby(groups.tolist())]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("window", [0, 3])
def test_mixed_groups_exchange_their_rows_and_no_others(share: float, window: int) -> None:
    corpus = corpus_of(numbered_documents(ragged_lengths(np.random.default_rng(8), documents=400, empty=0.0)))
    settings = RowSettings(context=2, window=window, context_free=0.2)
    before = document_rows(*corpus, settings, SYMBOLS.index_tokens, np.random.default_rng(0))
    after = mix(before, share, np.random.default_rng(1))
    assert len(after) == len(before)
    old, new = columns(before), columns(after)
    exchanged: list[int] = []
    groups = chosen = 0
    start = 0
    for (was, size), (group, new_size) in zip(stretches(before.group), stretches(after.group), strict=True):
        assert new_size == size, "groups keep their sizes"
        own = range(start, start + size)
        if group >= MIXED:
            assert was >= 0, "rows that stay alone are none to mix"
            assert group - MIXED == was
            exchanged += own
            chosen += 1
        else:
            assert group == was
            assert [new[n] for n in own] == [old[n] for n in own]
        groups += was >= 0
        start += size
    assert Counter(new[n] for n in exchanged) == Counter(old[n] for n in exchanged)
    assert abs(chosen / groups - share) <= 3 * (share * (1 - share) / groups) ** 0.5
    if share:
        stayed = sum(new[n] == old[n] for n in exchanged)
        assert stayed / len(exchanged) < 0.02, "the order is anyone's"
        document = document_of(corpus.documents, after.sentence)
        edges = [n for n in exchanged[:-1] if after.group[n] == after.group[n + 1]]
        assert sum(document[n] == document[n + 1] for n in edges) / len(edges) < 0.05


def test_mixing_is_another_one_with_another_seed() -> None:
    corpus = corpus_of(numbered_documents([[(2, 3)] * 5] * 40))
    rows = document_rows(*corpus, RowSettings(), SYMBOLS.index_tokens)
    same = [columns(mix(rows, 0.5, np.random.default_rng(3))) for _ in range(2)]
    assert same[0] == same[1] != columns(mix(rows, 0.5, np.random.default_rng(4)))
