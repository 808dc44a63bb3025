"""Shortlists: the words that a batch of sentences can become, so that only these need be weighed at a step.

Each source word has likely translations, which come from counts on training text (recipes/ship/shortlist.py); with
those go the most frequent words of the target, and the source's own words, as which names come through.

A model that learned with label smoothing gives a tenth of the probability to words that are not listed. A sample of
them, the same for all, stands for them in the sum that probabilities are parts of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from docflat.data.rows import Array
from docflat.engines.onnx.head import STRETCH
from docflat.engines.onnx.padding import HIDDEN
from docflat.model.sizes import Vocabulary
from docflat.support.errors import InputError
from docflat.weights.shortlists import FILE
from docflat.weights.stored import read_arrays


@dataclass(frozen=True)
class Shortlist:
    """The likely words of source word n are words[starts[n]:starts[n + 1]]."""

    starts: Array  # (text words + 1,)
    words: Array
    frequent: Array  # that every sentence may need
    sample: Array = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64)
    )  # words by which the sum over unlisted ones is estimated

    def of(self, tokens: Array, vocabulary: Vocabulary) -> Words:
        """What source tokens, (rows, longest), can become."""
        size = vocabulary.text_size
        listed = np.zeros((len(tokens), size), dtype=bool)
        listed[:, : vocabulary.mask + 1] = True
        listed[:, self.frequent] = True
        for row, words in zip(listed, tokens, strict=True):
            source = words[words < size]
            row[source] = True
            first, counts = self.starts[source], self.starts[source + 1] - self.starts[source]
            index = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
            row[self.words[index]] = True
        weights = np.where(listed, np.float32(0), HIDDEN)
        if len(self.sample):
            for row, some in zip(weights, listed, strict=True):
                others = self.sample[~some[self.sample]]
                row[others] = np.log((size - some.sum()) / max(1, len(others)))
        ids = np.flatnonzero((weights > HIDDEN).any(0))
        unlisted = np.where(listed[:, ids], np.float32(0), HIDDEN)
        more = ((0, 0), (0, -len(ids) % STRETCH))
        unlisted, weights = (np.pad(x, more, constant_values=HIDDEN)[:, None] for x in (unlisted, weights[:, ids]))
        return Words(np.pad(ids, more[1]), unlisted, weights, int(listed.any(0).sum()))


@dataclass(frozen=True)
class Words:
    """The words that rows can become."""

    ids: Array  # (listed,) in order, the special symbols first; behind them any, so that there are whole stretches
    unlisted: Array  # (rows, 1, listed) 0, or minus infinity for what only other rows can become
    weights: Array  # (rows, 1, listed) logarithm of how many words each stands for in the sum of all
    count: int  # how many words rows can become


def read_shortlist(folder: Path, vocabulary: Vocabulary) -> Shortlist | None:
    """That of a model folder, if it has one."""
    path = folder / FILE
    if not path.exists():
        return None
    arrays = read_arrays(path)
    names = ("starts", "words", "frequent")
    if not set(names) <= set(arrays) <= {*names, "sample"} or any(array.ndim != 1 for array in arrays.values()):
        raise InputError(f"no shortlist: it has other arrays than {', '.join(names)}", path)
    starts, words, frequent = (arrays[name].astype(np.int64) for name in names)
    sample = arrays.get("sample", np.zeros(0)).astype(np.int64)  # not in all lists
    ids = np.concatenate([words, frequent, sample])
    fits = len(starts) == vocabulary.text_size + 1 and starts[0] == 0 and starts[-1] == len(words)
    if not fits or (np.diff(starts) < 0).any() or (ids >= vocabulary.text_size).any() or (ids < 0).any():
        raise InputError("this shortlist is of another vocabulary", path)
    return Shortlist(starts, words, frequent, sample)
