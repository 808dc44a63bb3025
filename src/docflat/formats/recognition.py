"""What a file is by its name and its first bytes: of a format, text of a sentence a line, or neither."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from docflat.formats import FORMATS
from docflat.support.errors import InputError
from docflat.support.text_files import OPENERS

# What is often asked for, and would be taken for text: what to save it as, if that helps.
NOT_READ = {
    ".doc": ".docx",
    ".rtf": ".docx",
    ".ppt": ".pptx",
    ".xls": ".xlsx",
    ".xlsb": ".xlsx",
    ".png": None,
    ".jpg": None,
    ".jpeg": None,
    ".zip": None,
}
# Files with a form that lines would break: keys would be translated, brackets and tags become words.
STRUCTURED = {
    *(".toml", ".ini", ".cfg", ".rst", ".adoc", ".tex", ".ipynb"),
    *(".svg", ".css", ".js", ".py", ".sh", ".sql"),
}
_MARKS = {
    b"<?xml": "XML",
    b"<!DOCTYPE": "HTML or XML",
    b"<html": "HTML",
    b'{"': "JSON",
    b"[{": "JSON",
    b"%PDF": "PDF",
    b"PK\x03\x04": "an office file or a zip",
    b"{\\rtf": "RTF",
}
_BLANK = b"\xef\xbb\xbf \t\r\n"
_QT = re.compile(rb"<TS[\s>]")  # the first element of Qt's messages; `<TSource>` is a type of TypeScript


def has_format(file: Path) -> bool:
    """Whether a file that nobody named is one of a format: programs in TypeScript have the ending of Qt's messages."""
    suffix = file.suffix.lower()
    if suffix != ".ts":
        return suffix in FORMATS
    with suppress(OSError), open(file, "rb") as stream:
        start = stream.read(4096).replace(b"\0", b"").lstrip(_BLANK + b"\xff\xfe")  # UTF-16 too
        return start.startswith(b"<") and _QT.search(start) is not None
    return True  # whoever opens it says why that cannot be done


def check_lines(file: Path) -> None:
    """Refuse to take for lines of text what they would break."""
    suffix = file.suffix.lower()
    if suffix in NOT_READ:
        instead = NOT_READ[suffix]
        hint = f"; save it as {instead}" if instead else ""
        raise InputError(f"{suffix} is no format that docflat reads{hint} (formats: {', '.join(FORMATS)})", file)
    if suffix in STRUCTURED or (suffix not in (".jsonl", ".tsv") and (what := _structure(file))):
        kind = f"{suffix} is" if suffix in STRUCTURED else f"it looks like {what}, which is"
        raise InputError(
            f"{kind} no format that docflat reads, and lines would break it (--lines takes it as text)", file
        )


def _structure(file: Path) -> str:
    """What a file without a known ending is by its first bytes, if no text."""
    if not file.is_file() or file.suffix.lower() in OPENERS:
        return ""
    with suppress(OSError), open(file, "rb") as stream:
        start = stream.read(512).lstrip(_BLANK)
        for mark, name in _MARKS.items():
            if start.startswith(mark):
                return name
        if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "a file for programs"
    return ""
