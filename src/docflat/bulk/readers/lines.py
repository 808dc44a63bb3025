"""Text in the layouts of docflat: a sentence a line, and marks between documents; TSV; JSON lines of sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from docflat.bulk.readers.cursor import Cursor
from docflat.bulk.readers.documents import Document, Failure, Translation
from docflat.bulk.shards import Shard, Unit, work_of
from docflat.bulk.sources import Source
from docflat.data.documents import Boundaries, find_boundaries, kind_of, read_source
from docflat.data.documents import Document as LineDocument
from docflat.data.tape import Tape
from docflat.support.errors import InputError
from docflat.support.text_files import OPENERS, reading


class Lines:
    def __init__(self, source: Source, docids: str | None, starts: str | None) -> None:
        self.path = Path(source.path)
        self.boundaries = cast("Boundaries", source.boundaries)
        self.docids, self.starts = (None if name is None else Path(name) for name in (docids, starts))
        self.digest = source.hash
        self.cursor = Cursor(self.path)
        self.name = self.path.with_suffix("").name if self.path.suffix.lower() in OPENERS else self.path.name
        self.suffix = Path(self.name).suffix if kind_of(self.path) == ".jsonl" else ".txt"
        self.tape = Tape(BytesIO(), self.name)
        self.documents: list[LineDocument] = []

    def scan(self) -> Iterator[Unit]:
        """A document's bytes are the marks before it and its lines; those of the last, the marks after it too."""
        with reading(self.path, lambda: None):
            stream = OPENERS.get(self.path.suffix.lower(), open)(self.path, "rb")
        with stream:
            counter = _Counter(stream, str(self.path))
            documents = read_source(cast("BinaryIO", counter), self.boundaries, self.docids, self.starts)
            before: Unit | None = None
            for document in documents:
                if before is not None:
                    yield before
                line, offset = counter.line, counter.offset
                last = document.line + len(document.source) - 1
                size = counter.take(last - line + 1)
                before = Unit(work_of(document.source), offset, size, line, last - line + 1)
            if before is not None:
                rest = counter.take(None)
                yield before._replace(size=before.size + rest)
        self.digest = counter.digest.hexdigest()

    def read(self, shard: Shard) -> list[Document]:
        data = self.cursor.read(shard.offset, shard.size)
        self.tape = Tape(BytesIO(data), self.name)
        self.documents = list(self._read(shard))
        if len(self.documents) != shard.documents:
            message = f"has {len(self.documents)} documents in {shard.name}, where the plan has {shard.documents}"
            raise InputError(message, self.path)
        return [Document(document.source, shard.line + document.line - 1) for document in self.documents]

    def _read(self, shard: Shard) -> Iterator[LineDocument]:
        stream = cast("BinaryIO", self.tape)
        if not shard.lengths:
            yield from read_source(stream, self.boundaries)
            return
        (document,) = read_source(stream, "none")
        sentences, line = iter(document.source), 1
        for length in shard.lengths:
            yield LineDocument(list(islice(sentences, length)), None, "", line)
            line += length

    def render(self, translations: Sequence[Translation]) -> bytes:
        """As many lines as were read. Those of a document without a translation stay as they were."""
        lines: list[str] = []
        for document, translation in zip(self.documents, translations, strict=True):
            text = None if isinstance(translation, Failure) else translation
            assert not isinstance(text, str)
            lines += self.tape.replace(document, text)
        lines += self.tape.rest()
        return "".join(f"{line}\n" for line in lines).encode()


def boundaries_of(path: Path, boundaries: str, docids: str | None, starts: str | None) -> str:
    """How documents are marked, where `auto` may be asked for; two other files may say it."""
    if docids or starts:
        return "docids" if docids else "starts"
    return find_boundaries(path) if boundaries == "auto" else boundaries


class _Counter:
    """A stream that notes how long its lines are, until somebody has asked."""

    def __init__(self, stream: Any, name: str) -> None:
        self.stream, self.name = stream, name
        self.digest = hashlib.sha256()
        self.sizes: list[int] = []
        self.taken = 0  # of the sizes
        self.line, self.offset = 1, 0  # of the first that is not taken

    def readline(self, limit: int) -> bytes:
        raw: bytes = self.stream.readline(limit)
        if raw:
            self.digest.update(raw)
            self.sizes.append(len(raw))
        return raw

    def take(self, lines: int | None) -> int:
        """The bytes of so many lines; None: of all."""
        sizes: Iterable[int] = self.sizes[:lines]
        size = sum(sizes)
        self.sizes = [] if lines is None else self.sizes[lines:]
        self.line += lines or 0
        self.offset += size
        return size
