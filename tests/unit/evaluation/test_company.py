"""Contrastive scores beside other sentences of the batch: as scores of documents have them."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from docflat.data.row_settings import RowSettings
from docflat.data.subwords import Subwords
from docflat.decoding.scoring import Candidates, Scorer
from docflat.engines.loading import LoadedModel
from docflat.engines.torch.engine import on_torch
from docflat.evaluation.contrastive.examples import ContrastiveExample
from docflat.evaluation.contrastive.scoring import score_examples
from docflat.model.sizes import ModelSizes
from docflat.systems import SYSTEMS
from docflat.weights.folders import ModelConfig, ModelFolder

SIZES = ModelSizes(dim=16, heads=2, feed_forward=16, encoder_layers=1, decoder_layers=1)
SOURCES = [[5, 9, 6], [7, 7], [8, 5, 9, 6], [6]]
TARGETS = [[9, 5], [6, 8, 7], [5, 5], [7, 9, 9]]
OTHER = [8, 8, 6]


def model(system: str, **rows: int) -> LoadedModel:
    torch.manual_seed(3)
    subwords = Subwords.learn(["the cat sat on the mat."], vocabulary=280, index_tokens=8)
    config = ModelConfig(system, SIZES, {}, SYSTEMS[system].rows_of(RowSettings(**rows)))
    return on_torch(ModelFolder(config, subwords, config.build(subwords).eval()))


def alone(place: int, *translations: list[int]) -> Candidates:
    """A sentence whose context only counts."""
    return Candidates(SOURCES[place], translations or [TARGETS[place]], [[]] * place, [[]] * place)


@pytest.mark.parametrize("system", ["docflat-c", "docflat-i", "abd"])
def test_what_stands_before_it_in_a_document_is_company_like_any_other(system: str):
    """The slow way: the document with each translation of its last sentence, scored as a whole."""
    scorer = Scorer(model(system, context=0))
    company = [alone(place) for place in range(3)]
    ((reference, other),) = scorer.among([alone(3, TARGETS[3], OTHER)], [company])
    for found, last in ((reference, TARGETS[3]), (other, OTHER)):
        (document,) = scorer.documents([SOURCES], [[*TARGETS[:3], last]])
        assert found.log_probabilities == pytest.approx(document[-1].log_probabilities, abs=1e-5)
        assert found.tokens == last


def test_company_matters_to_docflat_and_not_to_doc2doc():
    example = Candidates(SOURCES[3], [TARGETS[3], OTHER], SOURCES[:2], TARGETS[:2])
    company = [Candidates(SOURCES[2], [TARGETS[2]]), Candidates(SOURCES[0], [TARGETS[0]])]
    for system, changed in (("doc2doc", False), ("docflat-c", True)):
        scorer = Scorer(model(system, context=3))
        beside, by_itself = scorer.among([example], [company]), scorer.candidates([example])
        totals = [[one.total for one in each] for (each,) in (beside, by_itself)]
        assert (totals[0] != pytest.approx(totals[1], abs=1e-4)) == changed, system


def test_no_company_is_an_example_by_itself():
    example = Candidates(SOURCES[3], [TARGETS[3], OTHER], SOURCES[:2], TARGETS[:2])
    scorer = Scorer(model("docflat-c", context=3))
    beside, by_itself = scorer.among([example, example], [[], []]), scorer.candidates([example, example])
    for mine, other in zip(chain(*beside), chain(*by_itself), strict=True):
        assert mine.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-5)


def test_the_company_of_a_document_is_what_the_document_has() -> None:
    """Of its own context, beyond the local one too: as when the whole document is scored."""
    sources, targets = (
        ["the cat.", "the mat sat.", "on the cat.", "the mat."],
        ["cat the.", "sat mat.", "cat.", "mat the cat."],
    )
    scored_by = SimpleNamespace(model=model("docflat-c", context=1))
    example = ContrastiveExample(sources[3], targets[3], ("the mat",), tuple(sources[:3]), tuple(targets[:3]))
    ((reference, _),) = score_examples(cast(Any, scored_by), [example], company=16, of_document=True)
    subwords = scored_by.model.subwords
    ids = [[subwords.encode_batch(texts, side) for side, texts in (("source", sources), ("target", targets))]]
    (document,) = Scorer(scored_by.model).documents([ids[0][0]], [ids[0][1]])
    assert reference[0] == pytest.approx(document[-1].total, abs=1e-4)
    ((near, _),) = score_examples(cast(Any, scored_by), [example])
    assert near[0] != pytest.approx(reference[0], abs=1e-4)
