"""Cues: the times and texts of subtitles, found in their file."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

import charset_normalizer

from docflat.formats.safe_reading import find_codec, find_mark, read_text
from docflat.support.errors import InputError

MOST_BYTES = 8 << 20  # a long film has 200 kB
LONGEST_CUE = 10_000  # characters of a cue; a screen holds a hundred
_TIME = r"(?:[0-9]{1,6}:)?[0-9]{1,2}:[0-9]{1,2}[,.][0-9]{1,3}"
NEWLINE = re.compile("\r\n|\n|\r")
TIMES = re.compile(rf"\ufeff?[ \t]*({_TIME})[ \t]*-->[ \t]*({_TIME})(?:[ \t].*)?")


_MESS = 0.15  # of characters that hardly stand beside each other, as charset_normalizer counts them
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cue:
    start: int  # its text in the file's
    end: int
    begins: int  # milliseconds
    ends: int


def decode(data: bytes, file: str) -> tuple[str, str]:
    """The text with its byte order mark, and its encoding: UTF-8 unless such a mark or the letters say otherwise."""
    if len(data) > MOST_BYTES:
        raise InputError(f"is larger than {MOST_BYTES >> 20} MiB, the most of subtitles", file)
    try:
        text, encoding = read_text(data, file)
    except InputError:
        name = "" if find_mark(data) else _guess(data)
        if not name:
            raise
        _log.warning("%s: not UTF-8; read as %s, which its letters look like, and written so", file, name)
        return data.decode(name), name
    return ("\ufeff" if encoding.mark else "") + text, encoding.name


def encode(text: str, encoding: str) -> bytes:
    """The text in an encoding that `decode` found; in UTF-8 if that lacks letters, or would not be found again."""
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        _log.warning("the translation has letters that %s lacks: it is written as UTF-8", encoding)
        return text.encode("utf-8", "replace")
    if not encoding.startswith("utf-") and not data.isascii() and not _guess(data):
        _log.warning("nothing in the translation shows that it is %s: it is written as UTF-8", encoding)
        return text.encode("utf-8")
    return data


def _guess(data: bytes) -> str:
    """The encoding that the letters look like, among those that give back the same bytes; empty: none does."""
    matches = charset_normalizer.from_bytes(data)
    best = matches.best()
    if best is None:
        return ""
    # Short texts look alike in all that Latin letters have: then it is the one that most old subtitles are in.
    alike = {*best.could_be_from_charset, *(each.encoding for each in matches if _is_near(each, best))}
    name = find_codec("cp1252" if "cp1252" in alike else best.encoding)
    try:
        return name if name and data.decode(name).encode(name) == data else ""
    except UnicodeError:
        return ""


def _is_near(match: charset_normalizer.CharsetMatch, best: charset_normalizer.CharsetMatch) -> bool:
    return match.chaos <= _MESS and match.coherence >= best.coherence


def lines_of(text: str) -> list[tuple[int, str]]:
    """Each line of a text without its end, and where it starts."""
    lines, start = [], 0
    for match in NEWLINE.finditer(text):
        lines.append((start, text[start : match.start()]))
        start = match.end()
    return [*lines, (start, text[start:])]


def warn_of_times(line: str, file: str, number: int) -> None:
    """A cue whose times cannot be read is passed over, as players do."""
    _log.warning("%s:%d: not two times: %r; this cue stays as it is", file, number, line[:60])


def cue_of(times: re.Match[str], lines: Sequence[tuple[int, str]], file: str, line: int) -> Cue:
    """A cue of these lines, the first of which has this number; without blank ones at either end."""
    filled = [(start, start + len(text)) for start, text in lines if text.strip()]
    start, end = (filled[0][0], filled[-1][1]) if filled else (0, 0)
    if end - start > LONGEST_CUE:
        raise InputError(f"a cue of more than {LONGEST_CUE} characters", file, line)
    return Cue(start, end, milliseconds(times[1]), milliseconds(times[2]))


def milliseconds(time: str) -> int:
    clock, _, fraction = time.replace(",", ".").partition(".")
    hours, minutes, seconds = ["0", *clock.split(":")][-3:]
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0"))
