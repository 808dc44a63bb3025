"""WebVTT subtitles (.vtt): cues with settings, voices and classes, between notes, styles and regions."""

from __future__ import annotations

import html
import re
from xml.sax.saxutils import escape

from docflat.formats.subtitles.cues import TIMES, Cue, cue_of, decode, lines_of, warn_of_times
from docflat.formats.subtitles.editing import MAX_CPS, Subtitles
from docflat.formats.subtitles.turns import Markup
from docflat.support.errors import InputError

_HEAD = re.compile("\ufeff?WEBVTT(?:[ \t].*)?")
_MARKS = {"\u00a0": "&nbsp;", "\u200e": "&lrm;", "\u200f": "&rlm;"}  # one cannot see these otherwise


class _VttMarkup(Markup):
    code = re.compile(r"</?[A-Za-z][^<>\r\n]*>|<[0-9:.]+>|</>|<>")

    def read(self, text: str) -> str:
        return html.unescape(text)

    def write(self, text: str) -> str:
        return escape(text, _MARKS)


class Vtt:
    """Options as those of `Srt`."""

    name = "vtt"

    def __init__(self, max_cps: float = MAX_CPS, max_cue_lines: int = 0) -> None:
        self.max_cps, self.max_cue_lines = max_cps, max_cue_lines

    def read(self, data: bytes, file: str) -> Subtitles:
        text, encoding = decode(data, file)
        lines = lines_of(text)
        if not _HEAD.fullmatch(lines[0][1]):
            raise InputError("not WebVTT: the first line must start with WEBVTT", file, 1)
        cues: list[Cue] = []
        number = 1
        while number < len(lines):
            line = lines[number][1]
            number += 1
            if "-->" not in line:
                continue  # a number or name of a cue, a note, a style
            times = TIMES.fullmatch(line)
            first = number
            while number < len(lines) and lines[number][1] and "-->" not in lines[number][1]:
                number += 1
            if not times:
                warn_of_times(line, file, first)
                continue
            cues.append(cue_of(times, lines[first:number], file, first + 1))
        if not cues:
            raise InputError("no subtitles in this file", file)
        return Subtitles(data, text, encoding, _VttMarkup(), cues, self.max_cps, self.max_cue_lines)
