"""FlatTrans: a unified encoder with a flat structure (Ma et al., 2020, A Simple and Effective Unified Encoder).

Context and current sentence are one sequence for the lower layers of the encoder, told apart by a segment embedding.
The top layer and the decoder see the current sentence only, so that what matters of the context must have been
taken over by then. The target side has no context.

Not from the original: five lower layers and one top layer of six is what we recall of it, unconfirmed; segment
embeddings start at zero, so that stage II starts where stage I ended.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, SegmentAttending, SideAttending
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems.options import FlatTransOptions


class FlatTrans(Transformer):
    recordable: ClassVar[bool] = True

    def __init__(
        self, sizes: ModelSizes, vocabulary: Vocabulary, options: FlatTransOptions, dropout: float = 0.0
    ) -> None:
        super().__init__(sizes, vocabulary, dropout)
        lone = sizes.encoder_layers == 1  # it must be the one that sees the context
        self.lower_layers = 1 if lone else sizes.encoder_layers - options.top_layers
        self.segments = nn.Parameter(torch.zeros(2, sizes.dim))  # of the context, of the current sentence

    def mix_source(self, x: Tensor, side: Side) -> Tensor:
        is_current = torch.zeros(len(x), dtype=torch.long, device=x.device).index_fill(0, side.current, 1)
        return self.source_norm(x + self.segments[is_current])

    def encode(self, source: Side) -> Memory:
        x = self.dropout(self.mix_source(self.embed(source), source))
        whole = SideAttending(source, causal=False)
        for layer in self.encoder[: self.lower_layers]:
            x = layer(x, whole)
        x = x[source.current]
        alone = SegmentAttending(source.sentences)
        for layer in self.encoder[self.lower_layers :]:
            x = layer(x, alone)
        return Memory.of_side(x, source.only_current())
