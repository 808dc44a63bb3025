"""What the slow transcriptions of the systems share: layers for one sentence at a time, vector by vector.

Embeddings are the model's own: table and sinusoids have an oracle in test_transformer.py, and the sinusoids' float32
would cost the comparisons here their last eight digits. Which token stands at which position is said by the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from conftest import INDEX_TOKENS, TEXT_SIZE, slow_attention, slow_norm


def start_symbol(place: int) -> int:
    """The index token of a sentence of a document, both counted from 0."""
    return TEXT_SIZE + min(place, INDEX_TOKENS - 1)


def embedded(model: Any, tokens: Sequence[int]) -> Tensor:
    """Tokens at the positions 0, 1, 2, ...: (tokens, dim)."""
    return model.embedding(torch.tensor(tokens), torch.arange(len(tokens)))


def normed(norm: torch.nn.LayerNorm, x: Sequence[Tensor] | Tensor) -> Tensor:
    return torch.stack([slow_norm(norm, vector) for vector in x])


def plus(x: Tensor, y: Sequence[Tensor]) -> list[Tensor]:
    return [one + other for one, other in zip(x, y, strict=True)]


def read_all(attention: Any, x: Tensor, memory: Tensor) -> list[Tensor]:
    """Every query sees every key."""
    return slow_attention(attention, x, memory, [range(len(memory))] * len(x))


def read_earlier(attention: Any, x: Tensor) -> list[Tensor]:
    """Every token sees itself and what is before it."""
    return slow_attention(attention, x, x, [range(n + 1) for n in range(len(x))])


def feed_forward(module: Any, x: Sequence[Tensor] | Tensor) -> list[Tensor]:
    inner, outer = module.inner, module.outer
    return [outer.weight @ (inner.weight @ h + inner.bias).clamp(min=0) + outer.bias for h in x]


def sigmoid(x: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-x))


def gate_of_two(gate: Any, x: Tensor, y: Tensor) -> Tensor:
    """sigmoid(A x + B y [+ b]) for one token."""
    a, b = gate.weight.split(len(x), dim=1)
    total = a @ x + b @ y
    return sigmoid(total if gate.bias is None else total + gate.bias)


def encoder_layer(layer: Any, x: Tensor) -> Tensor:
    """One sentence through a layer of the Transformer: (tokens, dim)."""
    x = normed(layer.attention_norm, plus(x, read_all(layer.attention, x, x)))
    return normed(layer.feed_forward_norm, plus(x, feed_forward(layer.feed_forward, x)))


def decoder_layer(layer: Any, x: Tensor, memory: Tensor) -> Tensor:
    x = normed(layer.attention_norm, plus(x, read_earlier(layer.attention, x)))
    x = normed(layer.source_norm, plus(x, read_all(layer.source_attention, x, memory)))
    return normed(layer.feed_forward_norm, plus(x, feed_forward(layer.feed_forward, x)))


def encoded(model: Any, tokens: Sequence[int]) -> Tensor:
    """A sentence that the encoder reads by itself."""
    x = normed(model.source_norm, embedded(model, tokens))
    for layer in model.encoder:
        x = encoder_layer(layer, x)
    return x


def decoded(model: Any, tokens: Sequence[int], memory: Tensor) -> Tensor:
    """A sentence that the decoder writes by itself."""
    x = normed(model.target_norm, embedded(model, tokens))
    for layer in model.decoder:
        x = decoder_layer(layer, x, memory)
    return x


def logits_of(model: Any, states: Tensor) -> Tensor:
    return states @ model.embedding.weight[:TEXT_SIZE].T


def gradients(model: Any, logits: Tensor) -> dict[str, Tensor]:
    """Of every parameter, for a random error at every logit; zero where none comes."""
    upstream = torch.randn(logits.shape, generator=torch.Generator().manual_seed(5), dtype=logits.dtype)
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(logits, parameters, upstream, allow_unused=True)
    return {
        name: torch.zeros_like(parameter) if gradient is None else gradient
        for name, parameter, gradient in zip(names, parameters, found, strict=True)
    }


def assert_same_gradients(model: Any, ours: Tensor, expected: Tensor) -> None:
    wanted = gradients(model, expected)
    for name, gradient in gradients(model, ours).items():
        torch.testing.assert_close(
            gradient, wanted[name], rtol=1e-9, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}"
        )
