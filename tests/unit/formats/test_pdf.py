"""PDF: a file that the test draws is read as paragraphs, headings and lists, and comes back as a Word file."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docx
import pytest
from pdf_files import Line, block, pdf

pypdfium2 = pytest.importorskip("pypdfium2")

from docflat.formats import find_format  # noqa: E402
from docflat.formats.pdf import paragraphs, reader, reading_order  # noqa: E402
from docflat.support.errors import InputError  # noqa: E402
from docflat.translation.files import translate_segments  # noqa: E402
from stubs import Stub  # noqa: E402

LEFT = block(
    60, 640,
    "The lamp of the lighthouse is made of glass and it",
    "weighs two tonnes. It was built by a com-",
    "pany from the north, whose well-",
    "known name nobody in the town remembers now.",
    "In the year after that the tower was painted white.",
)  # fmt: skip
RIGHT = block(
    330, 640,
    "The harbour is small, and the company that built",
    "the lamp has a well-known office there. It is open",
    "on weekdays, and its door is red as it always was.",
    "Visitors come by boat in summer, and in winter they",
    "do not come at all, for the sea is too rough then.",
)  # fmt: skip
REPORT: list[Line] = [
    (60, 700, 20, "B:The island report"),
    (60, 670, 14, "B:What is there"),
    *LEFT,
    *RIGHT,
    (60, 560, 14, "B:A list"),
    *block(60, 540, "Here is what you need on the island, as far as anybody who lives there can tell you today:"),
    *block(75, 524, "• A warm coat, and", "  a second one.", "• Some bread.", step=12),
    *block(75, 480, "1. Take the boat.", "2. Walk to the tower.", step=12),
    *block(60, 440, "Some words here are", size=10),
    (159, 440, 10, "B:quite bold"),
    (214, 440, 10, "and others are not."),
]


def framed(lines: list[Line], number: int) -> list[Line]:
    return [(60, 760, 8, "News of the island"), *lines, (290, 30, 8, f"Page {number}")]


def document(data: bytes, change: Any = None) -> Any:
    parsed = find_format("x.pdf").read(data, "x.pdf")
    segments = translate_segments(parsed.segments, Stub(change))[0] if change else parsed.segments
    return docx.Document(io.BytesIO(parsed.render(segments)))


def listed(data: bytes, change: Any = None) -> list[tuple[str, str]]:
    return [(one.style.name, one.text) for one in document(data, change).paragraphs]


EXPECTED = [
    ("Heading 1", "The island report"),
    ("Heading 2", "What is there"),
    (
        "Normal",
        "The lamp of the lighthouse is made of glass and it weighs two tonnes. It was built by a company from the "
        "north, whose well-known name nobody in the town remembers now. In the year after that the tower "
        "was painted white.",
    ),
    (
        "Normal",
        "The harbour is small, and the company that built the lamp has a well-known office there. It is open on "
        "weekdays, and its door is red as it always was. Visitors come by boat in summer, and in winter they do not "
        "come at all, for the sea is too rough then.",
    ),
    ("Heading 2", "A list"),
    ("Normal", "Here is what you need on the island, as far as anybody who lives there can tell you today:"),
    ("List Bullet", "A warm coat, and a second one."),
    ("List Bullet", "Some bread."),
    ("Normal", "1.\tTake the boat."),
    ("Normal", "2.\tWalk to the tower."),
    ("Normal", "Some words here are quite bold and others are not."),
]


def test_columns_headings_lists_and_divided_words() -> None:
    assert listed(pdf(REPORT)) == EXPECTED


def test_the_sample_is_what_a_reader_would_see() -> None:
    """The sample is drawn, and PDFium's own text has its words: what is read is no trick of how it was written."""
    page = pypdfium2.PdfDocument(pdf(REPORT))[0]
    drawn = page.render(scale=0.2).to_numpy()
    assert drawn.min() < 128 < drawn.max()
    assert "The island report" in page.get_textpage().get_text_bounded()


def test_bold_words_stay_bold() -> None:
    last = document(pdf(REPORT)).paragraphs[-1]
    assert [(run.text.strip(), bool(run.bold)) for run in last.runs] == [
        ("Some words here are", False),
        ("quite bold", True),
        ("and others are not.", False),
    ]
    translated = document(pdf(REPORT), str.upper).paragraphs[-1]
    assert "BOLD" in "".join(run.text for run in translated.runs if run.bold)
    assert [text for _, text in listed(pdf(REPORT), str.upper)] == [text.upper() for _, text in EXPECTED]


def test_headers_and_page_numbers_are_set_aside() -> None:
    bodies = [block(60, 700, f"This is what page number {word} has to say.") for word in ("one", "two", "three")]
    found = document(pdf(*(framed(lines, number) for number, lines in enumerate(bodies, 1))))
    assert [one.text for one in found.paragraphs] == [
        f"This is what page number {word} has to say." for word in ("one", "two", "three")
    ]
    assert [one.text for one in found.sections[0].header.paragraphs] == ["News of the island"]


def test_a_sentence_that_goes_on_over_the_page_is_one() -> None:
    pages = [block(60, 100, "This sentence goes on and"), block(60, 700, "ends on the next page.")]
    assert [text for _, text in listed(pdf(*pages))] == ["This sentence goes on and ends on the next page."]


