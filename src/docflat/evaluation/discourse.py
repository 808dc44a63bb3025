"""Scores of what a document decides, without a model: German pronouns, forms of address, and repeated nouns.

Each is the F1 of what the translation has, sentence by sentence, to what the reference has, as BlonDe (Jiang et al.,
2022) and MuDA (Fernandes et al., 2023) count: 2 * both / (translation + reference). They are sacreBLEU metrics, so its
intervals and paired tests hold for them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from sacrebleu.metrics.base import Metric, Score

Count = Counter[str]
Counting = Callable[[Sequence[str]], list[Count]]  # sentences of one document -> what counts in each

DISCOURSE = ("pronouns", "formality", "cohesion")

_WORD = re.compile(r"\w+(?:-\w+)*|[^\w\s]")
_OPENERS = frozenset(".?!:…\"„“”»«‚‘'()-–—")  # a sentence may begin after them
_PRONOUNS = frozenset(["er", "ihn", "ihm", "sie", "es", "ihr"])
_FORMAL = re.compile(r"Sie|Ihnen|Ihr(?:e[mnrs]?)?")
_INFORMAL = re.compile(r"du|dich|dir|dein(?:e[mnrs]?)?|euch|euer|eure[mnrs]?")


def pronouns(document: Sequence[str]) -> list[Count]:
    """German third person singular: each form by itself. Sie at the start of a sentence may be anything."""
    return [Counter(word.lower() for word, starts in _words(text) if _is_pronoun(word, starts)) for text in document]


def formality(document: Sequence[str]) -> list[Count]:
    """Words that address somebody: formal or informal. Sie and Ihr at the start of a sentence may be she or they."""
    return [Counter(kind for word, starts in _words(text) if (kind := _address(word, starts))) for text in document]


def cohesion(document: Sequence[str]) -> list[Count]:
    """Nouns that an earlier sentence of the same text has, once a sentence."""
    said: set[str] = set()
    counts = []
    for text in document:
        nouns = {word for word, starts in _words(text) if not starts and len(word) > 3 and _is_noun(word)}
        counts.append(Counter(nouns & said))
        said |= nouns
    return counts


COUNTINGS: dict[str, Counting] = {"pronouns": pronouns, "formality": formality, "cohesion": cohesion}


class DiscourseF1(Metric):
    """Of one of DISCOURSE, in per cent; a test set without any of it has 0."""

    def __init__(self, name: str, documents: Sequence[Sequence[str]]) -> None:
        """documents: of the reference."""
        super().__init__()
        self.name, self.num_refs = name, 1
        self.count = COUNTINGS[name]
        self.sizes = [len(document) for document in documents]
        self.wanted = list(chain(*map(self.count, documents)))

    def get_signature(self) -> Any:
        signature = super().get_signature()
        signature.update("discourse", f"{self.name}-de-f1")
        return signature

    def _extract_corpus_statistics(self, hypotheses: Sequence[str], references: Any) -> list[list[float]]:
        counts, start = [], 0
        for size in self.sizes:
            counts += self.count(hypotheses[start : start + size])
            start += size
        return [
            [float((mine & its).total()), float(mine.total()), float(its.total())]
            for mine, its in zip(counts, self.wanted, strict=True)
        ]

    def _aggregate_and_compute(self, stats: Any) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: Any) -> Score:
        both, mine, its = (float(value) for value in stats)
        return Score(self.name, 200 * both / (mine + its) if mine + its else 0.0)

    def _preprocess_segment(self, sent: str) -> str:
        raise NotImplementedError("documents are counted as wholes")

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        raise NotImplementedError("the metric has the references")

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[Any]:
        raise NotImplementedError("documents are counted as wholes")


def _words(text: str) -> list[tuple[str, bool]]:
    """Words, and whether a sentence may start with each: a capital there says nothing."""
    words_in_case, starts = [], True
    for word in _WORD.findall(text):
        if word[0].isalpha():
            words_in_case.append((word, starts))
        starts = word in _OPENERS
    return words_in_case


def _is_pronoun(word: str, starts: bool) -> bool:
    small = word.lower()
    opens = starts and word == small.capitalize() and small not in ("sie", "ihr")  # ES in brackets is Spanish
    return small in _PRONOUNS and (word == small or opens)


def _address(word: str, starts: bool) -> str:
    if not starts and _FORMAL.fullmatch(word):
        return "formal"
    return "informal" if _INFORMAL.fullmatch(word.lower() if starts else word) else ""


def _is_noun(word: str) -> bool:
    return word[0].isupper() and not word.isupper() and not _FORMAL.fullmatch(word)
