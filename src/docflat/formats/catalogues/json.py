"""JSON and JSON lines: the strings under some keys, where they stand; everything else stays as it is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from textwrap import shorten

from docflat.formats.catalogues.messages import Message, has_markup, read_message, write_message
from docflat.formats.catalogues.surrogates import has_half
from docflat.formats.inline_codes import skip_reason
from docflat.formats.safe_reading import DEEPEST, Encoding, read_text
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

KEYS = ("source", "text")
ALL = "*"  # any key

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},:]')

_TEXT = re.compile(r"[^\W\d_] [^\W\d_]")  # two words


class ParsedJson:
    def __init__(self, text: str, encoding: Encoding, places: Sequence[tuple[int, int]], left_out: str = "") -> None:
        self.text, self.encoding, self.places, self.left_out = text, encoding, places, left_out
        self.messages = [_message(json.loads(text[start:end])) for start, end in places]
        self.segments: Sequence[Segment] = [segment for message in self.messages for segment in message.segments]

    def render(self, segments: Sequence[Segment]) -> bytes:
        ascii_only = self.text.isascii() and "\\u" in self.text  # who escapes letters may not read others
        parts, end, first = [], 0, 0
        for (start, stop), message in zip(self.places, self.messages, strict=True):
            new = segments[first : first + len(message.segments)]
            first += len(new)
            changed = any(a != b for a, b in zip(message.segments, new, strict=True))
            written = json.dumps(write_message(message, new), ensure_ascii=ascii_only) if changed else ""
            parts += [self.text[end:start], written or self.text[start:stop]]
            end = stop
        return self.encoding.write("".join([*parts, self.text[end:]]))


def _message(text: str) -> Message:
    """A string as a text, or, where it has tags, as a message of a program."""
    if has_half(text):
        return Message((Segment(text, skip_reason="half a character"),), (text,), ("", ""))
    if has_markup(text):
        return read_message(text, bars=True)
    return Message((Segment(text, skip_reason=skip_reason(text)),), (text,), ("", ""))


class Json:
    name = "JSON"

    def __init__(self, keys: Collection[str] = KEYS) -> None:
        self.keys = keys

    def read(self, data: bytes, file: str) -> ParsedJson:
        text, encoding = read_text(data, file)
        if file.lower().endswith(".jsonl"):
            for number, line in enumerate(text.split("\n"), 1):
                if line.strip():
                    check_json(line, file, number)
        else:
            check_json(text, file, None)
        places = find_strings(text, self.keys, file)
        if not places:
            raise InputError(f"no text under the keys {', '.join(self.keys)}; --keys names others", file)
        return ParsedJson(text, encoding, places, _name_others(text, self.keys, file))


def check_json(text: str, file: str, line: int | None) -> None:
    try:
        json.loads(text, parse_int=str)  # as numbers, those of thousands of digits are refused by Python
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error.msg}", file, line or error.lineno) from None
    except RecursionError:
        raise InputError("is nested too deep", file, line) from None


def find_strings(text: str, keys: Collection[str], file: str, deepest: int = DEEPEST) -> list[tuple[int, int]]:
    """Where the strings under these keys are in valid JSON: values, and members of arrays that are values.

    deepest: arrays and objects in each other that are looked into.
    """
    return [place for key, depth, place in _strings(text, file) if depth <= deepest and (key in keys or ALL in keys)]


def _name_others(text: str, keys: Collection[str], file: str) -> str:
    """What a report says of texts under other keys; single words may be data, and are not counted."""
    others: Counter[str] = Counter()
    for key, _, (start, end) in _strings(text, file):
        if not (key in keys or ALL in keys) and _TEXT.search(text, start, end):
            others[key] += 1
    if not others:
        return ""
    names = ", ".join(shorten(repr(key)[1:-1], 40) for key, _ in others.most_common(5)) + ", ..." * (len(others) > 5)
    return f"texts left under other keys: {sum(others.values())} ({names}; --keys names what to translate)"


def _strings(text: str, file: str) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Each string that is no key: the key it is under, how deep, and where it stands."""
    path: list[tuple[str, bool]] = []  # of every open array or object: the key it is under, whether it is an object
    key, at_key = "", False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            if len(path) == DEEPEST:
                raise InputError("is nested too deep", file, text.count("\n", 0, match.start()) + 1)
            path.append((key, token == "{"))
            at_key = token == "{"
        elif token in "}]":
            key, at_key = path.pop()[0], False
        elif token == ",":
            # After a value of an object comes a key; the members of an array are all under its own.
            at_key = bool(path) and path[-1][1]
            key = path[-1][0] if path and not path[-1][1] else key
        elif token == ":":
            at_key = False
        elif at_key:
            key = json.loads(token)
        else:
            yield key, len(path), match.span()
