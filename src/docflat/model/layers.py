"""Layers: attention over segments, gates, feed-forward, encoder and decoder layers (post-norm), embeddings.

Tensors of the flat layout are (tokens, dim). A layer says how far its attention reaches, not how it is done: it is
handed an `Attending` that does it, over a whole flat batch in training, over caches in decoding.
"""

from __future__ import annotations

import contextlib
import math
from functools import lru_cache
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from docflat.model.segments import Segments
from docflat.model.sizes import Architecture

kernels: Any = None
step_kernels: Any = None
if torch.cuda.is_available():
    with contextlib.suppress(ImportError):  # no Triton for this platform; the padded layout does the same, slower
        from docflat.model.kernels import decoding_step as step_kernels
        from docflat.model.kernels import segment_attention as kernels

# What a token sees of its own side: its row, its sentence alone, its sentence and the one before it.
# Of the source: the row, the sentence that its own one translates, or what was encoded apart as context.
Reach = Literal["row", "sentence", "previous", "context"]


def attend(
    query: Tensor, key: Tensor, value: Tensor, queries: Segments, keys: Segments, causal: bool = False
) -> Tensor:
    """Softmax attention of each query segment over the key segment of the same number.

    query (query tokens, heads, size), key and value (key tokens, heads, size) -> (query tokens, heads, size).
    causal: a token sees no later one of its segment (queries and keys are then the same segments).
    Where there is no key, the result is zero.
    """
    if not keys.longest:
        # Zeros that hang together with all three: DistributedDataParallel waits for the gradient of every parameter.
        return 0 * query + (key.sum() + value.sum())
    if has_kernel(query):
        kernel = kernels.plain_segment_attention if is_inference() else kernels.segment_attention
        flat: Tensor = kernel(query, key, value, queries.starts, keys.starts, causal)[0]
        return flat
    return attend_padded(query, key, value, queries, keys, causal)


def is_inference() -> bool:
    """No gradients, and nothing is compiled: the compiler itself cannot ask for the mode, and would cut its graph."""
    return not torch.compiler.is_compiling() and torch.is_inference_mode_enabled()


def is_recent(device: torch.device) -> bool:
    """Whether it is a GPU that Triton is made for."""
    # The compiler asks once, and would warn of the cache.
    ask = torch.cuda.get_device_capability if torch.compiler.is_compiling() else _known_capability
    return ask(device) >= (8, 0)


def has_kernels(x: Tensor) -> bool:
    """Half precision, and a GPU that is not too old."""
    if kernels is None or not x.is_cuda or x.dtype not in (torch.bfloat16, torch.float16):
        return False
    return is_recent(x.device)


def has_kernel(query: Tensor) -> bool:
    """And heads of a size that makes whole tiles."""
    return query.shape[-1] in (16, 32, 64, 128) and has_kernels(query)


_known_capability = lru_cache(torch.cuda.get_device_capability)  # a decoding asks hundreds of times


def has_step_kernel(query: Tensor, beam: int) -> bool:
    """Whether so many queries of a row may attend by `step_kernels`, which have no gradients."""
    return has_kernel(query) and beam <= step_kernels.MOST_QUERIES and not torch.is_grad_enabled()


def is_step(x: Tensor) -> bool:
    """Whether x, (..., dim), are newest tokens of hypotheses, (rows, beam, dim), and `step_kernels` may make them.

    Not tokens of the flat layout: outside of a recorded step, to launch such a kernel takes longer than torch's two.
    """
    return x.dim() == 3 and has_kernels(x) and not (torch.is_grad_enabled() or torch.is_autocast_enabled("cuda"))


