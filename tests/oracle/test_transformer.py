"""The Transformer against PyTorch's own, with the same weights: nn.MultiheadAttention and nn.Transformer, padded.

Ours differs from nn.Transformer in what surrounds the layers, and that is written out here: a layer norm after the
embedding, none after the last layer, one table for both sides and the logits, no logits for index tokens.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conftest import BOS, EOS, TEXT_SIZE, batch_of, build, random_documents
from docflat.model.batch import Batch
from docflat.model.layers import Attention
from docflat.model.segments import Segments
from docflat.model.transformer import Transformer


def padded(flat: Tensor, segments: Segments) -> tuple[Tensor, Tensor]:
    """(tokens, ...) -> (segments, longest, ...) and True where there is padding, by torch's own means."""
    parts = flat.split(segments.starts.diff().tolist())
    real = nn.utils.rnn.pad_sequence([torch.ones(len(part), dtype=torch.bool) for part in parts], batch_first=True)
    return nn.utils.rnn.pad_sequence(list(parts), batch_first=True), ~real


def same_weights(theirs: nn.MultiheadAttention, ours: Attention) -> None:
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias)
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)


def random_attention(dim: int = 24, heads: int = 3) -> tuple[Attention, nn.MultiheadAttention]:
    torch.manual_seed(0)
    ours = Attention(dim, heads).double()
    with torch.no_grad():
        ours.qkv.bias.normal_()
        ours.output.bias.normal_()
    theirs = nn.MultiheadAttention(dim, heads, batch_first=True, dtype=torch.float64)
    same_weights(theirs, ours)
    return ours, theirs


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_pytorchs(causal: bool) -> None:
    ours, theirs = random_attention()
    segments = Segments.of_lengths(np.array([4, 1, 7, 2]))
    x = torch.randn(14, 24, dtype=torch.float64)
    y, padding = padded(x, segments)
    mask = nn.Transformer.generate_square_subsequent_mask(7).isinf() if causal else None
    expected, _ = theirs(y, y, y, key_padding_mask=padding, attn_mask=mask)
    torch.testing.assert_close(ours.over(x, segments, causal), expected[~padding], rtol=1e-12, atol=1e-12)


def test_attention_to_the_source_is_pytorchs() -> None:
    ours, theirs = random_attention()
    queries, keys = Segments.of_lengths(np.array([4, 1, 7, 2])), Segments.of_lengths(np.array([2, 6, 1, 3]))
    x, memory = torch.randn(14, 24, dtype=torch.float64), torch.randn(12, 24, dtype=torch.float64)
    (y, y_padding), (m, m_padding) = padded(x, queries), padded(memory, keys)
    expected, _ = theirs(y, m, m, key_padding_mask=m_padding)
    result = ours.across(x, memory, queries, keys)
    torch.testing.assert_close(result, expected[~y_padding], rtol=1e-12, atol=1e-12)


