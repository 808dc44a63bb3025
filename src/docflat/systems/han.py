"""HAN: hierarchical attention networks (Miculicich et al., 2018).

On top of encoder and decoder, each token of the current sentence attends to the words of each of three previous
sentences, then to the three results; a gate mixes what it found with what it was. Encoder and decoder themselves see
one sentence at a time. Query and context are detached inside the attention: no gradient goes through them into the
sentence model. Training goes from the sentence model to a HAN encoder (`decoder: false`), and from there to both.

Not as in the original: where there is no previous sentence, the context reads as zero, because there is nothing to
attend to; index tokens in the place of <s>, and no </s> after a sentence of the context, as in the rows of all systems.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, SideAttending
from docflat.model.cache.fixed_keys import attend_masked
from docflat.model.layers import Attending, Attention, FeedForward, Gate, Norm, Reach
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems.options import HANOptions


class HierarchicalAttention(nn.Module):
    """inner_norms: false leaves out what the original has within it (see HANOptions), as older models do."""

    def __init__(self, sizes: ModelSizes, dropout: float, inner_norms: bool = True) -> None:
        super().__init__()
        self.inner_norms = inner_norms
        self.words = Attention(sizes.dim, sizes.heads)
        self.sentences = Attention(sizes.dim, sizes.heads)
        self.feed_forward = FeedForward(sizes.dim, sizes.feed_forward)
        self.gate = Gate(sizes.dim, 2)
        self.norm = Norm(sizes.dim)
        self.dropout = nn.Dropout(dropout)
        if inner_norms:
            self.word_query_norm = Norm(sizes.dim)
            self.words_norm = Norm(sizes.dim)
            self.sentence_query_norm = Norm(sizes.dim)
            self.feed_forward_norm = Norm(sizes.dim)
        else:
            self.query_norm = Norm(sizes.dim)

    def forward(self, x: Tensor, states: Tensor, attending: Attending) -> Tensor:
        """Current tokens x (..., dim) with the states of their side -> (..., dim)."""
        constant = x.detach()
        word_query = self.word_query_norm(constant) if self.inner_norms else self.query_norm(constant)
        words, there = attending.previous_attention(self.words, word_query, states.detach())
        # (..., distances, dim): what was read of each sentence
        sentences, sentence_query = words, word_query
        if self.inner_norms:
            sentences, sentence_query = self.words_norm(words), self.sentence_query_norm(constant)
        keys, values = (part.transpose(-2, -3) for part in self.sentences.keys_values(sentences))
        queries = self.sentences.queries(sentence_query)[..., None, :]  # (..., heads, 1, size)
        read = self.sentences.join(attend_sentences(queries, keys, values, there).squeeze(-2))
        if self.inner_norms:
            context = read + self.dropout(self.feed_forward(self.feed_forward_norm(read)))
        else:
            context = self.dropout(self.feed_forward(read))
        opening = self.gate(x, context)
        return self.norm((1 - opening) * x + opening * context)


def attend_sentences(query: Tensor, keys: Tensor, values: Tensor, there: Tensor) -> Tensor:
    """query (..., heads, 1, size), keys and values (..., heads, distances, size), there (..., distances)."""
    some = there.any(-1)[..., None, None, None]
    return attend_masked(query, keys, values, there[..., None, None, :]) * some.to(query.dtype)


class HAN(Transformer):
    reach: ClassVar[Reach] = "sentence"
    paired: ClassVar[bool] = True
    restarts: ClassVar[bool] = True

    def __init__(self, sizes: ModelSizes, vocabulary: Vocabulary, options: HANOptions, dropout: float = 0.0) -> None:
        super().__init__(sizes, vocabulary, dropout)
        norms = options.inner_norms
        self.source_han = HierarchicalAttention(sizes, dropout, norms) if options.encoder else None
        self.target_han = HierarchicalAttention(sizes, dropout, norms) if options.decoder else None

    def encode(self, source: Side) -> Memory:
        x = self.encode_layers(source)
        if self.source_han is not None:
            read = self.source_han(x[source.current], x, SideAttending(source, causal=False))
            x = x.index_copy(0, source.current, read.to(x.dtype))
        return Memory.of_side(x, source)

    def finish(self, x: Tensor, states: Tensor, attending: Attending) -> Tensor:
        return x if self.target_han is None else self.target_han(x, states, attending)