def attend_padded(query: Tensor, key: Tensor, value: Tensor, queries: Segments, keys: Segments, causal: bool) -> Tensor:
    """`attend` by padding the segments, long and short ones apart where padding would be most of it."""
    if not keys.longest:
        return torch.zeros_like(query)
    tokens, padded = len(query) + len(key), len(queries) * (queries.longest + keys.longest)
    if padded > 3 * tokens:
        long = (2 * queries.lengths > queries.longest) | (2 * keys.lengths > keys.longest)
        if 0 < int(long.sum()) < len(long):
            result = torch.zeros_like(query)
            for part in (long, ~long):
                which = part.nonzero().squeeze(1)
                (at, some_queries), (other, some_keys) = queries.take(which), keys.take(which)
                read = attend_padded(query[at], key[other], value[other], some_queries, some_keys, causal)
                result = result.index_copy(0, at, read)
            return result
    # Padding stands at the end of a segment: the causal mask alone hides it from every real token.
    # Where there is no key at all, the zeros of the padding are seen: a softmax over nothing is no number.
    mask = None if causal else (keys.mask | (keys.lengths == 0)[:, None])[:, None, None, :]
    mixed = F.scaled_dot_product_attention(
        queries.pad(query).transpose(1, 2),
        keys.pad(key).transpose(1, 2),
        keys.pad(value).transpose(1, 2),
        attn_mask=mask,
        is_causal=causal,
    )  # (segments, heads, longest, size)
    return queries.unpad(mixed.transpose(1, 2), len(query))


class SplitLinear(nn.Linear):
    """Several linear maps in one, which can also be asked one by one."""

    def some(self, x: Tensor, start: int, end: int) -> Tensor:
        """Its outputs start:end only."""
        return F.linear(x, self.weight[start:end], self.bias[start:end])


class Norm(nn.LayerNorm):
    """Layer norm, computed in float32 and handed on as the linear layers will read it.

    Autocast by itself hands on float32: what runs between the layers would be twice as large, and be cast again.
    """

    def forward(self, x: Tensor) -> Tensor:
        kind = x.device.type
        if not torch.is_autocast_enabled(kind):
            return super().forward(x)
        # In words, because a CPU's autocast would norm in half precision: its gradients are a fifth too small.
        return super().forward(x.float()).to(torch.get_autocast_dtype(kind))

    def of_sum(self, x: Tensor, y: Tensor) -> Tensor:
        if is_step(x):
            both: Tensor = step_kernels.add_norm(x, y, self.weight, self.bias, self.eps)
            return both
        return self(x + y)


class Attention(nn.Module):
    """Multi-head attention: projections here, the attending itself is `attend` or a cache's."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = SplitLinear(dim, 3 * dim)  # one product for all three where they read the same
        self.output = nn.Linear(dim, dim)
        for part in self.qkv.weight.chunk(3):
            nn.init.xavier_uniform_(part)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.qkv.bias)
        nn.init.zeros_(self.output.bias)

    def split(self, x: Tensor) -> Tensor:
        """(..., dim) -> (..., heads, size)."""
        return x.unflatten(-1, (self.heads, -1))

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of x, (..., heads, size) each."""
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        return self.split(query), self.split(key), self.split(value)

    def queries(self, x: Tensor) -> Tensor:
        return self.split(self.qkv.some(x, 0, x.shape[-1]))

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        key, value = self.qkv.some(x, x.shape[-1], 3 * x.shape[-1]).chunk(2, dim=-1)
        return self.split(key), self.split(value)

    def join(self, mixed: Tensor) -> Tensor:
        """(..., heads, size) -> (..., dim)."""
        return self.output(mixed.flatten(-2))

    def over(self, x: Tensor, segments: Segments, causal: bool = False) -> Tensor:
        """Self-attention within segments: (tokens, dim) -> (tokens, dim)."""
        return self.join(attend(*self.project(x), segments, segments, causal))

    def across(self, x: Tensor, memory: Tensor, queries: Segments, keys: Segments) -> Tensor:
        """Attention to memory (key tokens, dim), segment by segment."""
        return self.join(attend(self.queries(x), *self.keys_values(memory), queries, keys))


