"""Quantisation: int8 weights for CPUs, as a pass over a model that is loaded.

Weights are rounded to 8 bits, each output with a scale of its own; what comes in is rounded as it comes, by the range
it has, in the whole batch: what is in a batch changes the last bits of its results. Products are then whole numbers,
which CPUs multiply several times as fast. Embeddings, norms, attention and everything else stay in float32.
"""

from __future__ import annotations

import warnings
from copy import deepcopy

import torch
from torch import Tensor, nn

from docflat.compact import round_rows
from docflat.errors import InputError
from docflat.layers import Attention, Embedding, FeedForward, Gate, fold
from docflat.systems.docflat import FlatBatchAttention
from docflat.transformer import Transformer


class Int8Weight:
    """A matrix (outputs, inputs) in 8 bits, packed for the processor."""

    def __init__(self, rounded: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        """rounded (outputs, inputs) int8, scale (outputs,)."""
        engine = torch.backends.quantized.engine
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that quantised tensors may be replaced one day
            zero = torch.zeros(len(scale), dtype=torch.long)
            matrix = torch._make_per_channel_quantized_tensor(rounded, scale.double(), zero, 0)
        try:
            # Of the two kernels, the one is twice as fast for the tens of thousands of outputs of a vocabulary.
            if len(scale) >= 8192 and "onednn" in torch.backends.quantized.supported_engines:
                torch.backends.quantized.engine = "onednn"
            self.packed = torch.ops.quantized.linear_prepack(matrix, bias)
        finally:
            torch.backends.quantized.engine = engine
        # Without these instructions sums of products overflow 16 bits: inputs then have 7 bits.
        self.reduce_range = not torch.cpu._is_vnni_supported()

    def __call__(self, x: Tensor, relu: bool = False) -> Tensor:
        """(..., inputs) -> (..., outputs)."""
        product = torch.ops.quantized.linear_relu_dynamic if relu else torch.ops.quantized.linear_dynamic
        return product(x, self.packed, self.reduce_range)


class Int8Linear(nn.Module):
    """In the place of nn.Linear and SplitLinear."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.rounded, self.scale = round_rows(linear.weight.detach())
        self.bias = None if linear.bias is None else linear.bias.detach()
        self.packed: dict[tuple[int, int], Int8Weight] = {}  # by outputs: made when first asked for

    def forward(self, x: Tensor) -> Tensor:
        return self.some(x, 0, len(self.scale))

    def some(self, x: Tensor, start: int, end: int, relu: bool = False) -> Tensor:
        """Its outputs start:end only."""
        if (start, end) not in self.packed:
            bias = None if self.bias is None else self.bias[start:end]
            self.packed[start, end] = Int8Weight(self.rounded[start:end], self.scale[start:end], bias)
        return self.packed[start, end](x, relu)


class Int8FeedForward(nn.Module):
    """In the place of FeedForward."""

    def __init__(self, plain: FeedForward) -> None:
        super().__init__()
        self.inner, self.outer = Int8Linear(plain.inner), Int8Linear(plain.outer)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.inner.some(x, 0, len(self.inner.scale), relu=True))


class Int8Gate(Int8Linear):
    """In the place of Gate."""

    def forward(self, *inputs: Tensor) -> Tensor:
        return super().forward(torch.cat(inputs, dim=-1)).sigmoid()


def rounded(linear: nn.Linear) -> nn.Linear:
    """The same map, with a matrix that 8 bits hold."""
    whole, scale = round_rows(linear.weight.detach())
    same = deepcopy(linear)
    same.weight.data = whole * scale[:, None]
    return same


class Int8Embedding(Embedding):
    """Looks tokens up as before; writes logits with 8 bits."""

    def __init__(self, embedding: Embedding) -> None:
        nn.Module.__init__(self)
        self.text_size, self.weight = embedding.text_size, embedding.weight
        self.packed = Int8Weight(*round_rows(self.weight[: self.text_size].detach()), None)

    def logits(self, states: Tensor) -> Tensor:
        return self.packed(states)


def has_int8() -> bool:
    """Whether this build of torch has int8 products for this processor."""
    return hasattr(torch.ops.quantized, "linear_dynamic") and torch.backends.quantized.engine != "none"


def quantize(model: Transformer) -> None:
    """Give a model, on a CPU and in float32, int8 products."""
    if not has_int8():
        raise InputError("this build of torch has no int8 products for this processor; use fp32")
    for module in list(model.modules()):
        if isinstance(module, FlatBatchAttention) and module.options.gate != "identity":
            # Of rounded matrices: then a model whose file is in 8 bits has the same one.
            module.folded = Int8Linear(fold(rounded(module.attention.output), rounded(module.gate)))
        if isinstance(module, Attention):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.Linear):
                    setattr(module, name, Int8Linear(child))
        for name, child in list(module.named_children()):
            if isinstance(child, Gate):
                setattr(module, name, Int8Gate(child))
            elif isinstance(child, FeedForward):
                setattr(module, name, Int8FeedForward(child))
    model.embedding = Int8Embedding(model.embedding)
