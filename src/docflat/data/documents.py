"""Documents: lists of sentences in order, read with their boundaries from text, TSV, JSON lines and bitexts.

Everything is read as a stream: at most one document and one line of each file are in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar, get_args

from docflat.support.errors import InputError
from docflat.support.text_files import OPENERS as OPENERS
from docflat.support.text_files import chunks_of, lines_of

Boundaries = Literal["auto", "empty-lines", "d-lines", "docids", "starts", "lines", "none"]
TableLine = tuple[str, str | None, str]  # source, target, docid
JsonLine = tuple[bool, list[str], list[str] | None, str]  # whether a whole document, source, target, docid

DOCUMENT_LINE = "<d>"
KINDS = {".tsv": ".tsv", ".jsonl": ".jsonl", ".tmx": ".tmx", ".po": ".po", ".xliff": ".xliff", ".xlf": ".xliff"}
BITEXTS = (".tmx", ".po", ".xliff")  # read by bitexts.py
_UNWRITABLE = re.compile("[\n\ud800-\udfff]")

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Document:
    """Sentences in order; `target[i]` translates `source[i]`."""

    source: list[str]
    target: list[str] | None = None  # None: there is only something to translate
    name: str = ""  # its docid, where the marking has one
    line: int = 1  # line of the source file that holds its first sentence


@dataclass(frozen=True, slots=True)
class FilePair:
    """The files of a corpus and how they mark documents; `auto` decides by what is in them."""

    source: Path
    target: Path | None = None  # None: the source file holds both sides, or there is one side only
    boundaries: Boundaries = "auto"  # "docids" or "starts" follows from one of the two files below
    docids: Path | None = None
    starts: Path | None = None
    languages: tuple[str, str] | None = None  # which two of a bitext; None: as it says itself

    def __post_init__(self) -> None:
        kind = kind_of(self.source)
        mode: Boundaries = "docids" if self.docids else "starts" if self.starts else self.boundaries
        problems = {
            # A recipe is not type-checked, so the mode may be any string.
            f"must be one of {', '.join(get_args(Boundaries))}": self.boundaries not in get_args(Boundaries),
            "cannot be given by docids and by starts at once": self.docids and self.starts,
            f"do not go with a file of {mode}": self.boundaries not in ("auto", mode),
            "need a file of start lines": mode == "starts" and not self.starts,
            "need a file of docids": mode == "docids" and not self.docids and not kind,
            "do not go with JSON lines": mode in ("empty-lines", "d-lines") and kind == ".jsonl",
            f"do not go with a {kind} file": mode not in ("auto", "none") and kind in BITEXTS,
        }
        for problem, applies in problems.items():
            if applies:
                raise InputError(f"boundaries {self.boundaries!r} {problem}", self.source)
        if self.target and (kind or kind_of(self.target)):
            both = self.source if kind else self.target
            raise InputError(f"a {kind_of(both)} file holds both sides: it cannot be one side of two files", both)
        object.__setattr__(self, "boundaries", mode)


def read_documents(pair: FilePair) -> Iterator[Document]:
    """The documents of a corpus, with targets where it has them."""
    return _read(pair, pair.source, with_target=True)


def read_source(
    file: str | Path | BinaryIO,
    boundaries: Boundaries = "auto",
    docids: Path | None = None,
    starts: Path | None = None,
) -> Iterator[Document]:
    """Source sides only, from a file or an open binary stream such as `sys.stdin.buffer`.

    A stream must hold uncompressed bytes, is read line by line as they come, and is left open.
    """
    file = Path(file) if isinstance(file, str) else file
    path = file if isinstance(file, Path) else Path(str(getattr(file, "name", "<stream>")))
    return _read(FilePair(path, None, boundaries, docids, starts), file, with_target=False)


def _read(pair: FilePair, file: Path | BinaryIO, with_target: bool) -> Iterator[Document]:
    document = None
    kind = kind_of(pair.source)
    if kind in BITEXTS:
        from docflat.data.bitexts import read_bitext

        chunks = chunks_of(file, pair.source)
        documents = read_bitext(kind, chunks, pair.source, pair.languages, undivided=pair.boundaries == "none")
        if not with_target:
            documents = (replace(each, target=None) for each in documents)
    else:
        documents = _documents(pair, lines_of(file, pair.source), with_target)
    for document in documents:
        yield document
    if document is None:
        raise InputError("no sentences in this file", pair.source)


def _documents(pair: FilePair, lines: Iterator[str], with_target: bool) -> Iterator[Document]:
    kind = kind_of(pair.source)
    mode = pair.boundaries
    rows: Iterator[TableLine]
    if kind == ".jsonl":
        record, records = _peek(_json_records(lines, pair.source, with_target))
        if record is not None and record[0]:
            if mode != "auto":
                message = f"each line is a document here: boundaries {mode!r} cannot apply"
                raise InputError(message, pair.source, 1)
            return (Document(s, t, name, line) for line, (_, s, t, name) in enumerate(records, 1))
        mode = "docids" if mode == "auto" else mode
        rows = ((s[0], t[0] if t else None, docid) for _, s, t, docid in records)
    elif kind == ".tsv":
        # Blank lines do not show whether there is a docid column.
        text, lines = _peek(lines, skip=_is_blank)
        if mode == "auto":
            mode = _boundaries_of_tsv(text or "")
        rows = _tsv_rows(lines, pair.source, mode, with_target)
    else:
        if pair.target is None:
            rows = ((s, None, "") for s in lines)
        else:
            targets = lines_of(pair.target, pair.target)
            sides = _aligned(lines, targets, ("source", pair.source), ("target", pair.target))
            rows = ((s, t, "") for s, t in sides)
        row, rows = _peek(rows)
        if mode == "auto":
            # One side is enough: the other then lacks a <d>, and that is reported.
            mode = "d-lines" if DOCUMENT_LINE in (row or ()) else "empty-lines"

    if mode == "empty-lines" or mode == "d-lines":
        return _split_at_marks(rows, mode, pair)
    if mode == "lines":
        return (Document([s], None if t is None else [t], "", line) for line, (s, t, _) in enumerate(rows, 1))
    if mode == "none":
        return _split_at_changes(((s, t, "") for s, t, _ in rows), named=False)
    if mode == "starts":
        assert pair.starts is not None  # the marking says so
        return _split_at_changes(_with_starts(rows, pair.starts, pair.source), named=False)
    return _split_at_changes(_with_docids(rows, pair), named=True)


def find_boundaries(file: Path) -> Boundaries:
    """What `auto` is for a file of lines."""
    kind = kind_of(file)
    if kind == ".jsonl":
        return "docids"
    lines = lines_of(file, file)
    if kind == ".tsv":
        return _boundaries_of_tsv(next((line for line in lines if not _is_blank(line)), ""))
    return "d-lines" if next(lines, "") == DOCUMENT_LINE else "empty-lines"


def _boundaries_of_tsv(line: str) -> Boundaries:
    """By the first line that is not blank."""
    fields = line.split("\t")
    return "d-lines" if DOCUMENT_LINE in fields[:2] else "docids" if len(fields) == 3 else "empty-lines"


def _split_at_marks(rows: Iterable[TableLine], mode: Boundaries, pair: FilePair) -> Iterator[Document]:
    is_mark = _is_blank if mode == "empty-lines" else DOCUMENT_LINE.__eq__
    source: list[str] = []
    target: list[str] = []
    for number, (s, t, _) in enumerate(rows, 1):
        mark = is_mark(s)
        if t is not None and is_mark(t) is not mark:
            what = "an empty line" if mode == "empty-lines" else "a <d> line"
            sides = "source but not in the target" if mark else "target but not in the source"
            file = pair.source if mark else pair.target or pair.source
            raise InputError(f"{what} in the {sides}: document boundaries disagree", file, number)
        if not mark:
            source.append(s)
            if t is not None:
                target.append(t)
        elif source:  # Marks in a row are one boundary.
            # Now, not at the next sentence: who types at a terminal need not wait for it.
            yield Document(source, target or None, "", number - len(source))
            source, target = [], []
    if source:
        yield Document(source, target or None, "", number + 1 - len(source))


def _split_at_changes(rows: Iterable[TableLine], named: bool) -> Iterator[Document]:
    """A new document wherever the docid changes."""
    line = 1
    for docid, group in groupby(rows, key=itemgetter(2)):
        source: list[str] = []
        target: list[str] = []
        for s, t, _ in group:
            source.append(s)
            if t is not None:
                target.append(t)
        yield Document(source, target or None, docid if named else "", line)
        line += len(source)


def _with_docids(rows: Iterator[TableLine], pair: FilePair) -> Iterator[TableLine]:
    """Docids from the docids file if there is one, else those of the rows; none may be empty."""
    file = pair.docids or pair.source
    if pair.docids:
        docids = lines_of(pair.docids, pair.docids)
        labelled = _aligned(rows, docids, ("source", pair.source), ("docids", pair.docids))
        rows = ((s, t, docid) for (s, t, _), docid in labelled)
    for number, row in enumerate(rows, 1):
        if not row[2]:
            # Most likely the files have empty lines between documents as well; those are no sentences.
            hint = '; JSON lines say it as "docid"' if kind_of(file) == ".jsonl" else ""
            raise InputError(f"no docid for this sentence{hint}", file, number)
        yield row


def _with_starts(rows: Iterator[TableLine], file: Path, source: Path) -> Iterator[TableLine]:
    """Rows whose docid is the number of the line on which their document starts."""
    starts = _start_lines(file)
    start, place = next(starts)
    docid, number = "", 0
    for number, (s, t, _) in enumerate(rows, 1):
        if number == start:
            docid = str(start)
            start, place = next(starts, (0, 0))
        yield s, t, docid
    if start and number:  # Of a source without any line, that is what is said.
        raise InputError(f"start line {start} is beyond the end of {source} ({number} lines)", file, place)


def _start_lines(file: Path) -> Iterator[tuple[int, int]]:
    """(start line, the line of `file` that says so); at least one."""
    last = 0
    for number, text in enumerate(lines_of(file, file), 1):
        # Not int() alone, which takes 1_000 and +1 too.
        if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
            raise InputError(f"{text[:40]!r} is not a line number", file, number)
        start = int(text)
        if not last and start != 1:
            raise InputError(f"the first document must start at line 1, not {start}", file, number)
        if start <= last:
            raise InputError(f"start lines must ascend, but {start} follows {last}", file, number)
        last = start
        yield start, number
    if not last:
        raise InputError("no start lines in this file", file)


def _tsv_rows(lines: Iterable[str], file: Path, mode: Boundaries, with_target: bool) -> Iterator[TableLine]:
    width = first = 0
    is_mark = {"empty-lines": _is_blank, "d-lines": DOCUMENT_LINE.__eq__}.get(mode)
    for number, line in enumerate(lines, 1):
        # `paste` puts a mark into each column instead; that is a row like any other.
        if is_mark and is_mark(line):
            yield line, line, ""
            continue
        fields = line.split("\t")
        if not width:
            width, first = len(fields), number
        if width not in (2, 3):
            message = f"wrong number of columns: {width}, where source, target and perhaps docid must be"
            raise InputError(message, file, number)
        if len(fields) != width:
            message = f"wrong number of columns: {len(fields)}, where line {first} has {width}"
            raise InputError(message, file, number)
        yield fields[0], fields[1] if with_target else None, fields[2] if width == 3 else ""


def _json_records(lines: Iterable[str], file: Path, with_target: bool) -> Iterator[JsonLine]:
    """A sentence becomes a list of one. All lines must have the shape of the first."""
    first = None
    for number, line in enumerate(lines, 1):
        value = json_object(line, file, number)
        whole = isinstance(value.get("source"), list)
        paired = with_target and value.get("target") is not None
        source = _json_side(value, "source", whole, file, number)
        target = _json_side(value, "target", whole, file, number) if paired else None
        if not source:
            raise InputError("a document without sentences", file, number)
        if target is not None and len(target) != len(source):
            message = f"{len(source)} sentences in the source but {len(target)} in the target"
            raise InputError(message, file, number)
        shape = f"{'document' if whole else 'sentence'} {'with' if paired else 'without'} a target"
        first = first or shape
        if shape != first:
            raise InputError(f"a {shape}, but line 1 is a {first}", file, number)
        key = "name" if whole else "docid"
        docid = value.get(key)
        if not isinstance(docid, str | int | None) or _UNWRITABLE.search(str(docid)):
            raise InputError(f'"{key}" must be a string, not {json.dumps(docid)[:60]}', file, number)
        yield whole, source, target, "" if docid is None else str(docid)


def _json_side(value: dict[str, Any], side: str, whole: bool, file: Path, line: int) -> list[str]:
    sentences = value.get(side) if whole else [value.get(side)]
    if not isinstance(sentences, list) or not all(isinstance(each, str) for each in sentences):
        must = "a list of strings" if whole else "a string"
        raise InputError(f'"{side}" must be {must}, not {json.dumps(value.get(side))[:60]}', file, line)
    for number, sentence in enumerate(sentences, 1):
        # Nobody could write these out again, a line per sentence and in UTF-8.
        if _UNWRITABLE.search(sentence):
            message = f'a line break or half a surrogate pair in sentence {number} of "{side}"'
            raise InputError(message, file, line)
    return sentences


def json_object(line: str, file: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg} at column {error.colno}", file, number) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep nesting
        raise InputError(f"not JSON: {error}", file, number) from error
    if not isinstance(value, dict):
        raise InputError(f"not a JSON object: {line[:60]}", file, number)
    return value


def read_lines(file: Path) -> Iterator[str]:
    """The lines of a file, compressed or not, without their ends; an error names the line."""
    return lines_of(file, file)


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _peek(items: Iterator[A], skip: Callable[[A], bool] = lambda item: False) -> tuple[A | None, Iterator[A]]:
    """The first item not to be skipped, and all of them again."""
    skipped = []
    for item in items:
        skipped.append(item)
        if not skip(item):
            return item, chain(skipped, items)
    return None, iter(skipped)


def _aligned(
    left: Iterator[A], right: Iterator[B], left_file: tuple[str, Path], right_file: tuple[str, Path]
) -> Iterator[tuple[A, B]]:
    """Both line by line; the files are (what it is, path). They must be equally long."""
    for number, (a, b) in enumerate(zip_longest(left, right), 1):
        if a is None or b is None:
            (ended, file), (longer, _) = (left_file, right_file) if a is None else (right_file, left_file)
            message = f"the {longer} file goes on after the {ended} file has ended ({number - 1} lines)"
            raise InputError(message, file, number)
        yield a, b


def kind_of(file: Path) -> str:
    """.tsv, .jsonl, .tmx, .po, .xliff, or nothing for text."""
    name = Path(file.stem) if file.suffix.lower() in OPENERS else file
    return KINDS.get(name.suffix.lower(), "")
