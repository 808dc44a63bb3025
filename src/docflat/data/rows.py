"""Rows: pseudo-documents, each a current sentence with its local context.

Rows are kept as parallel numpy arrays, not as objects: an epoch of Europarl has 1.7 million of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from docflat.data.row_settings import RowSettings

Array = npt.NDArray[Any]
Ids = list[int]  # a sentence in subwords

MIXED = 1 << 40  # groups from here on hold rows of several documents


class Sentences(Protocol):
    """Encoded sentences of one side: sentence i is tokens[ends[i]:ends[i + 1]]."""

    @property
    def tokens(self) -> Array: ...  # (all tokens,)

    @property
    def ends(self) -> Array: ...  # (sentences + 1,)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in order; every array is (rows,)."""

    sentence: Array  # number of the current sentence
    context: Array  # how many sentences of local context it has
    context_end: Array  # these are the sentences context_end - context ... context_end - 1
    place: Array  # where the current sentence stands in its document, from 0
    group: Array  # neighbouring rows with the same group see each other through the batch

    def __len__(self) -> int:
        return len(self.sentence)

    def take(self, index: Array | slice) -> Rows:
        return Rows(
            self.sentence[index],
            self.context[index],
            self.context_end[index],
            self.place[index],
            self.group[index],
        )


def row_lengths(rows: Rows, source: Sentences, target: Sentences, target_context: bool = True) -> tuple[Array, Array]:
    """Tokens of each row on each side: a start symbol per sentence, and </s> at the end of the source.

    The target's </s> is only ever predicted, never read, so it does not count.
    """
    lengths = []
    for side, closing, has_context in ((source, 1, True), (target, 0, target_context)):
        # Of these sentences alone: the ends of all of a large corpus would not fit into memory.
        before = rows.context_end - rows.context
        context = side.ends[rows.context_end] - side.ends[before] + rows.context  # one start symbol a sentence
        lengths.append(context * has_context + side.ends[rows.sentence + 1] - side.ends[rows.sentence] + 1 + closing)
    return lengths[0], lengths[1]


def trim(rows: Rows, source: Sentences, target: Sentences, max_tokens: int, target_context: bool = True) -> Rows:
    """Take the oldest context away from rows that are too long, as far as there is any."""
    for _ in range(int(rows.context.max(initial=0))):
        longest = np.maximum(*row_lengths(rows, source, target, target_context))
        too_long = (longest > max_tokens) & (rows.context > 0)
        rows = replace(rows, context=rows.context - too_long)
    return rows


def mix(rows: Rows, share: float, rng: np.random.Generator) -> Rows:
    """Exchange the rows of this share of the groups with each other; what is left of those is their size."""
    if not share:
        return rows
    groups, number = np.unique(rows.group, return_inverse=True)
    chosen = ((rng.random(len(groups)) < share) & (groups >= 0))[number]
    where = np.flatnonzero(chosen)
    order = np.arange(len(rows))
    order[where] = rng.permutation(where)
    return replace(rows.take(order), group=np.where(chosen, MIXED + rows.group, rows.group))


def with_contexts_of_others(rows: Rows, document: Array, rng: np.random.Generator) -> Rows:
    """Give every row the whole context of a row of another document, so lengths are those of real contexts.

    document (rows,): which one each is of.
    """
    with_context = np.flatnonzero(rows.group >= 0)
    other = np.arange(len(rows))
    again = with_context if len(np.unique(document[with_context])) > 1 else with_context[:0]
    while len(again):
        other[again] = rng.choice(with_context, len(again))
        again = again[document[other[again]] == document[again]]
    context = np.where(other == np.arange(len(other)), 0, rows.context[other])  # no other document: no context
    return replace(rows, context=context, context_end=rows.sentence[other])


def document_order(documents: int, rng: np.random.Generator | None = None, times: Array | None = None) -> Array:
    """Which documents an epoch reads, in which order.

    times (documents,): how often training sees each; 2.5 is twice, or by chance three times, each time by itself.
    """
    order = np.arange(documents)
    if rng is None:
        return order
    if times is not None:
        order = np.repeat(order, (times // 1 + (rng.random(documents) < times % 1)).astype(np.int64))
    return rng.permutation(order)


def document_rows(
    documents: Array,
    source: Sentences,
    target: Sentences,
    settings: RowSettings,
    index_tokens: int,
    rng: np.random.Generator | None = None,
    order: Array | None = None,
) -> Rows:
    """One row for each sentence that can be learned from, document by document.

    documents (documents + 1,): document d is the sentences documents[d]:documents[d + 1]. With `rng` (training)
    the random settings apply. order: of `document_order`; none: that of all documents, with `rng` a random one.
    Left out are sentences with an empty side, and those longer than a row may be even without context.
    """
    settings = settings.filled()
    assert settings.context is not None
    target_context = settings.target_context is True
    if order is None:
        order = document_order(len(documents) - 1, rng)
    sizes = documents[order + 1] - documents[order]
    document = np.repeat(np.arange(len(sizes)), sizes)  # (sentences,) in the new order
    place = np.arange(len(document)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    sentence = documents[order][document] + place
    context = np.minimum(settings.context, place)

    group = document
    if settings.window:
        group = group * (1 + int(place.max(initial=0))) + place // settings.window
    if rng is not None:
        alone = (rng.random(len(sizes)) < settings.context_free)[document]
        context = np.where(alone, 0, context)
        # Negative numbers, all different: a row that sees no context sees no other row either.
        group = np.where(alone, -1 - np.arange(len(group)), group)
        shifted = rng.random(len(sizes)) < settings.index_shift
        shift = np.where(shifted, rng.integers(0, index_tokens + 1, len(sizes)), 0)
        place = place + shift[document]
    rows = Rows(sentence, context, sentence, place, group)

    if settings.local_context == "irrelevant" and rng is not None:
        rows = with_contexts_of_others(rows, document, rng)
    rows = trim(rows, source, target, settings.max_tokens, target_context)
    empty = (source.ends[sentence + 1] == source.ends[sentence]) | (target.ends[sentence + 1] == target.ends[sentence])
    fits = np.maximum(*row_lengths(rows, source, target, target_context)) <= settings.max_tokens
    return rows.take(~empty & fits)


class SentenceList:
    """Sentences as lists of ids, in the form rows read."""

    def __init__(self, sentences: Sequence[Sequence[int]]) -> None:
        self.tokens: Array = np.array([token for ids in sentences for token in ids], dtype=np.int64)
        self.ends: Array = np.concatenate([[0], np.cumsum([len(ids) for ids in sentences], dtype=np.int64)])
