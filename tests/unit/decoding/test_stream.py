"""The mode `stream` against full forward passes over explicit windows; what it sees, and what it holds.

That its translations are those of a plain loop, whatever the beam, the batch size and the other documents, is in
test_decoding.py with the other modes. Here translations are forced, so that logits can be compared.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor

import docflat.engines.torch.engine
from conftest import (
    FLAT_VARIANTS,
    MASK,
    TARGET_FLAT_VARIANTS,
    TESTED,
    TEXT_SIZE,
    VARIANTS,
    Ids,
    Sentences,
    build_variant,
    layout_for,
    random_documents,
    rows_for,
)
from decoding_checks import CLOSE, decoder_for, limit_of, modes, translator_for, window_around
from docflat import Translator
from docflat.cli import dispatch as cli
from docflat.data.rows import Rows
from docflat.data.subwords import Subwords
from docflat.decoding.passes import Passes
from docflat.decoding.stream_windows import Window
from docflat.engines.engine import Hypothesis
from docflat.model.batch import Side, make_batch
from docflat.model.cache.decoding_state import CachingModel
from docflat.model.transformer import Transformer
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS
from docflat.systems.docflat import DocFlat
from docflat.systems.gtrans import GTrans

MIXING = [variant for variant, (name, _) in VARIANTS.items() if "batch" in TESTED[name].source + TESTED[name].target]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (Transformer, GTrans):
        monkeypatch.setattr(model, "longest", lambda self, tokens: limit_of(tokens))


def document_of(sentences: int, seed: int = 0, longest: int = 4) -> tuple[list[Ids], list[Ids]]:
    """Random sentences, and as many to force as their translations."""
    (document,) = random_documents(np.random.default_rng(seed), [sentences], longest=longest)
    return [x for x, _ in document], [y for _, y in document]


class Forced:
    """In the place of the search: says the given translations, and notes the logits after each of their tokens."""

    def __init__(self, translations: Sequence[Ids]) -> None:
        self.todo = iter(translations)
        self.logits: list[Tensor] = []  # a sentence each: (tokens + 1, text_size)

    def __call__(
        self,
        model: Transformer,
        memory: Any,
        prefix: Side,
        limits: Any,
        beam: int,
        penalty: float,
        context: Any,
        *_: Any,
    ) -> list[Hypothesis]:
        tokens = next(self.todo)
        state, logits = model.start_decoding(memory, prefix, 1, context)
        found = [logits[0]]
        found += [model.decode_one_token(state, torch.tensor([[token]]))[0, 0] for token in tokens]
        self.logits.append(torch.stack(found))
        return [Hypothesis(tokens, 0.0, [])]


def forced_logits(decoder: Passes, source: Sequence[Ids], target: Sequence[Ids]) -> list[Tensor]:
    """Of the sentences of one document that are not empty, given their translations."""
    forced = Forced([y for x, y in zip(source, target, strict=True) if x])
    with patch.object(docflat.engines.torch.engine, "beam_search", forced):
        assert [ids for _, ids in decoder.stream([source])] == list(target)
    return forced.logits


@torch.no_grad()
@pytest.mark.parametrize("window", [1, 2, 5, 20])
# In training, target rows of "abd, both sides" hold their own future; test_decoding.py has a loop for it.
@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "abd, both sides"])
def test_logits_are_those_of_a_full_forward_pass_over_the_window(variant: str, window: int) -> None:
    """Everything of the window is computed anew for each sentence, with the others' target text as in training."""
    name, _ = VARIANTS[variant]
    model, layout = build_variant(variant), layout_for(name)
    context = rows_for(name, 2).context
    source, target = document_of(8)
    source[3], target[3] = [], []
    found = iter(forced_logits(decoder_for(name, model, window=window), source, target))
    for place in range(len(source)):
        if source[place]:
            seen = np.array([k for k in window_around(place, window, len(source)) if source[k]])
            rows = Rows(seen, np.minimum(context, seen), seen, seen, 0 * seen)
            batch = make_batch(Sentences(source), Sentences(target), rows, layout)
            row = seen.tolist().index(place)
            start, end = batch.target.sentences.starts[row : row + 2].tolist()
            torch.testing.assert_close(next(found), model.logits(batch)[start:end], **CLOSE)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("max_tokens", [512, 20, 12])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_window_as_long_as_the_document_is_sequential(variant: str, max_tokens: int) -> None:
    """Rows that are too long lose the same context, of what is kept too; a smaller window is another thing."""
    name, _ = VARIANTS[variant]
    model = build_variant(variant)
    documents = [document_of(size, seed=size, longest=6)[0] for size in (6, 1, 4)]
    documents[2][1] = []
    found = modes(decoder_for(name, model, window=6, beam=2, max_tokens=max_tokens), documents)
    assert found["stream"] == found["sequential"]
    if variant in FLAT_VARIANTS and max_tokens == 512:
        found = modes(decoder_for(name, model, window=4, beam=2), documents)
        assert found["stream"] != found["sequential"]


