"""SubRip subtitles (.srt): numbers, times and lines of text, with tags of HTML and of SubStation."""

from __future__ import annotations

import re
from itertools import pairwise

from docflat.formats.inline_codes import Token
from docflat.formats.subtitles.cues import TIMES, cue_of, decode, lines_of
from docflat.formats.subtitles.editing import Markup, Subtitles
from docflat.support.errors import InputError

_NUMBER = re.compile(r"\s*[0-9]+\s*")


class _SrtMarkup(Markup):
    code = re.compile(r"</?[A-Za-z][^<>\r\n]*(?<!--)>|\{\\[^{}\r\n]*\}|\{/?[ibusIBUS]\}")

    def token(self, raw: str) -> Token:
        return super().token(f"<{raw[1:-1]}>" if re.fullmatch(r"\{/?\w\}", raw) else raw)._replace(raw=raw)

    def write(self, text: str) -> str:
        return text.replace("-->", "->")  # players would take it for a time


class Srt:
    name = "srt"

    def read(self, data: bytes, file: str) -> Subtitles:
        text, encoding = decode(data, file)
        lines = lines_of(text)
        found: list[tuple[int, re.Match[str]]] = []
        for number, (_, line) in enumerate(lines):
            times = TIMES.fullmatch(line) if "-->" in line else None
            if times:
                found.append((number, times))
            elif "-->" in line and line.lstrip()[:1].isdigit():
                raise InputError(f"not two times, as in 00:00:01,000 --> 00:00:02,500: {line[:60]!r}", file, number + 1)
        if not found:
            raise InputError("no subtitles in this file", file)
        cues = []
        for (number, times), (until, _) in pairwise([*found, (len(lines) + 1, found[0][1])]):
            # The line above the next times is their number. Blank lines do not end a cue: many files have them inside.
            last = until - 1 if until > len(lines) or _NUMBER.fullmatch(lines[until - 1][1]) else until
            cues.append(cue_of(times, lines[number + 1 : last], file, number + 2))
        return Subtitles(data, text, encoding, _SrtMarkup(), cues)
