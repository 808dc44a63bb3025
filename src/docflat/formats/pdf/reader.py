"""PDF: its text, as a Word file that is translated in its stead."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docflat.formats.office.docx import Docx
from docflat.formats.pdf.paragraphs import Page, find_paragraphs, set_aside
from docflat.formats.pdf.reading_order import Line
from docflat.formats.pdf.word_file import write_word_file
from docflat.formats.segments import ParsedFile, Segment
from docflat.support.errors import InputError

MOST_SECONDS = 300  # by the clock, for the program that reads the letters
_FEW = 20  # letters of a page that may be a picture of text
_PICTURE = 0.4  # of a page that one picture covers
_UNKNOWN = 0.2  # of letters that the file does not say the meaning of


class ParsedPdf:
    """The Word file that was made of it."""

    def __init__(self, word: ParsedFile, left_out: str) -> None:
        self._word, self.left_out = word, left_out
        self.segments: Sequence[Segment] = word.segments

    def render(self, segments: Sequence[Segment]) -> bytes:
        return self._word.render(segments)


class Pdf:
    name = "PDF"

    def read(self, data: bytes, file: str) -> ParsedPdf:
        if find_spec("pypdfium2") is None:
            raise InputError("PDF needs pypdfium2: pip install 'docflat[pdf]'", file)
        if b"%PDF-" not in data[:1024]:
            raise InputError("is no PDF", file)
        content = extract(data, file)
        pages = content["pages"]
        remarks = _check_letters(pages, file)
        plain, headers = set_aside([_page(page, number) for number, page in enumerate(pages)])
        paragraphs = find_paragraphs(plain)
        if headers:
            remarks.append(f"headers and footers: {len(headers)}, once in the header")
        word = write_word_file(paragraphs, headers, content["title"])
        remarks.append("pictures and the layout are not in the Word file")
        return ParsedPdf(Docx().read(word, file), "; ".join(remarks))


def extract(data: bytes, file: str) -> dict[str, Any]:
    """The lines of all pages, read by a process that may be stopped: PDFium is a large program of C++."""
    # By its path: with -m Python would import what lies in the current folder, which may be anybody's.
    command = [sys.executable, str(Path(__file__).with_name("extract.py"))]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"takes more than {MOST_SECONDS} s to read", file) from None
    try:
        content = json.loads(done.stdout)
    except ValueError:  # it was stopped: no memory, no time, a fault of PDFium
        raise InputError("cannot be read: it is broken, or needs too much memory or time", file) from None
    if "error" in content:
        raise InputError(content["error"], file)
    assert isinstance(content, dict)
    return content


def _check_letters(pages: Sequence[dict[str, Any]], file: str) -> list[str]:
    """What a report says of pages that cannot be read; if that is most of them, an error."""
    if not pages:
        raise InputError("has no pages", file)
    scanned = [number for number, page in enumerate(pages, 1) if page["chars"] < _FEW and page["pictures"] > _PICTURE]
    chars, unknown = (sum(page[key] for page in pages) for key in ("chars", "unknown"))
    if not any(page["lines"] for page in pages):
        why = "its pages are pictures, as of a scanner" if scanned else "its pages have none"
        raise InputError(f"has no text: {why}; a program for recognition of text (OCR) may help", file)
    if unknown > _UNKNOWN * chars:
        raise InputError(
            "does not say which letters its signs are; a program for recognition of text (OCR) may help", file
        )
    broken = [number for number, page in enumerate(pages, 1) if page.get("broken")]
    remarks = [f"pages that are pictures, as of a scanner: {_numbers(scanned)}"] if scanned else []
    return remarks + ([f"pages that are broken: {_numbers(broken)}"] if broken else [])


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + ", ..." * (len(numbers) > 10)


def _page(page: dict[str, Any], number: int) -> Page:
    lines = [
        Line(
            line["x0"],
            line["x1"],
            line["y"],
            line["size"],
            [(text, bold, italic) for text, bold, italic in line["runs"]],
            number,
        )
        for line in page["lines"]
    ]
    return Page(page["width"], page["height"], lines)
