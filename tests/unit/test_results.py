"""The tables of docs/results.md, and of a page of the log, are those of the numbers beside them, to the last digit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docflat.reproduce.results import Measurement, read_results
from docflat.reproduce.significance import LEVEL

DOCS = Path(__file__).parents[2] / "docs"
EARLIER = DOCS / "log" / "2026-11-19-europarl-4000-steps"
Results = dict[tuple[str, str, int], Measurement]
Key = tuple[str, int]  # a metric and a window

COLUMN: dict[str, Key] = {
    "BLEU, Europarl": ("bleu", 16),
    "p": ("bleu p", 16),
    "by document": ("dbleu", 16),
    "TED": ("bleu on ted", 16),
    "News": ("bleu on news", 16),
    "ContraPro, %": ("accuracy", 0),
    "*er*": ("accuracy er", 0),
    "*sie*": ("accuracy sie", 0),
    "*es*": ("accuracy es", 0),
    "same sentence": ("accuracy 0", 0),
    "one back": ("accuracy 1", 0),
    "updates/s": ("updates/s", 0),
    "seconds": ("seconds", 16),
}


def tables(page: Path, heading: str) -> list[list[list[str]]]:
    """Those of a section, each with its rows, each with its cells."""
    section = re.split(r"^## ", f"\n{page.read_text(encoding='utf-8')}", flags=re.MULTILINE)
    (text,) = [part for part in section if part.startswith(heading)] if heading else [section[0]]
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [
        [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in block.splitlines()
            if not set(line) <= set("|-")
        ]
        for block in blocks
    ]


def job(cell: str) -> str:
    return "europarl/" + cell.replace("`", "").split(" (")[0]


def assert_shown(cell: str, results: Results, key: tuple[str, str, int], marked: bool = False) -> None:
    number = re.fullmatch(r"(\d+(?:\.(\d+))?)([†‡]?)", cell)
    assert number, (key, cell)
    assert f"{results[key].value:.{len(number[2] or '')}f}" == number[1], (key, cell, results[key].value)
    if marked:
        name, metric, window = key
        p = results.get((name, f"{metric} p", window))
        base = results["europarl/doc2doc" + name.partition("@")[1] + name.partition("@")[2], metric, window].value
        mark = ("†" if results[key].value > base else "‡") if p is not None and p.value <= LEVEL else ""
        assert number[3] == mark, (key, cell, p and p.value)


def by_columns(table: list[list[str]], results: Results, marked: bool = False) -> int:
    """How many cells were compared."""
    head, *rows = table
    compared = 0
    for row in rows:
        for title, cell in zip(head, row, strict=True):
            if title in COLUMN and cell:
                assert_shown(cell, results, (job(row[0]), *COLUMN[title]), marked and title != "p")
                compared += 1
    return compared


@pytest.fixture(scope="module")
def results() -> Results:
    return read_results(DOCS / "europarl" / "results.jsonl")


def test_the_europarl_column(results: Results) -> None:
    (table,) = tables(DOCS / "results.md", "The Europarl column")
    assert by_columns(table, results, marked=True) == 5 * 4 + 3


def test_pronouns_by_word_and_distance(results: Results) -> None:
    (table,) = tables(DOCS / "results.md", "Pronouns by word")
    assert by_columns(table, results) == 20


def test_what_documents_decide(results: Results) -> None:
    ((head, *rows),) = tables(DOCS / "results.md", "What documents decide")
    assert len(rows) == 9
    for name, *cells in rows:
        metric, on = name.lower().split(", ")
        for system, cell in zip(head[1:], cells, strict=True):
            assert_shown(cell, results, (job(system), metric if on == "europarl" else f"{metric} on {on}", 16))


def test_windows_and_speed(results: Results) -> None:
    ((head, row),) = tables(DOCS / "results.md", "Does it matter what else")
    for window, cell in zip(head[1:], row[1:], strict=True):
        assert_shown(cell, results, ("europarl/docflat-c", "bleu", int(window)))
    (table,) = tables(DOCS / "results.md", "How long do training")
    assert by_columns(table, results) == 8
    speed = results["europarl/doc2doc", "updates/s", 0].value
    for row in table[1:]:
        assert float(row[2]) == pytest.approx(results[job(row[0]), "updates/s", 0].value / speed, abs=0.0006)


def test_the_column_of_4000_steps() -> None:
    column, decided = tables(EARLIER / "README.md", "")
    earlier = read_results(EARLIER / "results.jsonl")
    assert by_columns(column, earlier, marked=True) == 37
    for name, *cells in decided[1:]:
        for system, cell in zip(decided[0][1:], cells, strict=True):
            assert_shown(cell, earlier, (job(system), name, 16))
