"""The tables of pages say what the results.jsonl beside them has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docflat.reproduce.results import read_results

DOCS = Path(__file__).parents[3] / "docs"
EARLIER = DOCS / "log" / "2026-11-19-europarl-4000-steps"
PAGES = {
    "today": (DOCS / "results.md", DOCS / "europarl" / "results.jsonl"),
    "4,000 steps": (EARLIER / "README.md", EARLIER / "results.jsonl"),
}
Values = dict[tuple[str, str, int], float | None]
VALUES: dict[str, Values] = {
    name: {
        (job.removeprefix("europarl/"), metric, window): record.value
        for (job, metric, window), record in read_results(results).items()
    }
    for name, (_, results) in PAGES.items()
}
# Columns of the main table that the file has; with p, the marks too.
COLUMNS = {
    "BLEU, Europarl": ("bleu", 16, 2),
    "by document": ("dbleu", 16, 2),
    "TED": ("bleu on ted", 16, 2),
    "News": ("bleu on news", 16, 2),
    "ContraPro, %": ("accuracy", 0, 1),
}


def table(page: str, start: str) -> list[list[str]]:
    """The cells of the table whose first row starts so."""
    text = PAGES[page][0].read_text(encoding="utf-8")
    lines = text[text.index(start) :].split("\n\n")[0].splitlines()
    return [
        [cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines if "---" not in line
    ]


def job_of(label: str) -> str:
    return label.removesuffix(" (stage I)")


def mark(values: Values, job: str, metric: str, window: int) -> str:
    base = values.get(("doc2doc@2" if job.endswith("@2") else "doc2doc", metric, window))
    value, p = values.get((job, metric, window)), values.get((job, f"{metric} p", window))
    if p is None or p > 0.05 or not value or not base:
        return ""
    return "†" if value > base else "‡"


@pytest.mark.parametrize("page", PAGES)
def test_the_column_has_the_numbers_and_marks_of_the_file(page: str):
    values = VALUES[page]
    head, *rows = table(page, "| system | BLEU, Europarl | p |")
    assert len(rows) >= 4
    for row in rows:
        job = job_of(row[0])
        for name, (metric, window, digits) in COLUMNS.items():
            cell, value = row[head.index(name)], values.get((job, metric, window))
            assert re.sub("[†‡]", "", cell) == ("" if value is None else f"{value:.{digits}f}"), (job, name)
            if metric != "dbleu":
                assert re.sub("[^†‡]", "", cell) == mark(values, job, metric, window), (job, name)
        p, said = values.get((job, "bleu p", 16)), row[head.index("p")]
        assert (said == "") == (p is None)
        if p is not None:
            assert float(said) == pytest.approx(p, rel=0.1)


def test_all_marks_of_the_column_stay_when_the_tests_are_held_together():
    """As the page says, by Holm: the smallest p times their number, the next times one less, and so on."""
    values = VALUES["today"]
    tested = sorted(
        (p, job, metric) for (job, metric, _), p in values.items() if metric.endswith(" p") and p is not None
    )
    assert len(tested) == 12
    kept = 0
    while kept < len(tested) and tested[kept][0] * (len(tested) - kept) <= 0.05:
        kept += 1
    assert kept == sum(p <= 0.05 for p, *_ in tested)


def test_what_documents_decide_has_the_numbers_of_the_earlier_file():
    head, *rows = table("4,000 steps", "| | `sent2sent` | `doc2doc` | `doc2doc`@2 |")
    assert {row[0] for row in rows} == {"pronouns", "formality", "cohesion"}
    for metric, *cells in rows:
        assert cells == [f"{VALUES['4,000 steps'][job, metric, 16]:.1f}" for job in head[1:]]


def test_what_documents_decide_has_the_numbers_of_the_file():
    head, *rows = table("today", "| | `sent2sent` | `sent2sent-longer` |")
    assert len(rows) == 9
    for label, *cells in rows:
        metric, test = label.split(", ")
        on = "" if test == "Europarl" else f" on {test.lower()}"
        assert cells == [f"{VALUES['today'][job, metric + on, 16]:.1f}" for job in head[1:]], label


def test_pronouns_by_word_and_distance_have_the_numbers_of_the_file():
    names = {"*er*": "er", "*sie*": "sie", "*es*": "es", "same sentence": "0", "one back": "1"}
    head, *rows = table("today", "| system | *er* |")
    assert len(rows) == 4
    for label, *cells in rows:
        job = job_of(label)
        assert cells == [f"{VALUES['today'][job, f'accuracy {names[name]}', 0]:.1f}" for name in head[1:]], label


def test_the_curve_by_window_has_the_numbers_of_the_file():
    (_, *windows), (_, *cells) = table("today", "| window | 1 |")
    assert cells == [f"{VALUES['today']['docflat-c', 'bleu', int(window)]:.2f}" for window in windows]


def test_the_times_have_the_numbers_of_the_file():
    head, *rows = table("today", "| system | updates/s |")
    assert len(rows) == 4
    values = VALUES["today"]
    for row in rows:
        job, cells = job_of(row[0]), dict(zip(head, row, strict=False))
        speeds, seconds = [
            [values[one, metric, window] for one in (job, "doc2doc")]
            for metric, window in (("updates/s", 0), ("seconds", 16))
        ]
        assert all(speeds)
        assert cells["updates/s"] == f"{speeds[0]:.2f}"
        assert float(row[2]) == pytest.approx(speeds[0] / speeds[1], abs=6e-4)
        assert cells["seconds"] == f"{seconds[0]:.2f}"
        if row[5]:
            assert float(row[5]) == pytest.approx(seconds[0] / seconds[1], abs=6e-3)
