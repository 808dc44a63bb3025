"""MBE against a slow transcription, group by group and token by token in float64.

Embedded current source sentences -> one encoder layer -> mean over the tokens of each -> mean over the sentences of the
group: v. p = softmax(W v + b) of "one document"; p v stands after the source and before the target of every row of the
group, past the layer norm of the embeddings. The classifier's cross-entropy, a mean over groups, counts as much for
each label as the translation's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import (
    LiteralRow,
    batch_of,
    build,
    corpus_of,
    layout_for,
    literal_rows,
    random_documents,
    rows_array,
    rows_for,
)
from docflat.data.rows import MIXED
from docflat.model.batch import Batch, make_batch
from slow import assert_same_gradients, decoder_layer, embedded, encoder_layer, logits_of, normed

TIGHT = {"rtol": 1e-10, "atol": 1e-10}

# Groups of the rows of documents of 3, 1 and 4 sentences; from MIXED on they are of several documents, below 0 alone.
GROUPS: dict[str, list[int]] = {
    "documents": [0, 0, 0, 1, 2, 2, 2, 2],
    "windows": [0, 0, 1, 2, 3, 3, 4, 4],
    "some mixed": [5, 5, 5, MIXED + 6, MIXED + 6, MIXED + 6, 8, 8],
    "all mixed": [MIXED, MIXED, MIXED + 1, MIXED + 1, MIXED + 1, MIXED + 1, MIXED + 3, MIXED + 3],
    "context-free": [4, 4, 4, MIXED, MIXED, -3, -7, -8],
}


@pytest.fixture(autouse=True)
def _precise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classifier and loss are in float32 whatever the model is in, which would cost the comparison its digits."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)


def case(groups: Sequence[int], context: int = 2) -> tuple[Batch, list[LiteralRow]]:
    documents = random_documents(np.random.default_rng(0), [3, 1, 4])
    layout, corpus = layout_for("mbe"), corpus_of(documents)
    rows = literal_rows(documents, rows_for("mbe", context), layout)
    arrays = replace(rows_array(rows), group=np.array(groups))
    return make_batch(corpus.source, corpus.target, arrays, layout), rows


def mean(vectors: Sequence[Tensor] | Tensor) -> Tensor:
    return sum(vectors[1:], vectors[0]) / len(vectors)


class Slow:
    def __init__(self, model: Any, rows: Sequence[LiteralRow], groups: Sequence[int]) -> None:
        self.model, self.rows, self.groups = model, rows, groups
        self.vector: dict[int, Tensor] = {}  # of each group
        surprises = []
        for group in dict.fromkeys(groups):
            own = [row for row, other in zip(rows, groups, strict=True) if other == group]
            sentences = [embedded(model, row.source)[row.source_before :] for row in own]
            v = mean([mean(encoder_layer(model.summary_layer, x)) for x in sentences])
            mixed, one_document = torch.exp(model.classifier.weight @ v + model.classifier.bias)
            self.vector[group] = v * one_document / (mixed + one_document)
            true = mixed if group >= MIXED else one_document
            surprises.append(-torch.log(true / (mixed + one_document)))
        self.classifier_loss = mean(surprises)

    def logits(self) -> Tensor:
        model, found = self.model, []
        for row, group in zip(self.rows, self.groups, strict=True):
            vector = self.vector[group][None]
            x = torch.cat([normed(model.source_norm, embedded(model, row.source)), vector])
            for layer in model.encoder:
                x = encoder_layer(layer, x)
            y = torch.cat([vector, normed(model.target_norm, embedded(model, row.target))])
            for layer in model.decoder:
                y = decoder_layer(layer, y, x)
            found.append(y[1 + row.target_before :])
        return logits_of(model, torch.cat(found))

    def loss(self, smoothing: float) -> tuple[Tensor, Tensor]:
        labels = [label for row in self.rows for label in row.labels]
        plain = smooth = torch.zeros((), dtype=torch.float64)
        for logits, label in zip(self.logits(), labels, strict=True):
            surprise = torch.log(torch.exp(logits).sum()) - logits
            plain = plain + surprise[label]
            smooth = smooth + surprise.sum() / len(surprise)
        translation = (1 - smoothing) * plain + smoothing * smooth
        return translation + self.classifier_loss * len(labels), plain


@pytest.mark.parametrize("groups", GROUPS)
def test_the_whole_model_is_its_description(groups: str) -> None:
    model = build("mbe")
    batch, rows = case(GROUPS[groups])
    with torch.no_grad():
        torch.testing.assert_close(model.logits(batch), Slow(model, rows, GROUPS[groups]).logits(), **TIGHT)


@pytest.mark.parametrize("groups", GROUPS)
def test_the_classifiers_loss_counts_for_each_label(groups: str) -> None:
    model = build("mbe")
    batch, rows = case(GROUPS[groups])
    slow = Slow(model, rows, GROUPS[groups])
    with torch.no_grad():
        assert float(slow.classifier_loss) > 0.1
        for smoothing in (0.0, 0.1):
            loss, plain = model(batch, smoothing)
            expected, expected_plain = slow.loss(smoothing)
            torch.testing.assert_close(loss, expected, **TIGHT)
            torch.testing.assert_close(plain, expected_plain, **TIGHT)  # what is reported is the translation's alone


def test_gradients_are_those_of_the_description() -> None:
    """Of logits, which train the classifier too since it scales the vector, and of the loss."""
    model = build("mbe")
    batch, rows = case(GROUPS["some mixed"], context=1)
    groups = GROUPS["some mixed"]
    assert_same_gradients(model, model.logits(batch), Slow(model, rows, groups).logits())
    assert_same_gradients(model, model(batch, 0.1)[0], Slow(model, rows, groups).loss(0.1)[0])


def test_what_is_mixed_changes_the_loss_and_not_the_logits() -> None:
    """When translating, nobody says whether a batch is of one document."""
    model = build("mbe")
    told, not_told = case([0, 0, 0, MIXED, MIXED, 2, 2, 2])[0], case([0, 0, 0, 1, 1, 2, 2, 2])[0]
    assert (told.source.mixed.tolist(), not_told.source.mixed.tolist()) == ([False, True, False], [False] * 3)
    with torch.no_grad():
        assert torch.equal(model.logits(told), model.logits(not_told))
        assert abs(float(model(told)[0] - model(not_told)[0])) > 0.1


def test_a_batch_that_is_surely_mixed_adds_a_zero() -> None:
    model: Any = build("mbe")
    with torch.no_grad():
        model.classifier.bias[:] = torch.tensor([1000.0, -1000.0])
    batch, rows = batch_of(random_documents(np.random.default_rng(1), [3]), "mbe")
    memory = model.encode(batch.source)
    assert memory.vector.shape == (len(rows), 16)
    assert not memory.vector.any()
