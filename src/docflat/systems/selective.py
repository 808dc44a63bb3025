"""Selective attention (Maruf et al., 2019, Selective Attention for Context-aware NMT).

On top of the encoder, each token attends to all other sentences of the document: first to sentences, by sparsemax, so
that most get no weight at all, then to the words within each; the weight of a word is the product of both. A gate
mixes what it found into the state. The context is detached: it is memory, not a way for gradients.

Not as in the original: the memory holds the states of the model's own encoder, detached, not those of a frozen copy,
so that there is one model to run and to keep; a document is what a batch holds of it, at most 32 sentences (64 can be
asked for), since every word reads all of it; there is no local context and no target context; index tokens in the place
of <s>, as all systems have them; a second dropout, of what the feed-forward part makes. `context: online` lets a
sentence see earlier ones only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory
from docflat.model.layers import Attention, FeedForward, Gate, Norm
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems.options import SelectiveOptions


def sparsemax(scores: Tensor, allowed: Tensor) -> Tensor:
    """The nearest point of the simplex (Martins and Astudillo, 2016), over the last dimension.

    Where nothing is allowed, all is zero.
    """
    some = allowed.any(-1, keepdim=True)
    least = torch.finfo(scores.dtype).min / 4  # not -inf: sums of it must stay numbers
    masked = torch.where(allowed, scores, least)
    masked = torch.where(some, masked - masked.amax(-1, keepdim=True).detach(), 0.0)
    ordered = masked.sort(dim=-1, descending=True).values
    count = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)
    within = ordered.cumsum(-1)
    support = (1 + count * ordered > within).to(torch.long).sum(-1, keepdim=True)
    threshold = (within.gather(-1, support - 1) - 1) / support.to(scores.dtype)
    return torch.where(allowed, (masked - threshold).clamp_min(0), 0.0)


class SelectiveAttention(nn.Module):
    def __init__(self, sizes: ModelSizes, options: SelectiveOptions, dropout: float) -> None:
        super().__init__()
        self.online = options.context == "online"
        self.words = Attention(sizes.dim, sizes.heads)
        self.sentence_queries = nn.Linear(sizes.dim, sizes.dim)
        self.sentence_keys = nn.Linear(sizes.dim, sizes.dim)
        self.read_norm = Norm(sizes.dim)
        self.feed_forward = FeedForward(sizes.dim, sizes.feed_forward)
        self.norm = Norm(sizes.dim)
        self.gate = Gate(sizes.dim, 2, bias=None)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.sentence_queries, self.sentence_keys):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def compile(self, *_: Any, **__: Any) -> None:
        """Not this: torch 2.11 fails to compile it for a GPU, with an assertion of its own, on tilings.

        `torch.compiler.disable` would say the same, but imports the compiler, which takes as long as all of torch.
        """

    def forward(self, x: Tensor, side: Side) -> Tensor:
        """States of the current sentences, (current, dim) -> (current, dim)."""
        read = self.read_norm(self.dropout(self.read(x, x.detach(), side)))
        context = self.norm(self.dropout(self.feed_forward(read)))
        opening = self.gate(x, context)
        return opening * x + (1 - opening) * context

    def read(self, x: Tensor, memory: Tensor, side: Side) -> Tensor:
        """What the tokens x read of the words of other sentences of their group; (current, dim) each."""
        groups, rows = side.groups, side.group_rows
        sentence = side.sentences.number(len(x))  # (current,)
        in_group = sentence - rows.starts[:-1].long()[groups.number(len(x))]
        sentence_number = groups.pad(in_group)  # (groups, tokens): which of its group's sentences each token is of
        number = torch.arange(rows.longest, device=x.device)
        of_sentence = (sentence_number[..., None] == number) & groups.mask[..., None]  # (groups, tokens, sentences)

        split = self.words.split
        query = groups.pad(split(self.sentence_queries(x))).transpose(1, 2)  # (groups, heads, tokens, size)
        means = rows.pad(split(self.sentence_keys(side.sentences.mean(memory)))).transpose(1, 2)
        scale = query.shape[-1] ** -0.5
        precise = torch.promote_types(x.dtype, torch.float32)
        scores = (query @ means.transpose(-1, -2)).to(precise) * scale  # (groups, heads, tokens, sentences)
        others = number < sentence_number[..., None] if self.online else number != sentence_number[..., None]
        weights = sparsemax(scores, (others & rows.mask[:, None])[:, None])

        word_query = groups.pad(self.words.queries(x)).transpose(1, 2)
        keys, values = (groups.pad(part).transpose(1, 2) for part in self.words.keys_values(memory))
        word_scores = (word_query @ keys.transpose(-1, -2)).to(precise) * scale  # (groups, heads, tokens, tokens)
        shares = softmax_within(word_scores, sentence_number, of_sentence)
        by_word = weights @ of_sentence.to(weights.dtype).transpose(1, 2)[:, None]  # that of each word's sentence
        mixed = (shares * by_word).to(values.dtype) @ values  # (groups, heads, tokens, size)
        return self.words.join(groups.unpad(mixed.transpose(1, 2), len(x)))


def softmax_within(scores: Tensor, sentence_number: Tensor, of_sentence: Tensor) -> Tensor:
    """A softmax over the words of each sentence by itself.

    scores (groups, heads, tokens, words), sentence_number (groups, words), of_sentence (groups, words, sentences).
    """
    shape = (*scores.shape[:3], of_sentence.shape[2])
    index = sentence_number[:, None, None].expand_as(scores)
    there = of_sentence.any(-1)[:, None, None]
    scores = torch.where(there, scores, float("-inf"))  # padding counts for no sentence, nor for its highest score
    highest = scores.new_full(shape, float("-inf")).scatter_reduce(3, index, scores.detach(), "amax")
    raised = (scores - highest.gather(3, index)).exp()
    total = raised @ of_sentence.to(scores.dtype)[:, None]  # (groups, heads, tokens, sentences)
    return raised / total.gather(3, index).clamp_min(torch.finfo(scores.dtype).tiny)


class Selective(Transformer):
    def __init__(
        self, sizes: ModelSizes, vocabulary: Vocabulary, options: SelectiveOptions, dropout: float = 0.0
    ) -> None:
        super().__init__(sizes, vocabulary, dropout)
        self.selective = SelectiveAttention(sizes, options, dropout)

    def encode(self, source: Side) -> Memory:
        # Rows have no local context: all their tokens are current ones.
        x = self.encode_layers(source)
        return Memory.of_side(self.selective(x, source), source)
