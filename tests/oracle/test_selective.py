"""Selective attention against a slow transcription of its equations, token by token in float64.

Per head, for a token h and the other sentences s of its group with states M_s: p = sparsemax over s of
(Q h) . (K mean M_s) / sqrt(size), r_s = softmax over the words of s of their own products; the head reads
sum_s p_s sum_w r_sw v_w. Then c = LN(FFN(LN(read))), l = sigmoid(A h + B c), l h + (1 - l) c. M is constant.
Sparsemax is the projection onto the simplex (Martins and Astudillo, 2016), found here by bisection.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import EOS, Document, batch_of, build, random_documents, slow_norm
from docflat.systems.selective import sparsemax
from slow import (
    assert_same_gradients,
    decoded,
    encoded,
    feed_forward,
    gate_of_two,
    gradients,
    logits_of,
    normed,
    start_symbol,
)


def projected(scores: list[float]) -> list[float]:
    """The nearest point of the simplex: max(z - t, 0) with the t at which it sums up to 1, between two bounds."""
    low, high = max(scores) - 1, max(scores)  # sums at least to 1 there, to 0 here
    for _ in range(200):
        middle = (low + high) / 2
        if sum(max(z - middle, 0.0) for z in scores) >= 1:
            low = middle
        else:
            high = middle
    return [max(z - low, 0.0) for z in scores]


def literal_sparsemax(scores: Tensor) -> Tensor:
    """With a gradient: on its support the projection is linear, z minus the mean of the support, plus 1 / size."""
    support = [n for n, p in enumerate(projected(scores.tolist())) if p > 0]
    threshold = (scores[support].sum() - 1) / len(support)
    return torch.stack([z - threshold if n in support else 0 * z for n, z in enumerate(scores)])


def random_scores(seed: int, shape: tuple[int, ...] = (40, 9), scale: float = 2.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = scale * torch.randn(*shape, generator=generator, dtype=torch.float64)
    return scores, torch.rand(*shape, generator=generator) < 0.7


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 1000.0])
def test_sparsemax_is_the_projection(scale: float) -> None:
    scores, allowed = random_scores(1, scale=scale)
    found = sparsemax(scores, allowed)
    sizes = set()
    for row, (z, may) in enumerate(zip(scores, allowed, strict=True)):
        assert may.any()
        expected = torch.zeros(len(z), dtype=torch.float64)
        expected[may] = torch.tensor(projected(z[may].tolist()), dtype=torch.float64)
        torch.testing.assert_close(found[row], expected, rtol=1e-11, atol=1e-11)
        sizes.add(int((found[row] > 0).sum()))
    assert len(sizes) > 2 or scale == 1000.0, "supports of several sizes"


def test_sparsemax_meets_the_conditions_of_the_nearest_point() -> None:
    """Of Karush, Kuhn and Tucker: z - p is the same number wherever p > 0, and no more than it elsewhere."""
    scores, allowed = random_scores(2)
    found = sparsemax(scores, allowed)
    assert (found >= 0).all()
    torch.testing.assert_close(found.sum(-1), torch.ones(40, dtype=torch.float64), rtol=1e-12, atol=0)
    for z, may, p in zip(scores, allowed, found, strict=True):
        assert not p[~may].any()
        inside = (z - p)[p > 0]
        torch.testing.assert_close(inside, inside[:1].expand_as(inside), rtol=1e-12, atol=1e-12)
        assert (z[may & (p == 0)] <= inside[0] + 1e-12).all()


def test_the_gradient_of_sparsemax() -> None:
    """Its Jacobian is diag(s) - s s' / |s|, with s = 1 on the support (Martins and Astudillo, equation 9)."""
    scores, allowed = random_scores(3)
    for z, may in zip(scores, allowed, strict=True):
        found = torch.autograd.functional.jacobian(lambda z, may=may: sparsemax(z, may), z)
        s = torch.zeros(len(z), dtype=torch.float64)
        s[may] = (torch.tensor(projected(z[may].tolist())) > 0).double()
        torch.testing.assert_close(found, torch.diag(s) - torch.outer(s, s) / s.sum(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [1, 2, 32, 300])
def test_sparsemax_where_little_or_nothing_is_allowed(dtype: torch.dtype, width: int) -> None:
    scores = torch.linspace(-50, 50, width, dtype=dtype).expand(2, width).clone().requires_grad_()
    allowed = torch.zeros(2, width, dtype=torch.bool)
    allowed[1, 0] = True  # the one that scores least
    found = sparsemax(scores, allowed)
    assert found[0].tolist() == [0.0] * width
    assert found[1].tolist() == [1.0] + [0.0] * (width - 1)
    (found * torch.arange(1.0, width + 1, dtype=dtype)).sum().backward()
    assert scores.grad is not None
    assert not scores.grad.any()  # and no nan, which would count as something


def selected(module: Any, h: Tensor, sentences: list[Tensor]) -> Tensor:
    """What one token reads of these other sentences: (dim,)."""
    dim, heads = len(h), module.words.heads
    size = dim // heads
    (wq, wk, wv), (bq, bk, bv) = module.words.qkv.weight.split(dim), module.words.qkv.bias.split(dim)
    sentence_query = module.sentence_queries.weight @ h + module.sentence_queries.bias
    word_query = wq @ h + bq
    parts = []
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        total = torch.zeros(size, dtype=torch.float64)
        if sentences:
            means = [sum(memory) / len(memory) for memory in sentences]
            keys = [module.sentence_keys.weight @ mean + module.sentence_keys.bias for mean in means]
            scores = torch.stack([sentence_query[own] @ key[own] / math.sqrt(size) for key in keys])
            for p, memory in zip(literal_sparsemax(scores), sentences, strict=True):
                products = torch.stack([word_query[own] @ (wk @ m + bk)[own] / math.sqrt(size) for m in memory])
                shares = products.exp() / products.exp().sum()
                for share, m in zip(shares, memory, strict=True):
                    total = total + p * share * (wv @ m + bv)[own]
        parts.append(total)
    return module.words.output.weight @ torch.cat(parts) + module.words.output.bias


def literal_logits(
    model: Any, documents: list[Document], online: bool, window: int = 0, detached: bool = True
) -> Tensor:
    rows = []
    module = model.selective
    for document in documents:
        states = [encoded(model, [start_symbol(i), *x, EOS]) for i, (x, _) in enumerate(document)]
        for place, (_, target) in enumerate(document):
            others = [
                states[i].detach() if detached else states[i]
                for i in range(len(document))
                if i != place and (i < place or not online) and (not window or i // window == place // window)
            ]
            x = []
            for h in states[place]:
                read = slow_norm(module.read_norm, selected(module, h, others))
                (c,) = normed(module.norm, feed_forward(module.feed_forward, [read]))
                opening = gate_of_two(module.gate, h, c)
                x.append(opening * h + (1 - opening) * c)
            rows.append(logits_of(model, decoded(model, [start_symbol(place), *target], torch.stack(x))))
    return torch.cat(rows)


@pytest.mark.parametrize("window", [0, 2])
@pytest.mark.parametrize("context", ["offline", "online"])
def test_the_whole_model_is_its_equations(context: str, window: int) -> None:
    model = build("selective", context=context)
    documents = random_documents(np.random.default_rng(1), [4, 1, 2], longest=4)
    batch, _ = batch_of(documents, "selective", window=window)
    ours, expected = model.logits(batch), literal_logits(model, documents, context == "online", window)
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-11)
    assert_same_gradients(model, ours, expected)


def test_some_sentences_get_no_weight_and_some_share_it() -> None:
    """The documents above would not show much if every token chose one sentence, or all of them."""
    model: Any = build("selective")
    (document,) = random_documents(np.random.default_rng(1), [4], longest=4)
    module, supports = model.selective, []
    states = [encoded(model, [start_symbol(i), *x, EOS]) for i, (x, _) in enumerate(document)]
    for place in range(4):
        means = [s.mean(0) for i, s in enumerate(states) if i != place]
        keys = torch.stack([module.sentence_keys(mean) for mean in means])
        for h in states[place]:
            query = module.sentence_queries(h)
            for own in (slice(0, 8), slice(8, 16)):
                scores = keys[:, own] @ query[own] / math.sqrt(8)
                supports.append(sum(p > 0 for p in projected(scores.tolist())))
    assert len(supports) == 2 * sum(len(s) for s in states)
    assert min(supports.count(size) for size in (1, 2)) > len(supports) / 10, "of 3 sentences"


def test_the_memory_is_detached() -> None:
    """The comparison of gradients can tell: with a memory that learns, they are others."""
    model = build("selective")
    documents = random_documents(np.random.default_rng(1), [3], longest=3)
    batch, _ = batch_of(documents, "selective")
    found = gradients(model, model.logits(batch))
    attached = gradients(model, literal_logits(model, documents, online=False, detached=False))
    for name in ("encoder.0.attention.qkv.weight", "encoder.1.feed_forward.inner.weight", "source_norm.weight"):
        assert (found[name] - attached[name]).norm() > 1e-2 * found[name].norm(), name


@pytest.mark.parametrize("context", ["offline", "online"])
def test_documents_of_one_sentence_have_nothing_to_attend_to(context: str) -> None:
    model = build("selective", context=context)
    documents = random_documents(np.random.default_rng(1), [1, 1, 1])
    batch, _ = batch_of(documents, "selective")
    ours, expected = model.logits(batch), literal_logits(model, documents, context == "online")
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-11)
    assert_same_gradients(model, ours, expected)  # nan is equal to nothing


