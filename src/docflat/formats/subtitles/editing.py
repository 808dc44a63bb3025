"""Subtitles: cues joined into sentences, and translations laid back over the cues.

A sentence often runs over several cues, and a model must see the whole of it. So the cues of a sentence are one
segment; where a cue or a line ends inside it is a point, which moves with the words. Everything but the words of cues
that were translated stays as it was, byte for byte. That is why files are not read by pysubs2, good as it is: it
writes its own numbers, times, blank lines and tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from docflat.formats.inline_codes import Code, Token, read_tokens, restore_codes, why_kept, write_codes
from docflat.formats.line_breaking import choose_breaks, goes_on
from docflat.formats.segments import Segment, Span
from docflat.formats.subtitles.cues import NEWLINE, Cue
from docflat.support.punctuation import WIDE, WIDE_SIGNS

WIDTH = 42  # characters of a line that players and style guides reckon with
MOST_CUES = 8  # of one segment: captions made by machine may have no punctuation at all
MOST_GAP = 1000  # milliseconds between cues of one sentence
MOST_OVERLAP = 200  # captions that are on screen together are not one after the other
_DASH = re.compile(r"[-‐–—][ \t\u00a0]*(?=[^\s\d-])")
_APART = re.compile(r"\[.*\]|\(.*\)|（.*）|♪.*|#.*#")  # a sound, a song
_WIDE = re.compile(f"[{WIDE}{WIDE_SIGNS}]")
_LAST_WORD = re.compile(r"[^\W\d_]+$")


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
    width: int  # of its longest line
    apart: bool  # no sentence goes into it or out of it


class Markup:
    """How a format writes the inside of a cue: which codes it has, and what it escapes."""

    code: re.Pattern[str]

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


@dataclass
class Subtitles:
    """A file that was read."""

    data: bytes
    text: str
    encoding: str
    markup: Markup
    cues: list[Cue]
    segments: list[Segment] = field(init=False)

    def __post_init__(self) -> None:
        newline = NEWLINE.search(self.text)
        self.newline = newline[0] if newline else "\n"
        turns = [turn for number in range(len(self.cues)) for turn in self._read_cue(number)]
        self.groups = list(_join(turns, self.cues))
        self.segments = [_segment(group) for group in self.groups]

    def render(self, segments: Sequence[Segment]) -> bytes:
        changed: dict[int, list[str]] = {}  # the turns of each cue
        touched = set()
        for own, new, group in zip(self.segments, segments, self.groups, strict=True):
            is_same = new == own
            turns = [turn.raw for turn in group] if is_same else self._lay(own, new, group)
            for turn, raw in zip(group, turns, strict=True):
                changed.setdefault(turn.cue, []).append(raw)
                if not is_same:
                    touched.add(turn.cue)
        if not touched:
            return self.data
        parts, place = [], 0
        for number in sorted(touched):
            parts += [self.text[place : self.cues[number].start], self.newline.join(changed[number])]
            place = self.cues[number].end
        whole = "".join([*parts, self.text[place:]])
        return whole.encode(self.encoding, "replace")

    def _read_cue(self, number: int) -> Iterator[Turn]:
        cue = self.cues[number]
        lines = [line for line in NEWLINE.split(self.text[cue.start : cue.end]) if line.strip()]
        group: list[str] = []
        apart = False
        for line in lines:
            plain = self.markup.code.sub("", line).strip()
            is_apart = bool(_APART.fullmatch(plain))
            if group and (is_apart or apart or _DASH.match(plain)):
                yield self._turn(number, group, apart)
                group = []
            group.append(line)
            apart = is_apart
        if group:
            yield self._turn(number, group, apart)

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

    def _turn(self, cue: int, lines: Sequence[str], apart: bool) -> Turn:
        text, spans = read_tokens(self._tokens(lines))
        starts = [span.start for span in spans if span.tag.opening == "\n"]
        spans = [span for span in spans if span.tag.opening != "\n"]
        width = max(b - a for a, b in pairwise([0, *starts, len(text)]))
        # What stands before all words or after them, and encloses none, is no matter of the translation.
        first, last = len(text) - len(text.lstrip()), len(text.rstrip())
        before = "".join(span.tag.opening for span in spans if span.start == span.end <= first)
        after = "".join(span.tag.opening for span in spans if first < span.start == span.end >= last)
        spans = [span for span in spans if span.start < span.end or first < span.start < last]
        dash = _DASH.match(text, first)
        if dash and not any(span.start < dash.end() for span in spans):
            before, first = before + dash[0], dash.end()
        text = text[first:last]
        kept = tuple(
            replace(span, start=max(0, span.start - first), end=min(len(text), span.end - first)) for span in spans
        )
        inner = tuple(start - first for start in starts if first < start < last)
        apart = apart or bool(_APART.fullmatch(text))  # over several lines
        return Turn(cue, self.newline.join(lines), before, text, kept, inner, after, width, apart)

    def _lay(self, own: Segment, new: Segment, group: Sequence[Turn]) -> list[str]:
        """The turns of a segment, in the words of its translation."""
        new = restore_codes(own, new, pairs=False)
        whole = [(span.start, span.end) for span in new.spans if span.opaque]
        shares = list(accumulate(len(turn.text) + 1 for turn in group))
        places = _places(new, [Boundary(number, 0) for number in range(1, len(group))], shares)
        width = max([2 * WIDTH, *(len(turn.text) for turn in group)])
        cuts = choose_breaks(new.text, places, width, whole)
        starts, ends = [0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(new.text)]
        pieces = list(zip(starts, ends, strict=True))
        pieces += pieces[-1:] * (len(group) - len(pieces))  # too few words for all: the last stay on screen
        return [self._write_turn(new, turn, number, *pieces[number]) for number, turn in enumerate(group)]

    def _write_turn(self, new: Segment, turn: Turn, number: int, start: int, end: int) -> str:
        text = new.text[start:end]
        width = max(WIDTH, turn.width)
        count = max(-(-len(text) // width), len(turn.starts) + 1)
        even = [len(text) * i / count for i in range(1, count)]
        points = {span.tag: span.start - start for span in new.spans if isinstance(span.tag, Boundary)}
        if count == len(turn.starts) + 1:
            given = [points.get(Boundary(number, line), -1) for line in range(1, count)]
            even = sorted(p if 0 < p < len(text) else e for p, e in zip(given, even, strict=True))
        whole = [(span.start - start, span.end - start) for span in new.spans if span.opaque]
        breaks = [(a + start, b + start) for a, b in choose_breaks(text, even, width, whole)]
        spans = [_keep_in_turn(span, number, start, end) for span in new.spans]
        here = replace(new, spans=_with_times_in_order([span for span in spans if span is not None], turn))
        words = write_codes(here, self._write, start, end, breaks, self.newline)
        return f"{turn.before}{words}{turn.after}"

    def _write(self, text: str) -> str:
        return self.markup.write(re.sub(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", " ", text))


def _join(turns: Sequence[Turn], cues: Sequence[Cue]) -> Iterator[list[Turn]]:
    """The turns of each segment."""
    in_capitals = sum(turn.text.isupper() for turn in turns) > len(turns) / 2  # then they say nothing of sentences
    group: list[Turn] = []
    for number, turn in enumerate(turns):
        alone = number + 1 < len(turns) and turns[number + 1].cue == turn.cue  # others speak in this cue after it
        if group and (len(group) == MOST_CUES or not _continues(group[-1], turn, cues, in_capitals)):
            yield group
            group = []
        group.append(turn)
        if alone:
            yield group
            group = []
    if group:
        yield group


def _continues(last: Turn, turn: Turn, cues: Sequence[Cue], in_capitals: bool) -> bool:
    """Whether a turn goes on with the sentence of the last one, which is in the cue before."""
    if turn.cue != last.cue + 1 or last.apart or turn.apart or turn.before != last.before.rstrip("-‐–— \u00a0"):
        return False  # another place on the screen, another voice; a dash is another speaker
    if not -MOST_OVERLAP <= cues[turn.cue].begins - cues[last.cue].ends <= MOST_GAP:
        return False
    first = next((char for char in turn.text if char.isalnum()), "")
    if not first or not last.text:
        return False
    continued = goes_on(last.text, first, "♪")
    if continued is not None:
        return continued
    # A capital may be a name, or any noun in German. After a title or a sign, it starts a sentence.
    word = _LAST_WORD.search(last.text)
    return first.isupper() and word is not None and (in_capitals or word[0][0].islower())


def _segment(group: Sequence[Turn]) -> Segment:
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
    return Segment(text, tuple(sorted(spans, key=lambda span: span.start)), why_kept(text))


def _shift(span: Span, by: int, turn: int) -> Span:
    tag = Point(span.tag.opening, turn=turn) if span.start == span.end else span.tag
    return replace(span, start=by + span.start, end=by + span.end, tag=tag)


def _joint(left: str, right: str) -> str:
    """No blank between Chinese or Japanese words."""
    wide = (left[-1:], right[:1])
    return "" if all(_WIDE.fullmatch(char) for char in wide) else " "


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


def _keep_in_turn(span: Span, turn: int, start: int, end: int) -> Span | None:
    """A span as it is in a turn; None: it belongs to another."""
    if not isinstance(span.tag, Point):
        return span
    place = min(max(span.start, start), end)
    return replace(span, start=place, end=place) if span.tag.turn == turn else None


def _with_times_in_order(spans: Sequence[Span], turn: Turn) -> tuple[Span, ...]:
    """The words may have changed places; the times between them must ascend. Before a code at the same place."""
    order = {span.tag.opening: number for number, span in enumerate(turn.spans)}
    is_time = [isinstance(span.tag, Point) and span.tag.opening[1:2].isdigit() for span in spans]
    times = [span for span, time in zip(spans, is_time, strict=True) if time]
    tags = sorted((span.tag for span in times), key=lambda tag: order[tag.opening])
    places = sorted(span.start for span in times)
    ordered = [Span(place, place, tag) for place, tag in zip(places, tags, strict=True)]
    others = [span for span, time in zip(spans, is_time, strict=True) if not time]
    return tuple(sorted([*ordered, *others], key=lambda span: span.start))


def _places(new: Segment, tags: Sequence[Boundary], shares: Sequence[int]) -> list[float]:
    """Where each cut should be: near its point in the translation, and near its share of the words."""
    points = {span.tag: span.start for span in new.spans if isinstance(span.tag, Boundary)}
    places = []
    for number, tag in enumerate(tags):
        even = len(new.text) * shares[number] / shares[-1]
        places.append((2 * points.get(tag, even) + even) / 3)
    return sorted(places)
