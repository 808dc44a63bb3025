"""What the user sees: progress and warnings on stderr, tables on stdout.

rich is imported where it is needed, so that `docflat --help` does not wait for it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Moves a bar on by n."""

    def __call__(self, n: float = 1, /) -> None: ...


@contextmanager
def progress(description: str, total: float | None = None) -> Iterator[Advance]:
    """A bar on stderr with the time left while the block runs; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield _stay
        return

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        # rich would print what goes to stdout above the bar, on stderr: right only if both are the terminal.
        redirect_stdout=sys.stdout.isatty(),
    )
    with bar:
        task = bar.add_task(description, total=total)

        def advance(n: float = 1, /) -> None:
            bar.advance(task, n)

        yield advance


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    as_json: bool = False,
    title: str | None = None,
) -> None:
    """A table on stdout, in plain text where that is no terminal; `as_json`: a JSON list of objects."""
    rows = [list(row) for row in rows]
    if as_json:
        print_json([dict(zip(columns, map(finite, row), strict=True)) for row in rows])
        return
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    cells = [[_text(value) for value in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title, title_justify="left")
        for name, right in zip(columns, numeric, strict=True):
            table.add_column(Text(name), justify="right" if right else "left")
        for row in cells:
            table.add_row(*map(Text, row))  # Text: brackets in a cell are no markup
        Console().print(table)
        return
    if title:
        print(title)
    widths = [max(map(_width, column)) for column in zip(columns, *cells, strict=True)]
    for line in (list(columns), *cells):
        padding = [" " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
        aligned = (pad + cell if right else cell + pad for cell, pad, right in zip(line, padding, numeric, strict=True))
        print("  ".join(aligned).rstrip())


def print_rows(rows: Sequence[Mapping[str, object]], as_json: bool = False, title: str | None = None) -> None:
    """As `print_table`, of rows that name their columns; a row may lack some."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print_table(columns, [[row.get(key) for key in columns] for row in rows], as_json, title)


def print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def warn(message: str) -> None:
    print(f"docflat: warning: {message}", file=sys.stderr)


def _stay(n: float = 1, /) -> None:
    """Where there is no bar to move."""


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _text(value: object) -> str:
    """Three decimals are enough to read; the JSON has all of them."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def finite(value: object) -> object:
    # json would write NaN, which is not JSON.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)  # Chinese characters take two columns