class Gate(nn.Linear):
    """How far a gate opens, per dimension, for what it reads: sigmoid(W [inputs] + b)."""

    def __init__(self, dim: int, inputs: int, bias: float | None = 0.0) -> None:
        """bias: where it starts, 0 is half open; None: it has none."""
        super().__init__(inputs * dim, dim, bias=bias is not None)
        nn.init.xavier_uniform_(self.weight)
        if bias is not None:
            nn.init.constant_(self.bias, bias)

    def forward(self, *inputs: Tensor) -> Tensor:
        """(..., dim) each -> (..., dim) between 0 and 1."""
        return self.unsquashed(*inputs).sigmoid()

    def unsquashed(self, *inputs: Tensor) -> Tensor:
        """Before the sigmoid."""
        return super().forward(inputs[0] if len(inputs) == 1 else torch.cat(inputs, dim=-1))


def linear_of(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """The map with this matrix (outputs, inputs)."""
    linear = nn.Linear(weight.shape[1], weight.shape[0], device="meta")  # where nothing is drawn
    linear.weight = nn.Parameter(weight, requires_grad=False)
    linear.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)  # type: ignore[assignment]
    return linear


def fold(output: nn.Linear, gate: nn.Linear) -> nn.Linear:
    """One map instead of two: what `output` makes of x, and beside it what `gate` makes of that.

    (..., inputs) -> (..., outputs + gates). Wg (Wo x + bo) + bg = (Wg Wo) x + (Wg bo + bg).
    """
    with torch.no_grad():
        wide = gate.weight.double()
        weight = torch.cat([output.weight.double(), wide @ output.weight.double()])
        bias = torch.cat([output.bias.double(), wide @ output.bias.double() + gate.bias.double()])
    return linear_of(weight.to(output.weight), bias.to(output.weight))


class FeedForward(nn.Module):
    def __init__(self, dim: int, inner: int) -> None:
        super().__init__()
        self.activation: Literal["relu", "swish"] = "relu"
        self.inner = nn.Linear(dim, inner)
        self.outer = nn.Linear(inner, dim)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        if self.activation == "swish":
            return self.outer(F.silu(self.inner(x)))
        if is_step(x):  # in one product
            flat = torch._addmm_activation(self.inner.bias, x.flatten(0, 1), self.inner.weight.t())
            return self.outer(flat.unflatten(0, x.shape[:2]))
        return self.outer(F.relu(self.inner(x)))


