"""DocTransformer: a context encoder beside the sentence model (Zhang et al., 2018).

Improving the Transformer Translation Model with Document-Level Context.

The previous two source sentences, as one line, go through a context encoder of one layer. Every layer of encoder and
decoder then attends to it, after its attention to itself, and a gate takes the place of the residual connection. Stage
II trains these new parts only: the sentence model is frozen. The target side has no context.

Not as in the original: where there is no previous sentence, the context reads as zero, because there is nothing to
attend to; index tokens in the place of <s>, as all systems have them, which frozen stay as <s> was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, SegmentAttending
from docflat.model.layers import Attending, Attention, DecoderLayer, EncoderLayer, Gate, Norm, Reach
from docflat.model.segments import Segments
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer


class ContextReader(nn.Module):
    """Attention to the context, and the gate in the place of a residual connection."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(dim, heads)
        self.gate = Gate(dim, 2, bias=None)
        self.norm = Norm(dim)

    def forward(self, x: Tensor, attending: Attending) -> Tensor:
        read = attending.cross_attention(self.attention, x, "context")  # without dropout, as in the original
        opening = self.gate(x, read)
        return self.norm(opening * x + (1 - opening) * read)


class ContextEncoderLayer(EncoderLayer):
    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__(dim, heads, feed_forward, dropout)
        self.context = ContextReader(dim, heads)

    def read_context(self, x: Tensor, attending: Attending) -> Tensor:
        return self.context(x, attending)


class ContextDecoderLayer(DecoderLayer):
    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__(dim, heads, feed_forward, dropout)
        self.context = ContextReader(dim, heads)

    def read_context(self, x: Tensor, attending: Attending) -> Tensor:
        return self.context(x, attending)


class ContextAttending(SegmentAttending):
    """Current sentences attend to themselves, and to the context of their row."""

    def __init__(self, sentences: Segments, context: Tensor, contexts: Segments) -> None:
        super().__init__(sentences)
        self.context, self.contexts = context, contexts

    def cross_attention(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        return attention.across(x, self.context, self.segments, self.contexts)


class DocTransformer(Transformer):
    restarts: ClassVar[bool] = True

    def __init__(self, sizes: ModelSizes, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__(sizes, vocabulary, dropout)
        self.context_layer = EncoderLayer(sizes.dim, sizes.heads, sizes.feed_forward, dropout)

    def encoder_layer(self, number: int) -> type[EncoderLayer]:
        return ContextEncoderLayer

    def decoder_layer(self, number: int) -> type[DecoderLayer]:
        return ContextDecoderLayer

    def encode_context(self, source: Side) -> tuple[Tensor, Segments]:
        """The previous sentences as one line: (context tokens, dim), one segment a row."""
        part = source.selections["context"]
        tokens = self.drop_words(source.tokens[part.index])
        x = self.source_norm(self.embedding(tokens, source.positions[part.index]))
        return self.context_layer(x, SegmentAttending(part.segments)), part.segments

    def encode(self, source: Side) -> Memory:
        context, contexts = self.encode_context(source)
        current = source.only_current()
        x = self.dropout(self.source_norm(self.embed(current)))
        attending = ContextAttending(current.rows, context, contexts)
        for layer in self.encoder:
            x = layer(x, attending)
        return replace(Memory.of_side(x, current), context=(context, contexts))
