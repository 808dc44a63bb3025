"""G-Transformer against a slow transcription of its equations, row by row and token by token in float64.

A token reads its own sentence, a target token also the source sentence that its own one translates; in the decoder
it reads no later token. In the top two layers each attention has another of its own weights that reads the whole row:
g = sigmoid(W [near; wide] + b), g near + (1 - g) wide, then the residual and the layer norm as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import (
    EOS,
    MASK,
    SIZES,
    TEXT_SIZE,
    Document,
    Ids,
    LiteralRow,
    batch_of,
    build,
    layout_for,
    random_documents,
    rows_for,
    slow_attention,
    vocabulary_for,
)
from docflat.decoding.passes import Passes
from docflat.decoding.settings import DecodingSettings
from docflat.engines.torch.engine import TorchEngine
from docflat.systems import SYSTEMS
from slow import assert_same_gradients, embedded, feed_forward, gate_of_two, logits_of, normed, plus

TIGHT = {"rtol": 1e-10, "atol": 1e-10}
LAYERS = {  # of encoder and decoder; only the top two of each are gated
    "2 and 2": (2, 2),
    "4 and 3": (4, 3),
    "1 and 4": (1, 4),
}


def numbers(pieces: Sequence[Ids]) -> list[int]:
    """Which sentence of the row each token is of."""
    return [number for number, piece in enumerate(pieces) for _ in piece]


def gated(gate: Any, near: Sequence[Tensor], wide: Sequence[Tensor]) -> list[Tensor]:
    out = []
    for a, b in zip(near, wide, strict=True):
        g = gate_of_two(gate, a, b)
        out.append(g * a + (1 - g) * b)
    return out


def slow_encoder(model: Any, row: LiteralRow) -> Tensor:
    sentence = numbers(row.source_pieces)
    count = len(sentence)
    near = [[u for u in range(count) if sentence[u] == sentence[t]] for t in range(count)]
    wide = [list(range(count))] * count
    x = normed(model.source_norm, embedded(model, row.source))
    for number, layer in enumerate(model.encoder):
        read = slow_attention(layer.attention, x, x, near)
        if number >= len(model.encoder) - 2:
            read = gated(layer.row_gate, read, slow_attention(layer.row_attention, x, x, wide))
        x = normed(layer.attention_norm, plus(x, read))
        x = normed(layer.feed_forward_norm, plus(x, feed_forward(layer.feed_forward, x)))
    return x


def slow_decoder(model: Any, row: LiteralRow, memory: Tensor) -> Tensor:
    source, target = numbers(row.source_pieces), numbers(row.target_pieces)
    earlier = [list(range(t + 1)) for t in range(len(target))]
    near = [[u for u in seen if target[u] == target[t]] for t, seen in enumerate(earlier)]
    translated = [[u for u in range(len(source)) if source[u] == number] for number in target]
    everything = [list(range(len(source)))] * len(target)
    x = normed(model.target_norm, embedded(model, row.target))
    for number, layer in enumerate(model.decoder):
        top = number >= len(model.decoder) - 2
        read = slow_attention(layer.attention, x, x, near)
        if top:
            read = gated(layer.row_gate, read, slow_attention(layer.row_attention, x, x, earlier))
        x = normed(layer.attention_norm, plus(x, read))
        read = slow_attention(layer.source_attention, x, memory, translated)
        if top:
            wide = slow_attention(layer.source_row_attention, x, memory, everything)
            read = gated(layer.source_row_gate, read, wide)
        x = normed(layer.source_norm, plus(x, read))
        x = normed(layer.feed_forward_norm, plus(x, feed_forward(layer.feed_forward, x)))
    return x


def slow_logits(model: Any, rows: Sequence[LiteralRow]) -> Tensor:
    found = [slow_decoder(model, row, slow_encoder(model, row))[row.target_before :] for row in rows]
    return logits_of(model, torch.cat(found))


def ragged_documents(seed: int, sizes: Sequence[int]) -> list[Document]:
    """With empty sentences among them: as context they are a start symbol and nothing else."""
    documents = random_documents(np.random.default_rng(seed), sizes)
    documents[0][1] = ([], documents[0][1][1])
    documents[0][2] = (documents[0][2][0], [])
    return documents


@pytest.mark.parametrize("layers", LAYERS)
def test_the_whole_model_is_the_equations(layers: str) -> None:
    encoder_layers, decoder_layers = LAYERS[layers]
    model = build("gtrans", sizes=replace(SIZES, encoder_layers=encoder_layers, decoder_layers=decoder_layers))
    for seed in range(2):
        batch, rows = batch_of(ragged_documents(seed, [5, 1]), "gtrans")
        assert {len(row.context) for row in rows} == {0, 3}
        with torch.no_grad():
            torch.testing.assert_close(model.logits(batch), slow_logits(model, rows), **TIGHT)


def test_gradients_are_those_of_the_equations() -> None:
    model = build("gtrans")
    batch, rows = batch_of(ragged_documents(3, [4]), "gtrans", context=2)
    assert_same_gradients(model, model.logits(batch), slow_logits(model, rows))


def other_words(words: Ids) -> Ids:
    return [MASK + 1 + (word - MASK) % (TEXT_SIZE - MASK - 1) for word in words]


@pytest.mark.parametrize("layers", LAYERS)
def test_only_the_top_two_layers_see_the_row(layers: str) -> None:
    """With its gates all the way open, the model cannot tell what the context says."""
    encoder_layers, decoder_layers = LAYERS[layers]
    model: Any = build("gtrans", sizes=replace(SIZES, encoder_layers=encoder_layers, decoder_layers=decoder_layers))
    gates = [name for name, _ in model.named_modules() if name.endswith("gate")]
    assert len(gates) == min(2, encoder_layers) + 2 * min(2, decoder_layers)
    documents = random_documents(np.random.default_rng(0), [3])
    batch, rows = batch_of(documents, "gtrans")
    # As many words as before, so that positions stay: only what is read of them can change the logits.
    changed = [[(other_words(x), other_words(y)) for x, y in documents[0][:-1]] + documents[0][-1:]]
    again, _ = batch_of(changed, "gtrans")
    last = slice(-len(rows[-1].labels), None)
    with torch.no_grad():
        assert not torch.allclose(model.logits(batch)[last], model.logits(again)[last], atol=1e-3)
        for name in gates:
            model.get_submodule(name).bias.fill_(1000.0)
        assert torch.equal(model.logits(batch)[last], model.logits(again)[last])


def test_gates_start_by_glorot_and_half_open() -> None:
    """W of 2d x d: uniform up to sqrt(6 / (2d + d)), which is a standard deviation of sqrt(2 / 3d); b is zero."""
    dim = 64
    sizes = replace(SIZES, dim=dim)
    torch.manual_seed(0)
    model = SYSTEMS["gtrans"].build(sizes, vocabulary_for(TEXT_SIZE - MASK - 1), SYSTEMS["gtrans"].read_options({}))
    gates = [part for name, part in model.named_modules() if name.endswith("gate")]
    assert len(gates) == 6
    for gate in gates:
        assert isinstance(gate, torch.nn.Linear)
        assert gate.weight.shape == (dim, 2 * dim)
        assert not gate.bias.any()
        assert gate.weight.abs().max().item() == pytest.approx((6 / (3 * dim)) ** 0.5, rel=1e-2)
        assert gate.weight.std().item() == pytest.approx((2 / (3 * dim)) ** 0.5, rel=2e-2)


def test_a_translation_has_at_most_12_tokens_for_10_and_10_more() -> None:
    model = build("gtrans")
    assert [model.longest(n) for n in range(1000)] == [10 + 6 * n // 5 for n in range(1000)]


def test_a_model_that_never_ends_is_stopped_there() -> None:
    model: Any = build("gtrans")
    with torch.no_grad():
        end = model.embedding.weight[EOS]
        model.decoder[-1].feed_forward_norm.bias -= 100 * end / end.norm()
    passes = Passes(TorchEngine(model), layout_for("gtrans"), rows_for("gtrans"), DecodingSettings(beam=1))
    found = passes.sequential([[[5] * n for n in (1, 4, 5, 11)]], lambda sentences: None)
    assert [len(ids) for ids in found[0]] == [11, 14, 16, 23]
