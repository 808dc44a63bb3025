"""DocTransformer against a slow transcription of its equations, row by row in float64.

Context line C: the previous two source sentences, positions from 0 through the line, one encoder layer. In every layer
of encoder and decoder, after the attention to itself: y = attention(x, C), g = sigmoid(A x + B y), LN(g x + (1 - g) y).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import EOS, SIZES, Document, batch_of, build, random_documents, vocabulary_for
from docflat.model.transformer import Transformer
from docflat.systems.doctransformer import DocTransformer
from slow import (
    assert_same_gradients,
    embedded,
    encoder_layer,
    feed_forward,
    gate_of_two,
    logits_of,
    normed,
    plus,
    read_all,
    read_earlier,
    start_symbol,
)


def read_context(reader: Any, x: Tensor, context: Tensor) -> Tensor:
    mixed = []
    for h, y in zip(x, read_all(reader.attention, x, context), strict=True):
        g = gate_of_two(reader.gate, h, y)
        mixed.append(g * h + (1 - g) * y)
    return normed(reader.norm, mixed)


def literal_logits(model: Any, documents: list[Document], most: int = 2) -> Tensor:
    rows = []
    for document in documents:
        for place, (source, target) in enumerate(document):
            line = []
            for i in range(max(0, place - most), place):
                line += [start_symbol(i), *document[i][0]]
            if line:
                context = encoder_layer(model.context_layer, normed(model.source_norm, embedded(model, line)))
            else:  # nothing to read: the attention sums up to zero
                context = torch.zeros(0, model.sizes.dim, dtype=torch.float64)

            x = normed(model.source_norm, embedded(model, [start_symbol(place), *source, EOS]))
            for layer in model.encoder:
                x = normed(layer.attention_norm, plus(x, read_all(layer.attention, x, x)))
                x = read_context(layer.context, x, context)
                x = normed(layer.feed_forward_norm, plus(x, feed_forward(layer.feed_forward, x)))

            y = normed(model.target_norm, embedded(model, [start_symbol(place), *target]))
            for layer in model.decoder:
                y = normed(layer.attention_norm, plus(y, read_earlier(layer.attention, y)))
                y = read_context(layer.context, y, context)
                y = normed(layer.source_norm, plus(y, read_all(layer.source_attention, y, x)))
                y = normed(layer.feed_forward_norm, plus(y, feed_forward(layer.feed_forward, y)))
            rows.append(logits_of(model, y))
    return torch.cat(rows)


@pytest.mark.parametrize("sizes", [[4, 1, 3], [1, 1]], ids=["with context", "without any"])
def test_the_whole_model_is_its_equations(sizes: list[int]) -> None:
    model = build("doctransformer")
    documents = random_documents(np.random.default_rng(1), sizes)
    batch, _ = batch_of(documents, "doctransformer", context=2)
    ours, expected = model.logits(batch), literal_logits(model, documents)
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-11)
    assert_same_gradients(model, ours, expected)


def test_how_far_back_the_line_goes_matters() -> None:
    """The comparison above can tell one sentence of context from two: it is no small part of the logits."""
    model = build("doctransformer")
    documents = random_documents(np.random.default_rng(1), [4])
    with torch.no_grad():
        one, two = (literal_logits(model, documents, most) for most in (1, 2))
        ends = np.cumsum([len(y) + 1 for _, y in documents[0]])
        torch.testing.assert_close(one[: ends[1]], two[: ends[1]], rtol=0, atol=0)
        assert (one - two)[ends[1] :].abs().mean() > 1e-2
        batch, _ = batch_of(documents, "doctransformer", context=1)
        torch.testing.assert_close(model.logits(batch), one, rtol=1e-11, atol=1e-11)


def test_the_gate_has_no_bias() -> None:
    model: Transformer = build("doctransformer")
    gates = [name for name, _ in model.named_parameters() if ".gate." in name]
    assert gates == [f"{side}.{layer}.context.gate.weight" for side in ("encoder", "decoder") for layer in range(2)]


def test_what_is_read_of_the_context_is_not_dropped() -> None:
    """As in the original, which has dropout in the sentence model's own parts only."""
    model: Transformer = DocTransformer(SIZES, vocabulary_for(8), dropout=0.9)
    readers = [module for name, module in model.named_modules() if name.endswith(".context")]
    assert len(readers) == 4
    assert not [module for reader in readers for module in reader.modules() if isinstance(module, torch.nn.Dropout)]