def test_a_note_at_the_foot_parts_no_sentence() -> None:
    pages = [
        [*block(60, 120, "This sentence goes on and"), *block(60, 70, "1 A note below it.", size=7)],
        block(60, 700, "ends on the next page."),
    ]
    found = [text for _, text in listed(pdf(*pages))]
    assert found == ["This sentence goes on and ends on the next page.", "1 A note below it."]


def test_accents_before_their_letters_are_of_them() -> None:
    assert [text for _, text in listed(pdf(block(60, 700, "A na\xa8ive caf\xb4e.")))] == ["A na\xefve caf\xe9."]


def test_a_table_is_read_by_row() -> None:
    rows = [("Name", "Place"), ("Ann Lee", "Oslo"), ("Bob Ray", "Rome"), ("Cy Dee", "Bonn")]
    lines = [(x, 700 - 14 * n, 10, text) for n, row in enumerate(rows) for x, text in zip((60, 300), row, strict=True)]
    assert [text for _, text in listed(pdf(lines))] == ["\t".join(row) for row in rows]


def test_pages_that_are_pictures_are_said_to_be_so() -> None:
    with pytest.raises(InputError, match=r"x\.pdf: has no text: its pages are pictures, as of a scanner"):
        find_format("x.pdf").read(pdf([], [], pictures=True), "x.pdf")
    lines = block(60, 700, "A page with a picture behind all of its text, which is long enough.")
    parsed = find_format("x.pdf").read(pdf(lines, [], pictures=True), "x.pdf")
    assert "pages that are pictures, as of a scanner: 2" in parsed.left_out  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"%PDF-1.4\nnothing more", "is no PDF, or is broken"),
        (b"Some text", "is no PDF"),
        (pdf(REPORT)[:400], "is no PDF, or is broken"),
        (pdf([]), "has no text: its pages have none"),
        (pdf(block(60, 700, "\x01\x03\x04\x05 \x06")), "does not say which letters its signs are"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_format("x.pdf").read(data, "x.pdf")


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    # PDFium writes no passwords: an entry that says so is enough for it to ask for one.
    plain = pdf(REPORT)
    locked = plain.replace(
        b"/Root 1 0 R",
        b"/Root 1 0 R/ID[<00112233445566778899aabbccddeeff><00112233445566778899aabbccddeeff>]"
        b"/Encrypt<</Filter/Standard/V 1/R 2/P -1/O<" + b"11" * 32 + b">/U<" + b"22" * 32 + b">>>",
    )
    with pytest.raises(InputError, match="is encrypted; save it without a password"):
        find_format("x.pdf").read(locked, "x.pdf")


def test_a_reader_that_stops_or_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*command: Any, **settings: Any) -> Any:
        if settings["input"].endswith(b"slow"):
            raise subprocess.TimeoutExpired("x", 1)
        return subprocess.CompletedProcess("x", -11, b"", b"")

    monkeypatch.setattr(reader.subprocess, "run", run)
    for end, message in ((b"slow", "takes more than 300 s"), (b"", "cannot be read: it is broken, or needs too much")):
        with pytest.raises(InputError, match=message):
            find_format("x.pdf").read(b"%PDF-1.4" + end, "x.pdf")


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from docflat.formats.pdf import extract

    monkeypatch.setattr(extract, "MOST_PAGES", 2)
    with pytest.raises(extract.Unreadable, match="has 3 pages; 2 are the most"):
        extract.read_pages(pdf([], [], []))


def test_the_translation_of_a_pdf_is_a_docx(tmp_path: Path) -> None:
    from docflat.translation.files import check_output

    with pytest.raises(InputError, match=r"the translation of a \.pdf file is no \.pdf file, but a \.docx file"):
        check_output(tmp_path / "a.pdf", tmp_path / "b.pdf")
    check_output(tmp_path / "a.pdf", tmp_path / "b.docx")


def test_without_pypdfium2_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'docflat\[pdf\]'"):
        find_format("x.pdf").read(pdf(REPORT), "x.pdf")
    assert sys.executable


def test_the_folder_that_one_stands_in_is_not_imported_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "statistics.py").write_text("raise SystemExit")
    (tmp_path / "ctypes.py").write_text("raise SystemExit")
    (tmp_path / "docflat.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert listed(pdf([(60, 700, 10, "One sentence.")])) == [("Normal", "One sentence.")]


def test_a_page_of_a_thousand_columns_is_read_to_its_end() -> None:
    lines = [
        reading_order.Line(
            2.0 * column, 2.0 * column + 1, 100 - 2.0 * row, 1.0, [("letters of a column", False, False)]
        )
        for column in range(1_100)
        for row in range(3)
    ]
    blocks = reading_order.order_lines(lines)
    assert "".join(line.text for block in blocks for line in block).count("letters of a column") == len(lines)


def test_a_text_without_ends_is_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0

    def search(pattern: str, text: str) -> Any:
        nonlocal searched
        searched += len(text)
        return re.search(pattern, text)

    monkeypatch.setattr(
        paragraphs, "re", SimpleNamespace(search=search, match=re.match, findall=re.findall, sub=re.sub)
    )
    monkeypatch.setattr(paragraphs, "_SENTENCE_END", SimpleNamespace(search=lambda text: search(r"[.]$", text)))
    words = "words without an end and of no capital"
    pages = [
        paragraphs.Page(600, 800, [reading_order.Line(50, 400, 400, 10, [(words, False, False)], n)])
        for n in range(300)
    ]
    (whole,) = paragraphs.find_paragraphs(pages)
    assert whole.text == " ".join([words] * 300)
    assert searched < 10 * len(whole.text)