def changed(document: Sequence[Ids], place: int) -> list[Ids]:
    """Every word of a sentence is another; it is as long as it was."""
    words = TEXT_SIZE - MASK - 1
    return [
        [MASK + 1 + (word - MASK + 6) % words for word in ids] if k == place else ids for k, ids in enumerate(document)
    ]


@pytest.mark.parametrize("variant", MIXING)
def test_it_sees_its_window_and_nothing_else(variant: str) -> None:
    """Logits change with a sentence inside, before and after the current one, and to the bit not with one outside."""
    name, options = VARIANTS[variant]
    model, window, context = build_variant(variant), 5, rows_for(name, 1).context
    decoder = decoder_for(name, model, context=1, window=window)
    source, target = document_of(11)
    before = forced_logits(decoder, source, target)
    # These read of other rows their local context too.
    more = context if name == "abd" or options.get("scope") == "all" else 0
    for k in range(len(source)):
        with_source = forced_logits(decoder, changed(source, k), target)
        with_target = forced_logits(decoder, source, changed(target, k))
        for place in range(len(source)):
            around = window_around(place, window, len(source))
            local = place - context <= k <= place
            inside = around.start - more <= k < around.stop
            sees_source = local or (inside and options.get("encoder", True))
            same = torch.equal(with_source[place], before[place])
            if variant in FLAT_VARIANTS:
                assert same != sees_source, (k, place)
            elif not (local or inside):
                assert same, (k, place)
            earlier = torch.equal(with_target[place][0], before[place][0])
            flat = variant in TARGET_FLAT_VARIANTS
            sees_target = k < place and (place - context <= k or (around.start - more <= k and flat))
            if flat:
                assert earlier != sees_target, (k, place)
            elif not (k < place and (local or inside)):
                assert earlier, (k, place)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_a_window_moves_along_and_holds_no_more_than_it_needs(size: int) -> None:
    context = 2
    for sentences in range(12):
        read: list[int] = []

        def document(sentences: int = sentences, read: list[int] = read) -> Iterator[Ids]:
            for n in range(sentences):
                read.append(n)
                yield [n]

        window = Window(0, document(), size, context)
        for place in range(sentences):
            assert window.advance()
            around = window_around(place, size, sentences)
            assert (window.place, window.current) == (place, [place])
            assert (window.start, window.end) == (around.start, around.stop)
            assert len(read) == window.end, "nothing is read before it is seen"
            held = range(max(0, around.start - context), around.stop)
            assert window.source == [[n] for n in held]
            assert window.target == [[-n] for n in range(held.start, place)]
            window.finish([-place])
        assert not window.advance()


def tensor_bytes() -> int:
    """Of all tensors that Python holds, each storage once."""
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some objects warn when they are asked what they are
        storages = {}
        for thing in gc.get_objects():
            if type(thing) in (Tensor, torch.nn.Parameter):  # not what a compiler of another test left, without memory
                storage = thing.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


@pytest.mark.parametrize("variant", [*FLAT_VARIANTS, "mbe", "abd, both sides"])
def test_a_long_document_holds_no_more_than_a_short_one(variant: str) -> None:
    """Tensors of 2 documents in lockstep, each sentence as long as the other, after 10 and after 300 sentences."""
    name, _ = VARIANTS[variant]
    model = build_variant(variant)
    decoder = decoder_for(name, model, window=4)

    def same_translations(model: Any, memory: Any, prefix: Side, *rest: Any) -> list[Hypothesis]:
        return [Hypothesis([7, 8, 9], 0.0, [])] * len(prefix.rows)

    held: dict[int, int] = {}
    with patch.object(docflat.engines.torch.engine, "beam_search", same_translations):
        nothing = tensor_bytes()
        stream = decoder.stream([[[5, 6]] * 300] * 2)
        for n, _ in enumerate(stream):
            if n + 1 in (20, 60, 300, 590):
                held[n + 1] = tensor_bytes() - nothing
    assert n + 1 == 600
    kept = isinstance(model, CachingModel)
    assert (held[20] > 0) == kept, "the others hold nothing between sentences"
    assert held[20] == held[60] == held[300] == held[590]


