"""Subtitles: cues joined into sentences, and translations laid back over the cues.

Everything but the words of cues that were translated stays as it was, byte for byte. That is why files are not read by
pysubs2, good as it is: it writes its own numbers, times, blank lines and tags.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from docflat.formats.inline_codes import restore_codes, write_codes
from docflat.formats.line_breaking import Break, choose_breaks
from docflat.formats.segments import Segment, Span
from docflat.formats.subtitles.cues import NEWLINE, Cue, encode
from docflat.formats.subtitles.turns import Boundary, Markup, Point, Turn, TurnReader, join_turns, make_segment
from docflat.support.punctuation import columns

WIDTH = 42  # columns of a line that players and style guides reckon with
MAX_CPS = 20.0  # characters a second that a grown-up reads; a Chinese one is as much as two letters
MAX_LINES = 2  # of a cue
_WIDER = 6  # columns
_SHORTEST = 0.001  # seconds; a cue of none is no reason to divide by it

_log = logging.getLogger(__name__)


@dataclass
class Subtitles:
    """A file that was read."""

    data: bytes
    text: str
    encoding: str
    markup: Markup
    cues: list[Cue]
    max_cps: float = MAX_CPS
    max_cue_lines: int = 0  # 0: as many as the file itself has in a cue, and two at least
    segments: list[Segment] = field(init=False)

    def __post_init__(self) -> None:
        newline = NEWLINE.search(self.text)
        self.newline = self.markup.newline or (newline[0] if newline else "\n")
        reader = TurnReader(self.text, self.cues, self.markup, self.newline)
        self.turns, self.shown = reader.turns, reader.shown
        self.groups = list(join_turns(self.turns, self.cues, reader.rolling))
        self.segments = [make_segment(group) for group in self.groups]
        lines = [sum(len(self.turns[one.turn].starts) + 1 for one in shown) for shown in self.shown]
        self.most_lines = self.max_cue_lines or max([MAX_LINES, *lines])
        # How many lines each turn may have, beside those that share its cue.
        self.room = {
            one.turn: max(1, self.most_lines - count + len(self.turns[one.turn].starts) + 1)
            for shown, count in zip(self.shown, lines, strict=True)
            for one in shown
            if not one.is_repeat
        }

    def render(self, segments: Sequence[Segment]) -> bytes:
        written = self._written(segments)
        if not written:
            return self.data
        parts, place = [], 0
        for number in sorted(written):
            parts += [self.text[place : self.cues[number].start], written[number]]
            place = self.cues[number].end
        return encode("".join([*parts, self.text[place:]]), self.encoding)

    def _written(self, segments: Sequence[Segment]) -> dict[int, str]:
        """The texts of those cues that change."""
        changed: dict[int, str] = {}  # turns, by their number
        place = 0
        for source, new, group in zip(self.segments, segments, self.groups, strict=True):
            numbers = range(place, place + len(group))
            if new != source:
                changed.update(zip(numbers, self._lay(source, new, group, place), strict=True))
            place += len(group)
        written = {}
        for number, shown in enumerate(self.shown):
            if any(one.turn in changed for one in shown):
                parts = []
                for one in shown:
                    raw = changed.get(one.turn, one.raw)
                    if one.is_repeat and one.turn in changed and one.raw != self.turns[one.turn].raw:
                        raw = self.markup.code.sub("", raw)  # what is repeated comes without times
                    parts.append(raw)
                written[number] = self.turns[shown[0].turn].newline.join(parts)
        return written

    def review(self, segments: Sequence[Segment]) -> list[str]:
        """How many cues are hard to read, and how many were."""
        written = self._written(segments)
        counts = []
        for changed in ({}, written):
            texts = [changed.get(number, self.text[cue.start : cue.end]) for number, cue in enumerate(self.cues)]
            lines = [[line for line in map(str.strip, self._plain(text)) if line] for text in texts]
            speeds = [self._speed(sum(map(columns, each)), cue) for each, cue in zip(lines, self.cues, strict=True)]
            counts.append((sum(s > self.max_cps for s in speeds), sum(len(each) > self.most_lines for each in lines)))
        (fast, tall), (faster, taller) = counts
        remarks = []
        if faster:
            remarks.append(
                f"{faster} of {len(self.cues)} cues are faster than {self.max_cps:g} characters a second "
                f"({fast} were in the source)"
            )
        if taller:
            remarks.append(
                f"{taller} of {len(self.cues)} cues have more than {self.most_lines} lines ({tall} had in the source)"
            )
        return remarks

    def _plain(self, text: str) -> list[str]:
        return self.markup.line_end.split(self.markup.read(self.markup.code.sub("", text)))

    @staticmethod
    def _speed(width: int, cue: Cue) -> float:
        return width / max(_SHORTEST, (cue.ends - cue.begins) / 1000)

    def _lay(self, source: Segment, new: Segment, group: Sequence[Turn], first: int) -> list[str]:
        """The turns of a segment, of which the first has this number, in the words of its translation."""
        new = restore_codes(source, new, pairs=False)
        whole = [(span.start, span.end) for span in new.spans if span.opaque]
        cuts = self._cut(new, group, whole)
        starts, ends = [0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(new.text)]
        pieces = list(zip(starts, ends, strict=True))
        pieces += pieces[-1:] * (len(group) - len(pieces))  # too few words for all: the last stay on screen
        return [
            self._write_turn(new, turn, number, *pieces[number], self.room[first + number])
            for number, turn in enumerate(group)
        ]

    def _cut(self, new: Segment, group: Sequence[Turn], whole: Sequence[tuple[int, int]]) -> list[Break]:
        """Where the cues of a segment end in its translation: near their words, unless that is too fast to read."""
        shares = list(accumulate(len(turn.text) + 1 for turn in group))
        places = _places(new, [Boundary(number, 0) for number in range(1, len(group))], shares)
        width = max([2 * WIDTH, *(columns(turn.text) for turn in group)])
        cuts = choose_breaks(new.text, places, width, whole)
        fast = sum(self._speed(columns(turn.text), self.cues[turn.cue]) > self.max_cps for turn in group)
        if len(group) == 1 or self._count_fast(new.text, cuts, group) <= fast:
            return cuts
        durations = list(accumulate(max(1, self.cues[turn.cue].ends - self.cues[turn.cue].begins) for turn in group))
        by_time = [len(new.text) * until / durations[-1] for until in durations[:-1]]
        middle = [(a + b) / 2 for a, b in zip(places, by_time, strict=True)]
        options = [cuts, *(choose_breaks(new.text, each, width, whole) for each in (middle, by_time))]
        return min(options, key=lambda each: self._count_fast(new.text, each, group))

    def _count_fast(self, text: str, cuts: Sequence[Break], group: Sequence[Turn]) -> int:
        edges = [0, *(a for a, _ in cuts), len(text)]
        pieces = zip(edges, edges[1:], group, strict=False)
        return sum(self._speed(columns(text[a:b]), self.cues[turn.cue]) > self.max_cps for a, b, turn in pieces)

    def _write_turn(self, new: Segment, turn: Turn, number: int, start: int, end: int, room: int) -> str:
        text = new.text[start:end]
        whole = [(span.start - start, span.end - start) for span in new.spans if span.opaque]
        points = {span.tag: span.start - start for span in new.spans if isinstance(span.tag, Boundary)}
        lines = [points.get(Boundary(number, line), -1) for line in range(1, len(turn.starts) + 1)]
        breaks = [(a + start, b + start) for a, b in self._break(text, turn, lines, room, whole)]
        spans = [_clip_to_turn(span, number, start, end) for span in new.spans]
        here = replace(new, spans=_with_times_in_order([span for span in spans if span is not None], turn))
        words = write_codes(here, self._write, start, end, breaks, turn.newline)
        return f"{turn.before}{words}{turn.after}"

    def _break(
        self, text: str, turn: Turn, places: Sequence[int], room: int, whole: Sequence[tuple[int, int]]
    ) -> list[Break]:
        """Lines of a turn. places: of the breaks that it had; room: how many lines there should be at most."""
        width = max(WIDTH, turn.width)
        most = max(room, len(places) + 1)
        count = max(-(-columns(text) // width), len(places) + 1)
        options = []
        for lines in sorted({min(count, most), count}):
            even = [len(text) * i / lines for i in range(1, lines)]
            if lines == len(places) + 1:
                even = sorted(p if 0 < p < len(text) else e for p, e in zip(places, even, strict=True))
            breaks = choose_breaks(text, even, width, whole)
            edges = [0, *(edge for each in breaks for edge in each), len(text)]
            longest = max(columns(text[a:b]) for a, b in zip(edges[::2], edges[1::2], strict=True))
            # A line a little longer is better than one more; one that leaves the screen is not.
            if longest <= width + _WIDER or self.max_cue_lines:
                return breaks
            options.append(breaks)
        return options[-1]

    def _write(self, text: str) -> str:
        return self.markup.write(re.sub(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", " ", text))


def _clip_to_turn(span: Span, turn: int, start: int, end: int) -> Span | None:
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
