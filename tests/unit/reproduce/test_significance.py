"""The p of `docflat reproduce`: two-sided, sacreBLEU's, and true to its level."""

from __future__ import annotations

import math
import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from docflat.evaluation.metrics import SegmentMean
from docflat.evaluation.testsets import DocumentFile
from docflat.reproduce import significance
from docflat.reproduce.significance import LEVEL, TRIALS, bleu_p, mean_p, seeds_p, student_p

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


def student_tails(t: float, freedom: float) -> float:
    """The area of both tails, by the density as textbooks have it, in a million trapezia and a power law beyond."""
    end = 1000.0
    x = np.linspace(abs(t), end, 1_000_001)
    density = (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    scale = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))
    beyond = freedom ** ((freedom + 1) / 2) * end**-freedom / freedom
    return float(2 * scale * ((density[1:] + density[:-1]).sum() / 2 * (x[1] - x[0]) + beyond))


@pytest.mark.parametrize(("t", "freedom"), [(1, 1), (2, 2), (0.3, 3.7), (-3.2, 3), (1.6907, 4.0836), (5, 12.5)])
def test_student_p_is_the_area_of_both_tails(t: float, freedom: float):
    assert student_p(t, freedom) == pytest.approx(student_tails(t, freedom), abs=2e-6)


@pytest.mark.parametrize(("t", "freedom"), [(12.706, 1), (4.303, 2), (2.776, 4), (-2.228, 10)])
def test_student_p_is_that_of_printed_tables(t: float, freedom: float):
    assert student_p(t, freedom) == pytest.approx(0.05, abs=5e-5)


def test_p_over_seeds_is_that_of_welch():
    """By hand: the means differ by 2.75, their error is sqrt((5/3 + 107/12) / 4), with 4.08 degrees of freedom."""
    freedom = (127 / 48) ** 2 / (((5 / 3) / 4) ** 2 / 3 + ((107 / 12) / 4) ** 2 / 3)
    wanted = student_tails(2.75 / math.sqrt(127 / 48), freedom)
    assert seeds_p([1, 2, 3, 4], [2, 4, 6, 9]) == pytest.approx(wanted, abs=1e-6)
    assert seeds_p([1, 2, 3, 4], [2, 4, 6, 9]) == seeds_p([2, 4, 6, 9], [1, 2, 3, 4])
    assert seeds_p([1.0], [2.0, 3.0]) is None
    assert seeds_p([1.0, 1.0], [1.0, 1.0]) is None


def test_equal_systems_over_three_seeds_are_seldom_called_different():
    chance = random.Random(7)
    marked = sum(
        (seeds_p(*([chance.gauss(0, 1) for _ in range(3)] for _ in range(2))) or 1) <= LEVEL for _ in range(2000)
    )
    assert 0.02 < marked / 2000 < 0.06
