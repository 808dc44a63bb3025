"""The editor with a model that is a table: what context does to each word is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from docflat.decoding.alignment import Weights, find_words
from docflat.decoding.scoring import Candidates, Scored
from docflat.editing.editor import Editor
from docflat.editing.evidence import Evidence, probability, weigh
from docflat.editing.german import DOUBTS, FIXED, FORMS, kind
from docflat.editing.languages import Language

NOUNS = {"Maschine": "sie", "Brief": "er", "Haus": "es"}


class Words:
    """Subwords that are words."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def encode(self, text: str, side: str = "source") -> list[int]:
        words = [text[slice(*place)] for place in find_words(text)]
        self.names += [word for word in words if word not in self.names]
        return [self.names.index(word) for word in words]


class TableScorer:
    """After a noun, its pronoun has 90 %, the others 5 % each; without one, es has 90 %."""

    rows = SimpleNamespace(context=2)

    def __init__(self, words: Words) -> None:
        self.words = words
        self.scored = 0

    def candidates(self, examples: Sequence[Candidates]) -> list[list[Scored]]:
        self.scored += len(examples)
        return [[self._score(one, ids) for ids in one.translations] for one in examples]

    def _score(self, example: Candidates, ids: list[int]) -> Scored:
        before = [self.words.names[number] for text in example.target_context for number in text]
        noun = next((word for word in reversed(before) if word in NOUNS or word.lower() in NOUNS.values()), "")
        right = NOUNS.get(noun, noun.lower() or "es")
        log = [
            math.log(0.9 if name.lower() == right else 0.05) if name.lower() in NOUNS.values() else -0.1
            for name in (self.words.names[number] for number in ids)
        ]
        return Scored(ids, [*log, -0.1])


def diagonal(pairs: Sequence[tuple[str, str]]) -> list[Weights | None]:
    return [np.eye(len(find_words(draft)), len(find_words(source))) for source, draft in pairs]


def editor(align: Any = diagonal, **settings: Any) -> tuple[Editor, TableScorer]:
    words = Words()
    scorer = TableScorer(words)
    # Only the gain of the word counts, and it must be above 2 nats.
    weights = dict.fromkeys(
        ("from neuter", "to neuter", "other", "possessive"), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -9.0, -2.0)
    )
    language = Language(FORMS, FIXED, DOUBTS, kind, weights)
    return Editor(scorer, words, align, language, **{"certainty": 0.5, **settings}), scorer  # type: ignore[arg-type]


MACHINE = [("The machine is new.", "Die Maschine ist neu."), ("It works.", "Es läuft."), ("Good.", "Gut.")]


def test_a_pronoun_is_changed_where_context_asks_for_it() -> None:
    (revisions,) = editor()[0].edit([MACHINE])
    assert [revision.text for revision in revisions] == ["Die Maschine ist neu.", "Sie läuft.", "Gut."]
    edit = revisions[1].edit
    assert edit is not None
    assert [(change.old, change.new, change.source) for change in edit.variant.changes] == [("Es", "Sie", "it")]
    # es 90 % alone and 5 % in context, sie the other way round
    assert edit.evidence.word_gain == pytest.approx(2 * math.log(18))
    assert revisions[0].edit is None
    assert "Es -> Sie for 'it'" in revisions[1].reason


def test_what_is_right_stays() -> None:
    house = [("The house is new.", "Das Haus ist neu."), ("It stands.", "Es steht.")]
    assert all(revision.edit is None for document in editor()[0].edit([house, MACHINE[1:]]) for revision in document)


def test_es_that_stands_for_nothing_stays() -> None:
    sentences = [MACHINE[0], ("It is raining.", "Es regnet."), ("It is about money.", "Es geht immer um Geld.")]
    assert all(revision.edit is None for revision in editor()[0].edit([sentences])[0])


def test_an_it_that_may_mean_nothing_asks_for_more() -> None:
    (revisions,) = editor()[0].edit([[MACHINE[0], ("It is about money.", "Es dreht sich alles ums Geld.")]])
    assert revisions[1].edit is None


def test_a_changed_sentence_is_the_context_of_those_after_it() -> None:
    document = [*MACHINE[:2], ("It hums.", "Es summt.")]
    far = [document[0], ("Yes.", "Ja."), *document[1:]]
    (revisions,) = editor()[0].edit([far])
    assert [revision.text for revision in revisions] == ["Die Maschine ist neu.", "Ja.", "Sie läuft.", "Sie summt."]


def test_a_sentence_alone_is_scored_once() -> None:
    changing, scorer = editor()
    changing.edit([[*MACHINE[:2], ("It hums.", "Es summt.")]])
    assert scorer.scored == 2 + 2 + 1  # alone, in context, and the last one again after the change


def test_without_alignment_nothing_is_changed() -> None:
    changing, _ = editor(align=lambda pairs: [None] * len(pairs))
    assert all(revision.edit is None for revision in changing.edit([MACHINE])[0])


def test_all_sentences_are_told_of() -> None:
    told: list[int] = []
    editor()[0].edit([MACHINE, []], told.append)
    assert sum(told) == 3


def test_evidence_is_what_context_does_to_a_word_and_to_the_rest() -> None:
    draft = Scored([7, 1, 2], [-1.0, -2.0, -0.5, -0.1]), Scored([7, 1, 2], [-1.0, -0.5, -0.5, -0.1])
    variant = Scored([7, 3, 2], [-1.0, -0.2, -0.9, -0.1]), Scored([7, 3, 2], [-1.0, -1.5, -1.0, -0.1])
    found = weigh(draft, variant, several=False, doubt=True)
    assert found == Evidence(
        word_gain=pytest.approx(1.8 + 1.0),
        rest_gain=pytest.approx(-0.4 + 0.5),
        new_word=-0.2,
        old_word=-2.0,
        rest=pytest.approx(-0.4),
        several=0.0,
        doubt=1.0,
    )
    weights = {"one": (1.0, 2.0, 0.0, 0.5, 0.0, 9.0, 0.25, -1.25)}
    assert probability(found, "one", weights) == pytest.approx(1 / (1 + math.exp(-(2.8 + 0.2 - 1.0 - 1.0))))


def test_a_longer_variant_differs_at_the_end_of_the_shorter() -> None:
    draft = (Scored([7], [-1.0, -2.0]),) * 2
    longer = (Scored([7, 8], [-1.0, -3.0, -0.5]),) * 2
    assert weigh(draft, longer, several=False, doubt=True).old_word == -2.0
    assert weigh(draft, longer, several=False, doubt=True).rest == pytest.approx(-0.5)
