"""The evidence that a variant of a draft is right in its context: of two forms of a word, what does context do to each?

Context raises the probability of a right form and lowers that of a wrong one. How much of that is enough is learned,
by language pair, from drafts whose right forms are known, and from translations that nobody should touch
(`benchmarks/edit.py --learn`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from docflat.decoding.scoring import Scored

Weights = Mapping[str, tuple[float, ...]]  # by kind of change: of each number of the evidence, and a constant


@dataclass(frozen=True)
class Evidence:
    """Logarithms of probabilities, in nats. The word is the first one that differs."""

    word_gain: float  # how much more context does for the new word than for the old one
    rest_gain: float  # likewise for the rest of the sentence
    new_word: float  # in context
    old_word: float  # in context
    rest: float  # in context: how much more likely the rest of the sentence is after the new word
    several: float  # 1: several words change
    doubt: float  # 1: the source may mean nothing by the word

    @property
    def numbers(self) -> tuple[float, ...]:
        """Without outliers."""
        limits = ((-2, 5), (-2, 3), (-6, 0), (-6, 0), (-3, 3), (0, 1), (0, 1))
        return tuple(min(max(number, low), high) for number, (low, high) in zip(astuple(self), limits, strict=True))


def weigh(draft: tuple[Scored, Scored], variant: tuple[Scored, Scored], several: bool, doubt: bool) -> Evidence:
    """Both as they were scored in context and without."""
    (old, new), (old_alone, new_alone) = zip(draft, variant, strict=True)
    place = _first_difference(old.tokens, new.tokens)
    words = [
        after.log_probabilities[place] - before.log_probabilities[place]
        for before, after in ((old, new), (old_alone, new_alone))
    ]
    wholes = [new.total - old.total, new_alone.total - old_alone.total]
    rests = [whole - word for whole, word in zip(wholes, words, strict=True)]
    return Evidence(
        words[0] - words[1],
        rests[0] - rests[1],
        new.log_probabilities[place],
        old.log_probabilities[place],
        rests[0],
        float(several),
        float(doubt),
    )


def _first_difference(old: Sequence[int], new: Sequence[int]) -> int:
    """Among the tokens; after the shorter one its end."""
    return next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def probability(evidence: Evidence, kind: str, weights: Weights) -> float:
    """That the variant is right and the draft is not."""
    *slopes, constant = weights[kind]
    return 1 / (1 + math.exp(-constant - sum(a * b for a, b in zip(slopes, evidence.numbers, strict=True))))
