"""Inspection against the paper's equation with loops over tokens, and against what the model itself reads."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import FLAT_VARIANTS, VARIANTS, batch_of, build_variant, random_documents, slow_attention
from docflat.evaluation.inspection import flat_units, gate_openings, sentence_weights, side_maps
from docflat.model.batch import Side
from docflat.model.layers import Attention
from docflat.systems.docflat import DocFlat, FlatBatchAttention

SIZES = [5, 1, 3]  # sentences of the documents
CLOSE = {"rtol": 0, "atol": 1e-10}


def sides(variant: str, window: int = 0) -> list[tuple[FlatBatchAttention, Tensor, Side, bool]]:
    """(module, embedded tokens, side, whether causal) of each side of a random model that has the attention."""
    model = build_variant(variant)
    assert isinstance(model, DocFlat)
    documents = random_documents(np.random.default_rng(3), SIZES)
    batch, _ = batch_of(documents, VARIANTS[variant][0], window=window)
    both = ((model.source_flat, batch.source, False), (model.target_flat, batch.target, True))
    return [(flat, model.embed(side).detach(), side, causal) for flat, side, causal in both if flat is not None]


def literal_units(flat: FlatBatchAttention, side: Side) -> list[list[int]]:
    """The tokens of each sentence of the flat sequence, or of each row where local context is in it."""
    rows = [list(range(a, b)) for a, b in pairwise(side.rows.starts.tolist())]
    if flat.options.scope == "all":
        return rows
    current = set(side.current.tolist())
    return [[token for token in row if token in current] for row in rows]


def literal_weights(attention: Attention, x: Tensor, document: list[int], causal: bool) -> Tensor:
    """Token-wise attention map A of one document: (heads, tokens, tokens), a softmax at a time."""
    dim, size = x.shape[1], x.shape[1] // attention.heads
    (wq, wk, _), (bq, bk, _) = attention.qkv.weight.split(dim), attention.qkv.bias.split(dim)
    weights = torch.zeros(attention.heads, len(document), len(document), dtype=x.dtype)
    for head in range(attention.heads):
        own = slice(head * size, (head + 1) * size)
        for m, reading in enumerate(document):
            query = (wq @ x[reading] + bq)[own]
            seen = range(m + 1) if causal else range(len(document))
            scores = [math.exp(float(query @ (wk @ x[document[n]] + bk)[own]) / math.sqrt(size)) for n in seen]
            for n in seen:
                weights[head, m, n] = scores[n] / sum(scores)
    return weights


def literal_map(weights: Tensor, lengths: list[int]) -> Tensor:
    """eq:sent_attn, patch by patch: (heads, sentences, sentences)."""
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    result = torch.zeros(len(weights), len(lengths), len(lengths), dtype=weights.dtype)
    for head in range(len(weights)):
        for i, n in enumerate(lengths):
            for j, m in enumerate(lengths):
                patch = [
                    float(weights[head, a, b])
                    for a in range(starts[i], starts[i] + n)
                    for b in range(starts[j], starts[j] + m)
                ]
                result[head, i, j] = sum(patch) / len(patch)
    return result


def bounds_of(units: list[list[int]]) -> list[int]:
    return [sum(len(unit) for unit in units[:n]) for n in range(len(units) + 1)]


@pytest.mark.parametrize("variant", FLAT_VARIANTS)
def test_maps_are_the_papers_equation(variant: str):
    with torch.no_grad():
        for flat, x, side, causal in sides(variant):
            units = literal_units(flat, side)
            assert flat_units(flat, side).lengths.tolist() == [len(unit) for unit in units]
            maps = side_maps(flat, x, side, causal)
            assert [len(one[0]) for one in maps] == SIZES  # documents do not see each other
            for first, size, found in zip(np.cumsum([0, *SIZES]), SIZES, maps, strict=False):
                own = units[first : first + size]
                tokens = [token for unit in own for token in unit]
                expected = literal_map(literal_weights(flat.attention, x, tokens, causal), [len(unit) for unit in own])
                torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize("variant", FLAT_VARIANTS)
def test_weights_times_values_are_what_the_model_reads(variant: str):
    with torch.no_grad():
        for flat, x, side, causal in sides(variant):
            where, groups = flat.flat(side)
            expected = flat.attention.over(x[where], groups, causal)
            units = literal_units(flat, side)
            for first, size in zip(np.cumsum([0, *SIZES]), SIZES, strict=False):
                own = units[first : first + size]
                tokens = [token for unit in own for token in unit]
                weights = torch.cat(
                    list(sentence_weights(flat.attention, x[tokens], bounds_of(own), causal)), dim=1
                )  # (heads, tokens, tokens)
                torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), **CLOSE)
                _, _, values = flat.attention.project(x[tokens])
                read = flat.attention.join(torch.einsum("hqk,khd->qhd", weights, values))
                at = torch.isin(where, torch.tensor(tokens))
                torch.testing.assert_close(read, expected[at], **CLOSE)


@pytest.mark.parametrize("variant", FLAT_VARIANTS)
def test_all_that_a_sentence_reads_sums_to_one_and_nothing_is_read_from_the_future(variant: str):
    with torch.no_grad():
        for flat, x, side, causal in sides(variant):
            lengths = iter(flat_units(flat, side).lengths.tolist())
            for found in side_maps(flat, x, side, causal):
                sizes = torch.tensor([next(lengths) for _ in range(found.shape[-1])])
                total = (found * sizes).sum(-1)
                torch.testing.assert_close(total, torch.ones_like(total), **CLOSE)
                later = found.triu(1)
                assert bool((later == 0).all()) is (causal or found.shape[-1] == 1)


@pytest.mark.parametrize("variant", ["docflat-c", "docflat-d", "docflat-c, all"])
def test_another_document_changes_nothing(variant: str):
    for flat, x, side, causal in sides(variant):
        changed = x.clone()
        second = side.group_tokens.starts[1]
        changed[second:] += 1
        with torch.no_grad():
            before, after = side_maps(flat, x, side, causal), side_maps(flat, changed, side, causal)
        assert torch.equal(before[0], after[0])
        assert not torch.allclose(before[2], after[2])


def test_a_window_is_a_map_of_its_own():
    for flat, x, side, causal in sides("docflat-c", window=2):
        with torch.no_grad():
            found = side_maps(flat, x, side, causal)
        assert [len(one[0]) for one in found] == [2, 2, 1, 1, 2, 1]


@pytest.mark.parametrize("variant", FLAT_VARIANTS)
def test_gate_openings(variant: str):
    """The gate's equation for each token, by what a slow attention reads; docflat-d counts open dimensions."""
    with torch.no_grad():
        for flat, x, side, causal in sides(variant):
            found = gate_openings(flat, x, side, causal)
            if flat.options.gate == "identity":
                assert found is None
                continue
            units = literal_units(flat, side)
            openings: dict[int, float] = {}
            for first, size in zip(np.cumsum([0, *SIZES]), SIZES, strict=False):
                tokens = [token for unit in units[first : first + size] for token in unit]
                sees = [range(m + 1) if causal else range(len(tokens)) for m in range(len(tokens))]
                read = slow_attention(flat.attention, x[tokens], x[tokens], sees)
                for token, a in zip(tokens, read, strict=True):
                    g = 1 / (1 + torch.exp(-(flat.gate.weight @ a + flat.gate.bias)))
                    if flat.options.gate == "discrete":
                        g = (g >= flat.options.gamma).double()
                    openings[token] = float(g.sum() / len(g))
            assert found is not None
            expected = [openings[token] for token in side.current.tolist()]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
            assert len(set(found)) > 3  # not all alike
