"""SubStation subtitles (.ass, .ssa): the last field of each dialogue, with its override codes."""

from __future__ import annotations

import re

from docflat.formats.subtitles.cues import LONGEST_CUE, Cue, decode, lines_of, milliseconds
from docflat.formats.subtitles.editing import MAX_CPS, Subtitles
from docflat.formats.subtitles.turns import Markup
from docflat.support.errors import InputError

_TIME = re.compile(r"[0-9]{1,4}:[0-9]{1,2}:[0-9]{1,2}[.:][0-9]{1,3}")
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9][^{}]*\}")  # what follows are places of a pen
_KARAOKE = re.compile(r"\{[^{}]*\\[kK][fo]?[0-9][^{}]*\}")  # each syllable has its time


class _AssMarkup(Markup):
    line_end = re.compile(r"\\[Nn]")
    newline = r"\N"
    code = re.compile(r"\{[^{}\r\n]*\}")

    def read(self, text: str) -> str:
        return text.replace(r"\h", "\u00a0")

    def write(self, text: str) -> str:
        return text.replace("\u00a0", r"\h").replace("{", "(").replace("}", ")")  # braces would be codes


class Ass:
    """`max_cps`, `max_cue_lines`: letters a second and lines of a cue that are not too many; 0: as in the file."""

    name = "SubStation"

    def __init__(self, max_cps: float = MAX_CPS, max_cue_lines: int = 0) -> None:
        self.max_cps, self.max_cue_lines = max_cps, max_cue_lines

    def read(self, data: bytes, file: str) -> Subtitles:
        text, encoding = decode(data, file)
        cues: list[Cue] = []
        fields: list[str] = []
        in_events = False
        for number, (start, line) in enumerate(lines_of(text), 1):
            kind, _, rest = line.partition(":")
            if line.startswith("["):
                in_events = line.strip().lower() == "[events]"
            elif in_events and kind == "Format":
                fields = [name.strip().lower() for name in rest.split(",")]
            elif in_events and kind == "Dialogue":
                cue = self._cue(start, line, fields, file, number)
                cues += [cue] if cue else []
        if not cues:
            raise InputError("no subtitles in this file", file)
        return Subtitles(data, text, encoding, _AssMarkup(), cues, self.max_cps, self.max_cue_lines)

    def _cue(self, start: int, line: str, fields: list[str], file: str, number: int) -> Cue | None:
        if fields[-1:] != ["text"] or not {"start", "end"} <= set(fields):
            raise InputError(
                "a dialogue before a line of Format: that has Start, End and, at its end, Text", file, number
            )
        values = line.partition(":")[2].split(",", len(fields) - 1)
        if len(values) < len(fields):
            raise InputError(f"a dialogue of {len(values)} fields; {len(fields)} are named", file, number)
        begins, ends = (values[fields.index(name)].strip() for name in ("start", "end"))
        if not _TIME.fullmatch(begins) or not _TIME.fullmatch(ends):
            raise InputError(f"not two times, as in 0:00:01.00: {line[:60]!r}", file, number)
        said = values[-1]
        beginning = said[:LONGEST_CUE]
        if _DRAWING.search(beginning) or _KARAOKE.search(beginning) or not said.strip():
            return None
        if len(said) > LONGEST_CUE:
            raise InputError(f"a cue of more than {LONGEST_CUE} characters", file, number)
        end = start + len(line.rstrip())
        first = start + len(line) - len(said)
        first += len(said) - len(said.lstrip())
        return Cue(first, end, _milliseconds(begins), _milliseconds(ends))


def _milliseconds(time: str) -> int:
    return milliseconds(f"{time[::-1].replace(':', '.', 1)[::-1]}" if "." not in time else time)
