"""The mode `edit`: every sentence is translated by itself, and again only where its context objects.

A draft's tokens have a log-probability without context, which the search that wrote it knows, and one in context, which
one pass over all drafts tells. Where context takes more than a tolerance from a token, it objects. Most of what a
second pass would change otherwise has nothing to do with context: a beam search is often undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from docflat.engines.engine import Hypothesis


@dataclass(frozen=True)
class Objection:
    """What context says against a token of a draft."""

    place: int  # among the tokens of the draft; after them, the end
    drop: float  # in nats: how much less likely the token is in context


@dataclass(frozen=True)
class EditedSentence:
    """A draft and what became of it."""

    draft: Hypothesis
    objections: Sequence[Objection]  # none: the draft stays
    translation: Hypothesis


def find_objections(draft: Hypothesis, in_context: Sequence[float], tolerance: float) -> list[Objection]:
    """Where context takes more than `tolerance` nats; in_context: log-probabilities of each token, and of the end."""
    drops = (alone - there for alone, there in zip(draft.log_probabilities, in_context, strict=True))
    return [Objection(place, drop) for place, drop in enumerate(drops) if drop > tolerance]
