"""The plan of a file: which sentences of its segments are translated, and what must stay as it is in each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from docflat.formats.nesting import longest_path
from docflat.formats.safe_reading import DEEPEST
from docflat.formats.segments import Segment
from docflat.support.text_ranges import Range, join_ranges, overlap, strip
from docflat.translation.glossary import Glossary, Wanted, at_start, has_all
from docflat.translation.placeholders import Terms, find_joints, find_placeholders
from docflat.translation.sentences import split_sentences

LONGEST_SENTENCE = 10_000  # characters; what is longer is data, not language
TOO_LONG = f"longer than {LONGEST_SENTENCE} characters"
MOST_SPANS = 2_000  # of a segment, likewise
PROTECTED = "placeholders, code or terms"


@dataclass(frozen=True)
class Sentence:
    """A sentence of a segment, as it stands there."""

    segment: str
    place: Range
    fixed: tuple[Range, ...]  # of the segment's text: what must stay as it is
    moves: bool = True  # whether these may change places; not if they reach into the blanks around the sentence
    wanted: tuple[Wanted, ...] = ()  # of its own text: terms of the glossary

    @property
    def text(self) -> str:
        return self.segment[slice(*self.place)]

    @cached_property
    def line(self) -> str:
        """As the model gets it."""
        return " ".join(self.text.split())

    @property
    def inside(self) -> list[Range]:
        """Its fixed ranges, as places in its own text."""
        return [(first - self.place[0], last - self.place[0]) for first, last in self.fixed]

    @property
    def with_translations(self) -> str:
        """Its text with the translations of the glossary's terms in their places."""
        parts, end = [], 0
        for (start, last), translation in self.wanted:
            inner = any(map(str.isalnum, self.text[:start]))
            parts += [self.text[end:start], translation if inner else at_start(translation, self.text)]
            end = last
        return "".join([*parts, self.text[end:]])

    def has_wanted(self, translation: str) -> bool:
        """Whether a translation has all that the glossary wants."""
        return not self.wanted or has_all(translation, [wanted for _, wanted in self.wanted])

    def between(self) -> list[tuple[Range, bool]]:
        """Its fixed ranges and the stretches around them; whether these are to be translated."""
        stretches: list[tuple[Range, bool]] = []
        start = self.place[0]
        for first, last in [*self.fixed, (self.place[1], self.place[1])]:
            inner = strip(self.segment, start, first)
            if inner is None:
                stretches.append(((start, first), False))
            else:
                wordy = any(map(str.isalpha, self.segment[slice(*inner)]))
                stretches += [((start, inner[0]), False), (inner, wordy), ((inner[1], first), False)]
            stretches.append(((first, last), False))
            start = last
        return [(place, wordy) for place, wordy in stretches if place[0] < place[1]]


@dataclass(frozen=True)
class SegmentPlan:
    """A segment's sentences to translate."""

    sentences: tuple[Sentence, ...] = ()
    skip_reason: str = ""  # why there are none
    numbers: bool = False  # whether it has numbers at most, and is no data
    too_long: int = 0  # sentences that are not among them


class Planner:
    """Plans segments of a language, with a user's terms."""

    def __init__(self, language: str, terms: Terms, glossary: Glossary) -> None:
        self.language, self.terms, self.glossary = language, terms, glossary

    def plan(self, segment: Segment) -> SegmentPlan:
        if segment.skip_reason:
            return SegmentPlan(skip_reason=segment.skip_reason)
        if not any(map(str.isalpha, segment.text)):
            return SegmentPlan(skip_reason="no letters", numbers=not any(span.opaque for span in segment.spans))
        if len(segment.spans) > MOST_SPANS or longest_path(segment.spans) > DEEPEST:
            return SegmentPlan(skip_reason="too many formatted parts")
        sentences = [one for one in self._sentences(segment) if any(wordy for _, wordy in one.between())]
        fitting = tuple(one for one in sentences if one.place[1] - one.place[0] <= LONGEST_SENTENCE)
        too_long = len(sentences) - len(fitting)
        reason = "" if fitting else TOO_LONG if too_long else f"only {PROTECTED}"
        return SegmentPlan(fitting, reason, too_long=too_long)

    def _sentences(self, segment: Segment) -> Iterator[Sentence]:
        opaque = [(span.start, span.end) for span in segment.spans if span.opaque and span.start < span.end]
        fixed = join_ranges([*opaque, *find_placeholders(segment.text), *self.terms.find(segment.text)])
        left = deque(fixed)
        for start, end in _split(segment.text, self.language, fixed):
            touching = []
            while left and left[0][0] < end:
                touching.append(left.popleft())
            inside = [(max(a, start), min(b, end)) for a, b in touching if b > start]
            of_its_text = [(a - start, b - start) for a, b in inside]
            wanted = self.glossary.find(segment.text[start:end], of_its_text)
            yield Sentence(segment.text, (start, end), tuple(inside), inside == touching, tuple(wanted))


def _split(text: str, language: str, fixed: Sequence[Range]) -> Iterator[Range]:
    """Of each stretch between what holds a text together, such as the keywords of a message with plural forms."""
    start = 0
    joints = find_joints(text)
    if any(overlap(joint, fixed) for joint in joints):  # a format knows better, or what is kept lies across
        joints = []
    for first, last in [*joints, (len(text), len(text))]:
        inside = [(max(a, start) - start, min(b, first) - start) for a, b in fixed if start < b and a < first]
        yield from ((start + a, start + b) for a, b in split_sentences(text[start:first], language, inside))
        start = last
