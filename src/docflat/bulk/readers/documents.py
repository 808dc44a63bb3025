"""What readers hand on: documents, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from docflat.bulk.shards import Shard, Unit

Text = list[str] | str | None  # sentences, a text, or nothing to translate


@dataclass(frozen=True)
class Failure:
    """Why a document has no translation."""

    reason: str
    place: int  # line, row, or number of the document in its source, from 1
    file: str = ""  # where that is not the source


@dataclass(frozen=True)
class Document:
    text: Text
    place: int
    failure: str = ""  # why it cannot be read


Translation = Text | Failure


class Reader(Protocol):
    """A source of documents in a row."""

    suffix: str  # of its parts
    digest: str  # of its contents, once all of it has been scanned

    def scan(self) -> Iterator[Unit]:
        """All documents; what is wrong with the source as a whole is an InputError."""

    def read(self, shard: Shard) -> list[Document]: ...

    def render(self, translations: Sequence[Translation]) -> bytes:
        """The part of the shard that was read last."""
