from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import batch_of, build, random_documents
from docflat.decoding.alignment import Aligner, _places, diagonal, find_links, find_words
from docflat.engines.torch.engine import on_torch
from docflat.engines.torch.source_weights import RecordingAttending
from docflat.model.layers import Attention, Reach
from docflat.weights.config import AlignmentView
from docflat.weights.folders import ModelFolder, load_model

MODEL = Path(__file__).parents[2] / "data" / "model-format-1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 3.5 (old).", ["It", "'", "s", "3", ".", "5", "(", "old", ")", "."]),
        ("我们很好。", ["我", "们", "很", "好", "。"]),
        ("カタä日bc", ["カ", "タ", "ä", "日", "bc"]),
        ("  ", []),
    ],
)
def test_words(text: str, words: list[str]):
    assert [text[start:end] for start, end in find_words(text)] == words


def test_words_of_both_sides_are_linked_first():
    # Only the place is known of the others: the middle word goes to the middle.
    assert find_links("In 2023 Maria left", "Maria ging 2023") == [(0, 1), (1, 2), (2, 0), (3, 1)]


def test_attention_decides_where_words_differ():
    weights = np.array([[0.1, 0.9, 0.0], [0.8, 0.1, 0.1]])  # (target, source)
    assert find_links("a b c", "x y", weights) == [(0, 1), (1, 0), (2, 1)]


def test_a_word_that_stands_for_nothing_is_not_linked():
    """The attention of the shipped model, rounded: "Sie" is in no word of the source, and no link of its own."""
    weights = np.array([[0.35, 0.04, 0.03], [0.09, 0.16, 0.17], [0.19, 0.44, 0.04], [0.05, 0.05, 0.44]])
    assert find_links("Click here.", "Klicken Sie hier.", weights) == [(0, 0), (1, 2), (2, 3)]
    weights[1, 1] = 0.4  # as good as the best: two words that stand for one
    assert find_links("Click here.", "Klicken Sie hier.", weights) == [(0, 0), (1, 1), (1, 2), (2, 3)]


def test_short_words_that_look_alike_are_not_taken_for_the_same():
    weights = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert find_links("in der", "in das", weights) == [(0, 1), (1, 0)]


