"""DocFlat: flat-batch attention and a neural context gate (Wu et al., EACL 2023).

Between embedding and first layer, the current sentences of all rows of a document are laid out as one sequence; one
attention over it lets every sentence read all the others, and a gate decides, per token and dimension, how much of what
it read replaces the embedding. With H the embeddings of that sequence:

    A = MultiHead(H, H, H)                  on the target side no token reads a later one
    g = sigmoid(W A + b)
    docflat-c:  H' = LN((1 - g) * H + g * A)
    docflat-d:  the same with 1 in the place of g where g >= gamma, 0 elsewhere
    docflat-i:  H' = LN(H + A)

The rest is `doc2doc`. What decoding needs beside this is in `docflat_decoding`.

Where the paper is silent: the discrete gate trains with a straight-through gradient; documents in one batch do
not see each other (`document_mask: false` restores the paper); tokens of the local context pass by unchanged.
Not as in the paper: at most 32 rows see each other, about what its batch of 4096 tokens holds, because ours are larger
(`window: 0`: all); the discrete gate starts closed, because half open it replaces half of every embedding at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, SideAttending
from docflat.model.cache.decoding_state import CachedContext, GlobalContext, KeysValues, Mixer
from docflat.model.cache.hypotheses import Paths
from docflat.model.layers import Attention, Gate, attend, fold, is_inference
from docflat.model.segments import Segments
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems.docflat_decoding import FlatMixer, mix_among, show_rows
from docflat.systems.options import DocFlatOptions

CLOSED = -4.0  # bias of a gate that lets nearly nothing through


def blend(x: Tensor, read: Tensor, opening: Tensor) -> Tensor:
    """(1 - opening) x + opening read; (..., dim) each. Autocast may have made what was read of another type."""
    return torch.lerp(x, read.to(x.dtype), opening.to(x.dtype))


def put(x: Tensor, where: Tensor, new: Tensor) -> Tensor:
    """x (tokens, dim) with other rows at some places; written over where no gradient will ask for it."""
    copy = Tensor.index_copy_ if is_inference() else Tensor.index_copy
    return copy(x, 0, where, new.to(x.dtype))


class FlatBatchAttention(nn.Module):
    """Attention over the flat sequence and the gate."""

    def __init__(self, dim: int, heads: int, options: DocFlatOptions) -> None:
        super().__init__()
        self.options = options
        self.attention = Attention(dim, heads)
        # What was read and what the gate makes of it, before its sigmoid, in one product; None while it is trained.
        self.folded: nn.Module | None = None
        if options.gate != "identity":
            # Half open is no shock to the continuous gate: the layer norm takes the common factor out. The discrete
            # one would replace half of every embedding at once, so it starts closed.
            default = 0.0 if options.gate == "continuous" else -1.0
            self.gate = Gate(dim, 1, default if options.gate_bias is None else options.gate_bias)

    def close(self) -> None:
        """Read nothing at first, and let little of it through; a gate that was told where to start stays there."""
        with torch.no_grad():
            nn.init.zeros_(self.attention.output.weight)
            if self.options.gate == "continuous" and self.options.gate_bias is None:
                nn.init.constant_(self.gate.bias, CLOSED)

    def fold(self) -> None:
        """From now on output and gate are one product: for weights that will not change."""
        if self.options.gate != "identity":
            self.folded = fold(self.attention.output, self.gate)

    def openings(self, read: Tensor) -> Tensor:
        """How far the gate opens for what was read: (..., dim) -> (..., dim) between 0 and 1."""
        return self.opened(self.gate(read))

    def opened(self, opening: Tensor) -> Tensor:
        """The same for what the gate says."""
        if self.options.gate == "discrete":
            # Straight through: the step goes forward, the sigmoid's gradient goes back.
            opening = (opening >= self.options.gamma).to(opening.dtype) + (opening - opening.detach())
        return opening

    def mix(self, x: Tensor, read: Tensor) -> Tensor:
        """Embedding and what attention read, before the layer norm; (..., dim) each."""
        if self.options.gate == "identity":
            return x + read
        return blend(x, read, self.openings(read))

    def mix_heads(self, x: Tensor, mixed: Tensor) -> Tensor:
        """`mix` of what the heads read, (..., heads, size), which the attention's output has not joined yet."""
        if self.folded is None:
            return self.mix(x, self.attention.join(mixed))
        read, opening = self.folded(mixed.flatten(-2)).chunk(2, dim=-1)
        return blend(x, read, self.opened(opening.sigmoid()))

    def flat(self, side: Side) -> tuple[Tensor, Segments]:
        """Which tokens make up the flat sequence, and which stretches of it see each other."""
        if self.options.scope == "current":
            return side.current, side.groups
        return torch.arange(len(side.tokens), device=side.tokens.device), side.group_tokens

    def forward(self, x: Tensor, side: Side, causal: bool) -> Tensor:
        """(tokens, dim) -> (tokens, dim), before the layer norm."""
        kind = x.device.type
        if torch.is_autocast_enabled(kind):
            x = x.to(torch.get_autocast_dtype(kind))  # as the layers will read it: half as much to copy
        where, groups = self.flat(side)
        flat = x[where]
        mixed = attend(*self.attention.project(flat), groups, groups, causal)
        return self.put_mixed(x, where, flat, mixed)

    def put_mixed(self, x: Tensor, where: Tensor, states: Tensor, mixed: Tensor) -> Tensor:
        """x (tokens, dim), its tokens at these places mixed: states (some, dim), and what their heads read."""
        return put(x, where, self.mix_heads(states, mixed))

    def compile(self, *_: Any, **__: Any) -> None:
        """Not by itself: it is compiled with what stands around it (`start_source`), which it would cut in pieces."""

    def rows(self, side: Side) -> Segments:
        """Over the flat sequence: one segment a row."""
        return side.sentences if self.options.scope == "current" else side.rows


