"""A model for the tests of bulk translation: it writes a sentence backwards, and its place; words in it are obeyed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from docflat.bulk.settings import Settings

LOADER = "bulk.stub_model:load"
NOTES = "BULK_STUB_NOTES"  # names a file for a line of every document


class Stub:
    languages = None
    precision = "fp32"

    def translate_documents(
        self,
        documents: Iterable[Sequence[str]],
        chunk: int = 2000,
        done: Callable[[int], None] = lambda sentences: None,
        **settings: Any,
    ) -> Iterator[list[str]]:
        documents = list(documents)
        for document in documents:
            for sentence in document:
                obey(sentence)
        for document in documents:
            note(f"{os.getpid()} {document[:1]}")
            yield [f"{place}:{text[::-1]}" if text else "" for place, text in enumerate(document)]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[None]:
        return [None] * len(pairs)

    def count_tokens(self, translations: Sequence[str]) -> int:
        return sum(len(text.split()) for text in translations)


def obey(sentence: str) -> None:
    if "fail now" in sentence:
        raise RuntimeError("as asked")
    if "die now" in sentence:
        note("died")
        os._exit(9)
    if "die once" in sentence and "died" not in Path(os.environ[NOTES]).read_text():
        note("died")
        os._exit(9)
    if "wait" in sentence:
        time.sleep(0.05)


def note(text: str) -> None:
    if path := os.environ.get(NOTES):
        with open(path, "a") as file:
            file.write(text + "\n")


def translated(document: Sequence[str]) -> list[str]:
    """What the stub makes of a document."""
    return [f"{place}:{text[::-1]}" if text else "" for place, text in enumerate(document)]


def load(settings: Settings, threads: int) -> Stub:
    note(f"{os.getpid()} loaded")
    return Stub()


def write_json_lines(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
