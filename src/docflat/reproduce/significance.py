"""Whether a system differs from doc2doc on its dataset: paired approximate randomisation, two-sided (Riezler and
Maxwell, 2005), as sacreBLEU has it.

Not sacreBLEU's paired bootstrap: its p is of one tail (Koehn, 2004), so with marks for better and for worse it would
call 10 % of equal systems different at 0.05.
"""

from __future__ import annotations

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
    systems = [(str(side.file), side.sentences) for side in (baseline, system)]
    _, (_, found) = paired_test("ar", systems, metric, TRIALS)
    return float(found.p_value)


def mean_p(baseline: Sequence[float], system: Sequence[float]) -> float:
    """Of a metric that is a mean over examples, the same in both.

    Unlike sacreBLEU's, a difference as large as the one found counts as well: right and wrong give whole numbers, and
    then ties are not rare.
    """
    difference = np.asarray(system, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    difference = difference[difference != 0]  # to exchange equals changes nothing
    found = abs(difference.sum())
    close = 1e-9 * np.abs(difference).sum()
    random = np.random.default_rng(SEED)
    extreme = 0
    for _ in range(0, TRIALS, 100):
        signs = 2 * random.integers(2, size=(100, len(difference))) - 1
        extreme += int((np.abs(signs @ difference) >= found - close).sum())
    return (1 + extreme) / (1 + TRIALS)
