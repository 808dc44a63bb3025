"""The Transformer that every system builds on; by itself it is `sent2sent` and, over longer rows, `doc2doc`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from docflat.batches import Batch, Segments, Side
from docflat.config import ModelSizes
from docflat.layers import Attention, DecoderLayer, Embedding, EncoderLayer, attend


@dataclass(frozen=True)
class Vocabulary:
    """Sizes of the embedding table and the ids the model itself must know."""

    size: int  # all ids
    text_size: int  # ids that can be predicted; index tokens come after them
    bos: int
    eos: int
    mask: int


@dataclass
class Given:
    """Keys and values that do not depend on the hypothesis: they belong to a row, or to a group of rows."""

    keys: Tensor  # (groups, heads, given, size)
    values: Tensor  # (groups, heads, given, size)
    seen: Tensor  # (groups, slots, given) True where a slot's row sees a key
    place: Tensor | None = None  # (rows,) group * slots + slot of each row; None: row n is group n, with one slot

    def keep(self, rows: Tensor) -> Given:
        if self.place is not None:
            return Given(self.keys, self.values, self.seen, self.place[rows])
        return Given(self.keys[rows], self.values[rows], self.seen[rows])

    def gather(self, x: Tensor) -> Tensor:
        """By row -> by group: (rows, heads, beam, n) -> (groups, heads, slots * beam, n)."""
        if self.place is None:
            return x
        groups, slots, _ = self.seen.shape
        placed = x.new_zeros(groups * slots, *x.shape[1:]).index_copy(0, self.place, x)
        return placed.unflatten(0, (groups, slots)).transpose(1, 2).flatten(2, 3)

    def scatter(self, x: Tensor) -> Tensor:
        """By group -> by row, the inverse of `gather`."""
        if self.place is None:
            return x
        slots = self.seen.shape[1]
        return x.unflatten(2, (slots, -1)).transpose(1, 2).flatten(0, 1)[self.place]


def read_cache(query: Tensor, given: Given, grown: list[Tensor]) -> Tensor:
    """One softmax over the given keys and those of the hypothesis itself.

    query (rows, beam, heads, size); grown: keys and values (rows, beam, heads, steps, size)
    -> (rows, beam, heads, size).
    """
    scaled = query * query.shape[-1] ** -0.5
    shared = given.scatter(given.gather(scaled.transpose(1, 2)) @ given.keys.transpose(-1, -2))
    seen = given.seen if given.place is None else given.seen.flatten(0, 1)[given.place][:, None]
    shared = shared.masked_fill(~seen[:, None], float("-inf"))  # (rows, heads, beam, given)
    own = (scaled[..., None, :] @ grown[0].transpose(-1, -2)).squeeze(-2)  # (rows, beam, heads, steps)
    weights = torch.cat([shared, own.transpose(1, 2)], dim=-1).softmax(-1)
    from_given, from_own = weights.split([shared.shape[-1], own.shape[-1]], dim=-1)
    mixed = given.scatter(given.gather(from_given) @ given.values).transpose(1, 2)
    return mixed + (from_own.transpose(1, 2)[..., None, :] @ grown[1]).squeeze(-2)


def grow(grown: list[Tensor], key: Tensor, value: Tensor) -> list[Tensor]:
    """Append the newest keys and values, (rows, beam, heads, size) each."""
    return [torch.cat([old, new[:, :, :, None]], dim=3) for old, new in zip(grown, (key, value), strict=True)]


def reorder(grown: list[Tensor], parents: Tensor) -> list[Tensor]:
    index = parents[:, :, None, None, None]
    return [x.gather(1, index.expand_as(x)) for x in grown]


@dataclass
class LayerCache:
    """What one decoder layer keeps: the forced target context, the source, and the hypotheses so far."""

    prefix: Given
    source: Given
    grown: list[Tensor]  # keys and values: (rows, beam, heads, steps, size)


@dataclass(frozen=True)
class GlobalContext:
    """Target text of other sentences that decoding may see: full translations, in document order."""

    side: Side  # rows as in training, with these translations as current sentences
    row: Tensor  # (rows,) where each row that is decoded stands among them: it sees its group's rows before that


class Mixer(Protocol):
    """What a system that mixes rows keeps while decoding."""

    def reorder(self, parents: Tensor) -> None: ...
    def keep(self, rows: Tensor) -> None: ...
    def settle(self, row: int, tokens: Tensor) -> None:
        """A row is finished; these are the words of its current sentence."""


@dataclass
class Decoding:
    """The state of a decoding: rows with a beam of hypotheses each. Hypothesis 0 is a row's best."""

    positions: Tensor  # (rows,) place in its row of the next token
    layers: list[LayerCache]
    mixer: Mixer | None = None

    def reorder(self, parents: Tensor) -> None:
        """Let hypothesis k of each row continue its hypothesis parents[row, k]."""
        for layer in self.layers:
            layer.grown = reorder(layer.grown, parents)
        if self.mixer is not None:
            self.mixer.reorder(parents)

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only."""
        self.positions = self.positions[rows]
        for layer in self.layers:
            layer.prefix, layer.source = layer.prefix.keep(rows), layer.source.keep(rows)
            layer.grown = [grown[rows] for grown in layer.grown]
        if self.mixer is not None:
            self.mixer.keep(rows)


class Transformer(nn.Module):
    """Encoder and decoder over flat batches."""

    def __init__(self, sizes: ModelSizes, vocabulary: Vocabulary, dropout: float = 0.0) -> None:
        super().__init__()
        self.sizes, self.vocabulary = sizes, vocabulary
        self.word_dropout = 0.0  # training sets it; not part of the architecture
        self.embedding = Embedding(vocabulary.size, vocabulary.text_size, sizes.dim)
        # Stage II systems normalise here after mixing context in; sent2sent has it too, so that they start as equals.
        self.source_norm = nn.LayerNorm(sizes.dim)
        self.target_norm = nn.LayerNorm(sizes.dim)
        self.dropout = nn.Dropout(dropout)
        shape = (sizes.dim, sizes.heads, sizes.feed_forward, dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*shape) for _ in range(sizes.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*shape) for _ in range(sizes.decoder_layers))

    def start_index_tokens(self) -> None:
        """Index tokens take over from <s>, which started sentences when there was no context."""
        with torch.no_grad():
            weight, vocabulary = self.embedding.weight, self.vocabulary
            weight[vocabulary.text_size :] = weight[vocabulary.bos]

    def drop_words(self, tokens: Tensor) -> Tensor:
        """In training, replace some words by <mask>; special tokens stay."""
        if not self.training or not self.word_dropout:
            return tokens
        vocabulary = self.vocabulary
        drop = torch.rand(tokens.shape, device=tokens.device) < self.word_dropout
        drop &= (tokens > vocabulary.mask) & (tokens < vocabulary.text_size)
        return tokens.masked_fill(drop, vocabulary.mask)

    def mix_source(self, x: Tensor, side: Side) -> Tensor:
        """Between embedding and first layer: (tokens, dim) -> (tokens, dim). Batch-level systems mix rows here."""
        return self.source_norm(x)

    def mix_target(self, x: Tensor, side: Side) -> Tensor:
        return self.target_norm(x)

    def encode(self, source: Side) -> Tensor:
        """-> (source tokens, dim)."""
        x = self.embedding(self.drop_words(source.tokens), source.positions)
        x = self.dropout(self.mix_source(x, source))
        for layer in self.encoder:
            x = layer(x, lambda attention, x: attention.over(x, source.rows))
        return x

    def decode(self, target: Side, memory: Tensor, source_rows: Segments) -> Tensor:
        """-> (target tokens, dim)."""
        x = self.embedding(self.drop_words(target.tokens), target.positions)
        x = self.dropout(self.mix_target(x, target))
        for layer in self.decoder:
            x = layer(
                x,
                lambda attention, x: attention.over(x, target.rows, causal=True),
                lambda attention, x: attention.across(x, memory, target.rows, source_rows),
            )
        return x

    def logits(self, batch: Batch) -> Tensor:
        """Logits of what follows each token of the target's current sentences: (target current, text_size)."""
        states = self.decode(batch.target, self.encode(batch.source), batch.source.rows)
        return self.embedding.logits(states[batch.target.current])

    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """Sums over the labels: the smoothed cross-entropy to train on, and the plain one to report."""
        logits = self.logits(batch).float()
        normaliser = logits.logsumexp(-1)
        plain = normaliser - logits.gather(1, batch.labels[:, None]).squeeze(1)
        smooth = normaliser - logits.mean(-1)
        loss = (1 - label_smoothing) * plain + label_smoothing * smooth
        return loss.sum(), plain.detach().sum()

    def start_decoding(
        self,
        memory: Tensor,
        source_rows: Segments,
        prefix: Side,
        beam: int,
        context: GlobalContext | None = None,
    ) -> tuple[Decoding, Tensor]:
        """Read the forced target prefixes, each a row that ends with the start symbol of its current sentence.

        Returns the state and the logits of each row's first token, (rows, text_size). `context` is other
        sentences' target text, for systems that see it.
        """
        x = self.embedding(prefix.tokens, prefix.positions)
        x, mixer = self.start_mix(x, prefix, beam, context)
        layers: list[LayerCache] = []
        for layer in self.decoder:
            kept: list[Given] = []

            def own(attention: Attention, x: Tensor, kept: list[Given] = kept) -> Tensor:
                query, key, value = attention.project(x)
                kept.append(given_by_segment(key, value, prefix.rows))
                return attention.join(attend(query, key, value, prefix.rows, prefix.rows, causal=True))

            def source(attention: Attention, x: Tensor, kept: list[Given] = kept) -> Tensor:
                key, value = attention.keys_values(memory)
                kept.append(given_by_segment(key, value, source_rows))
                return attention.join(attend(attention.queries(x), key, value, prefix.rows, source_rows))

            x = layer(x, own, source)
            rows, heads, _, size = kept[0].keys.shape
            empty = x.new_zeros(rows, beam, heads, 0, size)
            layers.append(LayerCache(kept[0], kept[1], [empty, empty]))
        last = prefix.rows.starts[1:].long() - 1
        return Decoding(prefix.rows.lengths, layers, mixer), self.embedding.logits(x[last])

    def start_mix(
        self, x: Tensor, prefix: Side, beam: int, context: GlobalContext | None
    ) -> tuple[Tensor, Mixer | None]:
        """`mix_target` for the prefixes, (tokens, dim), and what `step_mix` will need."""
        return self.target_norm(x), None

    def step_mix(self, x: Tensor, mixer: Mixer | None) -> Tensor:
        """`mix_target` for the newest token of every hypothesis: (rows, beam, dim)."""
        return self.target_norm(x)

    def decode_one_token(self, state: Decoding, tokens: Tensor) -> Tensor:
        """Append a token to every hypothesis; the logits of the next: (rows, beam) -> (rows, beam, text_size)."""
        positions = state.positions[:, None].expand_as(tokens)
        x = self.step_mix(self.embedding(tokens, positions), state.mixer)
        state.positions = state.positions + 1
        for layer, cache in zip(self.decoder, state.layers, strict=True):

            def own(attention: Attention, x: Tensor, cache: LayerCache = cache) -> Tensor:
                query, key, value = attention.project(x)  # (rows, beam, heads, size)
                cache.grown = grow(cache.grown, key, value)
                return attention.join(read_cache(query, cache.prefix, cache.grown))

            def source(attention: Attention, x: Tensor, cache: LayerCache = cache) -> Tensor:
                query = attention.queries(x).transpose(1, 2)  # (rows, heads, beam, size)
                given = cache.source
                mixed = nn.functional.scaled_dot_product_attention(
                    query, given.keys, given.values, attn_mask=given.seen[:, None]
                )
                return attention.join(mixed.transpose(1, 2))

            x = layer(x, own, source)
        return self.embedding.logits(x)


def given_by_segment(key: Tensor, value: Tensor, segments: Segments) -> Given:
    """Flat keys and values (tokens, heads, size) as one group a segment."""
    keys, values = (segments.pad(x).transpose(1, 2).contiguous() for x in (key, value))
    return Given(keys, values, segments.mask[:, None])
