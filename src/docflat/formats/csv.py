"""Tables as text (.csv, .tsv): the cells of some columns; all other cells, quotes and line ends stay as they are.

The first line names the columns and stays, as programs know columns by these names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from docflat.formats.catalogues.strings_in_place import StringPlace, StringsInPlace
from docflat.formats.safe_reading import read_text
from docflat.support.errors import InputError
from docflat.support.punctuation import WIDE

_DELIMITERS = ",;\t|"
_SAMPLE = 50  # rows by which the delimiter is known
_SEP = re.compile(r"sep=(.)(?=\r?\n)", re.IGNORECASE)  # in which Excel tells itself
_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"')
# Two words beside each other: no code, no file name. Or as much, in scripts that have no blanks between them.
_SENTENCE = re.compile(
    rf"(?<![^\W\d_])[^\W\d_]+[,;:]?\s+[^\W\d_]|[{WIDE}]{{4}}|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{{8}}"
)
_FORMULA = "=+-@"  # a cell that begins so is one to spreadsheets, and may call programs
_SHOWN = 12  # names of columns in a message


class _Cell(NamedTuple):
    start: int
    end: int
    quoted: bool


class _Table:
    """The cells of a text, row by row."""

    def __init__(self, text: str, delimiter: str, start: int, most: int | None = None) -> None:
        """most: rows that are looked at."""
        self.rows: list[list[_Cell]] = []
        self.unclosed = -1  # where a quote begins that nothing ends
        self._next = re.compile(f"[{re.escape(delimiter)}\r\n]")
        row: list[_Cell] = []
        while start <= len(text) and (most is None or len(self.rows) < most):
            cell = self._cell(text, start, delimiter)
            row.append(cell)
            start = cell.end + 1
            if text[cell.end : start] != delimiter:
                if row != [_Cell(cell.start, cell.start, False)]:  # a line without anything is no row
                    self.rows.append(row)
                row = []
                start += text.startswith("\r\n", cell.end)
                if start > len(text) or cell.end == len(text):
                    break

    def _cell(self, text: str, start: int, delimiter: str) -> _Cell:
        if text.startswith('"', start):
            at = start + 1
            while (at := text.find('"', at)) >= 0 and text.startswith('"', at + 1):
                at += 2
            if at < 0 and self.unclosed < 0:
                self.unclosed = start
            if at >= 0 and (delimiter != "\t" or at + 1 == len(text) or text[at + 1] in "\t\r\n"):
                end = self._next.search(text, at + 1)  # what follows the quotes belongs to the cell, as to most readers
                return _Cell(start, end.start() if end else len(text), True)
        end = self._next.search(text, start)
        return _Cell(start, end.start() if end else len(text), False)


class Csv:
    """`columns`: their names or numbers, from 1 on; "*" is all. Without them, those that hold sentences."""

    name = "CSV"

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self.columns = columns

    def read(self, data: bytes, file: str) -> StringsInPlace:
        text, encoding = read_text(data, file)
        said = _SEP.match(text)
        start = said.end() if said else 0
        start += len(text[start:]) - len(text[start:].lstrip("\r\n"))
        is_tsv = file.lower().endswith(".tsv")
        delimiter = said[1] if said else "\t" if is_tsv else _find_delimiter(text, start)
        table = _Table(text, delimiter, start)
        if table.unclosed >= 0 and not is_tsv:
            raise InputError("a quote that nothing ends", file, text.count("\n", 0, table.unclosed) + 1)
        if len(table.rows) < 2:
            raise InputError("has no row below the names of its columns", file)
        names = [_value(text, cell).strip() for cell in table.rows[0]]
        chosen = self._choose(text, names, table.rows[1:], file)
        places = []
        for row in table.rows[1:]:
            for number in sorted(chosen):
                if number < len(row) and (value := _value(text, row[number])).strip() and not value.startswith("="):
                    places.append(StringPlace(*row[number][:2], value.replace("\r\n", "\n")))
        if not places:
            raise InputError("has nothing in these columns", file)
        return StringsInPlace(text, encoding, places, _Writing(delimiter, is_tsv).write)

    def _choose(self, text: str, names: Sequence[str], rows: Sequence[Sequence[_Cell]], file: str) -> Collection[int]:
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        if "*" in self.columns:
            return range(max(map(len, rows)))
        chosen = set()
        for column in self.columns:
            if column in names:
                chosen.add(names.index(column))
            elif column.isascii() and column.isdigit() and 0 < int(column[:9]) <= len(names):
                chosen.add(int(column) - 1)
            else:
                raise InputError(f"has no column {column!r}; there are {shown}", file)
        chosen = chosen or _wordy(text, rows)
        if not chosen:
            raise InputError(f"no column of it holds sentences; --columns names what to translate: {shown}", file)
        return chosen


def _value(text: str, cell: _Cell) -> str:
    raw = text[cell.start : cell.end]
    quoted = _QUOTED.match(raw) if cell.quoted else None
    return quoted[1].replace('""', '"') + raw[quoted.end() :] if quoted else raw


def _wordy(text: str, rows: Sequence[Sequence[_Cell]]) -> set[int]:
    """Columns in which at least half of the cells that hold words hold some that follow each other."""
    filled: Counter[int] = Counter()
    wordy: Counter[int] = Counter()
    for row in rows:
        for number, cell in enumerate(row):
            raw = text[cell.start : min(cell.end, cell.start + 1000)]
            if raw.strip(' "'):
                filled[number] += 1
                wordy[number] += _SENTENCE.search(raw) is not None
    return {number for number in filled if 2 * wordy[number] >= filled[number]}


def _find_delimiter(text: str, start: int) -> str:
    """That which cuts most rows into as many cells, more than one."""

    def rank(delimiter: str) -> tuple[float, int]:
        rows = _Table(text, delimiter, start, _SAMPLE).rows
        count, alike = Counter(len(row) for row in rows).most_common(1)[0] if rows else (1, 0)
        return (alike / max(1, len(rows)) if count > 1 else 0.0), count

    return max(_DELIMITERS, key=rank)


class _Writing:
    def __init__(self, delimiter: str, is_tsv: bool) -> None:
        self.delimiter, self.is_tsv = delimiter, is_tsv

    def write(self, value: str, raw: str) -> str:
        sign = value.lstrip()[:1]
        if sign and sign in _FORMULA and raw.removeprefix('"').lstrip()[:1] != sign:
            value = f"'{value}"  # what spreadsheets take for text
        quoted = raw.startswith('"') and (not self.is_tsv or (raw.endswith('"') and len(raw) > 1))
        if self.is_tsv and not quoted:  # many readers of .tsv know no quotes
            return re.sub(r"[\t\r\n]+", " ", value.replace('"', "'", 1) if value.startswith('"') else value)
        value = value.replace("\n", "\r\n") if "\r\n" in raw else value
        if quoted or any(sign in value for sign in f'{self.delimiter}"\r\n') or value != value.strip():
            return '"' + value.replace('"', '""') + '"'
        return value
