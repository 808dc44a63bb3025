"""What the grid is made of: trainings, what is measured of them, and the cells of the paper's tables. No torch here.

Trainings are shared: docflat-c on TED stands in most tables, and is trained once for each seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

DATASETS = ("ted", "news", "europarl")  # the paper's; any other folder of data can be named as well
CONTROL = "sent2sent-longer"  # the sentence model, trained on as the others are: stage II without context
IN_COMPANY = "accuracy in company"  # of sentences of other documents, as in the paper
WINDOW = 16  # the paper's inference batch size, if nothing else is said

Where = tuple[str | int, ...]  # of a number in paper.json


@dataclass(frozen=True)
class Job:
    """One training. Everything but sent2sent starts from the sent2sent of its dataset, whatever its seed."""

    dataset: str
    system: str  # a recipe of recipes/systems
    variant: str = ""
    changes: tuple[str, ...] = ()  # settings of the variant, as `docflat train` takes them
    seed: int = 1

    @property
    def name(self) -> str:
        variant = f"-{self.variant}" if self.variant else ""
        return f"{self.dataset}/{self.system}{variant}" + (f"@{self.seed}" if self.seed > 1 else "")

    @property
    def first(self) -> Job | None:
        """The sentence model that it starts from, and whose translations are its first pass."""
        return None if self.system == "sent2sent" else Job(self.dataset, "sent2sent")

    @property
    def baseline(self) -> Job:
        """What it is tested against: trained on the same rows, from the same start, as long, with the same seed."""
        return Job(self.dataset, "doc2doc", seed=self.seed)


@dataclass(frozen=True)
class Measure:
    """One number about a trained model; window: rows that see each other in decoding, 0 where nothing is decoded."""

    job: Job
    metric: str  # "bleu on news": on the test set of another dataset
    window: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        return self.job.name, self.metric, self.window

    def of_seed(self, seed: int) -> Measure:
        return replace(self, job=replace(self.job, seed=seed))


@dataclass(frozen=True)
class Cell:
    """A number of a table: what the paper says, and what is measured for it."""

    measure: Measure
    path: Where = ()  # in paper.json; empty: the paper has no such number
    against: Measure | None = None
    how: Literal["value", "difference", "slowdown"] = "value"  # the latter two: to `against`
    dagger: bool = False  # the paper calls it significantly different from doc2doc

    @property
    def paper(self) -> float | str | None:
        return look_up(self.path) if self.path else None

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (self.measure,) if self.against is None else (self.measure, self.against)


@dataclass(frozen=True)
class TableRow:
    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table, or a figure: then a row is a curve, and the columns are its places."""

    name: str  # what --only calls it; several tables may be one of the paper's
    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    figure: Literal["", "lines", "bars"] = ""
    axes: tuple[str, str] = ("", "")  # of a figure
    note: str = ""

    @property
    def cells(self) -> list[Cell]:
        return [cell for row in self.rows for cell in row.cells]

    def in_paper(self) -> list[bool]:
        """Of each column, whether the paper has any number of it."""
        return [any(row.cells[n].path for row in self.rows) for n in range(len(self.columns))]


def set_of(metric: str) -> str:
    """The dataset whose test set a number is of; empty: its own."""
    return metric.removesuffix(" p").partition(" on ")[2]


@cache
def paper() -> dict[str, Any]:
    text = files("docflat.reproduce").joinpath("paper.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def look_up(path: Where) -> Any:
    here: Any = paper()
    for key in path:
        here = here[key]
    return here


def jobs_of(measures: Iterable[Measure]) -> list[Job]:
    """The trainings behind them and the sentence models those start from.

    In the order of what a reader asks first: all systems once before any other seed, doc2doc before what is compared
    with it, variants last; the other seeds of sentence models, from which nothing starts, at the end of their seed.
    """
    jobs: dict[Job, None] = {}
    for measure in measures:
        if measure.job.first is not None:
            jobs[measure.job.first] = None
        jobs[measure.job] = None

    def place(job: Job) -> tuple[int, bool, int]:
        first = {"sent2sent": 0 if job.seed == 1 else 3, "doc2doc": 1}
        return job.seed, bool(job.variant) or job.system == CONTROL, first.get(job.system, 2)

    return sorted(jobs, key=place)
