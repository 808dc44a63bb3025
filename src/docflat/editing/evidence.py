"""The evidence that a variant of a draft is right in its context: of two forms of a word, what does context do to each?

Context raises the probability of a right form and lowers that of a wrong one, and a form agrees with a noun that was
named. How much of that is enough is learned, by language pair, from drafts whose right forms are known, and from
translations that nobody should touch (`benchmarks/edit.py --learn`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files

from docflat.decoding.scoring import Scored

Evidence = Mapping[str, float]  # numbers by name
Weights = Mapping[str, Mapping[str, float]]  # by kind of change: of each number of the evidence, and a constant

CONSTANT = "constant"
# Logarithms of probabilities, in nats, without outliers. The word is the first one that differs.
LIMITS = {
    "word_gain": (-2.0, 5.0),  # how much more context does for the new word than for the old one
    "rest_gain": (-2.0, 3.0),  # likewise for the rest of the sentence
    "new_word": (-6.0, 0.0),  # in context
    "old_word": (-6.0, 0.0),
    "rest": (-3.0, 3.0),  # in context: how much more likely the rest of the sentence is after the new word
    "new_alone": (-6.0, 0.0),  # the words without context
    "old_alone": (-6.0, 0.0),
    "whole": (-5.0, 5.0),  # in context: how much more likely the sentence is
    "rival": (-4.0, 4.0),  # in context: how much more likely than with the best of the other new forms
}


def weigh(draft: tuple[Scored, Scored], variant: tuple[Scored, Scored], rivals: Sequence[float]) -> dict[str, float]:
    """Both as they were scored in context and without; rivals: totals of other variants in context."""
    (old, new), (old_alone, new_alone) = zip(draft, variant, strict=True)
    place = _first_difference(old.tokens, new.tokens)
    words = [
        after.log_probabilities[place] - before.log_probabilities[place]
        for before, after in ((old, new), (old_alone, new_alone))
    ]
    wholes = [new.total - old.total, new_alone.total - old_alone.total]
    rests = [whole - word for whole, word in zip(wholes, words, strict=True)]
    return {
        "word_gain": words[0] - words[1],
        "rest_gain": rests[0] - rests[1],
        "new_word": new.log_probabilities[place],
        "old_word": old.log_probabilities[place],
        "rest": rests[0],
        "new_alone": new_alone.log_probabilities[place],
        "old_alone": old_alone.log_probabilities[place],
        "whole": wholes[0],
        "rival": new.total - max(rivals) if rivals else LIMITS["rival"][1],
    }


def _first_difference(old: Sequence[int], new: Sequence[int]) -> int:
    """Among the tokens; after the shorter one its end."""
    return next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def limited(evidence: Evidence) -> dict[str, float]:
    """Without outliers."""
    return {
        name: min(max(number, LIMITS[name][0]), LIMITS[name][1]) if name in LIMITS else number
        for name, number in evidence.items()
    }


def probability(evidence: Evidence, kind: str, weights: Weights) -> float:
    """That the variant is right and the draft is not."""
    slopes = weights[kind]
    return 1 / (1 + math.exp(-slopes[CONSTANT] - sum(slopes[name] * n for name, n in limited(evidence).items())))


def read_weights(file: str) -> Weights:
    """Of a file in this folder."""
    weights: Weights = json.loads(files("docflat.editing").joinpath(file).read_text(encoding="utf-8"))
    return weights
