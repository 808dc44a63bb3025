"""What words of a given translation read of their source: the weights of one layer's attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from docflat.data.flat_layout import FlatSide
from docflat.data.rows import Array
from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, TargetAttending
from docflat.model.layers import Attention, DecoderLayer, Reach
from docflat.model.transformer import Transformer


def source_attentions(model: Transformer) -> list[Attention]:
    """Of the layers that can be asked."""
    return [layer.source_attention for layer in model.decoder if isinstance(layer, DecoderLayer)]


@torch.inference_mode()
def source_weights(model: Transformer, source: FlatSide, target: FlatSide, layer: int) -> list[Array]:
    """As `Engine.source_weights`."""
    device = model.embedding.weight.device
    target_side = Side.of_flat(target).to(device)
    memory = model.encode(Side.of_flat(source).to(device))
    attending = RecordingAttending(target_side, memory, [source_attentions(model)[layer]])
    model.decode_layers(model.mix_target(model.embed_target(target_side), target_side, memory), attending)
    return [weights.double().cpu().numpy() for recorded in attending.recorded[:1] for weights in recorded]


class RecordingAttending(TargetAttending):
    """Remembers what its tokens read of the source. Weights are computed once more: kernels never hold them."""

    def __init__(self, side: Side, memory: Memory, watched: Sequence[Attention]) -> None:
        super().__init__(side, memory)
        self.watched = watched
        self.recorded: list[list[Tensor]] = []  # [watched][row]: (target tokens, source tokens), the mean of the heads

    def cross_attention(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        if reach != "context" and any(attention is one for one in self.watched):
            query, (key, _) = attention.queries(x), attention.keys_values(self.memory.states)
            query_ranges, key_ranges = (pairwise(rows.starts.tolist()) for rows in (self.side.rows, self.memory.rows))
            weights = []
            for (start, end), (first, last) in zip(query_ranges, key_ranges, strict=True):
                scores = (query[start:end].transpose(0, 1) @ key[first:last].permute(1, 2, 0)).float()
                weights.append((scores / math.sqrt(query.shape[-1])).softmax(-1).mean(0))
            self.recorded.append(weights)
        return super().cross_attention(attention, x, reach)
