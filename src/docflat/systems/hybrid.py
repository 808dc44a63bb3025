"""Hybrid: local and global context (Zheng et al., 2020, Towards Making the Most of Context in NMT).

The encoder reads sentences one by one; a global layer on top lets each attend to all sentences of its group, at most
20, with keys and values that know how many sentences lie between, and a gate mixes both. The decoder goes on from the
sentence before: each of its layers also attends to the states of that one, detached.

Not as in the original: post-norm, since all systems start from one sentence model; positions count from the start of
each sentence, and the decoder tells the sentence before by a vector added to its states, where the original has
relative positions; the index token of each sentence is its segment embedding; the recurrence goes as far back as the
row's local context.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory
from docflat.model.layers import Attending, Attention, DecoderLayer, FeedForward, Gate, Norm, Reach, attend
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems.options import MOST_SENTENCES

_MARKS = 24  # no fewer than that, and heads stay a multiple of 8 wide


class RecurrentDecoderLayer(DecoderLayer):
    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__(dim, heads, feed_forward, dropout)
        self.before = nn.Parameter(torch.zeros(dim))  # marks states of the sentence before

    def attend(self, x: Tensor, attending: Attending) -> Tensor:
        return attending.self_attention(self.attention, x, "previous", earlier=x.detach() + self.before)


class GlobalLayer(nn.Module):
    """Tokens attend to the current sentences of their group; keys and values know the distance in sentences."""

    def __init__(self, sizes: ModelSizes, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(sizes.dim, sizes.heads)
        size = sizes.dim // sizes.heads
        # From 20 sentences ahead to 20 back.
        self.distance_keys = nn.Parameter(torch.randn(2 * MOST_SENTENCES + 1, size) * size**-0.5)
        self.distance_values = nn.Parameter(torch.zeros(2 * MOST_SENTENCES + 1, size))
        self.gate = Gate(sizes.dim, 2)
        self.norm = Norm(sizes.dim)
        self.feed_forward = FeedForward(sizes.dim, sizes.feed_forward)
        self.feed_forward_norm = Norm(sizes.dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, side: Side) -> Tensor:
        """(tokens, dim) -> (tokens, dim)."""
        read = self.dropout(self.read(x, side))
        opening = self.gate(x, read)
        x = self.norm(opening * x + (1 - opening) * read)
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))

    def read(self, x: Tensor, side: Side) -> Tensor:
        """Attention with q (k + a) for logits and v + b for values, a and b by the distance in sentences.

        A key says by a 1 in one of its extra dimensions which sentence of the group it is of, and a query has q a for
        each of them in the same place: one plain attention then does it all, and the extra dimensions of its result
        say how much weight each sentence got, which is what b needs.
        """
        keys = x[side.current]
        asked, known = sentence_in_group(side)
        index = (asked[:, None] - torch.arange(_MARKS, device=x.device)).clamp(-MOST_SENTENCES, MOST_SENTENCES)
        index = (index + MOST_SENTENCES)[:, None].expand(-1, self.attention.heads, -1)  # (tokens, heads, marks)

        query = self.attention.queries(x)
        key, value = self.attention.keys_values(keys)
        mark = nn.functional.one_hot(known, _MARKS).to(key.dtype)[:, None].expand(-1, self.attention.heads, -1)
        by_distance = (query @ self.distance_keys.to(query.dtype).T).gather(2, index)
        size = query.shape[-1]
        wide_query = torch.cat([query, by_distance], dim=-1) * ((size + _MARKS) / size) ** 0.5
        wide_key, wide_value = (torch.cat([part, mark], dim=-1) for part in (key, value))
        read_and_weights = attend(wide_query, wide_key, wide_value, side.group_tokens, side.groups)
        read, weights = read_and_weights.split([size, _MARKS], dim=-1)
        distances = weights.new_zeros(*weights.shape[:2], len(self.distance_values)).scatter_add(2, index, weights)
        return self.attention.join(read + distances @ self.distance_values.to(read.dtype))


def sentence_in_group(side: Side) -> tuple[Tensor, Tensor]:
    """Which sentence of its group each token is of, (tokens,), below 0 before the first; and each current token."""
    row = side.row_pieces.number(len(side.pieces))  # (pieces,)
    current = side.row_pieces.starts[1:].long() - 1  # (rows,) which piece is the current sentence
    first = current[side.group_rows.starts[:-1].long()][side.group_rows.number(len(side.rows))]
    in_group = (side.piece_places - side.piece_places[first][row])[side.pieces.number(len(side.tokens))]
    return in_group, in_group[side.current]


class Hybrid(Transformer):
    reach: ClassVar[Reach] = "sentence"
    paired: ClassVar[bool] = True
    restarts: ClassVar[bool] = True

    def __init__(self, sizes: ModelSizes, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__(sizes, vocabulary, dropout)
        self.global_layer = GlobalLayer(sizes, dropout)

    def decoder_layer(self, number: int) -> type[DecoderLayer]:
        return RecurrentDecoderLayer

    def encode(self, source: Side) -> Memory:
        return Memory.of_side(self.global_layer(self.encode_layers(source), source), source)
