"""The letters of a PDF, in lines as they were drawn: a program of its own, as PDFium may stop or never end.

    python extract.py < file.pdf

It writes JSON: {"pages": [...]}, each page with its lines, or {"error": "why it cannot be read"}.
"""

from __future__ import annotations

import ctypes
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

MOST_PAGES = 3_000
MOST_CHARS = 4_000_000  # a Bible
MOST_MEMORY = 3 << 30
MOST_SECONDS = 240  # of a processor
_FORCED_BOLD, _ITALIC = 1 << 18, 1 << 6
_IMAGE = 3
_GAP = 1.5  # font sizes between letters that are no neighbours
_SPACE = 0.17  # PDFium says where most spaces are


class Char(NamedTuple):
    text: str
    x0: float
    x1: float
    y: float  # of the baseline, from below
    size: float
    bold: bool
    italic: bool


def main() -> int:
    limit()
    try:
        answer = read_pages(sys.stdin.buffer.read())
    except Unreadable as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)
    return 0


class Unreadable(Exception):
    pass


def limit() -> None:
    try:
        import resource
    except ImportError:  # Windows has none; whoever started this ends it
        return
    for kind, most in ((resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_CPU, MOST_SECONDS)):
        resource.setrlimit(kind, (most, most))


def read_pages(data: bytes) -> dict[str, Any]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        said = str(error).lower()
        raise Unreadable(
            "is encrypted; save it without a password"
            if "password" in said or "security" in said
            else "is no PDF, or is broken"
        ) from None
    if len(document) > MOST_PAGES:
        raise Unreadable(f"has {len(document)} pages; {MOST_PAGES} are the most")
    pages, count = [], 0
    for number in range(len(document)):
        try:
            page = _read_page(document[number])
        except pypdfium2.PdfiumError:
            page = {"width": 0, "height": 0, "pictures": 0, "unknown": 0, "chars": 0, "lines": [], "broken": True}
        count += page["chars"]
        if count > MOST_CHARS:
            raise Unreadable(f"has more than {MOST_CHARS} letters")
        pages.append(page)
    return {"pages": pages, "title": document.get_metadata_value("Title")}


def _read_page(page: Any) -> dict[str, Any]:
    import pypdfium2.raw as raw

    width, height = page.get_size()
    text = page.get_textpage()
    angles: Counter[int] = Counter()
    unknown = 0
    chars: list[tuple[int, int, int]] = []  # number, code, by how many quarters it is turned
    fonts: dict[int, tuple[bool, bool]] = {}
    for number in range(raw.FPDFText_CountChars(text)):
        code = raw.FPDFText_GetUnicode(text, number)
        if raw.FPDFText_IsGenerated(text, number) == 1 or code in (0, 0xFFFF):
            if chars and code == 32:
                chars.append((number, code, chars[-1][2]))
            continue
        angle = round(math.degrees(max(0.0, raw.FPDFText_GetCharAngle(text, number))) / 90) % 4
        angles[angle] += not chr(code).isspace()
        unknown += 2 < code < 9 or 13 < code < 32 or 0xE000 <= code < 0xF8FF or code == 0xFFFD
        chars.append((number, code, angle))
    turn = angles.most_common(1)[0][0] if angles else 0
    lines = list(_lines(_char(raw, text, number, code, turn, fonts) for number, code, angle in chars if angle == turn))
    sizes = (height, width) if turn % 2 else (width, height)
    return {
        "width": sizes[0], "height": sizes[1], "pictures": _pictures(raw, page, width * height), "unknown": unknown,
        "chars": len(chars), "lines": lines,
    }  # fmt: skip


def _pictures(raw: Any, page: Any, area: float) -> float:
    """The part of the page that its largest picture covers."""
    most = 0.0
    for item in page.get_objects(filter=[_IMAGE], max_depth=3):
        left, bottom, right, top = item.get_bounds() if hasattr(item, "get_bounds") else item.get_pos()
        most = max(most, (right - left) * (top - bottom) / max(area, 1))
    return most


