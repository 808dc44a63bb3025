"""Java's .properties: `key = value` on lines that a backslash continues, with escapes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from docflat.formats.catalogues.strings_in_place import StringPlace, StringsInPlace
from docflat.formats.catalogues.surrogates import has_half, join_halves
from docflat.formats.safe_reading import Encoding, check_text, find_mark, read_text
from docflat.support.errors import InputError

# A line with those that a backslash at its end goes on to. Possessive in effect: its parts begin differently.
_LINE = re.compile(r"[^\\\n\r]*(?:\\(?:\r\n|[\s\S])[^\\\n\r]*)*")
_KEY = re.compile(r"[ \t\f]*(?:[^\\\s=:]|\\[\s\S])*[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(\r\n|\n|\r)[ \t\f]*|([\s\S]))")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}


class Properties:
    name = "properties"

    def read(self, data: bytes, file: str) -> StringsInPlace:
        text, encoding = _read(data, file)
        # Old Java reads ISO-8859-1: who escapes letters may not read others.
        most = 0x7F if text.isascii() else 0xFF if encoding.name == "iso-8859-1" else sys.maxunicode

        def write(value: str, raw: str) -> str:
            return _written(value, most)

        places = list(_places(text))
        if not places:
            raise InputError("has no line of a key and a value", file)
        return StringsInPlace(text, encoding, places, write)


def _read(data: bytes, file: str) -> tuple[str, Encoding]:
    """UTF-8; or ISO-8859-1, as Java had it before version 9."""
    check_text(data, file)
    if find_mark(data) is None:
        try:
            return data.decode("utf-8"), Encoding("utf-8")
        except UnicodeDecodeError:
            return data.decode("iso-8859-1"), Encoding("iso-8859-1")
    return read_text(data, file)


def _places(text: str) -> Iterator[StringPlace]:
    at = 0
    while at < len(text):
        if text[at] in "\r\n":
            at += 1
            continue
        if text[at:].lstrip(" \t\f")[:1] in ("#", "!") if text[at] in " \t\f" else text[at] in "#!":
            ends = [place for place in (text.find("\n", at), text.find("\r", at)) if place >= 0]
            at = min(ends, default=len(text))
            continue
        line = _LINE.match(text, at)
        assert line is not None
        end = line.end()
        key = _KEY.match(text, at, end)
        assert key is not None
        value = _said(text[key.end() : end])
        if value.strip() and not has_half(value):
            flags = ("java-format",) if "{" in value else ()
            yield StringPlace(key.end(), end, value, flags)
        at = max(end, at + 1)


def _said(raw: str) -> str:
    def said(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return "" if match[2] else _LETTERS.get(match[3], match[3])

    return join_halves(_ESCAPE.sub(said, raw))


def _written(value: str, most: int) -> str:
    """most: letters after this one are escaped."""
    text = "".join(_WRITTEN.get(letter, letter) for letter in value)
    if text[:1] == " ":
        text = "\\" + text
    return "".join(letter if ord(letter) <= most else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    data = letter.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(data[i : i + 2], 'big'):04x}" for i in range(0, len(data), 2))
