"""MBE: a mini-batch embedding (Morishita et al., 2021, Context-Aware NMT with Mini-Batch Embedding).

The source sentences of a batch are read by one extra encoder layer and averaged into one vector, which every row gets
as one more token, at the end of its source and before its target. A classifier tells from the vector whether the
sentences are of one document; it is trained along, on batches half of which are mixed, and its probability scales
the vector, so that a batch without a common context adds little.

Not as in the original: the average is over tokens, where the published code has padding in it; what is one batch
there is the part of a batch that is of one document here, as for all systems, and mixed groups are as large as those
they are made of; the vector comes after the layer norm of the embedding, which would undo its scale; rows have local
context as well, as in the paper (Wu et al., 2023), which says that the vector is put before both sides: ours stands
where the original has it; decoding has a cache.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, SegmentAttending, SideAttending
from docflat.model.layers import EncoderLayer
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer


class MBE(Transformer):
    def __init__(self, sizes: ModelSizes, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__(sizes, vocabulary, dropout)
        self.summary_layer = EncoderLayer(sizes.dim, sizes.heads, sizes.feed_forward, dropout)
        self.classifier = nn.Linear(sizes.dim, 2)  # mixed, of one document
        nn.init.xavier_uniform_(self.classifier.weight)
        nn.init.zeros_(self.classifier.bias)

    def summary(self, x: Tensor, side: Side) -> tuple[Tensor, Tensor]:
        """The vector of each row's group, (rows, dim), and the classifier's loss; x: embeddings (tokens, dim)."""
        words = self.summary_layer(x[side.current], SegmentAttending(side.sentences))
        vector = self.dropout(side.group_rows.mean(side.sentences.mean(words)))  # (groups, dim)
        logits = self.classifier(vector).float()
        loss = nn.functional.cross_entropy(logits, (~side.mixed).long())
        vector = vector * logits.softmax(-1)[:, 1:].to(vector.dtype)
        return vector[side.group_rows.number(len(side.rows))], loss

    def encode(self, source: Side) -> Memory:
        x = self.embed(source)
        vector, loss = self.summary(x, source)
        last = source.rows.starts[1:].long() - 1
        x = self.source_norm(x)
        x = self.dropout(x.index_copy(0, last, vector.to(x.dtype)))
        attending = SideAttending(source, causal=False)
        for layer in self.encoder:
            x = layer(x, attending)
        return replace(Memory.of_side(x, source), vector=vector, loss=loss)

    def mix_target(self, x: Tensor, side: Side, memory: Memory) -> Tensor:
        assert memory.vector is not None
        first = side.rows.starts[:-1].long()
        x = self.target_norm(x)
        return x.index_copy(0, first, memory.vector.to(x.dtype))