class Attending(Protocol):
    """How the tokens at hand attend; x is (..., dim), and so is what comes back."""

    def self_attention(self, attention: Attention, x: Tensor, reach: Reach, earlier: Tensor | None = None) -> Tensor:
        """To their own side. earlier: what is seen of the sentence before, for the reach "previous"."""

    def cross_attention(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        """Of target tokens to the source."""

    def previous_attention(self, attention: Attention, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        """Of current tokens x to the words of each previous sentence by itself; states: of the whole side.

        Returns (..., distances, dim), and where there is such a sentence, (..., distances).
        """

    def recur(self, recurrence: Any, x: Tensor) -> Tensor:
        """The states of a recurrence (ssru.py) after target tokens."""


def drop(dropout: nn.Dropout, x: Tensor) -> Tensor:
    """In training; else to ask the module is all that it would do, twenty times a step."""
    return dropout(x) if dropout.training else x


class EncoderLayer(nn.Module):
    reach: Reach = "row"

    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(dim, heads)
        self.attention_norm = Norm(dim)
        self.feed_forward = FeedForward(dim, feed_forward)
        self.feed_forward_norm = Norm(dim)
        self.dropout = nn.Dropout(dropout)

    def attend(self, x: Tensor, attending: Attending) -> Tensor:
        """What its tokens read of each other: (..., dim)."""
        return attending.self_attention(self.attention, x, self.reach)

    def read_context(self, x: Tensor, attending: Attending) -> Tensor:
        """After that: nothing, but for a system whose layers read a context of their own."""
        return x

    def forward(self, x: Tensor, attending: Attending) -> Tensor:
        """(..., dim) -> (..., dim)."""
        x = self.attention_norm.of_sum(x, drop(self.dropout, self.attend(x, attending)))
        x = self.read_context(x, attending)
        return self.feed_forward_norm.of_sum(x, drop(self.dropout, self.feed_forward(x)))


class DecoderLayer(nn.Module):
    reach: Reach = "row"

    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(dim, heads)
        self.attention_norm = Norm(dim)
        self.source_attention = Attention(dim, heads)
        self.source_norm = Norm(dim)
        self.feed_forward = FeedForward(dim, feed_forward)
        self.feed_forward_norm = Norm(dim)
        self.dropout = nn.Dropout(dropout)

    def attend(self, x: Tensor, attending: Attending) -> Tensor:
        """What its tokens read of earlier ones: (..., dim)."""
        return attending.self_attention(self.attention, x, self.reach)

    def attend_source(self, x: Tensor, attending: Attending) -> Tensor:
        return attending.cross_attention(self.source_attention, x, self.reach)

    def read_context(self, x: Tensor, attending: Attending) -> Tensor:
        """Between the two: nothing, but for a system whose layers read a context of their own."""
        return x

    def forward(self, x: Tensor, attending: Attending) -> Tensor:
        """(..., dim) -> (..., dim)."""
        x = self.attention_norm.of_sum(x, drop(self.dropout, self.attend(x, attending)))
        x = self.read_context(x, attending)
        x = self.source_norm.of_sum(x, drop(self.dropout, self.attend_source(x, attending)))
        return self.feed_forward_norm.of_sum(x, drop(self.dropout, self.feed_forward(x)))


def angles_of_one(dim: int, last: int, device: torch.device) -> Tensor:
    """By how much position turns each pair of dimensions: (dim / 2,). last: the pair whose exponent would be 1.

    In float32 whatever the weights are in: bf16 cannot tell position 257 from 258.
    """
    powers = torch.arange(dim // 2, device=device) / last
    return 10_000.0**-powers


@lru_cache
def known_frequencies(dim: int, last: int, device: torch.device) -> Tensor:
    """The same, cached."""
    frequencies = angles_of_one(dim, last, device)
    if device.type == "cuda":  # others may ask for it on other streams
        torch.cuda.current_stream(device).synchronize()
    return frequencies


class Embedding(nn.Module):
    """Token and place, scaled as in the Transformer; the same table reads tokens and writes logits."""

    def __init__(self, size: int, text_size: int, dim: int, architecture: Architecture, bias: bool = False) -> None:
        """bias: of the logits."""
        super().__init__()
        self.text_size = text_size
        self.factor = math.sqrt(dim) if architecture.scaled_embedding else 1.0
        self.last_frequency = max(1, dim // 2 - (architecture.frequencies == "tensor2tensor"))
        self.weight = nn.Parameter(torch.empty(size, dim))
        self.bias = nn.Parameter(torch.zeros(text_size)) if bias else None
        nn.init.normal_(self.weight, std=dim**-0.5)

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """(...) ids and places in the row -> (..., dim)."""
        dim = self.weight.shape[1]
        plain = is_inference()
        # Training may be compiled, and keeps what it computes with.
        frequencies = (known_frequencies if plain else angles_of_one)(dim, self.last_frequency, positions.device)
        if plain and has_kernels(self.weight) and self.factor == math.sqrt(dim):
            flat = tokens.dim() == 1  # else newest tokens, a beam a row
            both = (tokens[:, None], positions[:, None]) if flat else (tokens, positions)
            embedded: Tensor = step_kernels.embed(*both, self.weight, frequencies)
            return embedded[:, 0] if flat else embedded
        rows = self.rows(tokens)
        angles = positions[..., None] * frequencies
        places = torch.cat([angles.sin(), angles.cos()], dim=-1)
        return rows * self.factor + places.to(rows.dtype)

    def rows(self, tokens: Tensor) -> Tensor:
        """The vectors of tokens: (...) -> (..., dim)."""
        return F.embedding(tokens, self.weight)

    @property
    def text_weight(self) -> Tensor:
        """(text_size, dim): index tokens start sentences, they are never predicted."""
        return self.weight[: self.text_size]

    def logits(self, states: Tensor) -> Tensor:
        """(..., dim) -> (..., text_size)."""
        return F.linear(states, self.text_weight, self.bias)
