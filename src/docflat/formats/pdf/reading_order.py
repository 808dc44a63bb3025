"""Lines of a page in the order in which they are read: columns from left to right, rows of a table by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

Run = tuple[str, bool, bool]  # text, bold, italic


@dataclass
class Line:
    x0: float
    x1: float
    y: float  # of the baseline, from below
    size: float
    runs: list[Run]
    page: int = 0

    @property
    def text(self) -> str:
        return "".join(run[0] for run in self.runs)

    @property
    def top(self) -> float:
        return self.y + 0.8 * self.size

    @property
    def bottom(self) -> float:
        return self.y - 0.25 * self.size


Block = list[Line]  # of one column

_GUTTER = 0.9  # font sizes between columns
_BELOW = 0.8  # font sizes of white above what is no column any more
_LEAST_ROWS = 3  # that say where a column ends
_MOST_COLUMNS = 20  # beside each other; what has more is no page of prose
_WORDS = 14  # letters of a line in the middle; what is shorter are cells of a table


def order_lines(lines: Sequence[Line], most: int = _MOST_COLUMNS) -> list[Block]:
    """Blocks of lines, each from top to bottom; most: columns."""
    rows = list(_rows(lines))
    edge = _find_edge(rows)
    if edge is None or most == 1:
        return [[_join(row) for row in rows]]
    blocks: list[Block] = []
    for crosses, group in groupby(rows, lambda row: any(line.x0 < edge < line.x1 for line in row)):
        inside = list(group)
        after = inside[len(inside) if crosses else _end_of_columns(inside, edge) :]
        columns = inside[: len(inside) - len(after)]
        left, right = ([line for row in columns for line in row if (line.x0 > edge) == side] for side in (False, True))
        if not crosses and left and right and _is_prose(columns):
            blocks += [*order_lines(left, most - 1), *order_lines(right, most - 1)]
        else:
            blocks.append([_join(row) for row in columns])
        blocks += [[_join(row) for row in after]] if after else []
    return blocks


def _end_of_columns(rows: Sequence[Sequence[Line]], edge: float) -> int:
    """How many rows are columns: what stands below both, at the left, is read after them."""
    last = max((number for number, row in enumerate(rows) if row[-1].x0 > edge), default=len(rows) - 1)
    for number in range(last, len(rows) - 1):
        if rows[number][0].bottom - rows[number + 1][0].top > _BELOW * rows[number][0].size:
            return number + 1
    return len(rows)


def _rows(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines beside each other, from top to bottom."""
    row: list[Line] = []
    for line in sorted(lines, key=lambda line: (-line.y, line.x0)):
        if row and line.top <= min(one.y for one in row) + 0.25 * line.size:
            yield sorted(row, key=lambda line: line.x0)
            row = []
        row.append(line)
    if row:
        yield sorted(row, key=lambda line: line.x0)


def _find_edge(rows: Sequence[Sequence[Line]]) -> float | None:
    """Where most rows have white between two lines; None: too few have."""
    changes: list[tuple[float, int]] = []
    for row in rows:
        for line, after in pairwise(row):
            if after.x0 - line.x1 > _GUTTER * line.size:
                changes += [(line.x1, 1), (after.x0, -1)]
    most, count, edge = _LEAST_ROWS - 1, 0, None
    changes.sort()
    for number, (place, change) in enumerate(changes):
        count += change
        if count > most:
            most, edge = count, 0.5 * (place + changes[number + 1][0])
    return edge


def _is_prose(rows: Sequence[Sequence[Line]]) -> bool:
    """Whether they are lines of columns, and not cells of a table."""
    if sum(len(row) > 1 for row in rows) < _LEAST_ROWS:
        return False
    lengths = sorted(len(line.text) for row in rows for line in row)
    return lengths[len(lengths) // 2] >= _WORDS


def _join(row: Sequence[Line]) -> Line:
    """Cells of a row as one line, with tabs between them."""
    if len(row) == 1:
        return row[0]
    runs: list[Run] = []
    for line in row:
        runs += [("\t", False, False)] if runs else []
        runs += line.runs
    first = row[0]
    return Line(first.x0, max(line.x1 for line in row), first.y, first.size, runs, first.page)
