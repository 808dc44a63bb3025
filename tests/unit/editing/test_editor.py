"""The editor with a model that is a table: what context does to each word is known."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from docflat.decoding.alignment import Weights, find_words
from docflat.decoding.scoring import Candidates, Scored
from docflat.editing import german
from docflat.editing.address_german import TABLE
from docflat.editing.editor import Editor, EditorSettings
from docflat.editing.evidence import CONSTANT, probability, weigh
from docflat.editing.languages import Language
from docflat.editing.pronouns import CERTAINTY, CERTAINTY_OF_FEW, usual_certainty
from docflat.editing.revisions import Edit, Revision
from docflat.editing.variants import Change
from docflat.support.errors import InputError

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
    slopes = defaultdict(float, {"word_gain": 1.0, "doubt": -9.0, CONSTANT: -2.0})
    weights = dict.fromkeys(("from neuter", "to neuter", "other", "possessive"), slopes)
    language = Language(replace(german.PRONOUNS, weights=weights), TABLE, "s")
    asked = EditorSettings(**{"certainty": 0.5, **settings})
    return Editor(scorer, words, align, language, asked), scorer  # type: ignore[arg-type]


MACHINE = [("The machine is new.", "Die Maschine ist neu."), ("It works.", "Es läuft."), ("Good.", "Gut.")]


def test_a_pronoun_is_changed_where_context_asks_for_it() -> None:
    (revisions,) = editor()[0].edit([MACHINE])
    assert [revision.text for revision in revisions] == ["Die Maschine ist neu.", "Sie läuft.", "Gut."]
    (edit,) = revisions[1].edits
    assert [(change.old, change.new, change.source) for change in edit.changes] == [("Es", "Sie", "it")]
    # es 90 % alone and 5 % in context, sie the other way round
    assert edit.evidence["word_gain"] == pytest.approx(2 * math.log(18))
    assert revisions[0].edits == ()
    assert "Es -> Sie for 'it'" in revisions[1].reason


def test_what_is_right_stays() -> None:
    house = [("The house is new.", "Das Haus ist neu."), ("It stands.", "Es steht.")]
    assert not any(revision.edits for document in editor()[0].edit([house, MACHINE[1:]]) for revision in document)


def test_es_that_stands_for_nothing_stays() -> None:
    sentences = [MACHINE[0], ("It is raining.", "Es regnet."), ("It is about money.", "Es geht immer um Geld.")]
    assert not any(revision.edits for revision in editor()[0].edit([sentences])[0])


def test_an_it_that_may_mean_nothing_asks_for_more() -> None:
    (revisions,) = editor()[0].edit([[MACHINE[0], ("It is about money.", "Es dreht sich alles ums Geld.")]])
    assert revisions[1].edits == ()


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
    assert not any(revision.edits for revision in changing.edit([MACHINE])[0])


def test_all_sentences_are_told_of() -> None:
    told: list[int] = []
    editor()[0].edit([MACHINE, []], told.append)
    assert sum(told) == 3


def test_evidence_is_what_context_does_to_a_word_and_to_the_rest() -> None:
    draft = Scored([7, 1, 2], [-1.0, -2.0, -0.5, -0.1]), Scored([7, 1, 2], [-1.0, -0.5, -0.5, -0.1])
    variant = Scored([7, 3, 2], [-1.0, -0.2, -0.9, -0.1]), Scored([7, 3, 2], [-1.0, -1.5, -1.0, -0.1])
    numbers = weigh(draft, variant, [-9.0, -4.0])
    assert numbers == pytest.approx(
        {
            "word_gain": 1.8 + 1.0,
            "rest_gain": -0.4 + 0.5,
            "new_word": -0.2,
            "old_word": -2.0,
            "rest": -0.4,
            "new_alone": -1.5,
            "old_alone": -0.5,
            "whole": 1.4,
            "rival": 4.0 - 2.2,
        }
    )
    slopes = defaultdict(float, {"word_gain": 1.0, "rest_gain": 2.0, "old_word": 0.5, CONSTANT: -2.0})
    assert probability(numbers, "one", {"one": slopes}) == pytest.approx(1 / (1 + math.exp(-(2.8 + 0.2 - 1.0 - 2.0))))
    wild = {**numbers, "word_gain": 70.0}
    assert probability(wild, "one", {"one": slopes}) == pytest.approx(1 / (1 + math.exp(-(5.0 + 0.2 - 1.0 - 2.0))))


def test_a_longer_variant_differs_at_the_end_of_the_shorter() -> None:
    draft = (Scored([7], [-1.0, -2.0]),) * 2
    longer = (Scored([7, 8], [-1.0, -3.0, -0.5]),) * 2
    assert weigh(draft, longer, [])["old_word"] == -2.0
    assert weigh(draft, longer, [])["rest"] == pytest.approx(-0.5)


def test_several_edits_are_made_together_unless_they_clash() -> None:
    pronoun = Edit("pronouns", (Change((0, 2), "Es", "Sie", "it"),), "for 'it'", {})
    address = Edit("address", (Change((9, 12), "dir", "Ihnen", "you"),), "for 'you'", {})
    both = Revision("It helps you.", "Es nützt dir.").with_edit(address).with_edit(pronoun)
    assert both.text == "Sie nützt Ihnen."
    assert both.reason == "dir -> Ihnen for 'you'; Es -> Sie for 'it'"
    assert both.with_edit(Edit("any", (Change((1, 5), "s nü", "", ""),), "", {})) is both
    assert both.without("address").text == "Sie nützt dir."


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"phenomena": ("verbs",)}, "phenomenon 'verbs': there are pronouns, address, names"),
        ({"formality": "rude"}, "formality 'rude': there are majority, formal, informal"),
        ({"certainty": 2.0}, "certainty 2.0: must be from 0 to 1"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        EditorSettings(**settings)


def test_drafts_with_few_wrong_pronouns_ask_for_more() -> None:
    assert usual_certainty([0.7]) == usual_certainty([0.7, 0.1, 0.1]) == CERTAINTY_OF_FEW
    assert usual_certainty([0.7, 0.7]) == CERTAINTY
    assert usual_certainty([0.9] * 27 + [0.1] * 73) == CERTAINTY  # as translations sentence by sentence of dialogue
    assert usual_certainty([0.9] * 3 + [0.1] * 97) == CERTAINTY_OF_FEW  # as translations of people


def test_a_phenomenon_can_be_left_out() -> None:
    (revisions,) = editor(phenomena=("address", "names"))[0].edit([MACHINE])
    assert not any(revision.edits for revision in revisions)
