"""Glossaries as clients write them: a JSON object, or a term and its translation a line, with a tab or as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from docflat.service.problems import Problem
from docflat.translation.glossary import find_fault

MOST_ENTRIES = 10_000
_MOST_BYTES = 1024  # bytes of a term or a translation


def read_entries(value: Any, kind: str = "") -> dict[str, str]:
    """kind: tsv or csv; empty: a JSON object, or a text that is one or has tabs."""
    if isinstance(value, str) and not kind and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise Problem(400, "bad_glossary", reason="it is no JSON") from None
    if isinstance(value, Mapping):
        return _checked(value.items())
    if not isinstance(value, str):
        raise Problem(400, "bad_glossary", reason="expected an object, or lines of a term, a tab and its translation")
    if kind == "csv":
        try:
            rows = list(csv.reader(io.StringIO(value.lstrip("\ufeff")), strict=True))
        except csv.Error as error:
            raise Problem(400, "bad_glossary", reason=str(error)) from None
        # DeepL's has the languages after these two.
        return _checked(_pairs([row[:2] if len(row) in (3, 4) else row for row in rows]))
    return _checked(_pairs([line.split("\t") for line in value.lstrip("\ufeff").splitlines()]))


def _pairs(rows: Iterable[list[str]]) -> list[tuple[str, str]]:
    pairs = []
    for number, row in enumerate(rows, 1):
        if not "".join(row).strip():
            continue
        if len(row) != 2:
            raise Problem(400, "bad_glossary", reason=f"line {number} is not a term and one translation")
        pairs.append((row[0], row[1]))
    return pairs


def _checked(pairs: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    entries: dict[str, str] = {}
    for number, (term, translation) in enumerate(pairs, 1):
        if not isinstance(term, str) or not isinstance(translation, str):
            raise Problem(400, "bad_glossary", reason=f"entry {number} is not of two texts")
        term, translation = " ".join(term.split()), translation.strip()
        if fault := find_fault(term, translation):
            raise Problem(400, "bad_glossary", reason=f"entry {number}: {fault}")
        if max(len(term.encode()), len(translation.encode())) > _MOST_BYTES:
            raise Problem(400, "bad_glossary", reason=f"entry {number} is longer than {_MOST_BYTES} bytes")
        if entries.get(term, translation) != translation:
            raise Problem(400, "bad_glossary", reason=f"entry {number}: a second translation of a term")
        entries[term] = translation
    if len(entries) > MOST_ENTRIES:
        raise Problem(400, "bad_glossary", reason=f"more than {MOST_ENTRIES} entries")
    return entries


def write_tsv(entries: Mapping[str, str]) -> str:
    return "\n".join(f"{term}\t{translation}" for term, translation in entries.items())
