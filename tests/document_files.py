"""Files of documents for tests, and what is read of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docflat.data.documents import Document, FilePair


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)


def pair_in(folder: Path, names: dict[str, str]) -> FilePair:
    """A FilePair whose file names are taken in `folder`."""
    return FilePair(**{key: name if key == "boundaries" else folder / name for key, name in names.items()})  # type: ignore[arg-type]


def sides(documents: Iterator[Document]) -> list[tuple[list[str], list[str] | None]]:
    return [(document.source, document.target) for document in documents]
