"""ABD against a slow transcription, row by row in float64; and what is wrong with it in the decoder.

m_i: the mean of row i's embeddings; a_i: what m_i reads of the means of its group's rows; LN(h + a_i) for every token h
of row i. On the source side, and, if asked for, on the target side.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import (
    EOS,
    MASK,
    TEXT_SIZE,
    Ids,
    LiteralRow,
    batch_of,
    build,
    corpus_of,
    layout_for,
    random_documents,
    rows_array,
    slow_attention,
)
from docflat.model.batch import make_side
from docflat.model.cache.decoding_state import GlobalContext
from docflat.systems.options import ABDOptions
from slow import assert_same_gradients, decoder_layer, embedded, encoder_layer, logits_of, normed

TIGHT = {"rtol": 1e-10, "atol": 1e-10}
SIDES = {
    "encoder": {},
    "both": {"decoder": True},
    "decoder": {"encoder": False, "decoder": True},
}
# As keys of a row: those that see each other.
GROUPINGS: dict[str, tuple[dict[str, Any], Any]] = {
    "documents": ({}, lambda row: row.document),
    "windows": ({"window": 2}, lambda row: (row.document, row.place // 2)),
    "no mask": ({"one_group": True}, lambda row: 0),
}


def slow_reads(attention: Any, x: Sequence[Tensor], groups: Sequence[object]) -> list[Tensor]:
    """a of each row; x: the embedded tokens of each."""
    means = []
    for tokens in x:
        total = tokens[0]
        for h in tokens[1:]:
            total = total + h
        means.append(total / len(tokens))
    sees = [[j for j, other in enumerate(groups) if other == group] for group in groups]
    return slow_attention(attention, torch.stack(means), torch.stack(means), sees)


def slow_mix(attention: Any, norm: Any, x: Sequence[Tensor], groups: Sequence[object]) -> list[Tensor]:
    if attention is None:
        return [normed(norm, tokens) for tokens in x]
    reads = slow_reads(attention, x, groups)
    return [normed(norm, [h + a for h in tokens]) for tokens, a in zip(x, reads, strict=True)]


def slow_states(
    model: Any, sources: Sequence[Ids], targets: Sequence[Tensor], groups: Sequence[object]
) -> list[Tensor]:
    """targets: what goes into the decoder's first layer."""
    found = []
    source_rows = [embedded(model, row) for row in sources]
    mixed = slow_mix(model.source_rows, model.source_norm, source_rows, groups)
    for x, y in zip(mixed, targets, strict=True):
        for layer in model.encoder:
            x = encoder_layer(layer, x)
        for layer in model.decoder:
            y = decoder_layer(layer, y, x)
        found.append(y)
    return found


def slow_logits(model: Any, rows: Sequence[LiteralRow], groups: Sequence[object]) -> Tensor:
    embedded_rows = [embedded(model, row.target) for row in rows]
    targets = slow_mix(model.target_rows, model.target_norm, embedded_rows, groups)
    found = slow_states(model, [row.source for row in rows], targets, groups)
    return logits_of(model, torch.cat([y[row.target_before :] for row, y in zip(rows, found, strict=True)]))


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("side", SIDES)
def test_the_whole_model_is_its_description(side: str, grouping: str) -> None:
    model = build("abd", **SIDES[side])
    given, key = GROUPINGS[grouping]
    batch, rows = batch_of(random_documents(np.random.default_rng(0), [3, 1, 4]), "abd", context=2, **given)
    with torch.no_grad():
        expected = slow_logits(model, rows, [key(row) for row in rows])
        torch.testing.assert_close(model.logits(batch), expected, **TIGHT)


def test_gradients_are_those_of_the_description() -> None:
    model = build("abd", decoder=True)
    batch, rows = batch_of(random_documents(np.random.default_rng(1), [3, 2]), "abd", context=1)
    assert_same_gradients(model, model.logits(batch), slow_logits(model, rows, [row.document for row in rows]))


