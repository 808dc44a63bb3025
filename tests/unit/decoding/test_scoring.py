"""Scores of given text are what the model's logits say, however they are batched and shared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from conftest import TESTED, VARIANTS, Ids, batch_of, build_variant, random_documents, rows_for
from docflat.decoding.scoring import Candidates, Scorer
from docflat.engines.torch.engine import TorchEngine


def scorer_for(variant: str, **settings: Any) -> Scorer:
    name, _ = VARIANTS[variant]
    config = SimpleNamespace(rows=rows_for(name, 2))
    engine = TorchEngine(build_variant(variant))
    model: Any = SimpleNamespace(
        engine=engine, layout=TESTED[name].layout(config.rows, engine.vocabulary), config=config, system=TESTED[name]
    )
    return Scorer(model, **settings)


def log_probability(scorer: Scorer, variant: str, document: list[tuple[Ids, Ids]]) -> list[float]:
    """Of every target sentence, by the definition: one softmax a token, over one batch."""
    batch, rows = batch_of([document], VARIANTS[variant][0], context=2)
    with torch.no_grad():
        weights = scorer.engine.model.logits(batch).exp()
    totals, n = [], 0
    for row in rows:
        chances = [float(weights[n + t, label] / weights[n + t].sum()) for t, label in enumerate(row.labels)]
        totals.append(float(np.log(chances).sum()))
        n += len(row.labels)
    return totals


@pytest.mark.parametrize("budget", [1, 10_000], ids=["a group a batch", "one batch"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_documents(variant: str, budget: int) -> None:
    scorer = scorer_for(variant, budget=budget)
    documents = random_documents(np.random.default_rng(0), [4, 1, 3])
    sources, targets = ([[pair[side] for pair in document] for document in documents] for side in (0, 1))
    found = scorer.documents(sources, targets)
    for document, scored in zip(documents, found, strict=True):
        assert [one.total for one in scored] == pytest.approx(log_probability(scorer, variant, document), rel=1e-9)
        assert [one.tokens for one in scored] == [y for _, y in document]
        assert [len(one.log_probabilities) for one in scored] == [len(y) + 1 for _, y in document]


@pytest.mark.parametrize("variant", VARIANTS)
def test_candidates_are_scored_as_if_each_stood_alone(variant: str) -> None:
    """Brute force: each translation by itself, after its context, in a batch of rows that do not see each other."""
    rng = np.random.default_rng(1)
    scorer = scorer_for(variant, budget=30)
    examples, expected = [], []
    for size, count in ((3, 3), (1, 2), (2, 1), (4, 2)):
        (document,) = random_documents(rng, [size])
        (others,) = random_documents(rng, [count])
        x, _ = document[-1]
        translations = [y for _, y in others]
        examples.append(Candidates(x, translations, [s for s, _ in document[:-1]], [t for _, t in document[:-1]]))
        for y in translations:
            alone = scorer_for(variant, window=1)
            sources, targets = [[*(s for s, _ in document[:-1]), x]], [[*(t for _, t in document[:-1]), y]]
            expected.append(alone.documents(sources, targets)[0][-1].total)
    found = [one.total for scored in scorer.candidates(examples) for one in scored]
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("variant", ["sent2sent", "doc2doc", "docflat-c", "gtrans", "mbe", "selective"])
def test_without_context_the_others_do_not_matter(variant: str) -> None:
    scorer = scorer_for(variant)
    first, second = random_documents(np.random.default_rng(2), [3, 3])
    second[1] = first[1]
    results = []
    for document in (first, second):
        (scored,) = scorer.documents([[x for x, _ in document]], [[y for _, y in document]], context=False)
        results.append(scored[1].total)
    assert results[0] == pytest.approx(results[1], rel=1e-12)
