"""Names spelled two ways, by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from docflat.decoding.scoring import Scored
from docflat.editing.names import Names
from docflat.editing.revisions import Place, Revision, Revisions


class Model:
    """Knows how likely some words are."""

    context = 0

    def __init__(self, words: Mapping[str, float]) -> None:
        self.words = words

    def score(
        self, places: Sequence[Place], texts: Sequence[Sequence[str]], revisions: Revisions, context: int
    ) -> list[list[Scored]]:
        return [[Scored([], [self._score(text)]) for text in options] for options in texts]

    def _score(self, text: str) -> float:
        return sum(value for word, value in self.words.items() if word in text)


def edited(pairs: Sequence[tuple[str, str]], **words: float) -> list[str]:
    revisions = [[Revision(*pair) for pair in pairs]]
    Names(Model(words), "s").edit(revisions)  # type: ignore[arg-type]
    return [revision.text for revision in revisions[0]]


def about(name: str, *forms: str) -> list[tuple[str, str]]:
    return [(f"Then {name} came.", f"Dann kam {form}.") for form in forms]


def test_the_usual_spelling_stays() -> None:
    assert edited(about("Peskov", "Peskow", "Peskov", "Peskow")) == ["Dann kam Peskow."] * 3
    assert edited(about("Peskov", "Peskow", "Peskovs", "Peskow"))[1] == "Dann kam Peskows."


def test_of_two_that_are_as_frequent_the_likelier_one_stays() -> None:
    pairs = about("Peskov", "Peskow", "Peskov")
    assert edited(pairs, Peskow=1.0) == ["Dann kam Peskow."] * 2
    assert edited(pairs, Peskov=1.0) == ["Dann kam Peskov."] * 2
    assert edited(pairs) == ["Dann kam Peskow.", "Dann kam Peskov."]
    four = about("Peskov", "Peskow", "Peskov", "Peskow", "Peskov")
    assert edited([*four[:3], ("Peskov!", "Peskov!")], Peskow=1.0, kam=9.0) == ["Dann kam Peskow."] * 3 + ["Peskow!"]


def test_what_the_model_finds_odd_is_not_written() -> None:
    pairs = about("Peskov", "Peskow", "Peskov", "Peskow")
    assert edited(pairs, Peskow=-9.0) == [draft for _, draft in pairs]


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("London", ["London", "London", "Londoner"]),
        ("Russian", ["Russen", "Russen", "Russland"]),
        ("Göttingen", ["Göttingen", "Göttingen", "Göttinger"]),
        ("European", ["Europäischen", "Europäischen", "Europa"]),
        ("Twitch", ["Twitch", "Twitch", "Twitch-Chef"]),
        ("Americans", ["Amerikaner", "Amerikaner", "Amerikanern"]),
    ],
)
def test_inflected_and_made_words_stay(name: str, forms: Sequence[str]) -> None:
    pairs = about(name, *forms)
    assert edited(pairs) == [draft for _, draft in pairs]


def test_only_what_is_a_name_in_the_source_is_touched() -> None:
    drafts = ["Dann kam Tricorder.", "Dann kam Tricoder.", "Dann kam Tricorder."]
    assert edited([("Then a tricorder came.", draft) for draft in drafts]) == drafts
    assert edited([("Tricorder came.", draft) for draft in drafts]) == drafts  # every sentence starts with a capital


def test_the_reason_counts() -> None:
    revisions = [[Revision(*pair) for pair in about("Gaddafi", "Gaddafi", "Gadaffi", "Gaddafi")]]
    Names(Model({}), "s").edit(revisions)  # type: ignore[arg-type]
    assert revisions[0][1].reason == "Gadaffi -> Gaddafi for 'Gaddafi': 2 of 3 sentences of this document have Gaddafi"
