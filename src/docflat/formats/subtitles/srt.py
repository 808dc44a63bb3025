"""SubRip subtitles (.srt): numbers, times and lines of text, with tags of HTML and of SubStation."""

from __future__ import annotations

import re
from itertools import pairwise

from docflat.formats.inline_codes import Token
from docflat.formats.subtitles.cues import NEWLINE, TIMES, cue_of, decode, lines_of, warn_of_times
from docflat.formats.subtitles.editing import MAX_CPS, Subtitles
from docflat.formats.subtitles.turns import Markup
from docflat.support.errors import InputError

_NUMBER = re.compile(r"\s*[0-9]+\s*")


class _SrtMarkup(Markup):
    line_end = re.compile(rf"{NEWLINE.pattern}|\\N")  # the latter is of SubStation
    code = re.compile(r"</?[A-Za-z][^<>\r\n]*(?<!--)>|\{\\[^{}\r\n]*\}|\{/?[ibusIBUS]\}")

    def token(self, raw: str) -> Token:
        return super().token(f"<{raw[1:-1]}>" if re.fullmatch(r"\{/?\w\}", raw) else raw)._replace(raw=raw)

    def write(self, text: str) -> str:
        return text.replace("-->", "->")  # players would take it for a time


class Srt:
    """`max_cps`, `max_cue_lines`: letters a second and lines of a cue that are not too many; 0: as in the file."""

    name = "srt"

    def __init__(self, max_cps: float = MAX_CPS, max_cue_lines: int = 0) -> None:
        self.max_cps, self.max_cue_lines = max_cps, max_cue_lines

    def read(self, data: bytes, file: str) -> Subtitles:
        text, encoding = decode(data, file)
        lines = lines_of(text)
        timed: list[tuple[int, re.Match[str] | None]] = []  # lines with times; None: they cannot be read
        for number, (_, line) in enumerate(lines):
            times = TIMES.fullmatch(line) if "-->" in line else None
            if times or ("-->" in line and line.lstrip()[:1].isdigit()):
                timed.append((number, times))
        if not any(times for _, times in timed):
            raise InputError("no subtitles in this file", file)
        cues = []
        for (number, times), (until, _) in pairwise([*timed, (len(lines) + 1, None)]):
            if times is None:
                warn_of_times(lines[number][1], file, number + 1)
                continue
            # The line above the next times is their number. Blank lines do not end a cue: many files have them inside.
            last = until - 1 if until > len(lines) or _NUMBER.fullmatch(lines[until - 1][1]) else until
            cues.append(cue_of(times, lines[number + 1 : last], file, number + 2))
        return Subtitles(data, text, encoding, _SrtMarkup(), cues, self.max_cps, self.max_cue_lines)
