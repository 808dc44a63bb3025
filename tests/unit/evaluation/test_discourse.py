"""Scores of pronouns, address and repeated nouns: on sentences counted by hand, and against sets and sums."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from sacrebleu.significance import PairedTest

from docflat.evaluation.discourse import DISCOURSE, DiscourseF1, cohesion, formality, pronouns
from docflat.evaluation.metrics import Metrics
from docflat.evaluation.testsets import DocumentFile


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Er sah ihn, aber es half ihm nicht.", {"er": 1, "ihn": 1, "es": 1, "ihm": 1}),
        ("Sie ging, weil sie müde war.", {"sie": 1}),  # the first may be they, or you
        ("Ich danke Ihnen, Sie haben recht.", {}),
        ("„Es war alt.“ Es fiel.", {"es": 2}),
        ("Der Eriesee", {}),
        ("(ES) Herr Präsident, das Ministerium ER und ES", {}),  # languages and other abbreviations
        ("", {}),
    ],
)
def test_pronouns_of_a_sentence(text: str, wanted: dict[str, int]):
    assert pronouns([text]) == [Counter(wanted)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Haben Sie Ihre Tasche? Ich gebe Ihnen Ihren Mantel.", {"formal": 4}),
        ("Sie kommt. Ihr Hund auch.", {}),
        ("Du hast deinen Hut, und ich danke euch.", {"informal": 3}),
        ("Das Duell, ein Dirigent und die Ihrigen", {}),
    ],
)
def test_address_of_a_sentence(text: str, wanted: dict[str, int]):
    assert formality([text]) == [Counter(wanted)]


def test_nouns_that_were_said_before():
    text = ["Der Bericht ist da.", "Ich lese den Bericht und den Bericht.", "Bericht und Vorschlag", "Ein Vorschlag."]
    assert cohesion(text) == [Counter(), Counter({"Bericht": 1}), Counter(), Counter({"Vorschlag": 1})]
    assert cohesion(text[1:2]) == [Counter()], "another document begins anew"


REFERENCE = [["Er kam.", "Es war der Bericht."], ["Ich sah, dass sie den Bericht hat.", "Der alte Bericht, er ist da."]]
SYSTEM = [["Es kam.", "Es war der Entwurf."], ["Ich sah, dass er den Bericht hat.", "Der neue Bericht, es ist da."]]


def test_f1_counted_by_hand():
    """Pronouns: reference er, es, sie, er; system es, es, er, es; per sentence only the second agrees."""
    flat = [text for document in SYSTEM for text in document]
    assert DiscourseF1("pronouns", REFERENCE).corpus_score(flat, None).score == pytest.approx(100 * 2 * 1 / (4 + 4))
    assert DiscourseF1("cohesion", REFERENCE).corpus_score(flat, None).score == pytest.approx(100)
    assert DiscourseF1("formality", REFERENCE).corpus_score(flat, None).score == 0


def slow_f1(counts: list[tuple[list[str], list[str]]]) -> float:
    """Precision and recall, one word after the other, and their harmonic mean."""
    right = mine = wanted = 0
    for system, reference in counts:
        left = list(reference)
        for word in system:
            mine += 1
            if word in left:
                left.remove(word)
                right += 1
        wanted += len(reference)
    precision, recall = right / mine, right / wanted
    return 100 * 2 / (1 / precision + 1 / recall)


def test_f1_is_the_mean_of_precision_and_recall():
    chance = random.Random(4)
    draw = lambda: " ".join(["Heute", *chance.choices(["er", "sie", "es", "ihn", "Haus"], k=6)])  # noqa: E731
    reference, system = ([draw() for _ in range(30)] for _ in range(2))
    small = [[[word for word in text.split() if word.islower()] for text in pair] for pair in zip(system, reference)]  # noqa: B905
    wanted = slow_f1([(mine, its) for mine, its in small])
    found = DiscourseF1("pronouns", [reference[:10], reference[10:]]).corpus_score(system, None).score
    assert found == pytest.approx(wanted)


def test_they_are_metrics_of_evaluate_with_tests_and_signatures():
    file = lambda documents, name: DocumentFile(  # noqa: E731
        Path(name), documents, [[n + 1 for n in range(len(document))] for document in documents]
    )
    metrics = Metrics(file(REFERENCE, "r"), list(DISCOURSE))
    results = {result.metric: result for result in metrics.evaluate(file(SYSTEM, "s"), bootstrap=10)}
    assert results["pronouns"].score == pytest.approx(25)
    assert "discourse:pronouns-de-f1" in results["pronouns"].signature
    compared = metrics.compare([file(REFERENCE, "a"), file(SYSTEM, "b")], bootstrap=10, randomisation=10)
    assert [one.score for one in compared if one.metric == "pronouns"] == pytest.approx([100, 25])
    flat = [[text for document in each for text in document] for each in (REFERENCE, SYSTEM)]
    test = PairedTest([("a", flat[0]), ("b", flat[1])], {"": DiscourseF1("pronouns", REFERENCE)}, None, "ar", 10)
    assert test()
