"""What the grid is made of: trainings, what is measured of them, and the cells of the paper's tables. No torch here.

Trainings are shared: docflat-c on TED stands in most tables, and is trained once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

DATASETS = ("ted", "news", "europarl")
WINDOW = 16  # the paper's inference batch size, if nothing else is said

Where = tuple[str | int, ...]  # of a number in paper.json


@dataclass(frozen=True)
class Job:
    """One training. Everything but sent2sent starts from the sent2sent of its dataset."""

    dataset: str
    system: str
    variant: str = ""
    changes: tuple[str, ...] = ()  # settings of the variant, as `docflat train` takes them

    @property
    def name(self) -> str:
        return f"{self.dataset}/{self.system}" + (f"-{self.variant}" if self.variant else "")

    @property
    def first(self) -> Job | None:
        """The sentence model that it starts from, and whose translations are its first pass."""
        return None if self.system == "sent2sent" else Job(self.dataset, "sent2sent")


@dataclass(frozen=True)
class Measure:
    """One number about a trained model; window: rows that see each other in decoding, 0 where nothing is decoded."""

    job: Job
    metric: str  # "bleu on news": on the test set of another dataset
    window: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        return self.job.name, self.metric, self.window


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
class Row:
    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table, or a figure: then a row is a curve, and the columns are its places."""

    name: str  # what --only calls it; several tables may be one of the paper's
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
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
    """The trainings behind them and the sentence models those start from; sentence models and doc2doc come first."""
    found: dict[Job, None] = {}
    for measure in measures:
        if measure.job.first is not None:
            found[measure.job.first] = None
        found[measure.job] = None
    order = {"sent2sent": 0, "doc2doc": 1}
    return sorted(found, key=lambda job: (bool(job.variant), order.get(job.system, 2)))
