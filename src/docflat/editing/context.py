"""Drafts and what else might stand in their places, scored after the sentences before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from docflat.data.subwords import Subwords
from docflat.decoding.alignment import Links, Weights, find_links
from docflat.decoding.scoring import Candidates, Scored, Scorer
from docflat.editing.revisions import Place, Revisions, SentenceAndDraft

Align = Callable[[Sequence[SentenceAndDraft]], Sequence[Weights | None]]


class ContextScorer:
    """Scores and aligns with a model that was trained with context and without."""

    def __init__(self, scorer: Scorer, subwords: Subwords, align: Align) -> None:
        self.scorer, self.subwords, self.align = scorer, subwords, align
        self.context = scorer.rows.context or 0  # sentences before that the model reads

    def score(
        self, places: Sequence[Place], texts: Sequence[Sequence[str]], revisions: Revisions, context: int
    ) -> list[list[Scored]]:
        """Texts of each place, after so many sentences of context, as they were revised."""
        candidates = []
        for (document, number), options in zip(places, texts, strict=True):
            before = revisions[document][max(number - context, 0) : number]
            candidates.append(
                Candidates(
                    self.subwords.encode(revisions[document][number].source),
                    [self.subwords.encode(text, "target") for text in options],
                    [self.subwords.encode(each.source) for each in before],
                    [self.subwords.encode(each.text, "target") for each in before],
                )
            )
        order = sorted(range(len(candidates)), key=lambda number: -candidates[number].tokens)  # like lengths together
        scored: list[list[Scored]] = [[] for _ in candidates]
        for number, one_scored in zip(order, self.scorer.candidates([candidates[n] for n in order]), strict=True):
            scored[number] = one_scored
        return scored

    def links(self, pairs: Sequence[SentenceAndDraft]) -> list[Links | None]:
        """None: too long for the model, or nobody knows what translates what."""
        weights = self.align(pairs) if pairs else []
        return [None if each is None else find_links(*pair, each) for pair, each in zip(pairs, weights, strict=True)]
