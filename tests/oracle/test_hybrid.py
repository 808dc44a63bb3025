"""Hybrid against a slow transcription of its equations, token by token in float64.

Global layer: a token of sentence m attends to every token of the current sentences n of its group, with logits
q . (k + a_d) / sqrt(size) and values v + b_d, d = m - n, at most 20 either way; x' = LN(g x + (1 - g) y),
g = sigmoid(A x + B y + b), then the feed-forward sublayer. Decoder: keys and values of a layer are, before the
sentence's own, those of the states of the sentence before, as constants, with a vector added.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import EOS, Document, batch_of, build, random_documents, slow_attention
from slow import (
    assert_same_gradients,
    embedded,
    encoded,
    feed_forward,
    gate_of_two,
    gradients,
    logits_of,
    normed,
    plus,
    read_all,
    start_symbol,
)


def read_globally(layer: Any, x: Tensor, number: int, sentences: list[Tensor]) -> list[Tensor]:
    """Tokens x (tokens, dim) of sentence `number` of a group, counted from its first, read all current sentences."""
    attention = layer.attention
    dim, heads = x.shape[1], attention.heads
    size = dim // heads
    (wq, wk, wv), (bq, bk, bv) = attention.qkv.weight.split(dim), attention.qkv.bias.split(dim)
    keys, values, distances = [], [], []
    for n, memory in enumerate(sentences):
        for m in memory:
            keys.append(wk @ m + bk)
            values.append(wv @ m + bv)
            distances.append(max(-20, min(20, number - n)) + 20)
    read = []
    for h in x:
        q = wq @ h + bq
        parts = []
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            k = [key[own] + layer.distance_keys[d] for key, d in zip(keys, distances, strict=True)]
            v = [value[own] + layer.distance_values[d] for value, d in zip(values, distances, strict=True)]
            scores = torch.stack([q[own] @ one / math.sqrt(size) for one in k])
            weights = scores.exp() / scores.exp().sum()
            parts.append(sum(weight * one for weight, one in zip(weights, v, strict=True)))
        read.append(attention.output.weight @ torch.cat(parts) + attention.output.bias)
    return read


def global_layer(layer: Any, x: Tensor, number: int, sentences: list[Tensor]) -> Tensor:
    mixed = []
    for h, y in zip(x, read_globally(layer, x, number, sentences), strict=True):
        g = gate_of_two(layer.gate, h, y)
        mixed.append(g * h + (1 - g) * y)
    x = normed(layer.norm, mixed)
    return normed(layer.feed_forward_norm, plus(x, feed_forward(layer.feed_forward, x)))


def decoded_in_turn(model: Any, targets: list[list[int]], memories: list[Tensor], detached: bool) -> Tensor:
    """The sentences of a target row, one after the other; the states of the last."""
    before: list[Tensor] = []  # what each layer read of the sentence before
    for tokens, memory in zip(targets, memories, strict=True):
        x = normed(model.target_norm, embedded(model, tokens))
        now = []
        for number, layer in enumerate(model.decoder):
            now.append(x.detach() if detached else x)
            old = before[number] + layer.before if before else x[:0]
            sees = [range(len(old) + n + 1) for n in range(len(x))]
            x = normed(layer.attention_norm, plus(x, slow_attention(layer.attention, x, torch.cat([old, x]), sees)))
            x = normed(layer.source_norm, plus(x, read_all(layer.source_attention, x, memory)))
            x = normed(layer.feed_forward_norm, plus(x, feed_forward(layer.feed_forward, x)))
        before = now
    return x


def literal_logits(
    model: Any, documents: list[Document], most: int = 3, window: int = 20, detached: bool = True
) -> Tensor:
    """Sentences are encoded one by one, each from position 0; those of the local context have no </s>."""
    rows = []
    for document in documents:
        current = [encoded(model, [start_symbol(i), *x, EOS]) for i, (x, _) in enumerate(document)]
        as_context = [encoded(model, [start_symbol(i), *x]) for i, (x, _) in enumerate(document)]
        for place in range(len(document)):
            first = place // window * window
            group = current[first : first + window]
            earlier = list(range(max(0, place - most), place))
            memories = [global_layer(model.global_layer, as_context[i], i - first, group) for i in earlier]
            memories.append(global_layer(model.global_layer, current[place], place - first, group))
            targets = [[start_symbol(i), *document[i][1]] for i in (*earlier, place)]
            rows.append(logits_of(model, decoded_in_turn(model, targets, memories, detached)))
    return torch.cat(rows)


def build_hybrid() -> Any:
    """With vectors for distances and the sentence before that show; some start at zero."""
    model: Any = build("hybrid")
    with torch.no_grad():
        model.global_layer.distance_keys.normal_(std=1.0)
        model.global_layer.distance_values.normal_(std=1.0)
        for layer in model.decoder:
            layer.before.normal_(std=1.0)
    return model


@pytest.mark.parametrize("window", [20, 2])
@pytest.mark.parametrize("context", [0, 1, 3])
def test_the_whole_model_is_its_equations(context: int, window: int) -> None:
    model = build_hybrid()
    documents = random_documents(np.random.default_rng(1), [5, 1, 3], longest=3)
    batch, _ = batch_of(documents, "hybrid", context=context, window=window)
    ours, expected = model.logits(batch), literal_logits(model, documents, context, window)
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-11)
    assert_same_gradients(model, ours, expected)


def test_the_largest_groups() -> None:
    """20 sentences, and a row whose local context is of the group before: distances beyond 20 count as 20."""
    model = build_hybrid()
    documents = random_documents(np.random.default_rng(1), [41], longest=1)
    batch, _ = batch_of(documents, "hybrid", window=20)
    assert batch.source.group_rows.starts.tolist() == [0, 20, 40, 41]
    with torch.no_grad():
        expected = literal_logits(model, documents)
        torch.testing.assert_close(model.logits(batch), expected, rtol=1e-11, atol=1e-11)


def test_the_sentence_before_is_detached() -> None:
    """The comparison of gradients can tell: where the recurrence learns, they are others."""
    model = build_hybrid()
    documents = random_documents(np.random.default_rng(1), [3], longest=3)
    batch, _ = batch_of(documents, "hybrid")
    ours, other = model.logits(batch), literal_logits(model, documents, detached=False)
    torch.testing.assert_close(ours, other, rtol=1e-11, atol=1e-11)
    found, attached = gradients(model, ours), gradients(model, other)
    for name in ("decoder.0.attention.qkv.weight", "target_norm.weight", "decoder.0.feed_forward.inner.weight"):
        assert (found[name] - attached[name]).norm() > 1e-2 * found[name].norm(), name
