"""Sentences of a text, as places in it: what lies between them is blanks, and can be kept as it is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from docflat.support.errors import InputError
from docflat.support.text_ranges import Range, strip


def split_sentences(text: str, language: str = "en", whole: Sequence[Range] = ()) -> list[Range]:
    """Where the sentences of a text are, without the blanks around them.

    No cut is made inside the ranges `whole`, which are in order and apart.
    """
    try:
        import sentencex
    except ImportError:
        raise InputError("splitting text into sentences needs sentencex: pip install 'docflat[files]'") from None
    sentences: list[Range] = []
    start = end = 0
    for piece in sentencex.segment(language, text):
        end += len(piece)
        if end < len(text) and (_inside(end, whole) or not _has_letter(text[start:end])):
            continue  # "1." is no sentence; it goes with what it numbers
        sentences.append((start, end))
        start = end
    if start < len(text):  # what the last one would not take
        sentences.append((start, len(text)))
    if len(sentences) > 1 and not _has_letter(text[slice(*sentences[-1])]):
        sentences[-2:] = [(sentences[-2][0], sentences[-1][1])]
    return [stripped for piece in sentences if (stripped := strip(text, *piece)) is not None]


def _inside(place: int, ranges: Sequence[Range]) -> bool:
    last = bisect_left(ranges, (place, 0)) - 1  # of those that start before it
    return last >= 0 and place < ranges[last][1]


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
