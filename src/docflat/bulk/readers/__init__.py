"""Where documents are. In comes a source; out come its documents, shard by shard, and the bytes of their parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from docflat.bulk.readers.documents import Reader
from docflat.bulk.settings import Settings
from docflat.bulk.sources import TABLES, Source


def resolve(source: Source, settings: Settings) -> Source:
    """A source that says of itself which field has documents, or how lines mark them."""
    path = Path(source.path)
    if source.kind == "jsonl":
        from docflat.bulk.readers.json_lines import find_key

        return replace(source, key=find_key(path, settings.key))
    if source.kind in TABLES:
        from docflat.bulk.readers.tables import find_column

        return replace(source, key=find_column(path, source.kind, settings.key))
    from docflat.bulk.readers.lines import boundaries_of

    boundaries = boundaries_of(path, settings.boundaries, settings.docids, settings.starts)
    return replace(source, boundaries=boundaries)


def open_reader(source: Source, settings: Settings) -> Reader:
    """Of a source that has been resolved."""
    if source.kind == "jsonl":
        from docflat.bulk.readers.json_lines import JsonLines

        return JsonLines(source, settings.target_key)
    if source.kind in TABLES:
        from docflat.bulk.readers.tables import Table

        return Table(source, settings.target_key)
    from docflat.bulk.readers.lines import Lines

    return Lines(source, settings.docids, settings.starts)
