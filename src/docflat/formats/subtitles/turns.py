"""Turns: what one speaker says in one cue, read from its lines; and turns joined into sentences.

A sentence often runs over several cues, and a model must see the whole of it. So the cues of a sentence are one
segment; where a cue or a line ends inside it is a point, which moves with the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from docflat.formats.inline_codes import Code, Token, read_tokens, skip_reason
from docflat.formats.line_breaking import goes_on
from docflat.formats.segments import Segment, Span
from docflat.formats.subtitles.cues import NEWLINE, Cue
from docflat.formats.subtitles.rolling import count_repeats
from docflat.support.punctuation import are_wide, columns

MOST_CUES = 8  # of one segment: captions made by machine may have no punctuation at all
MOST_GAP = 1000  # milliseconds between cues of one sentence
MOST_OVERLAP = 200  # captions that are on screen together are not one after the other
_DASH = re.compile(r"[-‐–—][ \t\u00a0]*(?=[^\s\d-])")
_APART = re.compile(r"\[.*\]|\(.*\)|（.*）|♪.*|#.*#")  # a sound, a song


@dataclass(frozen=True)
class Boundary:
    """The tag of a point inside a segment where a turn, or a line of it, begins."""

    turn: int
    line: int


@dataclass(frozen=True)
class Point(Code):
    """A code at a point; it stays in its turn, for it may be a time."""

    turn: int = 0


@dataclass(frozen=True)
class Turn:
    """What one speaker says in one cue, or a line that is no speech; mostly the whole cue."""

    cue: int
    raw: str
    before: str  # a dash, codes that are not closed
    text: str
    spans: tuple[Span, ...]
    starts: tuple[int, ...]  # of its lines but the first, in the text
    after: str
    width: int  # of its longest line, in columns
    apart: bool  # no sentence goes into it or out of it
    order: int  # turns of one order speak beside each other; a sentence goes on in the next
    newline: str  # between its lines


@dataclass(frozen=True)
class Shown:
    """What stands in a cue: a turn, or one of the cue before that it repeats."""

    turn: int
    raw: str
    is_repeat: bool = False


class Markup:
    """How a format writes the inside of a cue: which codes it has, and what it escapes."""

    code: re.Pattern[str]
    line_end = NEWLINE
    newline = ""  # between lines of a cue; empty: as between those of the file

    def token(self, raw: str) -> Token:
        """A code as an opening, a closing or a point."""
        name = re.match(r"</?([A-Za-z]+)", raw)
        if not name:
            return Token(raw, "point")
        return Token(raw, "close" if raw.startswith("</") else "open", name[1].lower())

    def read(self, text: str) -> str:
        return text

    def write(self, text: str) -> str:
        return text


class TurnReader:
    """Reads the turns of all cues, and which of them each cue shows."""

    def __init__(self, text: str, cues: Sequence[Cue], markup: Markup, newline: str) -> None:
        self.text, self.cues, self.markup, self.newline = text, cues, markup, newline
        self.turns: list[Turn] = []
        self.shown: list[list[Shown]] = []
        lines = [self._lines(cue) for cue in cues]
        repeats = count_repeats([[self._plain(line) for line in each] for each in lines])
        self.rolling = any(repeats)
        for number, (each, repeated) in enumerate(zip(lines, repeats, strict=True)):
            self._read_cue(number, each, repeated)

    def _lines(self, cue: Cue) -> list[str]:
        return [line for line in self.markup.line_end.split(self.text[cue.start : cue.end]) if line.strip()]

    def _plain(self, line: str) -> str:
        return self.markup.code.sub("", line).strip()

    def _read_cue(self, number: int, lines: Sequence[str], repeated: int) -> None:
        cue = self.cues[number]
        line_break = NEWLINE.search(self.text, cue.start, cue.end) or self.markup.line_end.search(
            self.text, cue.start, cue.end
        )
        newline = line_break[0] if line_break else self.newline
        last = self.shown[-1][-repeated:] if repeated else []
        shown = [Shown(before.turn, raw, True) for before, raw in zip(last, lines[:repeated], strict=True)]
        groups = [([line], False) for line in lines[repeated:]] if self.rolling else list(self._speakers(lines))
        for group, apart in groups:
            order = len(self.turns) if self.rolling else number
            turn = self._turn(number, group, apart, order, newline)
            shown.append(Shown(len(self.turns), turn.raw))
            self.turns.append(turn)
        self.shown.append(shown)

    def _speakers(self, lines: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
        """The lines of each turn, and whether it is apart."""
        group: list[str] = []
        apart = False
        for line in lines:
            plain = self._plain(line)
            is_apart = bool(_APART.fullmatch(plain))
            if group and (is_apart or apart or _DASH.match(plain)):
                yield group, apart
                group = []
            group.append(line)
            apart = is_apart
        if group:
            yield group, apart

    def _tokens(self, lines: Sequence[str]) -> Iterator[Token]:
        """The lines of a turn; where one ends is a point."""
        last = ""
        for number, line in enumerate(map(str.strip, lines)):
            plain = self.markup.code.sub("", line)
            if number:
                yield Token(_joint(last, plain), "text")
                yield Token("\n", "point")
            last = plain
            place = 0
            for match in self.markup.code.finditer(line):
                yield Token(self.markup.read(line[place : match.start()]), "text")
                yield self.markup.token(match[0])
                place = match.end()
            yield Token(self.markup.read(line[place:]), "text")

    def _turn(self, cue: int, lines: Sequence[str], apart: bool, order: int, newline: str) -> Turn:
        text, spans = read_tokens(self._tokens(lines))
        starts = [span.start for span in spans if span.tag.opening == "\n"]
        spans = [span for span in spans if span.tag.opening != "\n"]
        width = max(columns(text[a:b]) for a, b in pairwise([0, *starts, len(text)]))
        # What stands before all words or after them, and encloses none, is no matter of the translation.
        first, last = len(text) - len(text.lstrip()), len(text.rstrip())
        before = "".join(span.tag.opening for span in spans if span.start == span.end <= first)
        after = "".join(span.tag.opening for span in spans if first < span.start == span.end >= last)
        spans = [span for span in spans if span.start < span.end or first < span.start < last]
        dash = _DASH.match(text, first)
        if dash and not any(span.start < dash.end() for span in spans):
            before, first = before + dash[0], dash.end()
        text = text[first:last]
        inside = tuple(
            replace(span, start=max(0, span.start - first), end=min(len(text), span.end - first)) for span in spans
        )
        inner = tuple(start - first for start in starts if first < start < last)
        apart = apart or bool(_APART.fullmatch(text))  # over several lines
        raw = newline.join(lines)
        return Turn(cue, raw, before, text, inside, inner, after, width, apart, order, newline)


def join_turns(turns: Sequence[Turn], cues: Sequence[Cue], rolling: bool) -> Iterator[list[Turn]]:
    """The turns of each segment."""
    in_capitals = sum(turn.text.isupper() for turn in turns) > len(turns) / 2  # then they say nothing of sentences
    group: list[Turn] = []
    for number, turn in enumerate(turns):
        alone = number + 1 < len(turns) and turns[number + 1].order == turn.order  # others speak in this cue after it
        if group and (len(group) == MOST_CUES or not _continues(group[-1], turn, cues, in_capitals, rolling)):
            yield group
            group = []
        group.append(turn)
        if alone:
            yield group
            group = []
    if group:
        yield group


def _continues(last: Turn, turn: Turn, cues: Sequence[Cue], in_capitals: bool, rolling: bool) -> bool:
    """Whether a turn goes on with the sentence of the last one, which is in the cue before."""
    if turn.order != last.order + 1 or last.apart or turn.apart or turn.before != last.before.rstrip("-‐–— \u00a0"):
        return False  # another place on the screen, another voice; a dash is another speaker
    gap = cues[turn.cue].begins - cues[last.cue].ends
    if gap > MOST_GAP or (gap < -MOST_OVERLAP and not rolling):
        return False
    first = next((char for char in turn.text if char.isalnum()), "")
    if not first or not last.text:
        return False
    continued = goes_on(last.text, first, "♪")
    if continued is not None:
        return continued
    # A capital may be a name, or any noun in German. After a title or a sign, it starts a sentence.
    start = len(last.text)
    while start and last.text[start - 1].isalpha():
        start -= 1
    return first.isupper() and start < len(last.text) and (in_capitals or last.text[start].islower())


def make_segment(group: Sequence[Turn]) -> Segment:
    text = ""
    spans: list[Span] = []
    for number, turn in enumerate(group):
        if number:
            text += _joint(text, turn.text)
            spans.append(Span(len(text), len(text), Boundary(number, 0)))
        at = len(text)
        lines = [Span(at + start, at + start, Boundary(number, line)) for line, start in enumerate(turn.starts, 1)]
        codes = [_shift(span, at, number) for span in turn.spans]
        if number:
            codes = _merge(spans, codes, at)
        spans += sorted([*codes, *lines], key=lambda span: (span.start, -span.end))
        text += turn.text
    return Segment(text, tuple(sorted(spans, key=lambda span: span.start)), skip_reason(text))


def _shift(span: Span, by: int, turn: int) -> Span:
    tag = Point(span.tag.opening, turn=turn) if span.start == span.end else span.tag
    return replace(span, start=by + span.start, end=by + span.end, tag=tag)


def _joint(left: str, right: str) -> str:
    """No blank between Chinese or Japanese words."""
    return "" if are_wide(left, right) else " "


def _merge(spans: list[Span], codes: list[Span], place: int) -> list[Span]:
    """One pair where a cue ends in one and the next starts with the same; `spans` is changed."""
    first = codes[0] if codes else None
    if first is None or first.start != place or first.start == first.end:
        return codes
    pairs = [(i, span) for i, span in enumerate(spans) if span.start < span.end]
    for i, span in pairs:
        inside = any(other.start <= span.start and span.end <= other.end for _, other in pairs if other is not span)
        if span.tag == first.tag and place - span.end <= 1 and not inside:
            spans[i] = replace(span, end=first.end)
            return codes[1:]
    return codes
