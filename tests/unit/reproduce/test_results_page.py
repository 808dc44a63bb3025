"""The tables of docs/results.md say what docs/europarl/results.jsonl has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docflat.reproduce.results import read_results

DOCS = Path(__file__).parents[3] / "docs"
VALUES = {
    (job.removeprefix("europarl/"), metric, window): record.value
    for (job, metric, window), record in read_results(DOCS / "europarl" / "results.jsonl").items()
}
# Columns of the page that the file has; with p, the marks too.
COLUMNS = {
    "BLEU, Europarl": ("bleu", 16, 2),
    "by document": ("dbleu", 16, 2),
    "TED": ("bleu on ted", 16, 2),
    "News": ("bleu on news", 16, 2),
    "ContraPro, %": ("accuracy", 0, 1),
}


def table(start: str) -> list[list[str]]:
    """The cells of the table whose first row starts so."""
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    lines = text[text.index(start) :].split("\n\n")[0].splitlines()
    return [
        [cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines if "---" not in line
    ]


def job_of(label: str) -> str:
    return label.removesuffix(" (stage I)")


HEAD, *ROWS = table("| system | BLEU, Europarl | p |")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_column_has_the_numbers_of_the_file(row: list[str]):
    job = job_of(row[0])
    for name, (metric, window, digits) in COLUMNS.items():
        cell, value = row[HEAD.index(name)], VALUES.get((job, metric, window))
        assert re.sub("[†‡]", "", cell) == ("" if value is None else f"{value:.{digits}f}"), name
        base, p = VALUES.get(("doc2doc", metric, window)), VALUES.get((job, f"{metric} p", window))
        if job.endswith("@2"):
            base = VALUES.get(("doc2doc@2", metric, window))
        mark = "" if p is None or p > 0.05 or not value or not base else "†" if value > base else "‡"
        if metric != "dbleu":
            assert re.sub("[^†‡]", "", cell) == mark, name
    p = VALUES.get((job, "bleu p", 16))
    said = row[HEAD.index("p")]
    assert (said == "") == (p is None)
    if p is not None:
        assert float(said) == pytest.approx(p, rel=0.1)


def test_what_documents_decide_has_the_numbers_of_the_file():
    head, *rows = table("| | `sent2sent` | `doc2doc` | `doc2doc`@2 |")
    assert {row[0] for row in rows} == {"pronouns", "formality", "cohesion"}
    for metric, *cells in rows:
        assert cells == [f"{VALUES[job, metric, 16]:.1f}" for job in head[1:]]
