"""What the user sees: progress and warnings on stderr, tables on stdout.

Text comes from files that strangers wrote, and a terminal obeys some characters: those are shown escaped.
rich is imported where it is needed, so that `docflat --help` does not wait for it.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from docflat.support.errors import InputError

# What moves a cursor, ends a line or turns the direction of what follows; and halves of characters, which no terminal
# takes. Those of \x80-\x9f are control characters too.
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass
class _Messages:
    """How much is said, and where it is kept as well."""

    quiet: bool = False
    verbose: bool = False
    log: TextIO | None = None


_messages = _Messages()


def _at_once(path: str, flags: int) -> int:
    """A pipe that nobody reads is an error, and not a wait without end."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if hasattr(os, "set_blocking"):
        os.set_blocking(handle, True)
    return handle


@contextmanager
def messages(quiet: bool, verbose: bool, log: Path | None) -> Iterator[None]:
    """quiet: only errors and results; verbose: also details; log: a file that gets every message, with its time."""
    global _messages
    try:
        file = open(log, "a", encoding="utf-8", errors="backslashreplace", opener=_at_once) if log else None  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", log) from None
    before, _messages = _messages, _Messages(quiet, verbose, file)
    try:
        with _library_is_heard():
            yield
    finally:
        _messages = before
        if file is not None:
            file.close()


@contextmanager
def _library_is_heard() -> Iterator[None]:
    """Show what the library logs: its warnings, and the progress of long work. The service has a log of its own."""
    import logging  # here: who asks for help need not wait for it

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name.startswith("docflat.service"):
                return
            if record.levelno >= logging.WARNING:
                warn(record.getMessage())
            elif hasattr(record, "passing"):
                _show_progress(record.getMessage(), record.passing)

    logger, handler = logging.getLogger("docflat"), Shown()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _show_progress(text: str, passing: bool) -> None:
    """A line on stderr; on a terminal the next one takes the place of one that passes."""
    if not passing:
        _keep(text)
    if _messages.quiet:
        return
    if not sys.stderr.isatty():
        print(shown(text), file=sys.stderr, flush=True)
        return
    import shutil

    # A line that wraps could not be overwritten.
    line = shown(text)[: shutil.get_terminal_size().columns - 1] if passing else shown(text)
    print("\r\x1b[K" + line, end="" if passing else "\n", file=sys.stderr, flush=True)


def shown(text: object) -> str:
    """One line in which a terminal finds nothing to obey: control characters are escaped as in Python."""
    return _OBEYED.sub(_escaped, str(text))


def _escaped(match: re.Match[str]) -> str:
    if match[0] == "\t":
        return "\t"
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file's name that is no UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def say(*lines: object) -> None:
    """Results that are no table, on stdout."""
    for line in lines:
        print(shown(line))


def report(message: object) -> None:
    """What became of something, on stdout at once. That nobody listens any more does not end the work."""
    _keep(message)
    if not _messages.quiet:
        try:
            print(shown(message), flush=True)
        except BrokenPipeError:
            raise
        except OSError:  # said at the end of the process, where stdout is flushed again
            pass


def warn(message: object) -> None:
    _keep(f"warning: {message}")
    if not _messages.quiet:
        print(f"docflat: warning: {shown(message)}", file=sys.stderr)


def complain(message: object) -> None:
    """Say of an error, in one line."""
    line = " ".join(str(message).splitlines())
    _keep(f"error: {line}")
    print(f"docflat: error: {shown(line)}", file=sys.stderr)


def detail(message: str) -> None:
    """Only for whoever asked for it; it may have several lines."""
    _keep(message)
    if _messages.verbose:
        print("\n".join(map(shown, message.split("\n"))), file=sys.stderr)


def _keep(message: object) -> None:
    if _messages.log is not None:
        _messages.log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {shown(message)}\n")
        _messages.log.flush()


class Advance(Protocol):
    """Moves a bar on by n."""

    def __call__(self, n: float = 1, /) -> None: ...


@contextmanager
def progress(description: str, total: float | None = None) -> Iterator[Advance]:
    """A bar on stderr with the time left while the block runs; nothing where stderr is no terminal."""
    if _messages.quiet or not sys.stderr.isatty():
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
        task = bar.add_task(shown(description), total=total)

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

        table = Table(title=title and Text(shown(title)), title_justify="left")
        for name, right in zip(columns, numeric, strict=True):
            table.add_column(Text(name), justify="right" if right else "left", overflow="fold")  # else it cuts
        for row in cells:
            table.add_row(*map(Text, row))  # Text: brackets in a cell are no markup
        Console().print(table)
        return
    if title:
        print(shown(title))
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
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    # These can only be in its strings, where JSON has the same escapes.
    print("\n".join(_OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", line) for line in text.split("\n")))


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
    return shown(value)


def finite(value: object) -> object:
    # json would write NaN, which is not JSON.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)  # Chinese characters take two columns
