"""Quantisation: int8 weights for CPUs, as a pass over a model that is loaded, or while it is loaded.

Weights are rounded to 8 bits, each output with a scale of its own; what comes in is rounded as it comes, by the range
it has, in the whole batch: what is in a batch changes the last bits of its results. Products are then whole numbers,
which CPUs multiply several times as fast. Embeddings, norms, attention and everything else stay in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from docflat.model.layers import Attention, DecoderLayer, Embedding, EncoderLayer, FeedForward, Gate, fold, linear_of
from docflat.model.ssru import SSRU
from docflat.model.transformer import Transformer
from docflat.support.errors import InputError
from docflat.systems.docflat import FlatBatchAttention
from docflat.weights import int8_files
from docflat.weights.folders import ModelFolder, check_fit, load_empty, tensors_of
from docflat.weights.int8_files import SCALE, rounded_of
from docflat.weights.stored import read_stored

Rounded = tuple[Tensor, Tensor]  # a matrix in int8, and the scale of each row
Known = Mapping[Tensor, Rounded]  # parameters that are in 8 bits already; they themselves need not have values
NOTHING: Known = {}

# What the layers of every system are asked for as a whole; of the attention to the source, parts are.
WHOLE = (
    "attention.qkv",
    "attention.output",
    "recurrence.both",
    "source_attention.output",
    "feed_forward.inner",
    "feed_forward.outer",
)


class Int8Weight:
    """A matrix (outputs, inputs) in 8 bits, packed for the processor."""

    def __init__(self, rounded: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        """rounded (outputs, inputs) int8, scale (outputs,)."""
        self.packed = torch.ops.onednn.qlinear_prepack(rounded.contiguous(), None)
        self.scale, self.zeros = scale.contiguous(), torch.zeros(len(scale), dtype=torch.int32)
        self.bias = None if bias is None else bias.contiguous()
        # Without these instructions sums of products overflow 16 bits: inputs then have 7 bits.
        self.steps = 255 if torch.cpu._is_vnni_supported() else 127

    def __call__(self, x: Tensor, relu: bool = False) -> Tensor:
        """(..., inputs) -> (..., outputs)."""
        shape = (*x.shape[:-1], len(self.scale))
        if not x.numel():
            return x.new_zeros(shape)
        low, high = (float(end) for end in torch.aminmax(x))
        if not isfinite(high - low):
            raise InputError("the model computes numbers that are infinite or none: its weights are damaged")
        step = max(max(high, 0.0) - min(low, 0.0), 1e-12) / self.steps
        zero = round(-min(low, 0.0) / step)
        numbers = x.reshape(-1, x.shape[-1]).mul(1 / step).add_(zero + 0.5).clamp_(0, self.steps).to(torch.uint8)
        quantized = (numbers, step, zero, self.packed, self.scale, self.zeros, self.bias)
        made = torch.ops.onednn.qlinear_pointwise(*quantized, 1.0, 0, torch.float32, "relu" if relu else "none", [], "")
        return cast("Tensor", made).view(shape)


def rounded(linear: nn.Linear, known: Known) -> Rounded:
    return known[linear.weight] if linear.weight in known else round_rows(linear.weight.detach())


def round_rows(weight: Tensor) -> Rounded:
    matrix, scale = int8_files.round_rows(weight.numpy())
    return torch.from_numpy(matrix), torch.from_numpy(scale)


def widen(rounded: Tensor, scale: Tensor) -> Tensor:
    return rounded.float() * scale[:, None]


class Int8Linear(nn.Module):
    """In the place of nn.Linear and SplitLinear."""

    def __init__(self, linear: nn.Linear, known: Known = NOTHING) -> None:
        super().__init__()
        self.rounded, self.scale = rounded(linear, known)
        self.bias = None if linear.bias is None else linear.bias.detach()
        self.packed: dict[tuple[int, int], Int8Weight] = {}  # by outputs: made when first asked for

    def forward(self, x: Tensor) -> Tensor:
        return self.some(x, 0, len(self.scale))

    def some(self, x: Tensor, start: int, end: int, relu: bool = False) -> Tensor:
        """Its outputs start:end only."""
        return self.part(start, end)(x, relu)

    def part(self, start: int, end: int) -> Int8Weight:
        """What makes these outputs."""
        if (start, end) not in self.packed:
            bias = None if self.bias is None else self.bias[start:end]
            self.packed[start, end] = Int8Weight(self.rounded[start:end], self.scale[start:end], bias)
        return self.packed[start, end]


class Int8FeedForward(nn.Module):
    """In the place of FeedForward."""

    def __init__(self, plain: FeedForward, known: Known = NOTHING) -> None:
        super().__init__()
        self.inner, self.outer = Int8Linear(plain.inner, known), Int8Linear(plain.outer, known)
        self.activation = plain.activation

    def forward(self, x: Tensor) -> Tensor:
        if self.activation == "swish":
            return self.outer(nn.functional.silu(self.inner(x)))
        return self.outer(self.inner.some(x, 0, len(self.inner.scale), relu=True))


class Int8Gate(Int8Linear):
    """In the place of Gate."""

    def forward(self, *inputs: Tensor) -> Tensor:
        return super().forward(torch.cat(inputs, dim=-1)).sigmoid()


class Int8Embedding(Embedding):
    """Looks tokens up as before; writes logits with 8 bits."""

    def __init__(self, embedding: Embedding, known: Known = NOTHING) -> None:
        nn.Module.__init__(self)
        self.text_size, self.weight, self.bias = embedding.text_size, embedding.weight, embedding.bias
        self.factor, self.last_frequency = embedding.factor, embedding.last_frequency
        self.scale: Tensor | None = None  # of each row, where the table is in 8 bits: what is looked up is made wide
        if embedding.weight in known:
            table, self.scale = known[embedding.weight]
            self.weight = nn.Parameter(table, requires_grad=False)
            self.packed = Int8Weight(table[: self.text_size], self.scale[: self.text_size], self.bias)
        else:
            self.packed = Int8Weight(*round_rows(self.weight[: self.text_size].detach()), self.bias)

    def rows(self, tokens: Tensor) -> Tensor:
        if self.scale is None:
            return super().rows(tokens)
        return self.weight[tokens].float() * self.scale[tokens][..., None]

    def logits(self, states: Tensor) -> Tensor:
        return self.packed(states)


def has_int8() -> bool:
    """Whether this build of torch has int8 products for this processor."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.onednn, "qlinear_pointwise")