def test_the_encoder_side_is_the_default() -> None:
    model: Any = build("abd")
    assert (ABDOptions().encoder, ABDOptions().decoder) == (True, False)
    assert model.source_rows is not None
    assert model.target_rows is None
    with pytest.raises(ValueError, match="doc2doc"):
        ABDOptions(encoder=False)


def test_in_the_decoder_training_sees_the_future() -> None:
    """Why it is off: a later word changes the logits before it, in its own row and in the rows before."""
    documents = random_documents(np.random.default_rng(2), [3], longest=4)
    documents[0][2] = (documents[0][2][0], [5, 6, 7, 8])
    changed = deepcopy(documents)
    changed[0][2][1][3] = 9
    logits = {}
    for side, options in SIDES.items():
        model = build("abd", **options)
        with torch.no_grad():
            logits[side] = [model.logits(batch_of(text, "abd")[0]) for text in (documents, changed)]
    before = len(logits["both"][0]) - 1  # the last token is read where the last logits are
    assert torch.equal(logits["encoder"][0][:before], logits["encoder"][1][:before])
    for side in ("both", "decoder"):
        differs = (logits[side][0] - logits[side][1]).abs().amax(1)
        assert (differs > 1e-6).all(), "every logit of the document knows of its last word"


@torch.no_grad()
@pytest.mark.parametrize("side", ["both", "decoder"])
@pytest.mark.parametrize("given", [True, False], ids=["first pass", "no first pass"])
def test_decoding_reads_the_first_passs_text(given: bool, side: str) -> None:
    """Hypotheses grow; what their rows read is settled before: from a first pass, or from the prefixes."""
    model = build("abd", **SIDES[side])
    rng = np.random.default_rng(3)
    documents = random_documents(rng, [3, 2])
    batch, rows = batch_of(documents, "abd", context=2)
    groups = [row.document for row in rows]
    target, layout = corpus_of(documents).target, layout_for("abd")
    prefix = make_side(target, rows_array(rows), layout, close=False, prefix_only=True)
    context = GlobalContext(batch.target, torch.arange(len(rows))) if given else None
    prefixes = [row.target[: row.target_before + 1] for row in rows]
    known = [row.target for row in rows] if given else prefixes
    reads = slow_reads(model.target_rows, [embedded(model, text) for text in known], groups)

    state, logits = model.start_decoding(model.encode(batch.source), prefix, 1, context)
    grown: list[Ids] = [[] for _ in rows]
    for _ in range(4):
        x = [
            normed(model.target_norm, [h + a for h in embedded(model, [*start, *own])])
            for start, own, a in zip(prefixes, grown, reads, strict=True)
        ]
        states = slow_states(model, [row.source for row in rows], x, groups)
        expected = logits_of(model, torch.stack([y[-1] for y in states]))
        torch.testing.assert_close(logits, expected, **TIGHT)
        words = rng.integers(MASK + 1, TEXT_SIZE, len(rows))
        grown = [[*own, int(word)] for own, word in zip(grown, words, strict=True)]
        logits = model.decode_one_token(state, torch.from_numpy(words)[:, None])[:, 0]


@torch.no_grad()
def test_another_first_pass_gives_other_logits() -> None:
    """Of every row of the document, also before the sentence that differs."""
    model = build("abd", decoder=True)
    documents = random_documents(np.random.default_rng(4), [3, 2])
    changed = deepcopy(documents)
    changed[0][2] = (changed[0][2][0], [*changed[0][2][1], EOS + 2])
    layout = layout_for("abd")
    batch, rows = batch_of(documents, "abd", context=0)
    prefix = make_side(corpus_of(documents).target, rows_array(rows), layout, close=False, prefix_only=True)
    first = []
    for text in (documents, changed):
        side = batch_of(text, "abd", context=0)[0].target
        context = GlobalContext(side, torch.arange(len(rows)))
        first.append(model.start_decoding(model.encode(batch.source), prefix, 1, context)[1])
    differs = (first[0] - first[1]).abs().amax(1) > 1e-6
    assert differs.tolist() == [True, True, True, False, False]
