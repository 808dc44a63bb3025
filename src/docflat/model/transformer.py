"""The Transformer that every system builds on; by itself it is `sent2sent` and, over longer rows, `doc2doc`."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from docflat.model.batch import Batch, Side
from docflat.model.batch_attention import Memory, SideAttending, TargetAttending
from docflat.model.cache.decoding_state import (
    CachedAttending,
    CachedContext,
    Decoding,
    GlobalContext,
    Mixer,
    PrefixAttending,
)
from docflat.model.cache.hypotheses import Paths
from docflat.model.embedding_norm import embedding_norm
from docflat.model.layers import Attending, DecoderLayer, Embedding, EncoderLayer, Norm, Reach
from docflat.model.loss import cross_entropy, grade
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.ssru import SSRUDecoderLayer


class Transformer(nn.Module):
    """Encoder and decoder over flat batches."""

    reach: ClassVar[Reach] = "row"  # of the attention of its layers
    paired: ClassVar[bool] = False  # a sentence of a target row reads that of the source row which it translates
    restarts: ClassVar[bool] = False  # positions count from the start of a sentence, as in stage I, not of a row
    recordable: ClassVar[bool] = False  # reads only what batches of fixed shapes have (graphs.py)
    looks_ahead: bool = False  # the state of a target token depends on later ones
    sees_growing: bool = False  # target rows that are translated at the same time see each other

    def __init__(self, sizes: ModelSizes, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__()
        self.sizes, self.vocabulary = sizes, vocabulary
        self.word_dropout = 0.0  # training sets it; not part of the architecture
        self.grade = grade  # training may compile it
        kind = sizes.architecture
        table = (vocabulary.size, vocabulary.text_size, sizes.dim, kind)
        separate = kind.separate_embeddings
        self.embedding = Embedding(*table, bias=kind.logits_bias and not separate)
        self.separate_embedding = Embedding(*table, bias=kind.logits_bias) if separate else None
        # Stage II systems normalise here after mixing context in; sent2sent has it too, so that they start as equals.
        self.source_norm, self.target_norm = (embedding_norm(sizes.dim, kind) for _ in range(2))
        self.dropout = nn.Dropout(dropout)
        shape = (sizes.dim, sizes.heads, sizes.feed_forward, dropout)
        self.encoder = nn.ModuleList(self.encoder_layer(number)(*shape) for number in range(sizes.encoder_layers))
        self.decoder = nn.ModuleList(self.decoder_layer(number)(*shape) for number in range(sizes.decoder_layers))
        for layer in (*self.encoder, *self.decoder):
            layer.reach = self.reach
            layer.feed_forward.activation = kind.activation

    def encoder_layer(self, number: int) -> type[EncoderLayer]:
        """What the layer of this number, from 0, is made of."""
        return EncoderLayer

    def decoder_layer(self, number: int) -> type[DecoderLayer]:
        return SSRUDecoderLayer if self.sizes.architecture.recurrent_decoder else DecoderLayer

    def start_index_tokens(self) -> None:
        """Index tokens take over from <s>, which started sentences when there was no context."""
        with torch.no_grad():
            for weight in (self.embedding.weight, self.target_embedding.weight):
                weight[self.vocabulary.text_size :] = weight[self.vocabulary.bos]

    def start_quietly(self) -> None:
        """From a model without the norm after the embedding: what is new leaves at first what that one computes.

        The norm begins as large as what it norms, so that nothing jumps when its share grows.
        """
        with torch.no_grad():
            for norm, embedding in ((self.source_norm, self.embedding), (self.target_norm, self.target_embedding)):
                assert isinstance(norm, Norm)
                text = embedding.text_weight * embedding.factor
                norm.weight.fill_(float((text.var(dim=1).mean() + 0.5).sqrt()))  # 0.5: of sines and cosines

    def drop_words(self, tokens: Tensor) -> Tensor:
        """In training, replace some words by <mask>; special tokens stay."""
        if not self.training or not self.word_dropout:
            return tokens
        vocabulary = self.vocabulary
        drop = torch.rand(tokens.shape, device=tokens.device) < self.word_dropout
        drop &= (tokens > vocabulary.mask) & (tokens < vocabulary.text_size)
        return tokens.masked_fill(drop, vocabulary.mask)

    @property
    def target_embedding(self) -> Embedding:
        """What reads the target side and writes logits."""
        return self.embedding if self.separate_embedding is None else self.separate_embedding

    def embed(self, source: Side) -> Tensor:
        """-> (source tokens, dim)."""
        return self._embed(self.embedding, source)

    def embed_target(self, target: Side) -> Tensor:
        """-> (target tokens, dim)."""
        return self._embed(self.target_embedding, target)

    def _embed(self, embedding: Embedding, side: Side) -> Tensor:
        return embedding(self.drop_words(side.tokens), side.places if self.restarts else side.positions)

    def mix_source(self, x: Tensor, side: Side) -> Tensor:
        """Between embedding and first layer: (tokens, dim) -> (tokens, dim). Batch-level systems mix rows here."""
        return self.source_norm(x)

    def mix_target(self, x: Tensor, side: Side, memory: Memory) -> Tensor:
        return self.target_norm(x)

    def start_source(self, source: Side) -> Tensor:
        """What the first layer reads: (source tokens, dim)."""
        return self.dropout(self.mix_source(self.embed(source), source))

    def start_target(self, target: Side, memory: Memory) -> Tensor:
        """(target tokens, dim)."""
        return self.dropout(self.mix_target(self.embed_target(target), target, memory))

    def encode_layers(self, source: Side) -> Tensor:
        """The states after all layers: (source tokens, dim)."""
        x = self.start_source(source)
        attending = SideAttending(source, causal=False)
        for layer in self.encoder:
            x = layer(x, attending)
        return x

    def encode(self, source: Side) -> Memory:
        return Memory.of_side(self.encode_layers(source), source)

    def decode_layers(self, x: Tensor, attending: Attending) -> Tensor:
        """(..., dim) -> (..., dim); of a whole batch, of prefixes, or of the newest tokens."""
        for layer in self.decoder:
            x = layer(x, attending)
        return x

    def finish(self, x: Tensor, states: Tensor, attending: Attending) -> Tensor:
        """The last word on current tokens x (..., dim); states: of the whole side, where it is at hand."""
        return x

    def decode(self, target: Side, memory: Memory) -> Tensor:
        """The states of the target's current sentences: (target current, dim)."""
        attending = TargetAttending(target, memory)
        states = self.decode_layers(self.start_target(target, memory), attending)
        return self.finish(states[target.current], states, attending)

    def logits(self, batch: Batch) -> Tensor:
        """Logits of what follows each token of the target's current sentences: (target current, text_size)."""
        return self.target_embedding.logits(self.decode(batch.target, self.encode(batch.source)))

    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """Sums over the labels: the smoothed cross-entropy to train on, and the plain one to report."""
        memory = self.encode(batch.source)
        states = self.decode(batch.target, memory)
        weight, bias = self.target_embedding.text_weight, self.target_embedding.bias
        if bias is not None:  # one dimension more, which is 1 in every state
            states = torch.cat([states, states.new_ones(len(states), 1)], dim=1)
            weight = torch.cat([weight, bias[:, None]], dim=1)
        loss, plain = cross_entropy(states, weight, batch.labels, label_smoothing, self.grade)
        if memory.loss is not None:
            loss = loss + memory.loss * len(batch.labels)
        return loss, plain

    def longest(self, source_tokens: int) -> int:
        """Of how many tokens a translation may be."""
        return 2 * source_tokens + 20

    def start_decoding(
        self, memory: Memory, prefix: Side, beam: int, context: GlobalContext | CachedContext | None = None
    ) -> tuple[Decoding, Tensor]:
        """Read the forced target prefixes, each a row that ends with the start symbol of its current sentence.

        Returns the state and the logits of each row's first token, (rows, text_size). `context` is other
        sentences' target text, for systems that see it.
        """
        x = self.embed_target(prefix)
        paths = Paths(len(prefix.rows), beam, x)
        x, mixer = self.start_mix(x, prefix, memory, paths, context)
        attending = PrefixAttending(prefix, memory, beam)
        states = self.decode_layers(x, attending)
        last = self.finish(states[prefix.current], states, attending)  # the start symbols: one a row
        positions = (prefix.places if self.restarts else prefix.positions)[prefix.current] + 1
        return Decoding(positions, paths, attending.caches, attending.hidden, mixer), self.target_embedding.logits(last)

    def start_mix(
        self, x: Tensor, prefix: Side, memory: Memory, paths: Paths, context: GlobalContext | CachedContext | None
    ) -> tuple[Tensor, Mixer | None]:
        """`mix_target` for the prefixes, (tokens, dim), and what `step_mix` will need."""
        return self.mix_target(x, prefix, memory), None

    def step_mix(self, x: Tensor, mixer: Mixer | None) -> Tensor:
        """`mix_target` for the newest token of every hypothesis: (rows, beam, dim)."""
        return self.target_norm(x)

    def decode_one_token(self, state: Decoding, tokens: Tensor) -> Tensor:
        """Append a token to every hypothesis; the logits of the next: (rows, beam) -> (rows, beam, text_size)."""
        state.paths.extend()
        x = self.step_mix(self.target_embedding(tokens, state.positions[:, None]), state.mixer)
        state.positions += 1
        attending = CachedAttending(state)
        x = self.decode_layers(x, attending)
        return self.target_embedding.logits(self.finish(x, x, attending))
