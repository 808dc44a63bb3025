"""JSON lines: an object a line, one field of which is a document. The others stay as they are."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docflat.bulk.readers.cursor import Cursor
from docflat.bulk.readers.documents import Document, Failure, Text, Translation
from docflat.bulk.shards import Shard, Unit, work_of
from docflat.bulk.sources import Source
from docflat.support.errors import InputError
from docflat.support.text_files import raw_lines

_SURROGATE = re.compile("[\ud800-\udfff]")
KEYS = ("source", "text")  # where nobody says otherwise


class JsonLines:
    suffix = ".jsonl"

    def __init__(self, source: Source, target_key: str) -> None:
        self.path, self.key, self.target_key = Path(source.path), source.key, target_key
        self.digest = source.hash
        self.cursor = Cursor(self.path)
        self.lines: list[bytes | None] = []  # of the shard that was read last; None: no object

    def scan(self) -> Iterator[Unit]:
        digest = hashlib.sha256()
        offset = size = 0
        before: tuple[int, int, int] | None = None  # work, offset and line of a document whose end is to be found
        for number, raw in enumerate(raw_lines(self.path, self.path), 1):
            digest.update(raw)
            if raw.strip():
                if before is not None:
                    yield Unit(before[0], before[1], size, before[2])
                    offset, size = before[1] + size, 0
                record, document = read_record(raw, self.key, number)
                if record is not None and self.target_key in record:
                    message = f"has a field {self.target_key!r} already: name another with --target-key"
                    raise InputError(message, self.path, number)
                before = work_of(document.text), offset, number
            size += len(raw)
        if before is not None:
            yield Unit(before[0], before[1], size, before[2])
        self.digest = digest.hexdigest()

    def read(self, shard: Shard) -> list[Document]:
        self.lines = []
        documents = []
        lines = self.cursor.read(shard.offset, shard.size).split(b"\n")
        for number, raw in enumerate(lines, shard.line if shard.first > 1 else 1):
            if raw.strip():
                record, document = read_record(raw, self.key, number)
                self.lines.append(None if record is None else raw)
                documents.append(document)
        return documents

    def render(self, translations: Sequence[Translation]) -> bytes:
        """A line a record; one without a translation has null. What is no record is not here.

        Other fields stay byte for byte: long numbers too, which would come back from Python as others.
        """
        name = json.dumps(self.target_key, ensure_ascii=False)
        lines = []
        for raw, translation in zip(self.lines, translations, strict=True):
            if raw is not None:
                target = None if isinstance(translation, Failure) else translation
                fields = raw.strip().removeprefix(codecs.BOM_UTF8)[:-1].rstrip()
                comma = "" if fields.endswith(b"{") else ", "
                added = f"{comma}{name}: {json.dumps(target, ensure_ascii=False)}}}\n"
                lines.append(fields + added.encode())
        return b"".join(lines)


def find_key(path: Path, key: str | None) -> str:
    """The field that holds documents, by the first record."""
    for number, raw in enumerate(raw_lines(path, path), 1):
        record = _record(raw)
        if isinstance(record, dict):
            return choose_key(list(record), key, path, number, "field")
    return key or KEYS[0]  # of a file without any record: each line will be said to be none


def choose_key(names: Sequence[str], key: str | None, path: Path, line: int | None, what: str) -> str:
    wanted = (key,) if key else KEYS
    for name in wanted:
        if name in names:
            return name
    there = ", ".join(names) or "none"
    hint = "" if key else "; name one with --key"
    raise InputError(f"there is no {what} {' or '.join(map(repr, wanted))} among {there}{hint}", path, line)


def read_record(raw: bytes, key: str, line: int) -> tuple[dict[str, Any] | None, Document]:
    """An object and its document; None: the line is no object."""
    record = _record(raw)
    if isinstance(record, str):
        return None, Document(None, line, record)
    if key not in record:
        return record, Document(None, line, f"there is no field {key!r}")
    text, failure = check(record[key], escaped=b"\\u" in raw)
    return record, Document(text, line, f"{key!r} {failure}" if failure else "")


def check(value: Any, escaped: bool = True) -> tuple[Text, str]:
    """A document, or why it is none. escaped: whether it may have halves of surrogate pairs."""
    if value is None:
        return None, ""
    sentences = [value] if isinstance(value, str) else value
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        return None, f"must be a text or a list of sentences, not {json.dumps(value)[:60]}"
    if escaped and any(map(_SURROGATE.search, sentences)):
        return None, "has half a surrogate pair"
    return value, ""


def _record(raw: bytes) -> dict[str, Any] | str:
    """An object, or why it is none."""
    try:
        value = json.loads(raw)
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte {error.start + 1} of the line"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep nesting
        return f"not JSON: {error}"
    return value if isinstance(value, dict) else "not a JSON object"
