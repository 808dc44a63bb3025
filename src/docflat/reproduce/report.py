"""The report: the paper's tables beside what was measured, as Markdown; page.py has the same as a web page, and
exports.py as CSV and LaTeX.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from docflat.reproduce.grid import Cell, Measure, Table
from docflat.reproduce.results import Key, Measurement, Origin, read_open, read_results
from docflat.reproduce.significance import LEVEL, seeds_p
from docflat.reproduce.tables import ANALYSED, CONVERGED, tables
from docflat.support.atomic import write_whole

NOT_RUN = "not run"
NOT_CHOSEN = "not chosen"
BETTER, WORSE = "†", "‡"
TITLE = "Document Flattening: the paper and what was measured"
TINY = (
    "This is a run at the tiny scale: made-up data, tiny models, a second or two of training. It shows that all of it"
    " runs. The numbers mean nothing. The made-up language has no es, and nothing at the distance 0."
)
MARKS = (
    f"{BETTER} significantly better than doc2doc on the same data, {WORSE} significantly worse (two-sided, p ≤ {LEVEL}"
    " for each number by itself: of twenty numbers of equal systems about one is marked by chance). With one seed the"
    " test is paired approximate randomisation, which knows the chance of the test set and not that of training; with"
    " several of both systems it is Welch's test of the means over seeds. ± is the standard deviation over seeds, n how"
    " many there are. The paper marks DocFlat in table 2 only, and gives neither seeds nor deviations."
)
_DIGITS = {"comet": 4}


@dataclass(frozen=True)
class Shown:
    """A cell as it is shown."""

    paper: str
    measured: str  # the mean over seeds with its deviation, their number and its mark
    records: tuple[Measurement, ...] = ()  # what it was made of; none: it was not run
    paper_value: float | None = None  # for figures
    value: float | None = None
    deviation: float | None = None  # over seeds
    seeds: int = 0
    p: float | None = None
    mark: str = ""
    reason: str = ""  # why it is open

    @property
    def difference(self) -> float | None:
        """To the paper."""
        return None if self.value is None or self.paper_value is None else self.value - self.paper_value

    @property
    def away(self) -> str:
        """The difference, with as many digits as the paper has."""
        digits = len(self.paper.rstrip(BETTER).partition(".")[2])
        return "" if self.difference is None else f"{self.difference:+,.{digits}f}"


@dataclass(frozen=True)
class Run:
    """What numbers of one call of `docflat reproduce` have in common."""

    number: int
    origin: Origin
    numbers: int


Filled = tuple[Table, list[tuple[str, list[Shown]]]]


@dataclass
class Report:
    """All tables, filled in; gaps: why a number is open, where somebody chose it."""

    results: Mapping[Key, Measurement]
    gaps: Mapping[Key, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys = [*self.results, *self.gaps]
        datasets = list(dict.fromkeys(job.partition("/")[0] for job, _, _ in keys))
        filled = [self.fill(table) for table in tables(datasets)]
        self.tables = [each for each in filled if self.wanted(*each)]
        # What was measured comes first: of a small run, it would be lost among what was not.
        self.tables.sort(key=lambda each: not any(cell.records for _, cells in each[1] for cell in cells))

    def fill(self, table: Table) -> Filled:
        return table, [(row.label, [self.show(cell) for cell in row.cells]) for row in table.rows]

    def wanted(self, table: Table, rows: list[tuple[str, list[Shown]]]) -> bool:
        """What the paper has; and what it has not, where something of it was measured or chosen."""
        if any(cell.path for cell in table.cells) or not table.cells:
            return True
        touched = any(cell.records or cell.reason != NOT_CHOSEN for _, cells in rows for cell in cells)
        return touched or all(cell.measure.job.dataset == ANALYSED for cell in table.cells)

    @property
    def shown(self) -> list[Shown]:
        return [cell for _, rows in self.tables for _, cells in rows for cell in cells]

    @property
    def tiny(self) -> bool:
        return any(record.origin.scale == "tiny" for record in self.results.values())

    def summary(self) -> str:
        run = sum(bool(cell.records) for cell in self.shown)
        first = f"{run} of {len(self.shown)} numbers were measured, in the tables that come first"
        return f"{first}; the others say “{NOT_RUN}”. {MARKS}"

    def seeds(self, measures: tuple[Measure, ...]) -> list[int]:
        """Those of which all the measures are there."""
        complete = []
        for seed in range(1, 1 + self.most_seeds):
            if all(measure.of_seed(seed).key in self.results for measure in measures):
                complete.append(seed)
        return complete

    @property
    def most_seeds(self) -> int:
        return max((int(job.partition("@")[2] or 1) for job, _, _ in self.results), default=1)

    def show(self, cell: Cell) -> Shown:
        paper = cell.paper
        paper_value = paper if isinstance(paper, float | int) else None
        text = "—" if paper is None else str(paper) if paper_value is None else number_text(cell, paper_value)
        text += BETTER if cell.dagger else ""
        seeds = self.seeds(cell.measures)
        if not seeds:
            return Shown(text, NOT_RUN, paper_value=paper_value, reason=self.why(cell))
        records = [[self.results[measure.of_seed(seed).key] for measure in cell.measures] for seed in seeds]
        values = [measured(cell, [record.value for record in of_seed]) for of_seed in records]
        known = [value for value in values if value is not None]
        used = tuple(chain.from_iterable(records))
        if len(known) < len(values):
            return Shown(text, "not a number", used, paper_value, seeds=len(seeds))
        mean, deviation = statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None
        p, mark = self.test(cell, seeds)
        shown = number_text(cell, mean)
        if deviation is not None:
            shown += f" ± {number_text(cell, deviation, signed=False)}"
        shown += mark + (f" (n={len(seeds)})" if deviation is not None else "")
        shown += "" if self.converged(cell, mean) else " (does not converge)"
        return Shown(text, shown, used, paper_value, mean, deviation, len(seeds), p, mark)

    def converged(self, cell: Cell, bleu: float) -> bool:
        """By the definition in the note of table 5, of trainings with context from elsewhere."""
        job, metric, window = cell.measure.job, cell.measure.metric, cell.measure.window
        base = Measure(job.baseline, metric, window)
        values = [self.results[base.of_seed(seed).key].value for seed in self.seeds((base,))]
        known = [value for value in values if value is not None]
        if metric != "bleu" or not job.variant.startswith("irrelevant") or not known:
            return True
        return bleu >= CONVERGED * statistics.fmean(known)

    def why(self, cell: Cell) -> str:
        """Of a cell that is open."""
        reasons = [self.gaps[measure.key] for measure in cell.measures if measure.key in self.gaps]
        return "; ".join(dict.fromkeys(reasons)) or NOT_CHOSEN

    def test(self, cell: Cell, seeds: list[int]) -> tuple[float | None, str]:
        """p of the difference to doc2doc, and its mark."""
        if cell.how != "value":
            return None, ""
        base = Measure(cell.measure.job.baseline, cell.measure.metric, cell.measure.window)
        mine, others = (
            [self.results[one.of_seed(seed).key].value for seed in self.seeds((one,))] for one in (cell.measure, base)
        )
        if not others or None in mine or None in others or base == cell.measure:
            return None, ""
        here, there = ([value for value in values if value is not None] for values in (mine, others))
        p = seeds_p(there, here)
        if p is None and len(here) == len(there) == 1:
            job, metric, window = cell.measure.key
            record = self.results.get((job, f"{metric} p", window))
            p = None if record is None else record.value
        difference = statistics.fmean(here) - statistics.fmean(there)
        if p is None or p > LEVEL or not difference:
            return p, ""
        return p, BETTER if difference > 0 else WORSE

    def runs(self) -> list[Run]:
        counts: dict[str, Run] = {}
        for record in self.results.values():
            key = common(record.origin)
            before = counts.get(key, Run(len(counts) + 1, record.origin, 0))
            counts[key] = Run(before.number, before.origin, before.numbers + 1)
        return list(counts.values())

    def jobs(self) -> dict[str, list[Measurement]]:
        """The records of each job."""
        by_job: dict[str, list[Measurement]] = {}
        for record in self.results.values():
            by_job.setdefault(record.job, []).append(record)
        return dict(sorted(by_job.items()))

    def run_numbers(self, records: list[Measurement]) -> str:
        numbers = {common(run.origin): run.number for run in self.runs()}
        return ", ".join(str(n) for n in sorted({numbers[common(record.origin)] for record in records}))

    def reasons(self) -> dict[str, int]:
        """Why numbers are open, and how many."""
        counts: dict[str, int] = {}
        for cell in self.shown:
            if not cell.records:
                counts[cell.reason] = counts.get(cell.reason, 0) + 1
        return counts


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


def number_text(cell: Cell, value: float, signed: bool = True) -> str:
    """signed: where it is a difference."""
    metric = cell.measure.metric
    if cell.how == "slowdown":
        return f"{value:{'+' if signed else ''}.2f}"
    if metric.endswith(("sentences", "documents")):
        return f"{value:,.0f}"
    sign = "+" if signed and cell.how == "difference" else ""
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
    lines += ["## What is open", "", "report.csv has the reason of each number. Reasons, and how many numbers:", ""]
    lines += [f"- {reason}: {number}" for reason, number in report.reasons().items()]
    lines += ["", "## Where the numbers come from", ""]
    lines += ["results.jsonl has all digits, signatures, times and files. Runs:", ""]
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
    heads = [
        [f"{name}: paper", "measured", "difference"] if two else [name]
        for name, two in zip(table.columns, both, strict=True)
    ]
    lines = [_line("", *chain.from_iterable(heads)), "|---" * (1 + len(both) + 2 * sum(both)) + "|"]
    for label, cells in rows:
        texts = [
            [cell.paper, with_reason(cell), cell.away] if two else [with_reason(cell)]
            for cell, two in zip(cells, both, strict=True)
        ]
        lines.append(_line(label, *chain.from_iterable(texts)))
    return lines


def with_reason(cell: Shown) -> str:
    """As measured; what is open with its reason, if anybody chose it."""
    return cell.measured if cell.records or cell.reason == NOT_CHOSEN else f"{cell.measured}: {cell.reason}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def write_report(out: Path) -> list[Path]:
    """report.md, report.html, report.csv and report.tex beside results.jsonl."""
    from docflat.reproduce.exports import as_csv, as_latex
    from docflat.reproduce.page import page

    report = Report(read_results(out / "results.jsonl"), read_open(out))
    texts = {"md": markdown(report), "html": page(report), "csv": as_csv(report), "tex": as_latex(report)}
    for end, text in texts.items():
        write_whole(out / f"report.{end}", text)
    return [out / f"report.{end}" for end in texts]
