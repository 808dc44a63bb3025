"""Nothing leaks: not from later target tokens, batch-wide, and not from other documents. Exact, not to a tolerance."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import (
    FLAT_VARIANTS,
    MASK,
    TESTED,
    TEXT_SIZE,
    VARIANTS,
    Document,
    batch_of,
    build_variant,
    random_documents,
)
from docflat.model.transformer import Transformer

# The mean of a target row holds its later tokens: systems/abd.py warns of it, oracle/test_abd.py shows it.
SEES_LATER_TOKENS = {"abd, both sides"}


def logits_of(model: Transformer, variant: str, documents: list[Document], **layout: object) -> Tensor:
    batch, _ = batch_of(documents, VARIANTS[variant][0], context=2, **layout)
    with torch.no_grad():
        return model.logits(batch)


def another_word(word: int) -> int:
    return MASK + 1 + (word - MASK) % (TEXT_SIZE - MASK - 1)


@pytest.mark.parametrize("one_group", [False, True], ids=["mask", "no mask"])
@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant not in SEES_LATER_TOKENS])
def test_a_target_token_changes_no_logit_before_it(variant: str, one_group: bool) -> None:
    """Each word of each target sentence in turn; where the sentence is local context of later rows, it changes there.

    Logits stand in the order of the rows, and within a row in the order of the current sentence's tokens; the word
    is read one place after the logits that predict it.
    """
    model = build_variant(variant, dtype=torch.float32)
    documents = random_documents(np.random.default_rng(0), [3, 1, 3], longest=3)
    before = logits_of(model, variant, documents, one_group=one_group)
    read = 0  # where in the flat order of the current sentences the token is read
    reached_later_rows = 0
    for number, document in enumerate(documents):
        for place, (_, y) in enumerate(document):
            read += 1  # the start symbol
            for word in range(len(y)):
                changed = deepcopy(documents)
                changed[number][place][1][word] = another_word(y[word])
                after = logits_of(model, variant, changed, one_group=one_group)
                assert torch.equal(after[:read], before[:read])
                assert not torch.equal(after[read], before[read]), "the test can tell"
                last = read + len(y) - word
                reached_later_rows += not torch.equal(after[last:], before[last:])
                read += 1
    assert read == len(before)
    assert (reached_later_rows > 0) == bool(TESTED[VARIANTS[variant][0]].target), "context does reach later rows"


@pytest.mark.parametrize("variant", ["doc2doc", "docflat-c", "docflat-d, all"])
def test_nothing_leaks_in_long_sequences_either(variant: str) -> None:
    """Attention kernels work in blocks of tens to hundreds of tokens; here the flat sequence is of many blocks."""
    model = build_variant(variant, dtype=torch.float32)
    rng = np.random.default_rng(0)
    documents = random_documents(rng, [70, 70], longest=20)
    before = logits_of(model, variant, documents)
    assert len(before) > 1200
    ends = np.cumsum([0, *(len(y) + 1 for document in documents for _, y in document)])
    for sentence in (0, 37, 69, 70, 100, 139):
        changed = deepcopy(documents)
        y = changed[sentence // 70][sentence % 70][1]
        word = int(rng.integers(len(y)))
        y[word] = another_word(y[word])
        read = ends[sentence] + 1 + word
        after = logits_of(model, variant, changed)
        assert torch.equal(after[:read], before[:read])
        assert not torch.equal(after[read], before[read])


@pytest.mark.parametrize("variant", VARIANTS)
def test_another_documents_words_change_nothing(variant: str) -> None:
    """Lengths stay as they are, so every kernel does the same work: not one bit may differ."""
    model = build_variant(variant, dtype=torch.float32)
    documents = random_documents(np.random.default_rng(1), [3, 2, 4])
    _, rows = batch_of(documents, VARIANTS[variant][0], context=2)
    before = logits_of(model, variant, documents)
    owner = np.repeat([row.document for row in rows], [len(row.labels) for row in rows])
    for changed_document in range(3):
        changed = deepcopy(documents)
        changed[changed_document] = [
            ([another_word(word) for word in x], [another_word(word) for word in y])
            for x, y in changed[changed_document]
        ]
        after = logits_of(model, variant, changed)
        others = torch.from_numpy(owner != changed_document)
        assert torch.equal(after[others], before[others])
        assert not torch.equal(after[~others], before[~others])


@pytest.mark.parametrize("variant", VARIANTS)
def test_another_document_in_the_batch_changes_nothing(variant: str) -> None:
    """With and without it. To 1e-12 in float64: padded shapes change, and with them the order kernels add in."""
    model = build_variant(variant)
    documents = random_documents(np.random.default_rng(2), [3, 2, 4], longest=8)
    _, rows = batch_of(documents, VARIANTS[variant][0], context=2)
    together = logits_of(model, variant, documents)
    owner = np.repeat([row.document for row in rows], [len(row.labels) for row in rows])
    for number, document in enumerate(documents):
        alone = logits_of(model, variant, [document])
        torch.testing.assert_close(together[torch.from_numpy(owner == number)], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("variant", FLAT_VARIANTS)
def test_without_the_mask_documents_do_mix(variant: str) -> None:
    """The paper to the letter; also shows that the tests above could fail."""
    model = build_variant(variant)
    documents = random_documents(np.random.default_rng(2), [3, 2])
    together = logits_of(model, variant, documents, one_group=True)
    second = logits_of(model, variant, [documents[1]], one_group=True)
    assert not torch.allclose(together[-len(second) :], second, atol=1e-4)


@pytest.mark.parametrize("variant", FLAT_VARIANTS)
def test_rows_beyond_the_window_change_nothing(variant: str) -> None:
    model = build_variant(variant, dtype=torch.float32)
    (document,) = random_documents(np.random.default_rng(3), [6])

    def logits(sentences: Document) -> Tensor:
        batch, _ = batch_of([sentences], VARIANTS[variant][0], context=0, window=2)
        with torch.no_grad():
            return model.logits(batch)

    before = logits(document)
    ends = np.cumsum([0, *(len(y) + 1 for _, y in document)])
    for place, (x, y) in enumerate(document):
        changed = deepcopy(document)
        changed[place] = ([another_word(word) for word in x], [another_word(word) for word in y])
        after = logits(changed)
        inside = slice(ends[place // 2 * 2], ends[place // 2 * 2 + 2])
        outside = torch.ones(len(before), dtype=torch.bool)
        outside[inside] = False
        assert torch.equal(after[outside], before[outside])
        other = slice(ends[place ^ 1], ends[(place ^ 1) + 1])
        if place % 2 == 0 or VARIANTS[variant][1].get("encoder", True):
            assert not torch.equal(after[other], before[other]), "within the window it does"
