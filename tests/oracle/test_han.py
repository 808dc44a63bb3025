"""HAN against a slow transcription of its equations, row by row in float64; gradients too, for what is detached.

For a token of the current sentence with state h, and the states S_1 ... S_3 of the previous sentences:
w_d = LN(attention(LN(h), words of S_d)), s = attention(LN(h), the w_d), c = s + FFN(LN(s)), l = sigmoid(A h + B c + b),
LN((1 - l) h + l c), each LN with weights of its own. Inside the two attentions h and S are constants.
Without inner norms one LN(h) is the query of both, w_d and s are as they were read, and c = FFN(s).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import EOS, Document, batch_of, build, random_documents, slow_norm
from slow import (
    assert_same_gradients,
    decoded,
    encoded,
    feed_forward,
    gate_of_two,
    gradients,
    logits_of,
    read_all,
    start_symbol,
)

SIDES: dict[str, dict[str, bool]] = {
    "both": {},
    "encoder": {"decoder": False},
    "decoder": {"encoder": False},
    "without inner norms": {"inner_norms": False},
}


def hierarchical(module: Any, x: Tensor, previous: list[Tensor], detached: bool = True) -> Tensor:
    """The current sentence's states x (tokens, dim), with those of each previous sentence."""
    out = []
    inner = hasattr(module, "words_norm")
    norms = (module.word_query_norm, module.sentence_query_norm) if inner else (module.query_norm, module.query_norm)
    for h in x:
        constant = h.detach() if detached else h
        for_words, for_sentences = (slow_norm(norm, constant)[None] for norm in norms)
        read = [read_all(module.words, for_words, s.detach() if detached else s)[0] for s in previous]
        summaries = [slow_norm(module.words_norm, w) if inner else w for w in read]
        found = torch.stack(summaries) if summaries else x.new_zeros(0, len(h))  # nothing to read sums up to zero
        (s,) = read_all(module.sentences, for_sentences, found)
        if inner:
            c = s + feed_forward(module.feed_forward, slow_norm(module.feed_forward_norm, s)[None])[0]
        else:
            c = feed_forward(module.feed_forward, s[None])[0]
        opening = gate_of_two(module.gate, h, c)
        out.append(slow_norm(module.norm, (1 - opening) * h + opening * c))
    return torch.stack(out)


def literal_logits(model: Any, documents: list[Document], most: int = 3, detached: bool = True) -> Tensor:
    """Encoder and decoder read sentences one at a time, each from position 0; those of the context have no </s>."""
    rows = []
    for document in documents:
        for place, (source, target) in enumerate(document):
            earlier = range(max(0, place - most), place)
            sources = [encoded(model, [start_symbol(i), *document[i][0]]) for i in earlier]
            x = encoded(model, [start_symbol(place), *source, EOS])
            if model.source_han is not None:
                x = hierarchical(model.source_han, x, sources, detached)
            y = decoded(model, [start_symbol(place), *target], x)
            if model.target_han is not None:
                # A previous sentence of the target reads its own source, which the attention above left as it was.
                targets = [
                    decoded(model, [start_symbol(i), *document[i][1]], memory)
                    for i, memory in zip(earlier, sources, strict=True)
                ]
                y = hierarchical(model.target_han, y, targets, detached)
            rows.append(logits_of(model, y))
    return torch.cat(rows)


@pytest.mark.parametrize("context", [1, 3])
@pytest.mark.parametrize("options", SIDES.values(), ids=SIDES)
def test_the_whole_model_is_its_equations(options: dict[str, bool], context: int) -> None:
    model = build("han", **options)
    documents = random_documents(np.random.default_rng(1), [5, 1, 2], longest=4)
    batch, _ = batch_of(documents, "han", context=context)
    ours, expected = model.logits(batch), literal_logits(model, documents, context)
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-11)
    assert_same_gradients(model, ours, expected)


def test_first_sentences_have_nothing_to_read() -> None:
    model = build("han")
    documents = random_documents(np.random.default_rng(1), [1, 1])
    batch, _ = batch_of(documents, "han")
    ours, expected = model.logits(batch), literal_logits(model, documents)
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-11)
    assert_same_gradients(model, ours, expected)


def test_the_comparison_of_gradients_can_tell() -> None:
    """Without detaching, the logits are the same and the gradients of the sentence model are others."""
    model = build("han")
    documents = random_documents(np.random.default_rng(1), [3], longest=4)
    batch, _ = batch_of(documents, "han")
    ours, other = model.logits(batch), literal_logits(model, documents, detached=False)
    torch.testing.assert_close(ours, other, rtol=1e-11, atol=1e-11)
    found, attached = gradients(model, ours), gradients(model, other)
    for name in ("encoder.0.attention.qkv.weight", "decoder.1.feed_forward.inner.weight", "embedding.weight"):
        assert (found[name] - attached[name]).norm() > 1e-2 * found[name].norm(), name
    torch.testing.assert_close(found["target_han.words.qkv.weight"], attached["target_han.words.qkv.weight"])


def test_no_gradient_reaches_the_sentence_model_through_the_attention() -> None:
    """With gates that let nothing but the context pass, the sentence model learns nothing from the logits.

    Only the side with the attention: what reads its output still learns, and the embedding writes the logits.
    """
    model: Any = build("han")
    documents = random_documents(np.random.default_rng(1), [3], longest=4)
    batch, _ = batch_of(documents, "han")
    with torch.no_grad():
        for module in (model.source_han, model.target_han):
            module.gate.weight.zero_()
            module.gate.bias.fill_(1000.0)
    found = gradients(model, model.logits(batch))
    for name, gradient in found.items():
        learns = name.startswith("target_han") or name == "embedding.weight"
        if "han.gate" not in name:
            assert bool(gradient.any()) == learns, name
