"""Whether a system differs from doc2doc on its dataset.

With one seed: paired approximate randomisation, two-sided (Riezler and Maxwell, 2005), as sacreBLEU has it. It knows
the chance of the test set, not that of training. With several seeds of both: Welch's test of their means.

Not sacreBLEU's paired bootstrap: its p is of one tail (Koehn, 2004), so with marks for better and for worse it would
call 10 % of equal systems different at 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from docflat.evaluation.metrics import Metrics, paired_test
from docflat.evaluation.testsets import DocumentFile

LEVEL = 0.05
TRIALS = 10_000
SEED = 12345  # sacreBLEU's
SIGNATURE = f"test:randomisation|two-sided|trials:{TRIALS}|against:doc2doc"


def bleu_p(reference: DocumentFile, baseline: DocumentFile, system: DocumentFile) -> float:
    (metric,) = Metrics(reference, ["bleu"]).metrics.values()
    systems = [(str(text.file), text.sentences) for text in (baseline, system)]
    _, (_, result) = paired_test("ar", systems, metric, TRIALS)
    return float(result.p_value)


def mean_p(baseline: Sequence[float], system: Sequence[float]) -> float:
    """Of a metric that is a mean over examples, the same in both.

    Unlike sacreBLEU's, a difference as large as the one found counts as well: right and wrong give whole numbers, and
    then ties are not rare.
    """
    difference = np.asarray(system, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    difference = difference[difference != 0]  # to exchange equals changes nothing
    observed = abs(difference.sum())
    close = 1e-9 * np.abs(difference).sum()
    random = np.random.default_rng(SEED)
    extreme = 0
    for _ in range(0, TRIALS, 100):
        signs = 2 * random.integers(2, size=(100, len(difference))) - 1
        extreme += int((np.abs(signs @ difference) >= observed - close).sum())
    return (1 + extreme) / (1 + TRIALS)


def seeds_p(baseline: Sequence[float], system: Sequence[float]) -> float | None:
    """Of the difference of two means over seeds, two-sided, without the same variance taken for granted (Welch, 1947).

    None where there are fewer than two seeds of either, or no seed makes a difference.
    """
    if min(len(baseline), len(system)) < 2:
        return None
    errors = [np.var(values, ddof=1) / len(values) for values in (baseline, system)]
    error = float(sum(errors))
    if not error:
        return None
    t = float(np.mean(system) - np.mean(baseline)) / math.sqrt(error)
    sizes = (len(baseline), len(system))
    freedom = error**2 / sum(float(part) ** 2 / (size - 1) for part, size in zip(errors, sizes, strict=True))
    return student_p(t, freedom)


def student_p(t: float, freedom: float) -> float:
    """How often Student's t is as far from 0.

    With t = sqrt(freedom) tan(angle) its density is that of cos(angle)^(freedom - 1), over angles: smooth, and on a
    finite stretch.
    """
    start = math.atan(abs(t) / math.sqrt(freedom))
    nodes, weights = np.polynomial.legendre.leggauss(200)
    half = (math.pi / 2 - start) / 2
    angles = start + half * (nodes + 1)
    tail = half * float(weights @ np.cos(angles) ** (freedom - 1))
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    return min(1.0, 2 * tail * math.exp(log_scale) / math.sqrt(math.pi))
