"""The lines of documents as they were read, until translations take their places."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from docflat.data.documents import Document, kind_of


def to_json(record: dict[str, object]) -> str:
    """A line of JSON. Other fields, and their names, may have halves of surrogate pairs, which UTF-8 cannot say."""
    text = json.dumps(record, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(record)
    return text


class Tape:
    """The lines of the input, kept until translations replace them; what marks documents stays."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name  # read_source tells the format by it
        self.json = kind_of(Path(self.name)) == ".jsonl"
        self.stream = stream
        self.lines: deque[bytes] = deque()
        self.taken = 0

    def readline(self, limit: int) -> bytes:
        raw = self.stream.readline(limit)
        if raw:
            self.lines.append(raw)
        return raw

    def replace(
        self, document: Document, translation: list[str] | None, candidates: Sequence[object] = ()
    ) -> Iterator[str]:
        """The output lines up to the end of a document: as many as the input has.

        translation None: there is none. Its lines stay as they are, as the others keep their numbers; in JSON the
        target is null. candidates: of each sentence, which JSON gets besides.
        """
        sentences = document.source if translation is None else translation
        lines = sum(sentence.count("\n") + 1 for sentence in sentences)
        if lines != len(document.source):  # not an assert statement: this holds under python -O too
            raise AssertionError(f"{len(document.source)} sentences in, {lines} lines out")
        while self.taken < document.line - 1:
            yield self._take_mark()
        if not self.json:
            for sentence in sentences:
                self._take()
                yield sentence
            return
        # A JSON line is a sentence or a whole document, and gets its target.
        record = json.loads(self.lines[0].decode("utf-8-sig"))
        whole = isinstance(record["source"], list)
        for place, target in enumerate([translation] if whole else sentences):
            record = json.loads(self._take().decode("utf-8-sig"))
            more = {"candidates": candidates if whole else candidates[place]} if candidates else {}
            yield to_json({**record, "target": target if translation is not None else None, **more})

    def rest(self) -> Iterator[str]:
        """The marks after the last document."""
        while self.lines:
            yield self._take_mark()

    def _take(self) -> bytes:
        self.taken += 1
        return self.lines.popleft()

    def _take_mark(self) -> str:
        mark = self._take().decode("utf-8-sig").split("\t")[0].strip()  # a TSV file may mark both columns
        if mark not in ("", "<d>"):
            raise AssertionError(f"line {self.taken} was not translated: {mark!r}")
        return mark
