"""The mode `edit` against logits of whole batches, as in training, and against the two modes that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch

from conftest import (
    SIZES,
    TESTED,
    VARIANTS,
    Ids,
    batch_of,
    build_variant,
    layout_for,
    random_documents,
    rows_for,
)
from docflat.data.subwords import Subwords
from docflat.decoding.document_decoder import DocumentDecoder
from docflat.decoding.editing import Objection, find_objections
from docflat.decoding.passes import Passes
from docflat.decoding.settings import DecodingSettings
from docflat.engines.engine import Hypothesis
from docflat.engines.torch.engine import TorchEngine, on_torch
from docflat.model.transformer import Transformer
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS
from docflat.weights.config import ModelConfig, vocabulary_of
from docflat.weights.folders import ModelFolder

WINDOW = 3


def documents_to_edit(seed: int = 0) -> list[list[Ids]]:
    """Of several sentences, of one, of none, with an empty sentence."""
    documents = random_documents(np.random.default_rng(seed), [5, 1, 4], longest=4)
    sources = [[x for x, _ in document] for document in documents]
    sources[0][2] = []
    return [*sources, []]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models rarely stop by themselves."""
    for model in {type(build_variant(variant)) for variant in VARIANTS} | {Transformer}:
        monkeypatch.setattr(model, "longest", lambda self, tokens: tokens + 3)


def passes_for(variant: str, **settings: object) -> Passes:
    name, _ = VARIANTS[variant]
    usual = {"window": WINDOW, "beam": 2, "batch_size": 4, "length_penalty": 0.8, "edit_context": 2}
    chosen = DecodingSettings(**{**usual, **settings})
    return Passes(TorchEngine(build_variant(variant)), layout_for(name), rows_for(name, 2), chosen)


def slow_log_probabilities(
    variant: str, document: Sequence[Ids], target: Sequence[Ids], context: int, window: int
) -> list[list[float]]:
    """Of given translations of a document, by one forward pass over all of it, as in training."""
    if not document:
        return []
    name, _ = VARIANTS[variant]
    pairs = [(x, y) for x, y in zip(document, target, strict=True)]
    batch, rows = batch_of([pairs], name, context, window=window)
    log = build_variant(variant).logits(batch).log_softmax(-1)
    scores = iter(log[torch.arange(len(batch.labels)), batch.labels].tolist())
    found: list[list[float]] = [[] for _ in document]
    for row in rows:
        found[row.place] = [next(scores) for _ in row.labels]
    return found


@torch.no_grad()
@pytest.mark.usefixtures("short")
# In training, target rows of "abd, both sides" hold their own future, which no search knows.
@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "abd, both sides"])
def test_a_draft_has_the_log_probabilities_of_its_tokens(variant: str) -> None:
    documents = documents_to_edit()
    for document, drafts in zip(documents, passes_for(variant).drafts(documents, print), strict=True):
        expected = slow_log_probabilities(variant, document, [draft.tokens for draft in drafts], 0, 1)
        for draft, right in zip(drafts, expected, strict=True):
            assert draft.log_probabilities == pytest.approx(right, abs=1e-5)  # a search adds up in float32


@torch.no_grad()
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", VARIANTS)
def test_drafts_are_scored_as_the_second_pass_sees_them(variant: str) -> None:
    documents, passes = documents_to_edit(), passes_for(variant)
    first = passes.sentence_by_sentence(documents, print)
    for document, target, scores in zip(documents, first, passes.score(documents, first), strict=True):
        expected = slow_log_probabilities(variant, document, target, 2, WINDOW)
        for found, right in zip(scores, expected, strict=True):
            assert found == pytest.approx(right, abs=1e-9)


@torch.no_grad()
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", VARIANTS)
def test_sentences_to_which_context_objects_are_translated_as_if_all_were(variant: str) -> None:
    documents, passes = documents_to_edit(), passes_for(variant)
    drafts = passes.drafts(documents, print)
    first = [[draft.tokens for draft in document] for document in drafts]
    second = passes.second_pass(documents, first, print)
    scores = passes.score(documents, first)
    drops = [
        max((a - b for a, b in zip(draft.log_probabilities, there, strict=True)), default=-9.0)
        for document, scored in zip(drafts, scores, strict=True)
        for draft, there in zip(document, scored, strict=True)
    ]
    told: list[int] = []
    for tolerance in (max(0.0, sorted(drops)[n] + 1e-6) for n in (3, 5, 7)):
        edited = passes_for(variant, tolerance=tolerance).edit(documents, drafts, told.append)
        found = [one.translation.tokens for document in edited for one in document]
        expected = [
            new if drop > tolerance else old
            for drop, old, new in zip(drops, chain(*first), chain(*second), strict=True)
        ]
        assert found == expected
    assert sum(told) == 3 * 9, "all but the empty sentence"
    if variant != "sent2sent":
        assert first != second, "context matters, or this shows nothing"


@torch.no_grad()
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", ["doc2doc", "docflat-c"])
def test_with_less_context_context_objects_as_a_second_pass_with_as_much_sees_drafts(variant: str) -> None:
    documents, passes = documents_to_edit(), passes_for(variant, edit_context=1, tolerance=0.0)
    name, _ = VARIANTS[variant]
    narrow = Passes(passes.engine, passes.layout, rows_for(name, 1), passes.settings)
    drafts = passes.drafts(documents, print)
    first = [[draft.tokens for draft in document] for document in drafts]
    scores, second = narrow.score(documents, first), narrow.second_pass(documents, first, print)
    assert scores != passes.score(documents, first), "the sentence before the last matters, or this shows nothing"
    for document in zip(drafts, scores, second, passes.edit(documents, drafts, print), strict=True):
        for draft, there, again, edited in zip(*document, strict=True):
            drops = [a - b for a, b in zip(draft.log_probabilities, there, strict=True)]
            assert [objection.drop for objection in edited.objections] == pytest.approx([d for d in drops if d > 0])
            assert edited.translation.tokens == (again if edited.objections else draft.tokens)


