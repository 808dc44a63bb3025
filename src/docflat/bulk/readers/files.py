"""Files of formats: how much work one is, without taking it apart."""

from __future__ import annotations

import zipfile
from pathlib import Path

from docflat.formats import PACKED

_MARKUP = 10  # bytes of an office file's XML to a character of text, about
_CONTENT = ("word/document.xml", "ppt/slides/slide", "xl/sharedStrings.xml", "content.xml")


def work_of_file(path: Path, size: int) -> int:
    """About its characters; of an office file, whose pictures are no work, by its parts with text."""
    if path.suffix.lower() not in PACKED:
        return 1 + size
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part.file_size for part in archive.infolist() if part.filename.startswith(_CONTENT)]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return 1  # what is wrong with it is said when it is translated
    return 1 + sum(parts) // _MARKUP
