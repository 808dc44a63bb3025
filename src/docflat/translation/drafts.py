"""Files of drafts: what they hold as sentences in pairs, and the same files with other words in their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from docflat.data.documents import Boundaries, FilePair, read_documents
from docflat.editing.editor import Pair, Revision
from docflat.support.text_files import chunks_of


@dataclass(frozen=True)
class DraftDocument:
    """Sentences of a document with their drafts."""

    pairs: Sequence[Pair]
    places: Sequence[str]  # where each draft stands, for messages: "draft.de:12"


class DraftFile(Protocol):
    """A file of drafts that was read."""

    documents: Sequence[DraftDocument]

    def render(self, revisions: Sequence[Sequence[Revision]]) -> bytes:
        """The whole file with what became of its drafts; all else as it was, to the byte."""


class Lines:
    """Two texts of a sentence a line."""

    def __init__(self, source: Path, draft: Path, boundaries: Boundaries = "auto") -> None:
        self.documents = []
        self.lines = b"".join(chunks_of(draft, draft)).split(b"\n")
        self.numbers: list[range] = []
        for document in read_documents(FilePair(source, draft, boundaries)):
            assert document.target is not None  # the pair has two files
            numbers = range(document.line, document.line + len(document.source))
            pairs = list(zip(document.source, document.target, strict=True))
            self.documents.append(DraftDocument(pairs, [f"{draft}:{number}" for number in numbers]))
            self.numbers.append(numbers)

    def render(self, revisions: Sequence[Sequence[Revision]]) -> bytes:
        lines = list(self.lines)
        for numbers, document in zip(self.numbers, revisions, strict=True):
            for number, revision in zip(numbers, document, strict=True):
                if revision.edit is not None:
                    line = lines[number - 1]
                    lines[number - 1] = line.replace(revision.draft.encode(), revision.text.encode())
        return b"\n".join(lines)
