"""The graphs for ONNX Runtime against the torch modules, which the other oracle tests hold to the papers."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from conftest import (
    BOS,
    EOS,
    MASK,
    SIZES,
    TEXT_SIZE,
    VARIANTS,
    build,
    corpus_of,
    layout_for,
    random_documents,
    rows_for,
)
from docflat.decoding.passes import Passes
from docflat.decoding.scoring import Scorer
from docflat.decoding.settings import DecodingSettings
from docflat.engines.engine import Engine
from docflat.engines.loading import LoadedModel
from docflat.engines.onnx.engine import FlatBatchAttention, Model, OnnxEngine
from docflat.engines.onnx.graph import FLOAT, Graph
from docflat.engines.onnx.layers import Layers
from docflat.engines.onnx.loading import expected_shapes
from docflat.engines.onnx.protobuf import Place
from docflat.engines.onnx.sessions import Session
from docflat.engines.onnx.shortlist import Shortlist
from docflat.engines.onnx.weights import Weights
from docflat.engines.torch.engine import TorchEngine
from docflat.model.sizes import Architecture
from docflat.model.transformer import Transformer
from docflat.systems.docflat import DocFlat
from docflat.systems.options import DocFlatOptions

CLOSE = {"rtol": 1e-4, "atol": 1e-4}
TRIED = [
    "sent2sent",
    "doc2doc",
    "docflat-c",
    "docflat-d",
    "docflat-i",
    "docflat-c, encoder only",
    "docflat-i, decoder only",
]
MARIAN = Architecture("swish", False, True, "tensor2tensor", logits_bias=True)
SHARED = Architecture("swish", True, True, "paper", logits_bias=True, shared_norm=True)
RECURRENT = Architecture("relu", False, True, "tensor2tensor", logits_bias=True, recurrent_decoder=True)
SEPARATE = Architecture("relu", True, False, "paper", logits_bias=True, separate_embeddings=True)


def torch_model(variant: str, architecture: Architecture = SIZES.architecture) -> Transformer:
    import torch

    name, options = VARIANTS[variant]
    sizes = replace(SIZES, architecture=architecture)
    return build(name, dtype=torch.float32, sizes=sizes, **options)


def on_onnx(model: Transformer, int8: bool = False, threads: int = 1) -> OnnxEngine:
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    flat = flat_of(model)
    assert {name: array.shape for name, array in weights.items()} == expected_shapes(
        model.sizes, model.vocabulary, flat
    )
    return OnnxEngine(Model(Weights(weights, int8), model.sizes, model.vocabulary, flat), threads)


def flat_of(model: Transformer) -> FlatBatchAttention | None:
    if not isinstance(model, DocFlat):
        return None
    one = model.target_flat or model.source_flat
    assert one is not None
    options: DocFlatOptions = one.options
    return FlatBatchAttention(options.gate, options.gamma, options.encoder, options.decoder)


def some_documents() -> list[list[list[int]]]:
    rng = np.random.default_rng(3)
    return [[source for source, _ in document] for document in random_documents(rng, [5, 1, 7, 3, 4], longest=9)]


def both(variant: str, architecture: Architecture = SIZES.architecture) -> tuple[Engine, Engine]:
    model = torch_model(variant, architecture)
    return TorchEngine(model), on_onnx(model)


def passes(engine: Engine, variant: str, **settings: object) -> Passes:
    name, _ = VARIANTS[variant]
    return Passes(engine, layout_for(name), rows_for(name), DecodingSettings(**settings))  # type: ignore[arg-type]


def same_drafts(ours: Passes, theirs: Passes) -> list[list[list[int]]]:
    """Of sentences by themselves: the same words with the same probabilities. Returns them."""
    found = [one.drafts(some_documents(), lambda _: None) for one in (ours, theirs)]
    pairs = [pair for documents in zip(*found, strict=True) for pair in zip(*documents, strict=True)]
    for mine, other in pairs:
        assert mine.tokens == other.tokens
        np.testing.assert_allclose(mine.log_probabilities, other.log_probabilities, **CLOSE)
    assert len({tuple(mine.tokens) for mine, _ in pairs}) > 5
    return [[draft.tokens for draft in document] for document in found[0]]


@pytest.mark.parametrize("variant", TRIED)
@pytest.mark.parametrize(("beam", "batch_size"), [(1, 3), (4, 64)])
def test_search_is_torchs(variant: str, beam: int, batch_size: int) -> None:
    ours, theirs = (passes(one, variant, beam=beam, batch_size=batch_size, window=4) for one in both(variant))
    first = same_drafts(ours, theirs)
    if variant != "sent2sent":
        second = [one.second_pass(some_documents(), first, lambda _: None) for one in (ours, theirs)]
        assert second[0] == second[1]
        assert second[0] != first


@pytest.mark.parametrize(("beam", "n_best"), [(4, 4), (4, 2), (6, 5)])
def test_alternatives_are_torchs_and_change_nothing(beam: int, n_best: int) -> None:
    engines = both("docflat-c")
    found = [
        passes(one, "docflat-c", beam=beam, n_best=n_best).drafts(some_documents(), lambda _: None) for one in engines
    ]
    alone = passes(engines[1], "docflat-c", beam=beam).drafts(some_documents(), lambda _: None)
    for mine, other, best in zip(*(chain(*documents) for documents in (*found, alone)), strict=True):
        assert len(mine.alternatives) == n_best - 1
        for one, same in zip((mine, *mine.alternatives), (other, *other.alternatives), strict=True):
            assert one.tokens == same.tokens
            np.testing.assert_allclose(
                [one.score, *one.log_probabilities], [same.score, *same.log_probabilities], **CLOSE
            )
        scores = [other.score, *(one.score for one in other.alternatives)]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.tokens) for one in (mine, *mine.alternatives)}) == n_best
        assert replace(other, alternatives=[]) == best


@pytest.mark.parametrize("variant", ["doc2doc", "docflat-c"])
@pytest.mark.parametrize("mode", ["sequential", "stream"])
def test_one_sentence_after_the_other_is_torchs(variant: str, mode: str) -> None:
    def decode(one: Passes) -> object:
        if mode == "stream":
            return list(one.stream(some_documents()))
        return one.sequential(some_documents(), lambda _: None)

    ours, theirs = (passes(one, variant, window=4) for one in both(variant))
    assert decode(ours) == decode(theirs)


@pytest.mark.parametrize("architecture", [MARIAN, SEPARATE])
def test_architectures_of_imported_models_are_torchs(architecture: Architecture) -> None:
    ours, theirs = both("sent2sent", architecture)
    same_drafts(passes(ours, "sent2sent"), passes(theirs, "sent2sent"))


@pytest.mark.parametrize("variant", ["doc2doc", "docflat-c", "docflat-i"])
def test_a_norm_that_came_later_is_torchs(variant: str) -> None:
    ours, theirs = (passes(one, variant, window=4) for one in both(variant, SHARED))
    first = same_drafts(ours, theirs)
    assert ours.second_pass(some_documents(), first, lambda _: None) == theirs.second_pass(
        some_documents(), first, lambda _: None
    )


@pytest.mark.parametrize("variant", ["sent2sent", "doc2doc"])
@pytest.mark.parametrize("beam", [1, 4])
def test_a_recurrent_decoder_is_torchs(variant: str, beam: int) -> None:
    """Searches from start symbols and from prefixes, and whole rows."""
    ours, theirs = (passes(one, variant, window=4, beam=beam, batch_size=6) for one in both(variant, RECURRENT))
    first, documents = same_drafts(ours, theirs), some_documents()
    if variant != "sent2sent":
        second = [one.second_pass(documents, first, lambda _: None) for one in (ours, theirs)]
        assert second[0] == second[1] != first
    scored = [one.score(documents, first) for one in (ours, theirs)]
    for mine, other in zip(*scored, strict=True):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize("variant", TRIED)
def test_log_probabilities_of_given_text_are_torchs(variant: str) -> None:
    documents = some_documents()
    given = [[ids[::-1] for ids in document] for document in documents]
    scored = [passes(one, variant, window=4, batch_size=6).score(documents, given) for one in both(variant)]
    for ours, theirs in zip(*scored, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, **CLOSE)


def test_rows_of_one_source_are_scored_as_by_torch() -> None:
    from docflat.decoding.scoring import Candidates

    rng = np.random.default_rng(0)
    (document,) = random_documents(rng, [8])
    sentences = [source for source, _ in document]
    examples = [
        Candidates(sentences[n], [sentences[n + 1], sentences[n + 2]], sentences[:n], sentences[1 : n + 1])
        for n in range(4)
    ]
    for variant in ("doc2doc", "docflat-c"):
        numbers = []
        for engine in both(variant):
            scored = scorer(engine, variant).candidates(examples)
            numbers.append([one.log_probabilities for example in scored for one in example])
        for ours, theirs in zip(*numbers, strict=True):
            np.testing.assert_allclose(ours, theirs, **CLOSE)


def scorer(engine: Engine, variant: str) -> Scorer:
    name, _ = VARIANTS[variant]

    class Loaded:
        config = type("Config", (), {"rows": rows_for(name)})
        layout = layout_for(name)

    Loaded.engine = engine  # type: ignore[attr-defined]
    loaded: LoadedModel = Loaded()  # type: ignore[assignment]
    return Scorer(loaded)


@pytest.mark.parametrize("variant", ["sent2sent", "docflat-c"])
def test_attention_to_the_source_is_torchs(variant: str) -> None:
    from docflat.data.flat_layout import flatten_batch
    from docflat.data.rows import Rows

    name, _ = VARIANTS[variant]
    corpus = corpus_of(random_documents(np.random.default_rng(0), [6]))
    number = np.arange(6)
    batch = flatten_batch(
        corpus.source, corpus.target, Rows(number, 0 * number, number, number, number), layout_for(name)
    )
    ours, theirs = both(variant)
    for layer in range(SIZES.decoder_layers):
        mine, other = (one.source_weights(batch.source, batch.target, layer) for one in (ours, theirs))
        assert len(mine) == len(other) == 6
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize("variant", ["sent2sent", "doc2doc", "docflat-c"])
@pytest.mark.parametrize("beam", [1, 4])
def test_in_int8_a_row_does_not_depend_on_the_others(variant: str, beam: int) -> None:
    """Bit for bit: alone or among others, in batches of any size, with one thread or several."""
    model, documents = torch_model(variant), some_documents()
    wanted = None
    for batch_size, threads in ((1, 1), (3, 2), (64, 4), (64, 1)):
        one = passes(on_onnx(model, int8=True, threads=threads), variant, batch_size=batch_size, window=3, beam=beam)
        drafts = one.drafts(documents, lambda _: None)
        tokens = [[draft.tokens for draft in document] for document in drafts]
        second = [] if variant == "sent2sent" else one.score(documents, tokens)
        if variant == "docflat-c":
            second += one.second_pass(documents, tokens, lambda _: None)
        found = [[draft.log_probabilities for draft in document] for document in drafts], second
        wanted = wanted or (tokens, found)
        assert (tokens, found) == wanted


def whole_shortlist(words: int) -> Shortlist:
    """With which every row can become any word."""
    return Shortlist(np.zeros(words + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.arange(words))


@pytest.mark.parametrize("architecture", [SIZES.architecture, SEPARATE])
def test_a_shortlist_of_all_words_changes_nothing(architecture: Architecture) -> None:
    theirs, ours = both("sent2sent", architecture)
    assert isinstance(ours, OnnxEngine)
    ours.shortlist = whole_shortlist(TEXT_SIZE)
    same_drafts(passes(ours, "sent2sent", batch_size=3), passes(theirs, "sent2sent"))


@pytest.mark.parametrize("int8", [False, True])
def test_with_a_shortlist_rows_become_their_own_words_whatever_is_beside_them(int8: bool) -> None:
    documents, rng = some_documents(), np.random.default_rng(1)
    likely = [rng.permutation(np.arange(MASK + 1, TEXT_SIZE))[:2] for _ in range(TEXT_SIZE)]
    starts = np.arange(TEXT_SIZE + 1) * 2
    engine = on_onnx(torch_model("sent2sent"), int8)
    engine.shortlist = Shortlist(starts, np.concatenate(likely), np.array([MASK + 1]))
    alone, together = (
        [
            draft
            for document in passes(engine, "sent2sent", batch_size=size).drafts(documents, lambda _: None)
            for draft in document
        ]
        for size in (1, 64)
    )
    sources = [ids for document in documents for ids in document]
    for source, one, other in zip(sources, alone, together, strict=True):
        assert one.tokens == other.tokens
        if int8:  # bit for bit
            assert one == other
        allowed = {MASK + 1, *source, *(int(word) for token in (BOS, *source, EOS) for word in likely[token])}
        assert set(one.tokens) <= allowed
        assert len(one.tokens) > 0


def test_unlisted_words_count_by_a_sample() -> None:
    """Where all of them are in the sample, probabilities are those of all words."""
    documents = some_documents()
    engine = on_onnx(torch_model("sent2sent"), int8=False)
    listed = np.arange(MASK + 1, TEXT_SIZE, 2)
    starts = np.zeros(TEXT_SIZE + 1, dtype=np.int64)
    engine.shortlist = Shortlist(starts, starts[:0], listed, np.arange(MASK + 1, TEXT_SIZE))
    drafts = passes(engine, "sent2sent").drafts(documents, lambda _: None)
    tokens = [[draft.tokens for draft in document] for document in drafts]
    scores = passes(engine, "sent2sent").score(documents, tokens)
    for document, scored, sources in zip(drafts, scores, documents, strict=True):
        for draft, numbers, source in zip(document, scored, sources, strict=True):
            np.testing.assert_allclose(draft.log_probabilities, numbers, **CLOSE)
            assert set(draft.tokens) <= {*listed.tolist(), *source}


@pytest.mark.parametrize("positive", [False, True])
def test_a_product_in_int8_is_that_of_whole_numbers(positive: bool) -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((7, 16), np.float32), rng.standard_normal((5, 16), np.float32)
    x[3] = 0
    if positive:
        x = np.maximum(x, 0)
    graph = Graph("product", "")
    layers = Layers(graph, Weights({"one.weight": weight}, int8=True), SIZES)
    graph.input("x", FLOAT, "rows", 16)
    layers.has_rows_of("x")
    rounded = layers.round("x", positive)
    graph.output(layers.product(rounded, layers.weights.matrix("one.weight"), None), "y", FLOAT, "rows", 5)
    (found,) = Session(graph, 1).run(["y"], {"x": x})
    for row, products in zip(x, found, strict=True):
        step = max(abs(row).max() / (255 if positive else 127), 1e-12)
        whole = [round(float(number / step)) for number in row]
        for output, product in zip(weight, products, strict=True):
            other = abs(output).max() / 127
            total = sum(a * round(float(b / other)) for a, b in zip(whole, output, strict=True))
            assert product == pytest.approx(total * step * other, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("variant", ["sent2sent", "docflat-d"])
def test_onnx_reads_the_graphs(variant: str, int8: bool) -> None:
    onnx = pytest.importorskip("onnx")
    engine = on_onnx(torch_model(variant), int8)
    for graph in engine.model.graphs():
        places = {name: Place("weights.bin", 0, array.nbytes) for name, array in graph.weights.items()}
        model = onnx.load_model_from_string(graph.serialize(places, {"format": "1"}))
        # Without the weights, which the checker would look for in a file: as inputs they are known by type and shape.
        model.graph.input.extend(
            onnx.helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in model.graph.initializer
        )
        constants = [one for one in model.graph.initializer if one.data_location != onnx.TensorProto.EXTERNAL]
        del model.graph.initializer[:]
        model.graph.initializer.extend(constants)
        onnx.checker.check_model(model, full_check=True)
        assert [one.name for one in model.graph.output] == graph.outputs
        assert graph.description in model.graph.doc_string
