"""File formats, by suffix.

In come the bytes of a file; out come its segments of text, and the bytes again with other text in their places.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from docflat.formats.segments import Format
from docflat.support.errors import InputError

# Modules are imported when a file asks for them: some take longer to import than others.
FORMATS: dict[str, str] = {
    ".txt": "txt:Txt",
    ".md": "markup.markdown:Markdown",
    ".markdown": "markup.markdown:Markdown",
    ".mdx": "markup.markdown:Markdown",
    ".html": "markup.html:Html",
    ".htm": "markup.html:Html",
    ".xhtml": "markup.html:Html",
    ".json": "catalogues.json:Json",
    ".jsonl": "catalogues.json:Json",
    ".yaml": "catalogues.yaml:Yaml",
    ".yml": "catalogues.yaml:Yaml",
    ".csv": "csv:Csv",
    ".tsv": "csv:Csv",
    ".arb": "catalogues.arb:Arb",
    ".properties": "catalogues.properties:Properties",
    ".strings": "catalogues.apple_strings:AppleStrings",
    ".resx": "catalogues.resx:Resx",
    ".xml": "catalogues.android:Android",
    ".docx": "office.docx:Docx",
    ".docm": "office.docx:Docx",
    ".dotx": "office.docx:Docx",
    ".pptx": "office.pptx:Pptx",
    ".pptm": "office.pptx:Pptx",
    ".ppsx": "office.pptx:Pptx",
    ".potx": "office.pptx:Pptx",
    ".xlsx": "office.xlsx:Xlsx",
    ".xlsm": "office.xlsx:Xlsx",
    ".xltx": "office.xlsx:Xlsx",
    ".xltm": "office.xlsx:Xlsx",
    ".odt": "office.odt:Odt",
    ".ott": "office.odt:Odt",
    ".odp": "office.odt:Odp",
    ".otp": "office.odt:Odp",
    ".ods": "office.odt:Ods",
    ".ots": "office.odt:Ods",
    ".epub": "epub:Epub",
    ".tmx": "catalogues.tmx:Tmx",
    ".ts": "catalogues.qt_ts:QtTs",
    ".stringsdict": "catalogues.stringsdict:StringsDict",
    ".ass": "subtitles.ass:Ass",
    ".ssa": "subtitles.ass:Ass",
    ".srt": "subtitles.srt:Srt",
    ".vtt": "subtitles.vtt:Vtt",
    ".po": "catalogues.po:Po",
    ".pot": "catalogues.po:Po",
    ".pdf": "pdf.reader:Pdf",
    ".xliff": "catalogues.xliff:Xliff",
    ".xlf": "catalogues.xliff:Xliff",
    ".sdlxliff": "catalogues.xliff:Xliff",
    ".mqxliff": "catalogues.xliff:Xliff",
}

# Those that are zips: their size says little of how much text they have.
PACKED = tuple(suffix for suffix, where in FORMATS.items() if where.startswith(("office.", "epub:", "pdf.")))

# What the translation is written as, where that is something else.
WRITTEN_AS = {".pdf": ".docx"}

# What the class of a format can be told.
OPTIONS: dict[str, tuple[str, ...]] = {
    "markup.html": ("target_language",),
    "epub": ("target_language",),
    "catalogues.json": ("keys",),
    "catalogues.yaml": ("keys", "target_language"),
    "csv": ("columns",),
    "catalogues.po": ("redo", "target_language"),
    "catalogues.xliff": ("redo", "target_language"),
    "catalogues.tmx": ("redo", "target_language"),
    "catalogues.qt_ts": ("redo", "target_language"),
    "subtitles.srt": ("max_cps", "max_cue_lines"),
    "subtitles.vtt": ("max_cps", "max_cue_lines"),
    "subtitles.ass": ("max_cps", "max_cue_lines"),
}


def output_suffix(path: str | Path) -> str:
    """The ending of the translation of a file."""
    suffix = Path(path).suffix
    return WRITTEN_AS.get(suffix.lower(), suffix)


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
        reader: Format = getattr(import_module(f"docflat.formats.{module}"), name)(**options)
    except ModuleNotFoundError as error:
        package = (error.name or "docflat").partition(".")[0]
        if package == "docflat":
            raise
        advice = "which comes with docflat: pip install --upgrade docflat"
        raise InputError(f"{suffix} files need {package}, {advice}", path) from None
    return reader
