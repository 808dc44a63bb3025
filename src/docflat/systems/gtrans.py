"""G-Transformer: attention by groups (Bao et al., 2021, G-Transformer for Document-Level Machine Translation).

Every attention, of encoder, decoder and from one to the other, stays within a sentence and its translation. In the top
two layers each has a second one of its own weights that sees the whole row, and a gate mixes the two. This keeps
long inputs trainable, which plain attention over them was not.

Not as in the original: rows of c sentences of context of which only the last is learned and translated, as for all
systems here, not segments of 512 tokens that are translated as one. The number of sentences is therefore kept by
construction, where the original constrains its beam; its limit for a sentence, 1.2 n + 10 tokens, is ours. Index
tokens in the place of <s>, and no </s> after a sentence of the context, as in the rows of all systems; the </s> of a
source row counts to its last sentence, where the original has a group of its own for the end. Word dropout stays on,
where the original ends it after 40 epochs: all systems here train alike. Stage II trains what stage I knows at 0.2
times the rate, as there.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from docflat.model.layers import Attending, Attention, DecoderLayer, EncoderLayer, Gate, Reach
from docflat.model.transformer import Transformer

TOP_LAYERS = 2


class GroupEncoderLayer(EncoderLayer):
    """Adds attention over the whole row."""

    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__(dim, heads, feed_forward, dropout)
        self.row_attention = Attention(dim, heads)
        self.row_gate = Gate(dim, 2)

    def attend(self, x: Tensor, attending: Attending) -> Tensor:
        return mix(self.row_gate, super().attend(x, attending), attending.self_attention(self.row_attention, x, "row"))


class GroupDecoderLayer(DecoderLayer):
    """Adds attention over the whole row, and over the whole source row."""

    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__(dim, heads, feed_forward, dropout)
        self.row_attention = Attention(dim, heads)
        self.row_gate = Gate(dim, 2)
        self.source_row_attention = Attention(dim, heads)
        self.source_row_gate = Gate(dim, 2)

    def attend(self, x: Tensor, attending: Attending) -> Tensor:
        return mix(self.row_gate, super().attend(x, attending), attending.self_attention(self.row_attention, x, "row"))

    def attend_source(self, x: Tensor, attending: Attending) -> Tensor:
        wide = attending.cross_attention(self.source_row_attention, x, "row")
        return mix(self.source_row_gate, super().attend_source(x, attending), wide)


def mix(gate: Gate, near: Tensor, wide: Tensor) -> Tensor:
    """What a token read in its sentence and in its row: (..., dim) each."""
    opening = gate(near, wide)
    return opening * near + (1 - opening) * wide


class GTrans(Transformer):
    recordable: ClassVar[bool] = True
    reach: ClassVar[Reach] = "sentence"
    paired: ClassVar[bool] = True

    def encoder_layer(self, number: int) -> type[EncoderLayer]:
        return GroupEncoderLayer if number >= self.sizes.encoder_layers - TOP_LAYERS else EncoderLayer

    def decoder_layer(self, number: int) -> type[DecoderLayer]:
        return GroupDecoderLayer if number >= self.sizes.decoder_layers - TOP_LAYERS else DecoderLayer

    def longest(self, source_tokens: int) -> int:
        return int(1.2 * source_tokens) + 10