def decoder_for(name: str, context_free: float = 0.5) -> DocumentDecoder:
    subwords = Subwords.learn(["a b c d e f g h"] * 9)
    rows = replace(rows_for(name, 2), context_free=context_free)
    config = ModelConfig(name, SIZES, {}, rows)
    torch.manual_seed(0)
    model = config.build(subwords).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter *= 2  # so that context matters
    assert vocabulary_of(subwords).text_size == model.vocabulary.text_size
    return DocumentDecoder(on_torch(ModelFolder(config, subwords, model)))


@torch.no_grad()
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", [name for name in TESTED if name in SYSTEMS and name != "sent2sent"])
def test_context_edits_where_it_lowers_a_token_by_more_than_the_tolerance(name: str) -> None:
    rng = np.random.default_rng(1)
    documents = [[rng.integers(4, 11, 4).tolist() for _ in range(size)] for size in (5, 1, 3)]
    decoder = decoder_for(name)
    settings = decoder.settings(mode="edit", beam=2, window=WINDOW, edit_context=2)
    passes = decoder.passes(settings)
    drafts = passes.drafts(documents, print)
    first = [[draft.tokens for draft in document] for document in drafts]
    second = passes.second_pass(documents, first, print)
    scores = passes.score(documents, first)
    drops = sorted(
        max(a - b for a, b in zip(draft.log_probabilities, there, strict=True))
        for document, scored in zip(drafts, scores, strict=True)
        for draft, there in zip(document, scored, strict=True)
    )
    middle = (drops[len(drops) // 2 - 1] + drops[len(drops) // 2]) / 2
    edited = decoder.edit(documents, replace(settings, tolerance=max(0.0, middle)))
    assert [[one.translation.tokens for one in document] for document in edited] == decoder.decode(
        documents, replace(settings, tolerance=max(0.0, middle))
    )
    for d, document in enumerate(edited):
        for s, one in enumerate(document):
            lower = [
                place
                for place, (alone, there) in enumerate(zip(drafts[d][s].log_probabilities, scores[d][s], strict=True))
                if alone - there > max(0.0, middle)
            ]
            assert [objection.place for objection in one.objections] == lower
            assert one.draft.tokens == first[d][s]
            assert one.translation.tokens == (second[d][s] if lower else first[d][s])
    kept = [one for document in edited for one in document if not one.objections]
    assert 0 < len(kept) < 9


def test_an_objection_says_how_much_less_likely_a_token_is() -> None:
    draft = Hypothesis([7, 8], -1.3 / 3, [-0.1, -1.0, -0.2])
    assert find_objections(draft, [-0.9, -0.2, -0.6], 0.5) == [Objection(0, pytest.approx(0.8))]
    assert find_objections(draft, [-0.1, -1.0, -0.2], 0.0) == []


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="trained without context too"):
        decoder_for("doc2doc", context_free=0.0).settings(mode="edit")
    with pytest.raises(InputError, match="goes with the mode edit, not two-pass"):
        decoder_for("doc2doc").settings(mode="two-pass", tolerance=0.5)
    with pytest.raises(InputError, match="tolerance must not be negative"):
        decoder_for("doc2doc").settings(mode="edit", tolerance=-1.0)
    for penalty in (-0.1, float("inf"), float("nan")):
        with pytest.raises(InputError, match="length_penalty must be finite and not negative"):
            decoder_for("doc2doc").settings(length_penalty=penalty)


@torch.no_grad()
@pytest.mark.usefixtures("short")
def test_drafts_are_those_of_the_mode_sentence_and_second_searches_are_narrower() -> None:
    rng = np.random.default_rng(2)
    documents = [[rng.integers(4, 11, 6).tolist() for _ in range(size)] for size in (6, 1, 4)]
    decoder = decoder_for("docflat-c")
    chosen = {"window": WINDOW, "edit_context": 2, "tolerance": 0.0}

    def drafts(beam: int) -> list[list[Ids]]:
        return decoder.decode(documents, decoder.settings(mode="sentence", beam=beam))

    assert drafts(5) != drafts(1)
    for wide, narrow, settings in ((5, 3, {}), (5, 1, {"edit_beam": 1}), (1, 1, {"beam": 1})):
        edited = decoder.edit(documents, decoder.settings(mode="edit", **chosen, **settings))
        assert [[one.draft.tokens for one in document] for document in edited] == drafts(wide)
        passes = decoder.passes(decoder.settings(mode="two-pass", window=WINDOW, beam=narrow))
        second = list(chain(*passes.second_pass(documents, drafts(wide), print)))
        searched = [(one, other) for one, other in zip(chain(*edited), second, strict=True) if one.objections]
        assert [one.translation.tokens for one, _ in searched] == [other for _, other in searched]
        assert any(one.translation.tokens != one.draft.tokens for one, _ in searched)
    with pytest.raises(InputError, match="edit_beam must be at least 1"):
        decoder.settings(edit_beam=0)


def test_edit_is_the_default_of_models_that_can_edit() -> None:
    assert decoder_for("doc2doc").settings().mode == "edit"
    assert decoder_for("docflat-c").settings(mode="auto").mode == "edit"
    assert decoder_for("docflat-c").settings(global_context="partial").mode == "two-pass"
    assert decoder_for("doc2doc", context_free=0.0).settings().mode == "sequential"
