"""Nouns that a pronoun may stand for, by hand."""

from __future__ import annotations

import pytest

from docflat.editing.antecedents import Antecedents, Nouns
from docflat.editing.german import NOUNS


@pytest.mark.parametrize(
    ("noun", "gender"),
    [("Haus", "n"), ("Tür", "f"), ("Film", "m"), ("Haustür", "f"), ("Kinofilm", "m"), ("Leute", "p"), ("Xyz", "")],
)
def test_a_compound_has_the_gender_of_its_end(noun: str, gender: str) -> None:
    assert NOUNS.gender(noun) == gender


def test_of_an_endless_word_only_the_end_is_looked_up() -> None:
    asked = []

    class Genders(dict[str, str]):
        def __contains__(self, noun: object) -> bool:
            asked.append(noun)
            return False

    nouns = Nouns("endless", frozenset(), {})
    nouns.__dict__["genders"] = Genders()
    assert nouns.gender("Q" * 3_000) == ""
    assert 10 < len(asked) < 100


def test_nouns_before_a_pronoun_speak_for_its_gender() -> None:
    before = [
        (("The car is old.", "Das Auto ist alt."), [(1, 1)]),
        (("The woman opened the door to the house.", "Die Frau öffnete die Tür zum Haus."), [(1, 1), (4, 4), (7, 6)]),
    ]
    draft = "Der Film war gut, aber er war lang."
    current = (("The film was good, but it was long.", draft), [(1, 1)])
    antecedents = Antecedents(NOUNS, before, current, draft.index("er war lang"))
    feminine, neuter, masculine = (antecedents.support(gender) for gender in "fnm")
    assert (feminine.first_noun, feminine.last_noun, feminine.any_noun, feminine.only_gender) == (1, 0, 1, 0)
    assert (neuter.first_noun, neuter.last_noun, neuter.earlier_noun) == (0, 1, 1)
    assert (masculine.noun_beside, masculine.nearest_beside, masculine.any_noun) == (1, 1, 0)
    numbers = antecedents.numbers("f", ["n", "m"])
    assert (numbers["new_any_noun"], numbers["old_noun_beside"], numbers["no_noun"]) == (1, 1, 0)


def test_persons_and_plurals_are_no_candidates() -> None:
    pair = ("The man saw people.", "Der Mann sah Leute.")
    antecedents = Antecedents(NOUNS, [(pair, [(1, 1), (3, 3)])], (("It.", "Es."), []), 0)
    assert antecedents.last == []
    assert antecedents.numbers("m", ["n"])["no_noun"] == 1


def test_a_pronoun_before_speaks_for_its_gender_if_it_translates_it() -> None:
    pair = ("It stood there, and he saw her.", "Sie stand da, und er sah sie.")
    antecedents = Antecedents(NOUNS, [(pair, [(0, 0), (5, 5), (7, 7)])], (("It.", "Es."), []), 0)
    assert (antecedents.support("f").pronoun, antecedents.support("m").pronoun) == (1, 0)
