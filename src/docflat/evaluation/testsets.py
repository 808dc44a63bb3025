"""Test sets: references in their documents, and the translations and sources that line up with them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from docflat.data.documents import DOCUMENT_LINE, OPENERS, Boundaries, FilePair, kind_of, read_documents, read_source
from docflat.support.errors import InputError

Language = Literal["source", "target"]  # which side of a TSV or JSONL file is meant


@dataclass(frozen=True)
class Marking:
    """How the documents of the reference are marked, as for `docflat prepare`."""

    boundaries: Boundaries = "auto"
    docids: Path | None = None
    starts: Path | None = None

    def beside(self, kind: str) -> Marking:
        """That of another file: docids and start lines count the lines of the reference, and mark it alone."""
        if not (self.docids or self.starts):
            return self
        return Marking("auto" if kind else "none")


@dataclass(frozen=True)
class DocumentFile:
    """One side of a test set; line `lines[d][i]` of the file holds `documents[d][i]`."""

    file: Path
    documents: list[list[str]]
    lines: list[list[int]]

    @property
    def sizes(self) -> list[int]:
        return [len(document) for document in self.documents]

    @property
    def sentences(self) -> list[str]:
        return [sentence for document in self.documents for sentence in document]

    @property
    def joined(self) -> list[str]:
        """A text for each document: its sentences with a blank between them."""
        return [" ".join(document) for document in self.documents]


def read_reference(file: Path, marking: Marking) -> DocumentFile:
    """The references, whose documents all other files follow."""
    return _without_empty_documents(_read(file, marking, "target"))


def read_beside(file: Path, reference: DocumentFile, marking: Marking, language: Language = "target") -> DocumentFile:
    """Sentences for those of the reference: in the same documents, or, in a text file, on the same lines.

    A text file may also have no boundaries at all, and a line for each sentence of the reference. Read by line, an
    empty line is an empty sentence, as a model that says nothing leaves it.
    """
    side = _read(file, marking.beside(kind_of(file)), language)
    if side.sizes != reference.sizes:
        lines = None if kind_of(file) else _lines_beside(file, reference)
        if lines is None:
            raise _disagreement(side, reference)
        side = DocumentFile(file, *lines)
    return _without_empty_documents(side)


def _read(file: Path, marking: Marking, language: Language) -> DocumentFile:
    marks = (marking.boundaries, marking.docids, marking.starts)
    both_sides = language == "target" and kind_of(file)
    documents, starts = [], []
    for document in read_documents(FilePair(file, None, *marks)) if both_sides else read_source(file, *marks):
        sentences = document.target if both_sides else document.source
        if sentences is None:
            raise InputError("no target in this file", file, document.line)
        documents.append(sentences)
        starts.append(document.line)
    step = 0 if kind_of(file) == ".jsonl" and _count_lines(file) == len(documents) else 1  # 0: a document a line
    lines = [[start + step * i for i in range(len(each))] for start, each in zip(starts, documents, strict=True)]
    return DocumentFile(file, documents, lines)


def _count_lines(file: Path) -> int:
    with OPENERS.get(file.suffix.lower(), open)(file, "rb") as stream:
        return sum(1 for _ in stream)


def _lines_beside(file: Path, reference: DocumentFile) -> tuple[list[list[str]], list[list[int]]] | None:
    """Line by line where the file has as many lines as the reference has sentences, or lines; else nothing."""
    lines = next(read_source(file, "none")).source
    total = sum(reference.sizes)
    length = 0 if kind_of(reference.file) else _count_lines(reference.file)
    marks = set(range(1, length + 1)) - {line for document in reference.lines for line in document}
    # An empty line where the reference has one too is a boundary, and so the file lacks a sentence.
    marked = any(number in marks and not text.strip() for number, text in enumerate(lines, 1))
    if len(lines) == total and not marked:
        numbers = iter(range(1, total + 1))
        places, marks = [[next(numbers) for _ in document] for document in reference.documents], set()
    elif len(lines) == length:
        places = reference.lines
    else:
        return None
    for number, text in enumerate(lines, 1):
        if text.strip() not in ("", DOCUMENT_LINE) if number in marks else text == DOCUMENT_LINE:
            return None
    return [[lines[line - 1] for line in document] for document in places], places


def _disagreement(side: DocumentFile, reference: DocumentFile) -> InputError:
    """What is said where sentences or documents are not as many: the first document that differs, if it is known."""
    here, there = sum(side.sizes), sum(reference.sizes)
    message = f"{here} sentences, but {reference.file} has {there}"
    if here == there:
        message = f"{here} sentences as in {reference.file}, but in other documents"
    if len(side.documents) == 1:  # no boundaries, so nobody knows where
        return InputError(message, side.file)
    number, (mine, its) = next(
        (number, pair) for number, pair in enumerate(zip_longest(side.sizes, reference.sizes), 1) if pair[0] != pair[1]
    )
    if mine is None:
        return InputError(f"{message}: this file ends after {number - 1} documents", side.file, side.lines[-1][-1])
    if its is None:
        return InputError(f"{message}, which ends after {number - 1} documents", side.file, side.lines[number - 1][0])
    message += f": document {number} has {mine} here and {its} there (line {reference.lines[number - 1][0]})"
    return InputError(message, side.file, side.lines[number - 1][0])


def _without_empty_documents(side: DocumentFile) -> DocumentFile:
    for number, (document, lines) in enumerate(zip(side.documents, side.lines, strict=True), 1):
        if not any(sentence.strip() for sentence in document):
            raise InputError(f"document {number} is empty: there is no word in it", side.file, lines[0])
    return side