@pytest.mark.parametrize("far", [1e3, 1e5])
def test_words_far_from_every_query_still_share_their_sentence(far: float) -> None:
    """A softmax stays what it is when the same is added to all of it: what a bias of the keys does to each query.

    Padding has a product of zero, which is then far above or below the products of words.
    """
    model: Any = build("selective")
    documents = random_documents(np.random.default_rng(1), [4, 2, 3], longest=4)
    batch, _ = batch_of(documents, "selective")
    expected = literal_logits(model, documents, online=False)
    with torch.no_grad():
        model.selective.words.qkv.bias[16:32] += far * torch.randn(16, dtype=torch.float64)
    # What is added rounds products at 1e-16 of it.
    torch.testing.assert_close(model.logits(batch), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("sizes", [[1], [1, 30, 2], [5]], ids=str)
def test_every_gradient_is_a_number_in_float32(sizes: list[int]) -> None:
    """With products in the thousands, and groups of one sentence beside long ones."""
    model: Any = build("selective", dtype=torch.float32)
    with torch.no_grad():
        for linear in (model.selective.sentence_queries, model.selective.words.qkv):
            linear.weight *= 100
    batch, _ = batch_of(random_documents(np.random.default_rng(1), sizes), "selective")
    loss, _ = model(batch)
    loss.backward()
    assert loss.isfinite()
    broken = [name for name, parameter in model.named_parameters() if not parameter.grad.isfinite().all()]
    assert broken == []