def quantize(model: Transformer, known: Known = NOTHING) -> None:
    """Give a model, on a CPU and in float32, int8 products."""
    if not has_int8():
        raise InputError("this build of torch has no int8 products for this processor; use fp32")
    for module in list(model.modules()):
        if isinstance(module, FlatBatchAttention) and module.options.gate != "identity":
            # Of rounded matrices: then a model whose file is in 8 bits has the same one.
            wide = (linear_of(widen(*rounded(x, known)), x.bias) for x in (module.attention.output, module.gate))
            module.folded = Int8Linear(fold(*wide))
        if isinstance(module, Attention | SSRU):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.Linear):
                    setattr(module, name, Int8Linear(child, known))
        for name, child in list(module.named_children()):
            if isinstance(child, Gate):
                setattr(module, name, Int8Gate(child, known))
            elif isinstance(child, FeedForward):
                setattr(module, name, Int8FeedForward(child, known))
    model.embedding = Int8Embedding(model.embedding, known)
    if model.separate_embedding is not None:
        model.separate_embedding = Int8Embedding(model.separate_embedding, known)
    # Packing takes longer than the first sentence, and one core; it is done now, on all of them.
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        list(pool.map(lambda needed: needed[0].part(*needed[1:]), list(_needed(model))))


def _needed(model: Transformer) -> Iterator[tuple[Int8Linear, int, int]]:
    """Of the layers, what every sentence asks for."""
    for layer in model.modules():
        if isinstance(layer, EncoderLayer | DecoderLayer):
            for name, part in layer.named_modules():
                if not isinstance(part, Int8Linear):
                    continue
                size, third = len(part.scale), len(part.scale) // 3
                parts = [(0, size)] if name in WHOLE else []
                if name == "source_attention.qkv":  # of the target queries, of the source keys and values
                    parts = [(0, third), (third, size)]
                yield from ((part, start, end) for start, end in parts)


def load_int8(folder: Path) -> ModelFolder:
    """`load_model`, with int8 products. What is stored in 8 bits goes into them as it is, with no wide copy between."""
    path = folder / "model.safetensors"
    loaded, stored = load_empty(folder), read_stored(path)
    model = loaded.model
    matrices = {name: (torch.from_numpy(x), torch.from_numpy(scale)) for name, (x, scale) in rounded_of(stored).items()}
    weights = tensors_of({name: array for name, array in stored.items() if not name.endswith(SCALE)})
    check_fit(model, weights, path)
    model.load_state_dict({name: weights[name] for name in weights.keys() - matrices.keys()}, strict=False, assign=True)
    model.float()  # a file may be in half precision
    quantize(model, {parameter: matrices[name] for name, parameter in model.named_parameters() if name in matrices})
    left = [name for name, tensor in model.state_dict().items() if tensor.is_meta]  # what has no int8 products
    model.load_state_dict({name: widen(*matrices[name]) for name in left}, strict=False, assign=True)
    return loaded
