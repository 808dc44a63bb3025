"""File formats: each reads a file into segments of text and writes it again with other text in their place."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from docflat.formats.segments import Format
from docflat.support.errors import InputError

# Modules are imported when a file asks for them: some need packages of the extra `files`.
FORMATS: dict[str, str] = {
    ".txt": "txt:Txt",
    ".md": "markdown:Markdown",
    ".markdown": "markdown:Markdown",
    ".html": "html:Html",
    ".htm": "html:Html",
    ".json": "json:Json",
    ".jsonl": "json:Json",
    ".docx": "docx:Docx",
    ".docm": "docx:Docx",
    ".dotx": "docx:Docx",
    ".pptx": "pptx:Pptx",
    ".pptm": "pptx:Pptx",
    ".odt": "odt:Odt",
    ".srt": "srt:Srt",
    ".vtt": "vtt:Vtt",
    ".po": "po:Po",
    ".pot": "po:Po",
    ".xliff": "xliff:Xliff",
    ".xlf": "xliff:Xliff",
}

# What the class of a format can be told.
OPTIONS: dict[str, tuple[str, ...]] = {
    "html": ("target_language",),
    "json": ("keys",),
    "po": ("redo", "target_language"),
    "xliff": ("redo", "target_language"),
}


def options_of(path: str | Path) -> tuple[str, ...]:
    """The options of the format of files with this suffix."""
    return OPTIONS.get(FORMATS.get(Path(path).suffix.lower(), "").partition(":")[0], ())


def find_format(path: str | Path, **options: Any) -> Format:
    """The format of files with this suffix; options are those of its class."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"no format for files ending in {suffix!r}; there are {', '.join(FORMATS)}", path)
    module, name = FORMATS[suffix].split(":")
    try:
        found: Format = getattr(import_module(f"docflat.formats.{module}"), name)(**options)
    except ModuleNotFoundError as error:
        package = (error.name or "docflat").partition(".")[0]
        if package == "docflat":
            raise
        raise InputError(f"{suffix} files need {package}: pip install 'docflat[files]'", path) from None
    return found
