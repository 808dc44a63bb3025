"""The entries of a PO file, and where their strings stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from docflat.formats.safe_reading import find_codec
from docflat.support.errors import InputError

MOST_ENTRIES = 200_000  # some 500 MB of memory; LibreOffice has half as many messages
_MOST_LINES = 10_000
WIDTH = 80  # columns at which gettext wraps
_NEWLINE = re.compile(r"\r?\n")
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_STRINGS = re.compile(rf"{_STRING}(?:\s*{_STRING})*")
_KEYWORD = re.compile(r"\s*(msgctxt|msgid_plural|msgid|msgstr(?:\[[0-9]{1,2}\])?|domain)\s*(.*)")
_CHARSET = re.compile(rb"charset=([\w.:-]{1,40})")
_MSGID = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*msgid\b", re.MULTILINE)
_HEADER = re.compile(rb'(?:\xef\xbb\xbf)?[ \t]*msgid[ \t]*""[ \t\r]*\n[ \t]*msgstr\b')
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = {"\\": "\\\\", '"': '\\"', **{char: f"\\{letter}" for letter, char in _ESCAPED.items()}}


@dataclass
class Text:
    """A string of an entry, and the stretch of the file from its keyword to its end."""

    parts: list[str]  # that of each line
    start: int
    end: int
    widest: int  # of its lines

    @cached_property
    def value(self) -> str:
        return "".join(self.parts)


@dataclass
class Entry:
    line: int  # that of its msgid
    flags: list[str] = field(default_factory=list)
    flag_lines: list[tuple[int, int]] = field(default_factory=list)
    previous_lines: list[tuple[int, int]] = field(default_factory=list)  # "#|": what a fuzzy one was made from
    texts: dict[str, Text] = field(default_factory=dict)  # by keyword

    @property
    def source(self) -> str:
        return self.texts["msgid"].value

    @property
    def plural(self) -> str | None:
        return self.texts["msgid_plural"].value if "msgid_plural" in self.texts else None

    @property
    def translations(self) -> list[str]:
        return [text.value for key, text in self.texts.items() if key.startswith("msgstr")]

    @property
    def is_header(self) -> bool:
        return not self.source and "msgctxt" not in self.texts and "msgstr" in self.texts

    @property
    def is_fuzzy(self) -> bool:
        return "fuzzy" in self.flags


def decode_po(data: bytes, file: str) -> tuple[str, str]:
    """The text, and the charset that the header names; UTF-8 where it names none."""
    first, second = [*(match.start() for match in islice(_MSGID.finditer(data), 2)), len(data), len(data)][:2]
    # Other entries may speak of charsets, too.
    match = _CHARSET.search(data, first, second) if _HEADER.match(data, first) else None
    name = match[1].decode("ascii", "replace") if match and match[1] != b"CHARSET" else "utf-8"
    charset = find_codec(name)
    if not charset:
        raise InputError(f"has a charset that is not known: {name}", file)
    try:
        return data.decode(charset), charset
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"not {name.upper()}, which is its charset", file, line) from None


def read_entries(text: str, file: str) -> Iterator[Entry]:
    """The entries in order, the header among them; obsolete ones left out."""
    entry = Entry(1)
    last: Text | None = None  # the string that goes on if the line is one
    for number, start, line in _lines(text):
        stripped = line.strip().removeprefix("\ufeff")
        if not stripped:
            continue
        if stripped.startswith("#"):
            if entry.texts:
                yield _checked(entry, file)
            if entry.texts or stripped.startswith("#~"):  # what stands above an obsolete entry belongs to it
                entry = Entry(number)
            last = None
            _read_comment(entry, stripped, start, start + len(line))
            if len(entry.flag_lines) + len(entry.previous_lines) > _MOST_LINES:
                raise InputError(f"more than {_MOST_LINES} lines of flags", file, number)
            continue
        keyword = _KEYWORD.match(line.removeprefix("\ufeff"))
        strings = (keyword[2] if keyword else line).strip()
        if not _STRINGS.fullmatch(strings) or (not keyword and last is None):
            raise InputError(f"not a line of a PO file: {line.strip()[:60]!r}", file, number)
        value = "".join(_unescape(each[1:-1]) for each in re.findall(_STRING, strings))
        if keyword:
            key = keyword[1]
            if key in ("msgctxt", "msgid", "domain") and any(each.startswith("msgstr") for each in entry.texts):
                yield _checked(entry, file)
                entry = Entry(number)
            if key not in ("msgctxt", "msgid", "domain") and "msgid" not in entry.texts:
                raise InputError("an entry without msgid", file, number)
            if key == "msgid_plural" and entry.translations:
                raise InputError("a msgid_plural after a msgstr", file, number)
            if key in entry.texts:
                raise InputError(f"a second {key} in one entry", file, number)
            last = Text([value], start, start + len(line), len(line))
            if key == "msgid" or not entry.texts:
                entry.line = number
            if key != "domain":
                entry.texts[key] = last
        elif last is not None:
            last.parts.append(value)
            last.end, last.widest = start + len(line), max(last.widest, len(line))
    if entry.texts:
        yield _checked(entry, file)


def write_string(key: str, value: str, newline: str, wrap: bool) -> str:
    """A keyword and its string, as gettext writes them."""
    lines = ["".join(_ESCAPES.get(char, char) for char in line) for line in re.findall(r"[^\n]*\n|[^\n]+", value)]
    single = f'{key} "{"".join(lines)}"'
    if len(lines) <= 1 and (len(single) <= WIDTH or not wrap):
        return single
    if wrap:
        lines = [piece for line in lines for piece in _wrap(line, WIDTH - 2)]
    return newline.join([f'{key} ""', *(f'"{line}"' for line in lines)])


def _wrap(line: str, width: int) -> Iterator[str]:
    """Pieces of at most this width, where there are blanks to break after."""
    piece = ""
    for word in re.findall(r"[^ ]+ *| +", line):
        if piece and len(piece) + len(word) > width:
            yield piece
            piece = ""
        piece += word
    if piece:
        yield piece


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    number = 1
    for match in _NEWLINE.finditer(text):
        yield number, start, text[start : match.start()]
        start = match.end()
        number += 1
    yield number, start, text[start:]


def _read_comment(entry: Entry, line: str, start: int, end: int) -> None:
    if line.startswith("#,"):
        entry.flags += [flag.strip() for flag in line[2:].split(",")]
        entry.flag_lines.append((start, end))
    elif line.startswith("#|"):
        entry.previous_lines.append((start, end))


def _checked(entry: Entry, file: str) -> Entry:
    if "msgid" not in entry.texts or not entry.translations:
        missing = "msgstr" if "msgid" in entry.texts else "msgid"
        raise InputError(f"an entry without {missing}", file, entry.line)
    is_plural = "msgid_plural" in entry.texts
    if any((key == "msgstr") == is_plural for key in entry.texts if key.startswith("msgstr")):
        raise InputError("msgid_plural goes with msgstr[0] and so on, and only with them", file, entry.line)
    return entry


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescape_one, text) if "\\" in text else text


def _unescape_one(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ESCAPED.get(code, code)
