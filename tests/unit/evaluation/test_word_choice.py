"""Contrastive choices of words: what is learned from aligned text, which examples are made, and how far back."""

from __future__ import annotations

import itertools
import random

import pytest

from docflat.data.documents import Document
from docflat.evaluation.contrastive.german_genders import Genders
from docflat.evaluation.contrastive.word_choice import (
    NounTranslations,
    akin,
    choose_even,
    find_choices,
    range_of,
    replace_last,
)

# word -> its translations with how often; the nouns of a sentence stand in any order.
LEXICON = {
    "debate": {"Debatte": 2, "Aussprache": 1},
    "farmers": {"Bauern": 1, "Landwirte": 1},
    "question": {"Frage": 1},
    "proposal": {"Vorschlag": 1},
    "union": {"Union": 1},
}


def corpus() -> list[tuple[str, str]]:
    chance = random.Random(2)
    pairs = []
    for _ in range(400):
        words = chance.sample(sorted(LEXICON), 2)
        nouns = [chance.choices([*LEXICON[word]], [*LEXICON[word].values()])[0] for word in words]
        chance.shuffle(nouns)
        pairs.append((f"the european {words[0]} and the {words[1]}", f"die {nouns[0]} und eine {nouns[1]}"))
    return pairs


@pytest.fixture(scope="module")
def translations() -> NounTranslations:
    return NounTranslations(corpus())


@pytest.fixture(scope="module")
def genders() -> Genders:
    return Genders(f"eine {noun} sah die {noun}" for noun in ("Debatte", "Aussprache", "Bauern", "Landwirte"))


def document(*pairs: tuple[str, str]) -> Document:
    return Document([source for source, _ in pairs], [target for _, target in pairs], line=1)


DEBATE = ("The debate was long.", "Die Aussprache war lang.")
OTHER = ("We go on.", "Wir machen weiter.")


def test_model_1_finds_the_translations_and_no_neighbours(translations: NounTranslations):
    found = {word: set(known) for word, known in translations.of.items()}
    assert {word: nouns for word, nouns in found.items() if word != "european"} == {
        word: set(nouns) for word, nouns in LEXICON.items()
    }
    assert "european" not in found, "it stands beside every noun, and explains none"
    share = translations.of["debate"]
    assert share["Debatte"] == pytest.approx(2 / 3, abs=0.12)


@pytest.mark.parametrize("between", [0, 1, 5, 19])
def test_the_distance_is_to_the_last_sentence_with_the_word(
    translations: NounTranslations, genders: Genders, between: int
):
    found = list(find_choices(document(DEBATE, *[OTHER] * between, DEBATE), translations, genders))
    (example,) = found
    assert example.fields["distance"] == between + 1
    assert example.contrastives == ("Die Debatte war lang.",)
    assert example.fields["usual"] == "no"
    assert len(example.source_context) == len(example.target_context) == min(20, between + 1)


def test_beyond_twenty_sentences_nothing_is_known(translations: NounTranslations, genders: Genders):
    assert not list(find_choices(document(DEBATE, *[OTHER] * 20, DEBATE), translations, genders))


def test_twice_in_a_sentence_is_distance_0_and_the_last_is_exchanged(translations: NounTranslations, genders: Genders):
    twice = ("A debate on the debate.", "Eine Aussprache über die Aussprache.")
    (example,) = find_choices(document(twice), translations, genders)
    assert example.fields["distance"] == 0
    assert example.contrastives == ("Eine Aussprache über die Debatte.",)


@pytest.mark.parametrize(
    "before",
    [
        ("The debate was long.", "Die Debatte war lang."),  # the document says both
        ("The debate was long.", "Das war lang."),  # it is not translated
        ("It was long.", "Die Aussprache war lang."),  # not said in the source
    ],
)
def test_a_document_must_have_said_it_in_one_way(
    translations: NounTranslations, genders: Genders, before: tuple[str, str]
):
    assert not list(find_choices(document(before, DEBATE), translations, genders))


def test_another_gender_is_no_rival(translations: NounTranslations):
    genders = Genders(["eine Aussprache", "das Debatte ins Debatte"])
    assert not list(find_choices(document(DEBATE, DEBATE), translations, genders))


def test_forms_of_a_word_are_no_choice():
    assert akin("Ausschuß", "Ausschuss")
    assert akin("Vertrag", "Grundvertrag")
    assert akin("Bericht", "Berichte")
    assert not akin("Debatte", "Aussprache")


def test_an_even_set_has_as_many_unusual_choices_in_every_range(translations: NounTranslations, genders: Genders):
    usual = ("The debate was long.", "Die Debatte war lang.")
    documents = [document(first, *[OTHER] * n, first) for first in (usual, usual, DEBATE) for n in (0, 4)]
    found = list(itertools.chain(*(find_choices(each, translations, genders) for each in documents)))
    kept = choose_even(found, seed=1)
    assert len(found) == 6
    assert sorted((one.fields["range"], one.fields["usual"]) for one in kept) == [
        ("1", "no"),
        ("1", "yes"),
        ("4-7", "no"),
        ("4-7", "yes"),
    ]


def test_ranges_cover_all_distances():
    assert [range_of(back) for back in (0, 1, 2, 3, 4, 7, 8, 12, 13, 20)] == [
        "0", "1", "2-3", "2-3", "4-7", "4-7", "8-12", "8-12", "13-20", "13-20",
    ]  # fmt: skip
    assert replace_last("Frage um Frage.", "Frage", "Sache") == "Frage um Sache."
