"""Decoding by full recomputation.

The slow versions never cache: they ask the model for the logits of a whole batch (as in training, which the tests
in oracle/ hold to the paper) and, where rows grow together, write out what sees what.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from conftest import (
    VARIANTS,
    Ids,
    Sentences,
    batch_of,
    build_variant,
    corpus_of,
    layout_for,
    random_documents,
    rows_array,
    slow_attention,
    slow_norm,
)
from docflat.data.flat_layout import Layout
from docflat.data.rows import Rows
from docflat.model.batch import Side, make_side
from docflat.model.transformer import Transformer
from docflat.systems.abd import ABD


def prefix_of(target: Sentences, rows: Rows, layout: Layout) -> Side:
    """What decoding starts from."""
    return make_side(target, layout.target_rows(rows), layout, close=False, prefix_only=True)


def reads_rows(model: Transformer) -> bool:
    return isinstance(model, ABD) and model.target_rows is not None


def with_rows(model: Transformer, shown: Side, groups: Sequence[int], row: int) -> AbstractContextManager[Any]:
    """What ABD's decoder adds to a row: what its mean reads of its group's means, of the text that stands in for them.

    In training that is the target itself, future and all; decoding must make do with other text, said by the tests.
    """
    if not reads_rows(model):
        return nullcontext()
    embedded = model.embedding(shown.tokens, shown.positions).split(shown.rows.lengths.tolist())
    means = [sum(x) / len(x) for x in embedded]
    group = torch.stack([mean for mean, other in zip(means, groups, strict=True) if other == groups[row]])
    (read,) = slow_attention(model.target_rows, means[row][None], group, [range(len(group))])

    def mix_target(x: Tensor, side: Side, memory: Any) -> Tensor:
        return torch.stack([slow_norm(model.target_norm, h + read) for h in x])

    return patch.object(model, "mix_target", mix_target)


class Recomputed:
    """A batch in which the current sentence of any one row can be replaced, everything computed anew."""

    def __init__(self, variant: str, seed: int = 0, sizes: Sequence[int] = (3, 1, 2)) -> None:
        self.name, _ = VARIANTS[variant]
        self.model = build_variant(variant)
        self.documents = random_documents(np.random.default_rng(seed), sizes)
        self.batch, literal = batch_of(self.documents, self.name, context=2)
        self.rows = rows_array(literal)
        self.layout = layout_for(self.name)
        self.sentences = [y for document in self.documents for _, y in document]
        self.memory = self.model.encode(self.batch.source)
        self.prefix = prefix_of(corpus_of(self.documents).target, self.rows, self.layout)
        self.shown = self.batch.target  # what stands in for rows of which a whole text is read

    def replaced(self, current: dict[int, Ids]) -> Side:
        """The target with other current sentences in these rows; as local context they stay what they were."""
        sentences = Sentences([*self.sentences, *current.values()])
        numbers = self.rows.sentence.copy()
        numbers[list(current)] = len(self.sentences) + np.arange(len(current))
        rows = self.layout.target_rows(replace(self.rows, sentence=numbers))
        return make_side(sentences, rows, self.layout, close=False)

    def logits(self, side: Side, row: int) -> Tensor:
        """After each token of the row's current sentence: (tokens, text_size)."""
        start, end = side.sentences.starts[row : row + 2].tolist()
        with with_rows(self.model, self.shown, self.rows.group, row):
            return self.model.embedding.logits(self.model.decode(side, self.memory)[start:end])
