"""The p of `docflat reproduce`: two-sided, sacreBLEU's, and true to its level."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from docflat.evaluation.metrics import SegmentMean
from docflat.evaluation.testsets import DocumentFile
from docflat.reproduce import significance
from docflat.reproduce.significance import LEVEL, TRIALS, bleu_p, mean_p

WORDS = ["der", "die", "das", "Hund", "Katze", "Haus", "rennt", "schläft", "sieht", "rot", "grün", "alt"]


def sentences(chance: random.Random, number: int) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=8)) for _ in range(number)]


def spoiled(chance: random.Random, texts: list[str], share: float) -> list[str]:
    """With this share of words replaced."""
    return [" ".join(chance.choice(WORDS) if chance.random() < share else word for word in t.split()) for t in texts]


def side(texts: list[str], file: str) -> DocumentFile:
    return DocumentFile(Path(file), [texts], [list(range(1, len(texts) + 1))])


def sacrebleu_p(baseline: list[str], system: list[str], metric: BLEU | SegmentMean, references: list[str]) -> float:
    _, scores = PairedTest([("a", baseline), ("b", system)], {"": metric}, [references], "ar", TRIALS)()
    return float(next(value for key, value in scores.items() if key != "System")[1].p_value)


def test_p_of_bleu_is_that_of_sacrebleu():
    chance = random.Random(1)
    reference = sentences(chance, 60)
    baseline, system = spoiled(chance, reference, 0.5), spoiled(chance, reference, 0.42)
    found = bleu_p(*(side(texts, name) for texts, name in ((reference, "r"), (baseline, "b"), (system, "s"))))
    assert found == sacrebleu_p(baseline, system, BLEU(), reference)
    assert 0.001 < found < 0.9


@pytest.mark.parametrize("gain", [0.0, 0.05, 0.1, -0.1])
def test_p_of_a_mean_is_that_of_sacrebleu(gain: float):
    """To what chance does in so many trials; the values have no ties."""
    chance = random.Random(str(gain))
    baseline = [chance.gauss(0, 1) for _ in range(150)]
    system = [value + gain + chance.gauss(0, 0.7) for value in baseline]
    metric = SegmentMean("mean", lambda texts: [float(text) for text in texts], {})
    wanted = sacrebleu_p(list(map(repr, baseline)), list(map(repr, system)), metric, ["-"] * 150)
    assert mean_p(baseline, system) == pytest.approx(wanted, abs=4 * (wanted * (1 - wanted) / TRIALS) ** 0.5 + 1e-3)


@pytest.mark.parametrize(("wins", "losses"), [(9, 3), (3, 9), (7, 5), (10, 1), (6, 6)])
def test_p_of_accuracies_counts_every_exchange(wins: int, losses: int):
    """All ways to exchange what two systems said of the examples about which they differ, one by one."""
    signs = [sum(exchange) for exchange in product((1, -1), repeat=wins + losses)]
    wanted = sum(abs(total) >= abs(wins - losses) for total in signs) / len(signs)
    baseline = [True] * 20 + [False] * wins + [True] * losses
    system = [True] * 20 + [True] * wins + [False] * losses
    assert mean_p(baseline, system) == pytest.approx(wanted, abs=0.02)


def test_equal_systems_are_called_different_as_often_as_the_level_says(monkeypatch: pytest.MonkeyPatch):
    """Better or worse, 5 in 100; of one tail it would be 10."""
    monkeypatch.setattr(significance, "TRIALS", 400)
    chance = random.Random(5)
    marked = 0
    for _ in range(600):
        baseline, system = ([chance.gauss(0, 1) for _ in range(40)] for _ in range(2))
        marked += mean_p(baseline, system) <= LEVEL
    assert 0.03 < marked / 600 < 0.07
