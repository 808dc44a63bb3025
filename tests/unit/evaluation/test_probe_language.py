"""The probe's language: what it claims about its references holds in every document, and gives nothing away."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from docflat.evaluation.probe.language import ENDINGS, PRONOUNS, Language, ProbeDocument

LANGUAGES = {
    "seed 0": Language(0),
    "seed 1": Language(1),
    "small": Language(1, sentences=7, farthest=5, things=9, words=10),
}


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> Language:
    return LANGUAGES[request.param]


@pytest.fixture
def documents(language: Language) -> list[ProbeDocument]:
    return language.documents(300, "test")


def sentences(one: ProbeDocument) -> list[tuple[int, list[str], list[str]]]:
    """Place, source words and target words of each sentence."""
    assert one.document.target is not None
    pairs = zip(one.document.source, one.document.target, strict=True)
    return [(place, source.split(), target.split()) for place, (source, target) in enumerate(pairs)]


def test_every_document_has_its_entries(language: Language, documents: list[ProbeDocument]):
    assert len(documents) == 300
    for one in documents:
        counts = [len(one.document.source), len(one.document.target or []), len(one.distances), len(one.pronouns)]
        assert counts == [language.sentences] * 4
        for distance, pronoun in zip(one.distances, one.pronouns, strict=True):
            assert (distance == 0) == (pronoun == "")
        assert one.distances[0] == 0
        assert all(one.distances[1:])


def test_the_antecedent_is_named_once_at_the_said_distance(language: Language, documents: list[ProbeDocument]):
    for one in documents:
        for place, source, _ in sentences(one):
            distance = one.distances[place]
            references = [word for word in source if word.startswith("we") and len(word) == 6]
            assert len(references) == (1 if distance else 0)
            if not references:
                continue
            stem = references[0].removeprefix("we")
            named = [
                (where, word)
                for where, words, _ in sentences(one)
                for word in words
                if word in {stem + ending for ending in ENDINGS}
            ]
            assert [where for where, _ in named] == [place - distance]
            assert 1 <= distance <= language.farthest


def test_the_pronoun_is_that_of_the_ending(documents: list[ProbeDocument]):
    pronoun_of = dict(zip(ENDINGS, PRONOUNS, strict=True))
    for one in documents:
        all_sentences = sentences(one)
        for place, _, target in all_sentences:
            found = [word for word in target if word in PRONOUNS]
            if not one.distances[place]:
                assert found == []
                continue
            _, source_before, target_before = all_sentences[place - one.distances[place]]
            assert found == [one.pronouns[place]] == [pronoun_of[source_before[1][-1]]]
            assert target_before[1][-1] == source_before[1][-1]  # the translation shows the gender too


def test_the_reference_does_not_show_the_gender(language: Language, documents: list[ProbeDocument]):
    """The same word has either pronoun, about as often, and so has the rest of its sentence."""
    pronouns: dict[str, Counter[str]] = defaultdict(Counter)
    for one in documents:
        for place, source, target in sentences(one):
            if one.distances[place]:
                for word in (*source, *(word for word in target if word not in PRONOUNS)):
                    pronouns[word][one.pronouns[place]] += 1
    assert len([word for word in pronouns if word.startswith("we") and len(word) == 6]) == language.things
    for word, counts in pronouns.items():
        share = counts[PRONOUNS[0]] / counts.total()
        # Six standard deviations of a fair coin.
        assert abs(share - 0.5) < 6 * 0.5 / counts.total() ** 0.5, word


def test_distances_are_all_there(language: Language, documents: list[ProbeDocument]):
    counts = Counter(distance for one in documents for distance in one.distances)
    assert sorted(counts) == list(range(language.farthest + 1))
    assert min(counts.values()) > 50


def test_pronouns_are_balanced_at_every_distance(language: Language, documents: list[ProbeDocument]):
    """So that chance is 50% at each, whatever a system has learned to guess."""
    for distance in range(1, language.farthest + 1):
        pairs = [pair for one in documents for pair in zip(one.distances, one.pronouns, strict=True)]
        counts = Counter(pronoun for d, pronoun in pairs if d == distance)
        assert abs(counts[PRONOUNS[0]] / counts.total() - 0.5) < 6 * 0.5 / counts.total() ** 0.5


def test_every_other_word_has_one_translation(language: Language, documents: list[ProbeDocument]):
    translations: dict[str, set[str]] = defaultdict(set)
    for one in documents:
        for _, source, target in sentences(one):
            assert len(source) == len(target) == (5 if len(source) == 5 else 3)
            for word, translation in zip(source, target, strict=True):
                translations[word].add(translation)
    for word, found in translations.items():
        if word.startswith("we") and len(word) == 6:
            assert found == set(PRONOUNS)
        else:
            assert len(found) == 1, word
    others = [next(iter(found)) for word, found in translations.items() if not word.startswith("we") or len(word) != 6]
    assert len(set(others)) == len(others) == language.words + language.things * len(ENDINGS)


def test_vocabularies_are_disjoint(language: Language, documents: list[ProbeDocument]):
    source = {word for one in documents for _, words, _ in sentences(one) for word in words}
    target = {word for one in documents for _, _, words in sentences(one) for word in words}
    assert not source & target
    stems = [stem for part in language.lexicon for stem in part]
    assert len(stems) == len(set(stems)) == 2 * (language.things + language.words)
    assert not set(stems) & set(PRONOUNS)
    references = {"we" + stem for stem in language.lexicon[0]}
    named = {stem + ending for side in language.lexicon[:2] for stem in side for ending in ENDINGS}
    assert not (references | named) & {*stems, *PRONOUNS}
    assert not references & named


def test_a_thing_is_named_at_most_once(language: Language, documents: list[ProbeDocument]):
    for one in documents:
        stems = [source[1][:-1] for _, source, _ in sentences(one)]
        assert len(set(stems)) == len(stems)
        assert set(stems) <= set(language.lexicon[0])


def test_the_seed_decides():
    assert Language(3).documents(5, "a") == Language(3).documents(5, "a")
    assert Language(3).documents(5, "a") != Language(3).documents(5, "b")
    assert Language(3).documents(5, "a") != Language(4).documents(5, "a")
    assert Language(3).documents(5, "a") == Language(3).documents(9, "a")[:5]


def test_test_documents_are_not_training_documents(language: Language):
    train, test = (language.documents(1000, split) for split in ("train", "test"))
    seen = {tuple(one.document.source) for one in train}
    assert not [one for one in test if tuple(one.document.source) in seen]


def test_the_example_of_its_docstring():
    """wevonu: what was called vonur, hence ol."""
    assert dict(zip(ENDINGS, PRONOUNS, strict=True)) == {"r": "ol", "s": "am"}