def test_without_weights_words_go_to_those_that_are_as_far_in_the_sentence():
    """As the table of all pairs says, which is too large for long texts."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        source, target = (
            [["w" + "ab"[rng.integers(2)] * int(rng.integers(1, 4)), "Ann", "7"][rng.choice(3, p=[0.8, 0.1, 0.1])]
             for _ in range(rng.integers(1, 12))]
            for _ in range(2)
        )  # fmt: skip
        same = {
            (s, t)
            for word in {*source} & {*target}
            if (len(word) > 3 or not word.isalpha() or not word.islower()) and source.count(word) == target.count(word)
            for s, t in zip(
                [n for n, one in enumerate(source) if one == word],
                [n for n, one in enumerate(target) if one == word],
                strict=True,
            )
        }
        table = diagonal(len(source), len(target))
        table[:, [s for s, _ in same]] = -1
        table[[t for _, t in same]] = -1
        links = same | {(int(s), t) for t, s in enumerate(table.argmax(1)) if table[t, s] >= 0}
        missed = {*range(len(source))} - {s for s, _ in links}
        links |= {(s, int(table[:, s].argmax())) for s in missed if table[:, s].max() >= 0}
        assert find_links(" ".join(source), " ".join(target)) == sorted(links)


def test_the_links_of_a_long_text_take_no_table_of_all_pairs():
    text = "word " * 20_000
    tracemalloc.start()
    links = find_links(text, text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert links == [(n, n) for n in range(20_000)]
    assert peak < 64 << 20


def test_nothing_to_link():
    assert find_links("", "x") == []
    assert find_links("x", " ") == []
    assert diagonal(1, 1).tolist() == [[1.0]]


def test_places_of_subwords():
    assert _places("an ape", [" a", "n", " ap", "", "e"]) == [(0, 1), (1, 2), (3, 5), (0, 0), (5, 6)]
    assert _places('say "x"', [" say", " &quot;"]) == []


class Watching(RecordingAttending):
    """Remembers what the watched layer was asked with."""

    asked: torch.Tensor

    def cross_attention(self, attention: Attention, x: torch.Tensor, reach: Reach) -> torch.Tensor:
        if attention is self.watched[0]:
            self.asked = x
        return super().cross_attention(attention, x, reach)


@pytest.mark.parametrize("name", ["sent2sent", "doc2doc", "docflat-c", "docflat-i"])
@torch.no_grad()
def test_recorded_weights_are_those_of_the_equation(name: str):
    """softmax(q k / sqrt(d)) token by token, the mean of the heads."""
    model = build(name)
    batch, _ = batch_of(random_documents(np.random.default_rng(1), [3]), name, context=0)
    watched = model.decoder[1].source_attention
    memory = model.encode(batch.source)
    attending = Watching(batch.target, memory, [watched])
    model.decode_layers(model.mix_target(model.embed(batch.target), batch.target, memory), attending)
    ((first, *others),) = attending.recorded
    assert len(others) == 2
    dim = memory.states.shape[1]
    size = dim // watched.heads
    (wq, wk, _), (bq, bk, _) = watched.qkv.weight.split(dim), watched.qkv.bias.split(dim)
    for i in range(len(first)):
        q = wq @ attending.asked[i] + bq
        mean = torch.zeros(first.shape[1], dtype=torch.float64)
        for head in range(watched.heads):
            own = slice(head * size, (head + 1) * size)
            keys = [(wk @ memory.states[j] + bk)[own] for j in range(first.shape[1])]
            weights = [math.exp(float(q[own] @ k) / math.sqrt(size)) for k in keys]
            mean += torch.tensor([weight / sum(weights) for weight in weights], dtype=torch.float64) / watched.heads
        torch.testing.assert_close(first[i].double(), mean, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def folder() -> ModelFolder:
    return load_model(MODEL)


def test_an_aligner_has_a_weight_for_every_pair_of_words(folder: ModelFolder):
    pairs = [("mozi tuzes", "pasu sigis gake"), ("", "x"), ("a", "b c")]
    first, none, last = Aligner(on_torch(folder)).weights(pairs)
    assert none is None
    assert first is not None
    assert last is not None
    assert (first.shape, last.shape) == ((3, 2), (2, 1))
    assert (first >= 0).all()


def test_an_aligner_does_not_read_what_is_too_long(folder: ModelFolder):
    assert Aligner(on_torch(folder)).weights([("word " * 2000, "word")]) == [None]
    assert Aligner(on_torch(folder)).weights([]) == []


def test_an_aligner_looks_where_erasing_words_points(folder: ModelFolder, monkeypatch: pytest.MonkeyPatch):
    """Whichever view gives the same links as leaving words out is taken."""
    for layer in range(len(folder.model.decoder)):
        for reading in (True, False):
            aligner = Aligner(on_torch(folder))
            wanted = AlignmentView(layer, reading)

            def of_view(pairs: Any, view: AlignmentView, wanted: AlignmentView = wanted) -> Any:
                yield from (np.eye(3) if view == wanted else np.eye(3)[::-1] for _ in pairs)

            monkeypatch.setattr(aligner, "_erase", lambda pair: np.eye(3))
            monkeypatch.setattr(aligner, "_word_weights", of_view)
            assert aligner.view == wanted


def test_where_an_aligner_looks_can_be_said_by_the_folder(folder: ModelFolder):
    for reading in (True, False):
        said = AlignmentView(0, reading)
        config = replace(folder.config, alignment=said)
        assert Aligner(on_torch(ModelFolder(config, folder.subwords, folder.model))).view == said


def test_links_do_not_depend_on_sentences_before(folder: ModelFolder):
    """Nor does where the aligner looks."""
    pair = ("mozi tuzes suma", "pasu sigis gake")
    others = [("suma suma", "gake gake"), ("tuzes mozi mozi", "sigis pasu gake")]
    aligners = [Aligner(on_torch(folder)) for _ in range(2)]
    aligners[1].weights(others)
    alone, after = (aligner.weights([pair])[0] for aligner in aligners)
    assert alone is not None
    assert after is not None
    assert aligners[0].view == aligners[1].view
    assert np.array_equal(alone, after)
