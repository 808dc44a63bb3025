"""The flat layout, the padded one and one row at a time agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import VARIANTS, batch_of, build_variant, corpus_of, layout_for, random_documents, rows_array
from docflat.model import layers
from docflat.model.batch import make_batch
from docflat.model.layers import attend
from docflat.model.segments import Segments


def segments_of(*lengths: int) -> Segments:
    return Segments.of_lengths(np.array(lengths))


def naive(query: Tensor, key: Tensor, value: Tensor, queries: list[int], keys: list[int], causal: bool) -> Tensor:
    """Segment by segment, head by head, query by query."""
    out = torch.zeros_like(query)
    query_start = key_start = 0
    for query_length, key_length in zip(queries, keys, strict=True):
        for head in range(query.shape[1]):
            for n in range(query_length):
                seen = slice(key_start, key_start + (n + 1 if causal else key_length))
                scores = key[seen, head] @ query[query_start + n, head] / math.sqrt(query.shape[2])
                out[query_start + n, head] = scores.softmax(0) @ value[seen, head]
        query_start, key_start = query_start + query_length, key_start + key_length
    return out


CASES = {
    "ragged": ([3, 1, 6, 2], [3, 1, 6, 2]),
    "one segment": ([7], [7]),
    "single tokens": ([1, 1, 1], [1, 1, 1]),
    "longer keys": ([2, 5, 1], [9, 1, 4]),
}


@pytest.mark.parametrize(
    ("case", "causal"),
    [(case, causal) for case in CASES for causal in (False, True) if case != "longer keys" or not causal],
)
def test_attention_over_segments_is_attention_within_each(case: str, causal: bool) -> None:
    queries, keys = CASES[case]
    torch.manual_seed(0)
    query = torch.randn(sum(queries), 2, 5, dtype=torch.float64, requires_grad=True)
    key, value = (torch.randn(sum(keys), 2, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    result = attend(query, key, value, segments_of(*queries), segments_of(*keys), causal)
    expected = naive(query, key, value, queries, keys, causal)
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)

    upstream = torch.randn_like(result)
    gradients = torch.autograd.grad(result, (query, key, value), upstream)
    wanted = torch.autograd.grad(expected, (query, key, value), upstream)
    for gradient, want in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(gradient, want, rtol=1e-11, atol=1e-12)


def test_padding_is_at_the_end_and_nothing_is_lost() -> None:
    segments = segments_of(2, 4, 1)
    flat = torch.arange(7.0)[:, None] + 1
    assert segments.pad(flat)[..., 0].tolist() == [[1, 2, 0, 0], [3, 4, 5, 6], [7, 0, 0, 0]]
    assert segments.mask.tolist() == [[True, True, False, False], [True] * 4, [True, False, False, False]]
    assert segments.lengths.tolist() == [2, 4, 1]
    assert torch.equal(segments.unpad(segments.pad(flat), len(flat)), flat)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_batch_is_its_groups_one_by_one(variant: str) -> None:
    """A group is what sees each other: a window of a document for docflat, a row for the others."""
    name, _ = VARIANTS[variant]
    model = build_variant(variant)
    documents = random_documents(np.random.default_rng(0), [5, 1, 4], longest=7)
    window = 2 if variant.startswith("docflat") else 1
    batch, rows = batch_of(documents, name, window=window)
    corpus = corpus_of(documents)
    alone = []
    groups = sorted({(row.document, row.place // window) for row in rows})
    assert len(groups) == (6 if window == 2 else 10)
    with torch.no_grad():
        for group in groups:
            some = [row for row in rows if (row.document, row.place // window) == group]
            lone = make_batch(corpus.source, corpus.target, rows_array(some), layout_for(name))
            alone.append(model.logits(lone))
        torch.testing.assert_close(model.logits(batch), torch.cat(alone), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_groups_in_a_batch_does_not_matter(variant: str) -> None:
    name, _ = VARIANTS[variant]
    model = build_variant(variant)
    documents = random_documents(np.random.default_rng(0), [5, 1, 4], longest=7)
    _, rows = batch_of(documents, name)
    corpus = corpus_of(documents)
    turned = [row for document in (2, 0, 1) for row in rows if row.document == document]

    def by_sentence(order: list) -> dict[int, Tensor]:
        batch = make_batch(corpus.source, corpus.target, rows_array(order), layout_for(name))
        with torch.no_grad():
            parts = model.logits(batch).split(batch.target.sentences.lengths.tolist())
        return {row.sentence: part for row, part in zip(order, parts, strict=True)}

    straight, crossed = by_sentence(rows), by_sentence(turned)
    for sentence, logits in straight.items():
        torch.testing.assert_close(crossed[sentence], logits, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available() or layers.kernels is None, reason="the flat kernel needs a GPU")
@pytest.mark.parametrize("causal", [False, True])
def test_the_flat_kernel_agrees_with_the_padded_layout(causal: bool) -> None:
    """bf16 against the naive loop in float64: to the rounding of bf16."""
    queries = [30, 1, 77, 5]
    keys = queries if causal else [3, 64, 10, 1]
    torch.manual_seed(0)
    query = torch.randn(sum(queries), 4, 64, device="cuda", dtype=torch.bfloat16)
    key, value = (torch.randn(sum(keys), 4, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    segments = [segments_of(*lengths).map_tensors(torch.Tensor.cuda) for lengths in (queries, keys)]
    result = attend(query, key, value, segments[0], segments[1], causal)
    expected = naive(*(x.double().cpu() for x in (query, key, value)), queries, keys, causal)
    torch.testing.assert_close(result.double().cpu(), expected, rtol=2e-2, atol=2e-2)
