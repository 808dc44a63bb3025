"""The tables of docs/results.md, and of a page of the log, are those of the numbers beside them, to the last digit."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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
    first, second, _ = tables(DOCS / "results.md", "The Europarl column")
    assert by_columns(first, results, marked=True) == 5 * 4 + 3
    assert by_columns(second, read_results(DOCS / "europarl" / "again.jsonl")) == 5 * 3


def student(values: list[float]) -> float:
    """How often a mean of three or four is as far from 0, by the distributions of t in closed form."""
    t = abs(statistics.mean(values)) / (statistics.stdev(values) / math.sqrt(len(values)))
    if len(values) == 3:
        return 1 - t / math.sqrt(2 + t * t)
    return 1 - 2 / math.pi * (math.sqrt(3) * t / (3 + t * t) + math.atan(t / math.sqrt(3)))


def test_the_pairs_of_docflat_and_doc2doc(results: Results) -> None:
    """A pair has the same stage I, seed and steps; p is Student's, of the mean of the pairs."""
    (*_, (head, *rows)) = tables(DOCS / "results.md", "The Europarl column")
    earlier, again = (read_results(path) for path in (EARLIER / "results.jsonl", DOCS / "europarl" / "again.jsonl"))
    runs = {"4,000": (earlier, ""), "4,000@2": (earlier, "@2"), "6,700": (results, ""), "6,700@2": (again, "@2")}
    assert head[1:] == [*runs, "mean", "p"]
    for name, *cells, mean, p in rows:
        key = COLUMN["BLEU, Europarl" if name.startswith("BLEU") else name]
        gains = []
        for (run, seed), cell in zip(runs.values(), cells, strict=True):
            pair = [run.get((f"europarl/{system}{seed}", *key)) for system in ("docflat-c", "doc2doc")]
            assert bool(cell) == all(pair)
            if pair[0] and pair[1]:
                gains.append(pair[0].value - pair[1].value)
                assert float(cell) == pytest.approx(gains[-1], abs=0.5 * 10 ** -len(cell.partition(".")[2]))
        assert float(mean) == pytest.approx(sum(gains) / len(gains), abs=0.5 * 10 ** -len(mean.partition(".")[2]))
        assert float(p) == pytest.approx(student(gains), abs=0.5 * 10 ** -len(p.partition(".")[2]))


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


LATEST = DOCS / "log" / "2026-11-20-experiments"
VARIANTS = {
    "docflat-c": ["docflat-c", "docflat-c-element", "docflat-c-attention", "docflat-c-batch", "docflat-c-small"],
    "abd": ["abd", "abd-batch"],
    "han": ["han", "han-before"],
    "gtrans": ["gtrans", "gtrans-before"],
}


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def span(values: Iterable[float]) -> str:
    low, *_, high = sorted([round(value) for value in values] * 2)
    return f"{low}" if low == high else f"{low}-{high}"


def test_departures_on_the_probe() -> None:
    (table,) = [one for one in tables(DOCS / "systems.md", "Where we depart") if one[0][:2] == ["system", "variant"]]
    records = lines_of(LATEST / "departures.jsonl")
    names = [name for variants in VARIANTS.values() for name in variants]
    assert len(table) - 1 == len(names)
    for name, (_, _, near, *far) in zip(names, table[1:], strict=True):
        of_name = [record for record in records if record["variant"] == name]
        assert near == span(record[f"distance {n}"] for record in of_name for n in (1, 2, 3)), name
        assert far == [span(record[f"distance {n}"] for record in of_name) for n in range(4, 9)], name


def test_stage_two_from_an_imported_model() -> None:
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    records = {(one["model"], one["what"]): one["result"] for one in lines_of(LATEST / "from-imported.jsonl")}
    rows = {
        "imported": "opus",
        "`sent2sent`, trained on": "sent2sent",
        "`doc2doc`": "doc2doc",
        "`docflat-c`": "docflat-c",
    }
    for label, name in rows.items():
        (line,) = re.findall(rf"^\| {re.escape(label)} \| (\d.*) \|$", page, re.MULTILINE)
        europarl, news, ted, _, gold, none = [cell.strip() for cell in line.split("|")]
        for cell, what in ((europarl, "europarl"), (news, "news"), (ted, "ted")):
            (bleu,) = [one["score"] for one in records[name, what] if one["metric"] == "bleu"]
            assert cell == f"{bleu:.2f}", (name, what)
        for cell, what in ((gold, "contrapro"), (none, "contrapro-none")):
            assert bool(cell) == ((name, what) in records)
            if cell:
                assert cell == f"{100 * records[name, what]['accuracies'][0]['accuracy']:.1f}", (name, what)
