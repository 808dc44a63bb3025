"""Partial and greedy search against slow ones; batch sizes, progress, long sentences and scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import (
    EOS,
    MASK,
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
)
from decoding_checks import (
    SlowPartial,
    allowed,
    decoder_for,
    limit_of,
    modes,
    quiet,
    source_documents,
    translator_for,
)
from docflat.data.row_settings import RowSettings
from docflat.data.rows import Rows
from docflat.data.subwords import Subwords
from docflat.decoding.passes import Passes
from docflat.decoding.settings import DecodingSettings
from docflat.engines.torch.engine import on_torch
from docflat.engines.torch.search import beam_search
from docflat.model.batch import make_batch, make_side
from docflat.model.transformer import Transformer
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS
from docflat.systems.docflat import DocFlat
from docflat.systems.gtrans import GTrans
from docflat.translation.translator import Translator, split_long
from docflat.weights.config import ModelConfig
from docflat.weights.folders import ModelFolder, save_model


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


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.learn(["the cat sat on the mat, the dog too."] * 3, vocabulary=280, index_tokens=4)


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


def test_an_engine_without_the_partial_context_refuses_it_before_the_first_pass(
    subwords: Subwords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ModelConfig("docflat-c", SIZES, {}, RowSettings(context_free=0.2))
    save_model(tmp_path / "model", config, config.build(subwords).state_dict(), subwords, "")
    searched = []
    monkeypatch.setattr(Passes, "sentence_by_sentence", lambda self, documents, done: searched.append(1) or documents)
    translator = Translator.load(tmp_path / "model", device="cpu")
    with pytest.raises(InputError, match=r"the engine onnx has no global context 'partial'.* --engine torch"):
        translator.translate(["the cat", "the dog"], global_context="partial", beam=1)
    assert not searched
    assert translator.decoder.settings(global_context="first-pass").mode == "two-pass"
    translator = Translator.load(tmp_path / "model", device="cpu", engine="torch")
    assert translator.decoder.settings(global_context="partial").global_context == "partial"


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
            assert min(heard) >= 0
    assert sum(bool(count) for count in heard) == 1  # nothing but empty ones
    heard = []
    list(translator.translate_documents(documents[:1], done=heard.append, mode=mode, beam=1, batch_size=1, window=2))
    assert len(heard) > 1  # on the way, not only at the end


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("mode", ["two-pass", "edit"])
def test_a_first_pass_can_be_given_up(mode: str, subwords: Subwords, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is most of the work, and none of its sentences is ready."""
    translator = translator_for("docflat-c", subwords)
    heard: list[int] = []

    def give_up(sentences: int) -> None:
        heard.append(sentences)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(translator.translate_documents([["the cat", "sat"]], done=give_up, mode=mode, beam=1, batch_size=1))
    assert heard == [0]


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
