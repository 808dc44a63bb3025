"""Inline codes: tags and marks between the words of a segment, read into spans and written from them again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from docflat.formats.nesting import add_spans, walk_edges
from docflat.formats.segments import Segment, Span

_DEEPEST = 100  # codes in each other; deeper ones stay points


@dataclass(frozen=True)
class Code:
    """What is written before and after the text of a span; before it only, at a point."""

    opening: str
    closing: str = ""
    is_word: bool = False  # the span's text only stands for it among the words, and is not written


class Token(NamedTuple):
    """A piece of a text with codes."""

    raw: str  # as it is in the file; of text, what it says
    kind: str  # "text", "open", "close", "point", "word": a point that stands for words, such as a name filled in
    key: str = ""  # an opening and a closing code of the same key are a pair; of a word, what stands for it
    opaque: bool = False  # what the pair encloses is kept as it is
    firm: bool = False  # always has its other half: no pair may start outside of it and end inside


def read_tokens(tokens: Iterable[Token]) -> tuple[str, list[Span]]:
    """The text, and the codes in it as spans. A code without its other half is a point."""
    tokens = list(tokens)
    text: list[str] = []
    length = 0
    spans: list[Span] = []  # in the order they start
    unclosed: list[tuple[int, Token]] = []  # where its span is in `spans`
    pairs = _find_pairs(tokens)
    for number, token in enumerate(tokens):
        if token.kind == "text":
            text.append(token.raw)
            length += len(token.raw)
        elif token.kind == "word":
            code = Code(token.raw, is_word=True)
            spans.append(Span(length, length + len(token.key), code, opaque=True, depth=len(unclosed)))
            text.append(token.key)
            length += len(token.key)
        elif number not in pairs:
            spans.append(Span(length, length, Code(token.raw), depth=len(unclosed)))
        elif token.kind == "open":
            spans.append(Span(length, length, Code(token.raw), depth=len(unclosed)))
            unclosed.append((len(spans) - 1, token))
        else:
            place, opening = unclosed.pop()
            start = spans[place].start
            if start < length:
                code = Code(opening.raw, token.raw)
                spans[place] = replace(spans[place], end=length, tag=code, opaque=opening.opaque)
            else:  # A pair around nothing is one point, with the points inside it.
                inside = "".join(span.tag.opening for span in spans[place:])
                spans[place:] = [replace(spans[place], tag=Code(inside + token.raw))]
    return "".join(text), spans


def _find_pairs(tokens: Sequence[Token]) -> set[int]:
    """The numbers of the codes that have their other half. Pairs do not cross: what was opened since stays a point."""
    pairs: set[int] = set()
    unclosed: list[tuple[int, Token]] = []
    for number, token in enumerate(tokens):
        if token.kind == "open":
            unclosed.append((number, token))
        elif token.kind == "close" and (depth := _find_opening(unclosed, token.key)) is not None:
            pairs |= {unclosed[depth][0], number}
            del unclosed[depth:]
    return pairs


def _find_opening(unclosed: Sequence[tuple[int, Token]], key: str) -> int | None:
    for depth in range(len(unclosed) - 1, max(-1, len(unclosed) - 1 - _DEEPEST), -1):
        if unclosed[depth][1].key == key:
            return depth
        if unclosed[depth][1].firm:
            return None
    return None


def write_codes(
    segment: Segment,
    write: Callable[[str], str],
    start: int = 0,
    end: int | None = None,
    breaks: Sequence[tuple[int, int]] = (),
    newline: str = "\n",
) -> str:
    """The text start:end with its codes; `write` escapes text, and a newline stands for each of the ranges `breaks`.

    Whoever moved the spans may have made them cross: the inner one is then cut short.
    """
    end = len(segment.text) if end is None else end
    parts: list[str] = []
    place = start
    newlines = deque(breaks)

    def write_until(at: int, past: bool = False) -> None:
        nonlocal place
        while newlines and newlines[0][0] < at + past:
            a, b = newlines.popleft()
            parts.extend((write(segment.text[place : max(place, a)]), newline))
            place = max(place, b)
        parts.append(write(segment.text[place:at]))
        place = max(place, at)

    for at, span, starts in walk_edges(_clip(segment, start, end), end):
        write_until(at)
        parts.append(span.tag.opening if starts else span.tag.closing)
        if starts and span.tag.is_word:
            place = max(place, span.end)
    write_until(end, past=True)
    return "".join(parts)


def _clip(segment: Segment, start: int, end: int) -> list[Span]:
    """The codes of this stretch, cut at its ends."""
    spans = []
    for span in segment.spans:
        if not isinstance(span.tag, Code):
            continue
        if span.start == span.end:
            if start <= span.start <= end:
                spans.append(span)
        elif span.start < end and span.end > start:
            spans.append(replace(span, start=max(start, span.start), end=min(end, span.end)))
    return spans


def restore_codes(source: Segment, translated: Segment, pairs: bool) -> Segment:
    """The translation with the points, and the pairs too if so asked, that it has lost: near where they were."""
    left = Counter(span.tag for span in translated.spans)
    lost = []
    for span in source.spans:
        if left[span.tag]:
            left[span.tag] -= 1
        elif isinstance(span.tag, Code) and (pairs or not span.tag.closing):
            place = nearest_gap(translated.text, span.start / max(1, len(source.text)))
            lost.append(Span(place, place, span.tag))
    return replace(translated, spans=tuple(add_spans(translated.spans, lost))) if lost else translated


def nearest_gap(text: str, share: float) -> int:
    """A place between words, after about this share of the text."""
    place = round(share * len(text))
    gaps = [0, len(text), *(i for i, char in enumerate(text) if char.isspace())]
    return min(gaps, key=lambda gap: abs(gap - place))


def skip_reason(text: str) -> str:
    """Why a text needs no translation; empty: it does."""
    return "" if any(map(str.isalpha, text)) else "no letters"