def _char(raw: Any, text: Any, number: int, code: int, turn: int, fonts: dict[int, tuple[bool, bool]]) -> Char | None:
    """A letter, where it is when the page is turned so that most text is upright; None: a space that PDFium finds."""
    if raw.FPDFText_IsGenerated(text, number) == 1:
        return None
    code = 45 if code in (2, 0xFFFE) else code  # the hyphen of a divided word
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text, number, x, y)
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text, number, box)
    corners = [(box.left, box.bottom), (box.right, box.top)]
    origin, *turned = (_turned(a, b, turn) for a, b in [(x.value, y.value), *corners])
    x0, x1 = sorted(corner[0] for corner in turned)
    height = abs(turned[0][1] - turned[1][1])
    holder = raw.FPDFText_GetTextObject(text, number)
    key = ctypes.addressof(holder.contents) if holder else 0
    if key not in fonts:
        fonts[key] = _look(raw, text, number)
    size = height or raw.FPDFText_GetFontSize(text, number)
    letter = chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
    return Char(letter, x0, x1, origin[1], size, *fonts[key])


def _turned(x: float, y: float, turn: int) -> tuple[float, float]:
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turn]


def _look(raw: Any, text: Any, number: int) -> tuple[bool, bool]:
    """Whether a letter is bold, and italic."""
    flags = ctypes.c_int()
    name = ctypes.create_string_buffer(200)
    raw.FPDFText_GetFontInfo(text, number, name, 200, flags)
    said = name.value.decode("latin-1").lower().partition("+")[2] or name.value.decode("latin-1").lower()
    bold = raw.FPDFText_GetFontWeight(text, number) >= 600 or bool(flags.value & _FORCED_BOLD)
    heavy = any(word in said for word in ("bold", "black", "heavy", "-demi", "cmbx", "-medi"))
    slanted = any(word in said for word in ("italic", "oblique", "cmti", "-ital"))
    return bold or heavy, slanted or bool(flags.value & _ITALIC)


def _lines(chars: Iterator[Char | None]) -> Iterator[dict[str, Any]]:
    """Letters that follow each other on a line."""
    line: list[Char] = []
    spaced = False
    for char in chars:
        if char is None:
            spaced = bool(line)
            continue
        if char.text in "\r\n" or not char.text:
            continue
        if line and spaced and not char.text.isspace() and _follows(line, char):
            line.append(line[-1]._replace(text=" ", x0=line[-1].x1))
        spaced = False
        if line and not _follows(line, char):
            yield from _written(line)
            line = []
        if char.text.isspace() and not line:
            continue
        line.append(char)
    yield from _written(line)


def _follows(line: list[Char], char: Char) -> bool:
    last = line[-1]
    size = max(last.size, char.size, 1)
    base = max(line[-40:], key=lambda one: one.size)
    if abs(char.y - base.y) > 0.45 * max(base.size, 1):
        return False
    return char.x0 >= last.x0 - 0.3 * size and char.x0 - last.x1 <= _GAP * size  # letters of a ligature share a place


def _written(line: list[Char]) -> Iterator[dict[str, Any]]:
    while line and line[-1].text.isspace():
        line.pop()
    if not line:
        return
    runs: list[list[Any]] = []
    last: Char | None = None
    for char in line:
        text = " " if char.text.isspace() else char.text
        gap = last is not None and not last.text.isspace() and not char.text.isspace()
        if last is not None and gap and char.x0 - last.x1 > _SPACE * min(last.size, char.size):
            text = " " + text
        look = [char.bold, char.italic]
        if runs and (runs[-1][1:] == look or text == " "):
            runs[-1][0] += text
        else:
            runs.append([text, *look])
        last = char
    sizes = Counter(round(char.size, 1) for char in line if not char.text.isspace())
    base = Counter(round(char.y, 1) for char in line if not char.text.isspace()).most_common(1)[0][0]
    yield {
        "x0": line[0].x0, "x1": max(char.x1 for char in line), "y": base, "size": sizes.most_common(1)[0][0],
        "runs": runs,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
