"""Whether a system differs from doc2doc on its dataset: paired bootstrap (Koehn, 2004), as sacreBLEU has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docflat.evaluation.metrics import Metrics
from docflat.evaluation.testsets import Side

LEVEL = 0.05
RESAMPLES = 1000
SEED = 12345  # sacreBLEU's


def bleu_p(reference: Side, baseline: Side, system: Side) -> float:
    metrics = Metrics(reference, ["bleu"])
    _, found = metrics.compare([baseline, system], bootstrap=RESAMPLES, randomisation=0)
    assert found.p_bootstrap is not None
    return float(found.p_bootstrap)


def mean_p(baseline: Sequence[float], system: Sequence[float]) -> float:
    """Of a metric that is a mean over examples, the same in both."""
    difference = np.asarray(system, dtype=float) - np.asarray(baseline, dtype=float)
    draws = np.random.default_rng(SEED).choice(len(difference), size=(RESAMPLES, len(difference)), replace=True)
    resampled = np.abs(difference[draws].mean(axis=1))
    # How often chance alone, without the mean difference, is as far off as what was found.
    extreme = resampled - resampled.mean() >= abs(difference.mean())
    return float((1 + extreme.sum()) / (1 + RESAMPLES))
