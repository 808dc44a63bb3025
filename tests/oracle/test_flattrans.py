"""FlatTrans against a slow transcription, row by row and token by token in float64.

All encoder layers but the top one read the whole row, context and current sentence, each with a segment embedding;
the top one reads the current sentence only, and so does the decoder, whose own side is the current sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import SIZES, LiteralRow, batch_of, build, random_documents
from docflat.support.errors import InputError
from docflat.systems.options import FlatTransOptions
from slow import assert_same_gradients, decoder_layer, embedded, encoder_layer, logits_of, normed, plus

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def flattrans(seed: int = 0, encoder_layers: int = 2, **options: int) -> Any:
    """Segment embeddings start at zero; here they are as large as the others."""
    model: Any = build("flattrans", seed=seed, sizes=replace(SIZES, encoder_layers=encoder_layers), **options)
    with torch.no_grad():
        model.segments.normal_()
    return model


def slow_logits(model: Any, rows: Sequence[LiteralRow], top_layers: int) -> Tensor:
    lower_layers = max(0, len(model.encoder) - top_layers)
    found = []
    for row in rows:
        segment = [model.segments[1 if t >= row.source_before else 0] for t in range(len(row.source))]
        x = normed(model.source_norm, plus(embedded(model, row.source), segment))
        for layer in model.encoder[:lower_layers]:
            x = encoder_layer(layer, x)
        x = x[row.source_before :]
        for layer in model.encoder[lower_layers:]:
            x = encoder_layer(layer, x)
        assert len(row.target) == len(row.labels), "no target context"
        y = normed(model.target_norm, embedded(model, row.target))
        for layer in model.decoder:
            y = decoder_layer(layer, y, x)
        found.append(y)
    return logits_of(model, torch.cat(found))


@pytest.mark.parametrize(("encoder_layers", "top_layers"), [(2, 1), (2, 0), (3, 2), (1, 0), (4, 1), (4, 2)], ids=str)
def test_the_whole_model_is_its_description(encoder_layers: int, top_layers: int) -> None:
    model = flattrans(encoder_layers=encoder_layers, top_layers=top_layers)
    documents = random_documents(np.random.default_rng(encoder_layers), [5, 1])
    documents[0][1] = ([], documents[0][1][1])
    documents[0][2] = (documents[0][2][0], [])
    batch, rows = batch_of(documents, "flattrans")
    assert {len(row.context) for row in rows} == {0, 3}
    with torch.no_grad():
        torch.testing.assert_close(model.logits(batch), slow_logits(model, rows, top_layers), **TIGHT)


def test_one_top_layer_is_the_default() -> None:
    assert FlatTransOptions().top_layers == 1
    batch, rows = batch_of(random_documents(np.random.default_rng(1), [3]), "flattrans")
    model = flattrans(encoder_layers=3)
    with torch.no_grad():
        torch.testing.assert_close(model.logits(batch), slow_logits(model, rows, 1), **TIGHT)


def test_gradients_are_those_of_the_description() -> None:
    model = flattrans()
    batch, rows = batch_of(random_documents(np.random.default_rng(2), [4]), "flattrans", context=2)
    assert_same_gradients(model, model.logits(batch), slow_logits(model, rows, 1))


def test_segment_embeddings_start_at_zero() -> None:
    """Stage II starts where stage I ended: a row without context reads as the sentence system has it."""
    torch.manual_seed(0)
    model: Any = build("flattrans", seed=4)
    assert not model.segments.any()
    before = build("sent2sent")
    before.load_state_dict(model.state_dict(), strict=False)
    documents = random_documents(np.random.default_rng(3), [4, 2])
    model.start_index_tokens()
    lone, _ = batch_of(documents, "flattrans", context=0)
    sentences, _ = batch_of(documents, "sent2sent")
    with torch.no_grad():
        assert torch.equal(model.logits(lone), before.logits(sentences))


def test_layers_that_see_no_context_are_refused() -> None:
    for layers, top in ((2, 2), (3, 4)):
        with pytest.raises(InputError, match="that is the system sent2sent"):
            flattrans(encoder_layers=layers, top_layers=top)


@pytest.mark.parametrize("open_", [True, False])
def test_context_must_be_taken_over_by_the_lower_layers(open_: bool) -> None:
    """Where the lower layer is taken out, nothing of the context is left."""
    model = flattrans(encoder_layers=2, top_layers=1)
    if not open_:
        model.lower_layers = 0
    documents = random_documents(np.random.default_rng(0), [2, 2])
    (first, current), (other, _) = documents
    same_length = [other[0][n % len(other[0])] for n in range(len(first[0]))]
    assert same_length != first[0]
    results = []
    for x in (first[0], same_length):
        batch, rows = batch_of([[(x, first[1]), current]], "flattrans")
        with torch.no_grad():
            results.append(model.logits(batch)[-len(rows[-1].labels) :])
    assert torch.equal(*results) == (not open_)