@torch.no_grad()
def test_what_a_row_shows_is_computed_once() -> None:
    model = build_variant("docflat-c")
    assert isinstance(model, DocFlat)
    source, target = document_of(12)
    with (
        patch.object(model, "show_source", side_effect=model.show_source) as show_source,
        patch.object(model, "show_target", side_effect=model.show_target) as show_target,
    ):
        forced_logits(decoder_for("docflat-c", model, window=4), source, target)
    assert sum(len(call.args[0].rows) for call in show_source.call_args_list) == 12
    assert sum(len(call.args[0].rows) for call in show_target.call_args_list) == 11, "nobody looks back at the last one"


@pytest.mark.usefixtures("short")
def test_an_endless_document_is_translated_as_it_comes() -> None:
    model = build_variant("docflat-c")
    sentences, _ = document_of(5)
    read = count()

    def endless() -> Iterator[Ids]:
        while True:
            yield sentences[next(read) % 5]

    decoder = decoder_for("docflat-c", model, window=4, beam=1)
    stream = decoder.stream([endless()])
    found = [next(stream) for _ in range(9)]
    assert next(read) == 8 - 2 + 4  # the last of 9 has two sentences before it in its window, and one after it
    expected = decoder.stream([[sentences[n % 5] for n in range(20)]])
    assert found == [next(expected) for _ in range(9)]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.learn(["the cat sat on the mat, the dog too."] * 3, vocabulary=280, index_tokens=4)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", ["docflat-c", "doc2doc", "hybrid"])
def test_a_translator_streams_text_as_it_comes(name: str, subwords: Subwords) -> None:
    """Sentences that are cut into pieces, and empty ones, come back one for one, and soon."""
    translator = translator_for(name, subwords)
    text = ["the cat", "", "the cat, the dog. " * 6, "sat", "a\u2028b", "", "the mat", "too. " * 20, "the dog"]
    expected = translator.translate(text, mode="stream", window=4, beam=2)
    read: list[str] = []

    def sentences() -> Iterator[str]:
        for one in text:
            read.append(one)
            yield one

    for done, translation in enumerate(translator.stream(sentences(), window=4, beam=2), 1):
        assert translation == expected[done - 1]
        assert (translation == "") == (text[done - 1] == "")
        assert len(read) <= max(done + 1, 4)
    assert done == len(read) == len(text)


def test_a_window_is_held_only_by_systems_that_mix_rows(subwords: Subwords) -> None:
    for name, system in SYSTEMS.items():
        translator = translator_for(name, subwords)
        if system.sentence_level:
            with pytest.raises(
                InputError, match=r"^sent2sent translates sentence by sentence; it has no mode 'stream'$"
            ):
                translator.decoder.settings(mode="stream")
            continue
        mixes = name in ("selective", "hybrid", "mbe", "abd", "docflat-c", "docflat-d", "docflat-i")
        assert translator.decoder.settings(mode="stream", window=7).window == (7 if mixes else 1)
        assert translator.decoder.settings(mode="sequential", window=7).window == 7
        with pytest.raises(InputError, match=r"^a global context goes with the mode two-pass, not stream$"):
            translator.decoder.settings(mode="stream", global_context="partial")


def test_progress_is_told(subwords: Subwords) -> None:
    heard: list[int] = []
    translator = translator_for("docflat-c", subwords)
    list(translator.translate_documents([["a", "", "b"], ["c"]], done=heard.append, mode="stream", beam=1))
    assert sum(heard) == 4


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(__file__).parents[2] / "data" / "model-format-1"
    documents = [["The ship left.", "It was old.", "It sank."], ["It was new."]]
    (tmp_path / "text").write_text("\n\n".join("\n".join(document) for document in documents) + "\n")
    assert (
        cli.run(["translate", str(tmp_path / "text"), "--model", str(folder), "--mode", "stream", "--window", "2"]) == 0
    )
    translated = Translator.load(folder, device="cpu").translate_documents(documents, mode="stream", window=2)
    assert capsys.readouterr().out == "\n\n".join("\n".join(document) for document in translated) + "\n"