class Reference(nn.Module):
    """nn.Transformer with a model's weights, over padded rows."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        sizes = model.sizes
        self.transformer = nn.Transformer(
            sizes.dim,
            sizes.heads,
            sizes.encoder_layers,
            sizes.decoder_layers,
            sizes.feed_forward,
            dropout=0.0,
            activation="relu",
            batch_first=True,
            norm_first=False,
            dtype=torch.float64,
        )
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.table = nn.Parameter(model.embedding.weight.detach().clone())
        self.source_norm, self.target_norm = (nn.LayerNorm(sizes.dim, dtype=torch.float64) for _ in range(2))
        self.source_norm.load_state_dict(model.source_norm.state_dict())
        self.target_norm.load_state_dict(model.target_norm.state_dict())
        for theirs, ours in zip(self.transformer.encoder.layers, model.encoder, strict=True):
            same_weights(theirs.self_attn, ours.attention)
            theirs.norm1.load_state_dict(ours.attention_norm.state_dict())
            theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
            theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
            theirs.norm2.load_state_dict(ours.feed_forward_norm.state_dict())
        for theirs, ours in zip(self.transformer.decoder.layers, model.decoder, strict=True):
            same_weights(theirs.self_attn, ours.attention)
            theirs.norm1.load_state_dict(ours.attention_norm.state_dict())
            same_weights(theirs.multihead_attn, ours.source_attention)
            theirs.norm2.load_state_dict(ours.source_norm.state_dict())
            theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
            theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
            theirs.norm3.load_state_dict(ours.feed_forward_norm.state_dict())

    def embed(self, tokens: Tensor) -> Tensor:
        """(rows, longest) -> (rows, longest, dim): scaled, plus sinusoids as in tensor2tensor and fairseq.

        Both put the sines before the cosines; wavelengths go from 2 pi to 20,000 pi in geometric progression.
        """
        dim = self.table.shape[1]
        places = torch.zeros(tokens.shape[1], dim, dtype=torch.float64)
        for position in range(tokens.shape[1]):
            for k in range(dim // 2):
                angle = position / 10_000 ** (k / (dim // 2 - 1))
                places[position, k] = math.sin(angle)
                places[position, dim // 2 + k] = math.cos(angle)
        return self.table[tokens] * math.sqrt(dim) + places

    def forward(self, batch: Batch) -> Tensor:
        """Logits at every token of the target, (target tokens, text_size)."""
        source, source_padding = padded(batch.source.tokens, batch.source.rows)
        target, target_padding = padded(batch.target.tokens, batch.target.rows)
        states = self.transformer(
            self.source_norm(self.embed(source)),
            self.target_norm(self.embed(target)),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1]).isinf(),
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=target_padding,
            memory_key_padding_mask=source_padding,
        )
        return (states @ self.table[:TEXT_SIZE].T)[~target_padding]


@pytest.mark.parametrize("name", ["sent2sent", "doc2doc"])
def test_the_whole_model_is_pytorchs(name: str) -> None:
    model = build(name)
    reference = Reference(model).double()
    for seed in range(3):
        batch, _ = batch_of(random_documents(np.random.default_rng(seed), [4, 1, 6], longest=9), name)
        expected = reference(batch)[batch.target.current]
        assert expected.shape == (len(batch.labels), TEXT_SIZE)
        # Our sinusoids are float32 (layers.Embedding says why), hence the tolerance.
        torch.testing.assert_close(model.logits(batch), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_the_loss_is_pytorchs_and_so_are_its_gradients(smoothing: float) -> None:
    model = build("doc2doc")
    reference = Reference(model).double()
    batch, _ = batch_of(random_documents(np.random.default_rng(1), [3, 4]), "doc2doc")
    loss, plain = model(batch, smoothing)
    theirs = reference(batch)[batch.target.current]
    expected = F.cross_entropy(theirs, batch.labels, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(
        plain.double(), F.cross_entropy(theirs, batch.labels, reduction="sum"), rtol=1e-5, atol=0
    )
    assert not plain.requires_grad

    loss.backward()
    expected.backward()
    ours, other = model.decoder[0], reference.transformer.decoder.layers[0]
    pairs = [
        (model.embedding.weight, reference.table),
        (model.source_norm.weight, reference.source_norm.weight),
        (model.encoder[0].attention.qkv.weight, reference.transformer.encoder.layers[0].self_attn.in_proj_weight),
        (ours.attention.qkv.weight, other.self_attn.in_proj_weight),
        (ours.source_attention.qkv.weight, other.multihead_attn.in_proj_weight),
        (ours.feed_forward.inner.weight, other.linear1.weight),
    ]
    for mine, their in pairs:
        torch.testing.assert_close(mine.grad, their.grad, rtol=1e-3, atol=1e-4)


def test_the_local_context_is_given_and_not_learned() -> None:
    """The loss covers the current sentence only: its labels are the words of each sentence once, and </s>."""
    documents = random_documents(np.random.default_rng(1), [5])
    batch, _ = batch_of(documents, "doc2doc")
    assert batch.labels.tolist() == [label for _, y in documents[0] for label in (*y, EOS)]


def test_index_tokens_start_as_the_start_symbol() -> None:
    """A new stage's model reads rows of one sentence as the stage before it did."""
    model = build("doc2doc")
    documents = random_documents(np.random.default_rng(1), [5, 8])
    indexed, _ = batch_of(documents, "doc2doc", context=0)
    plain, _ = batch_of(documents, "sent2sent")
    assert (plain.target.tokens == BOS).sum() == 13
    assert (indexed.target.tokens >= TEXT_SIZE).sum() == 13
    with torch.no_grad():
        before = model.logits(plain)
        assert not torch.allclose(model.logits(indexed), before)
        model.start_index_tokens()
        assert torch.equal(model.logits(plain), before)
        assert torch.equal(model.logits(indexed), before)


def test_word_dropout_masks_words_and_nothing_else() -> None:
    model = build("doc2doc")
    batch, _ = batch_of(random_documents(np.random.default_rng(1), [40]), "doc2doc")
    tokens = batch.source.tokens
    model.word_dropout = 0.3
    assert torch.equal(model.drop_words(tokens), tokens), "not outside of training"
    model.train()
    dropped = model.drop_words(tokens)
    changed = dropped != tokens
    word = (tokens > 3) & (tokens < TEXT_SIZE)
    assert not changed[~word].any()
    assert (dropped[changed] == 3).all()
    assert 0.2 < changed[word].double().mean() < 0.4
