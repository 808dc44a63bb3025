"""The report: the paper's tables beside what was measured, as Markdown; page.py has the same as a web page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from docflat.reproduce.grid import Cell, Table
from docflat.reproduce.results import Key, Origin, Record, read_results
from docflat.reproduce.significance import LEVEL
from docflat.reproduce.tables import tables
from docflat.support.atomic import write_whole

NOT_RUN = "not run"
BETTER, WORSE = "†", "‡"
TITLE = "Document Flattening: the paper and what was measured"
TINY = (
    "This is a run at the tiny scale: made-up data, tiny models, a second or two of training. It shows that all of it"
    " runs. The numbers mean nothing. The made-up language has no es, and nothing at the distance 0."
)
MARKS = (
    f"{BETTER} significantly better than doc2doc on the same data, {WORSE} significantly worse"
    f" (paired approximate randomisation, two-sided, p ≤ {LEVEL} for each number by itself: of twenty numbers of equal"
    " systems about one is marked by chance); the paper marks DocFlat in table 2 only."
)
_DIGITS = {"comet": 4}


@dataclass(frozen=True)
class Shown:
    """A cell as it is shown."""

    paper: str
    measured: str  # with its mark
    records: tuple[Record, ...] = ()  # what it was made of; none: it was not run
    paper_value: float | None = None  # for figures
    value: float | None = None


@dataclass(frozen=True)
class Run:
    """What numbers of one call of `docflat reproduce` have in common."""

    number: int
    origin: Origin
    numbers: int


class Report:
    """All tables, filled in."""

    def __init__(self, results: Mapping[Key, Record]) -> None:
        self.results = results
        self.tables: list[tuple[Table, list[tuple[str, list[Shown]]]]] = [
            (table, [(row.label, [self.show(cell) for cell in row.cells]) for row in table.rows]) for table in tables()
        ]

    @property
    def shown(self) -> list[Shown]:
        return [cell for _, rows in self.tables for _, cells in rows for cell in cells]

    @property
    def tiny(self) -> bool:
        return any(record.origin.scale == "tiny" for record in self.results.values())

    def summary(self) -> str:
        run = sum(bool(cell.records) for cell in self.shown)
        return f"{run} of {len(self.shown)} numbers were measured; the others say “{NOT_RUN}”. {MARKS}"

    def show(self, cell: Cell) -> Shown:
        paper = cell.paper
        given = paper if isinstance(paper, float | int) else None
        text = "—" if paper is None else str(paper) if given is None else number_text(cell, given)
        text += BETTER if cell.dagger else ""
        records = tuple(self.results[measure.key] for measure in cell.measures if measure.key in self.results)
        if len(records) < len(cell.measures):
            return Shown(text, NOT_RUN, paper_value=given)
        value = measured(cell, [record.value for record in records])
        shown = "not a number" if value is None else number_text(cell, value) + self.mark(cell)
        return Shown(text, shown, records, given, value)

    def mark(self, cell: Cell) -> str:
        job, metric, window = cell.measure.key
        p = self.results.get((job, f"{metric} p", window))
        base = self.results.get((f"{cell.measure.job.dataset}/doc2doc", metric, window))
        mine = self.results[cell.measure.key]
        if cell.how != "value" or p is None or base is None:
            return ""
        if p.value is None or base.value is None or mine.value is None or p.value > LEVEL or mine.value == base.value:
            return ""
        return BETTER if mine.value > base.value else WORSE

    def runs(self) -> list[Run]:
        counts: dict[str, Run] = {}
        for record in self.results.values():
            key = common(record.origin)
            before = counts.get(key, Run(len(counts) + 1, record.origin, 0))
            counts[key] = Run(before.number, before.origin, before.numbers + 1)
        return list(counts.values())

    def jobs(self) -> dict[str, list[Record]]:
        """The records of each job."""
        found: dict[str, list[Record]] = {}
        for record in self.results.values():
            found.setdefault(record.job, []).append(record)
        return dict(sorted(found.items()))

    def run_numbers(self, records: list[Record]) -> str:
        numbers = {common(run.origin): run.number for run in self.runs()}
        return ", ".join(str(n) for n in sorted({numbers[common(record.origin)] for record in records}))


def common(origin: Origin) -> str:
    """What is the same for all jobs of a run."""
    return repr((origin.commit, origin.command, origin.device, origin.scale, origin.settings, origin.decoding))


def measured(cell: Cell, values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    if len(known) < len(values):
        return None
    if cell.how == "value":
        return known[0]
    mine, base = known
    if cell.how == "difference":
        return mine - base
    if not (mine and base):
        return None
    return mine / base - 1 if cell.measure.metric == "seconds" else base / mine - 1


def number_text(cell: Cell, value: float) -> str:
    metric = cell.measure.metric
    if cell.how == "slowdown":
        return f"{value:+.2f}"
    if metric.endswith(("sentences", "documents")):
        return f"{value:,.0f}"
    sign = "+" if cell.how == "difference" else ""
    return f"{value:{sign}.{_DIGITS.get(metric, 2)}f}"


def facts(run: Run) -> list[str]:
    """What is said of a run, beside its command."""
    origin = run.origin
    said = [f"{run.numbers} numbers", f"commit {origin.commit}", origin.device, f"scale {origin.scale}"]
    return [*said, origin.decoding, f"settings: {' '.join(origin.settings) or 'as in the recipes'}"]


def markdown(report: Report) -> str:
    lines = [f"# {TITLE}", ""]
    if report.tiny:
        lines += [f"> **{TINY}**", ""]
    lines += [report.summary(), ""]
    for table, rows in report.tables:
        lines += [f"## {table.title}", ""]
        if table.figure:
            lines += [f"By {table.axes[0]}: {table.axes[1]}. The curves are in report.html.", ""]
        if table.note:
            lines += [table.note, ""]
        lines += [*_table(table, rows), ""]
    lines += ["## Where the numbers come from", ""]
    lines += ["results.jsonl has all digits, signatures and times. Runs:", ""]
    for run in report.runs():
        lines += [f"{run.number}. {'; '.join(facts(run))}", "", f"       {run.origin.command}", ""]
    lines += ["Jobs, with the run, the seed, the hash of the data and the training:", ""]
    for name, records in report.jobs().items():
        origin = records[-1].origin
        which = f"run {report.run_numbers(records)}, seed {origin.seed}, data {origin.data}"
        lines += [f"- {name}: {which}", "", f"      {origin.training}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(table: Table, rows: list[tuple[str, list[Shown]]]) -> list[str]:
    both = table.in_paper()
    heads = [[f"{name}: paper", "measured"] if two else [name] for name, two in zip(table.columns, both, strict=True)]
    lines = [_line("", *chain.from_iterable(heads)), "|---" * (1 + len(both) + sum(both)) + "|"]
    for label, cells in rows:
        texts = [[cell.paper, cell.measured] if two else [cell.measured] for cell, two in zip(cells, both, strict=True)]
        lines.append(_line(label, *chain.from_iterable(texts)))
    return lines


def _line(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def write_report(out: Path) -> list[Path]:
    """report.md and report.html beside results.jsonl."""
    from docflat.reproduce.page import page

    report = Report(read_results(out / "results.jsonl"))
    paths = [out / "report.md", out / "report.html"]
    for path, text in zip(paths, (markdown(report), page(report)), strict=True):
        write_whole(path, text)
    return paths