def fold_gates(model: Transformer) -> None:
    """For a model that only translates from now on."""
    for module in model.modules():
        if isinstance(module, FlatBatchAttention):
            module.fold()


class DocFlat(Transformer):
    recordable: ClassVar[bool] = True

    def __init__(
        self, sizes: ModelSizes, vocabulary: Vocabulary, options: DocFlatOptions, dropout: float = 0.0
    ) -> None:
        super().__init__(sizes, vocabulary, dropout)
        self.source_flat = FlatBatchAttention(sizes.dim, sizes.heads, options) if options.encoder else None
        self.target_flat = FlatBatchAttention(sizes.dim, sizes.heads, options) if options.decoder else None
        self.sees_growing = options.decoder

    def start_quietly(self) -> None:
        """Gates begin nearly closed: without the norm, half of what they let through would be missing."""
        super().start_quietly()
        for flat in (self.source_flat, self.target_flat):
            if flat is not None:
                flat.close()

    def mix_source(self, x: Tensor, side: Side) -> Tensor:
        if self.source_flat is not None:
            x = self.source_flat(x, side, causal=False)
        return self.source_norm(x)

    def mix_target(self, x: Tensor, side: Side, memory: Memory) -> Tensor:
        if self.target_flat is not None:
            x = self.target_flat(x, side, causal=True)
        return self.target_norm(x)

    def show_source(self, side: Side) -> list[KeysValues]:
        return self._show(self.source_flat, self.embed(side), side)

    def show_target(self, side: Side) -> list[KeysValues]:
        return self._show(self.target_flat, self.embed_target(side), side)

    def _show(self, flat: FlatBatchAttention | None, x: Tensor, side: Side) -> list[KeysValues]:
        if flat is None:
            return [KeysValues(x[:0], x[:0])] * len(side.rows)
        return show_rows(flat, x, side)

    def encode_among(self, source: Side, shown: Sequence[Sequence[KeysValues]]) -> Memory:
        x = self.embed(source)
        if self.source_flat is not None:
            x = mix_among(self.source_flat, x, source, shown)
        x = self.source_norm(x)
        attending = SideAttending(source, causal=False)
        for layer in self.encoder:
            x = layer(x, attending)
        return Memory.of_side(x, source)

    def start_mix(
        self, x: Tensor, prefix: Side, memory: Memory, paths: Paths, context: GlobalContext | CachedContext | None
    ) -> tuple[Tensor, Mixer | None]:
        if self.target_flat is None:
            return self.target_norm(x), None
        if isinstance(context, CachedContext):
            mixed, mixer = FlatMixer.after(self, self.target_flat, x, prefix, paths, context)
            return self.target_norm(mixed), mixer
        mixed, mixer = FlatMixer.start(self, self.target_flat, x, prefix, paths, context)
        return self.target_norm(mixed), mixer

    def step_mix(self, x: Tensor, mixer: Mixer | None) -> Tensor:
        return mixer.step(x) if isinstance(mixer, FlatMixer) else self.target_norm(x)
