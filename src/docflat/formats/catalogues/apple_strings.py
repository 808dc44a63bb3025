"""Apple's .strings: `"key" = "value";` between comments."""

from __future__ import annotations

import re

from docflat.formats.catalogues.strings_in_place import StringPlace, StringsInPlace
from docflat.formats.catalogues.surrogates import has_half, join_halves
from docflat.formats.safe_reading import read_text
from docflat.support.errors import InputError

_STRING = r'"[^"\\]*(?:\\[\s\S][^"\\]*)*"'
_TOKEN = re.compile(rf"/\*[\s\S]*?\*/|//[^\n\r]*|({_STRING})|([\w.\-/$:]+)|([=;])|(\s+)|([\s\S])")
_ESCAPE = re.compile(r"\\(?:[uU]([0-9A-Fa-f]{4})|([\s\S]))")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r"}
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}


class AppleStrings:
    name = "strings"

    def read(self, data: bytes, file: str) -> StringsInPlace:
        text, encoding = read_text(data, file)
        places = []
        statement: list[re.Match[str]] = []  # key, =, value
        for token in _TOKEN.finditer(text):
            if token[5]:
                raise InputError(f'expected "key" = "value"; found {token[5]!r}', file, _line(text, token.start()))
            if not (token[1] or token[2] or token[3]):
                continue
            if token[3] != ";":
                statement.append(token)
                continue
            if len(statement) == 3 and statement[1][3] == "=" and statement[2][1]:
                value = statement[2]
                said = _said(value[1][1:-1])
                if said.strip() and not has_half(said):
                    places.append(StringPlace(value.start() + 1, value.end() - 1, said, ("objc-format",)))
            elif len(statement) != 1:  # "key"; stands for itself
                raise InputError('expected "key" = "value";', file, _line(text, token.start()))
            statement = []
        if statement:
            raise InputError('expected ";" after the last value', file, _line(text, statement[-1].start()))
        if not places:
            raise InputError('has no "key" = "value";', file)
        return StringsInPlace(text, encoding, places, _written)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _said(raw: str) -> str:
    def said(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _LETTERS.get(match[2], match[2])

    return join_halves(_ESCAPE.sub(said, raw))


def _written(value: str, _: str) -> str:
    return "".join(_WRITTEN.get(letter, letter) for letter in value)
