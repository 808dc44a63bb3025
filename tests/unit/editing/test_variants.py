"""Words whose form is open, and the drafts with other forms: by hand, in German."""

from __future__ import annotations

import pytest

from docflat.decoding.alignment import find_words
from docflat.editing.german import FIXED, FORMS, kind
from docflat.editing.variants import find_open_words, make_variants


def links(source: str, draft: str, *pairs: tuple[str, str]) -> list[tuple[int, int]]:
    """Of words that occur once."""
    words = [[text[a:b] for a, b in find_words(text)] for text in (source, draft)]
    return [(words[0].index(a), words[1].index(b)) for a, b in pairs]


def variants(source: str, draft: str, *pairs: tuple[str, str]) -> dict[str, str]:
    found = make_variants(draft, find_open_words(source, draft, links(source, draft, *pairs), FORMS), FORMS)
    return {variant.text: kind(variant) for variant in found}


def test_a_word_has_the_forms_of_all_its_cases() -> None:
    assert variants("We saw it.", "Wir sahen es.", ("it", "es")) == {
        "Wir sahen er.": "from neuter",
        "Wir sahen ihn.": "from neuter",
        "Wir sahen sie.": "from neuter",
    }
    assert variants("We saw it.", "Wir sahen ihn.", ("it", "ihn")) == {
        "Wir sahen sie.": "other",
        "Wir sahen es.": "to neuter",
    }


def test_words_change_together_and_alone() -> None:
    found = variants("It has its price.", "Sie hat ihren Preis.", ("It", "Sie"), ("its", "ihren"))
    assert found == {
        "Er hat ihren Preis.": "other",
        "Ihn hat ihren Preis.": "other",
        "Es hat ihren Preis.": "to neuter",
        "Sie hat seinen Preis.": "possessive",
        "Er hat seinen Preis.": "possessive",
        "Ihn hat seinen Preis.": "possessive",
        "Es hat seinen Preis.": "possessive",
    }


def test_only_what_translates_an_open_word_is_changed() -> None:
    draft = "Es ist klar, dass es brennt."
    words = find_open_words("Clearly it burns.", draft, [(1, 5)], FORMS)
    assert [(draft[slice(*word.place)], word.source) for word in words] == [("es", "it")]
    assert find_open_words("Clearly she burns.", "Sie brennt klar.", [(1, 0)], FORMS) == []


def test_within_a_sentence_a_capital_is_another_word() -> None:
    assert variants("Did it see?", "Haben Sie gesehen?", ("it", "Sie")) == {}
    assert variants("Yes. It saw.", "Ja. Sie sah.", ("It", "Sie")).keys() == {
        "Ja. Er sah.",
        "Ja. Ihn sah.",
        "Ja. Es sah.",
    }


def test_changes_say_where_they_are() -> None:
    draft = "Es kam, und es blieb."
    words = find_open_words("It came and it stayed.", draft, [(0, 0), (3, 4)], FORMS)
    both = [variant for variant in make_variants(draft, words, FORMS) if len(variant.changes) == 2]
    assert "Sie kam, und sie blieb." in [variant.text for variant in both]
    for variant in both:
        assert [draft[slice(*change.place)] for change in variant.changes] == ["Es", "es"]
        assert [change.old for change in variant.changes] == ["Es", "es"]


def test_a_long_list_has_an_end() -> None:
    draft = " ".join(["es"] * 40)
    words = find_open_words(" ".join(["it"] * 40), draft, [(n, n) for n in range(40)], FORMS)
    assert 0 < len(make_variants(draft, words, FORMS)) <= 24


@pytest.mark.parametrize(
    ("draft", "is_fixed"),
    [
        ("Es regnet.", True),
        ("Heute gibt es Kuchen.", True),
        ("Es geht ihm um Geld.", True),
        ("Das Haus war alt, aber es stand.", True),
        ("Wir sahen ein blaues Haus, ehe es brannte.", True),
        ("Das stimmt. Es steht da.", False),
        ("Das sah er, als es kam.", False),
        ("Es geht jetzt.", False),
        ("Die Maschine war alt, aber es lief.", False),
    ],
)
def test_es_of_nothing_or_of_a_noun_beside_it_is_fixed(draft: str, is_fixed: bool) -> None:
    words = [draft[slice(*place)].lower() for place in find_words(draft)]
    found = find_open_words("It.", draft, [(0, words.index("es"))], FORMS, FIXED)
    assert (not found) == is_fixed
