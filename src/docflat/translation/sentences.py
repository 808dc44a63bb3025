"""Sentences of a text, as places in it: what lies between them is blanks, and can be kept as it is.

sentencex cuts; what it does not know of abbreviations, ordinals and numbered items is put right here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from docflat.support.errors import InputError
from docflat.support.text_ranges import Range, strip
from docflat.translation.abbreviations import ABBREVIATIONS, BEFORE_ORDINALS, GERMAN_OPENERS, Abbreviations
from docflat.translation.abbreviations_further import FURTHER

_REACH = 60  # characters before a cut that are looked at
_MARKS = r"\u0300-\u036f\u0900-\u0963\u0966-\u0dff"  # within words, where a language writes vowels so
_LAST_WORD = re.compile(rf"(?<![\w.{_MARKS}-])([\w{_MARKS}-]+(?:\.[\w{_MARKS}-]+)*)\.\s*$")
_SPELLED = re.compile(r"(?<![\w.])((?:\w\. )+\w)\.\s*$")  # z. B.
_ORDINAL = re.compile(r"([^\W\d_]+)\s+[0-9]{1,3}\.\s*$")
_ITEM = re.compile(r"[.!?]\s+(?=[0-9]{1,2}\.\s*$)")  # 1. Open it. 2. Shut it.
_ODD_BLANK = re.compile(r"[^\S\x00-\x7f](?=\.)")  # sentencex takes it for one byte, and panics within the letter
_NUMBER = re.compile(r"[0-9]{1,4}\.\s+(?=\S)")  # No. 5. She left.
_LETTER = re.compile(r"[^\W\d_]")
_QUOTED = re.compile(r"[」』]$")  # 「...。」と言った
_AFTER_QUOTED = "とってでのはがをにもや"
_KHMER_END = re.compile(r"[។៕]\s*")  # which sentencex does not know
_NONE = Abbreviations(frozenset(), frozenset(), frozenset())


def split_sentences(text: str, language: str = "en", whole: Sequence[Range] = ()) -> list[Range]:
    """Where the sentences of a text are, without the blanks around them.

    No cut is made inside the ranges `whole`, which are in order and apart.
    """
    sentences: list[Range] = []
    start = 0
    for end in _mend(text, _cut(text, language), language.partition("-")[0].lower()):
        if end < len(text) and (_inside(end, whole) or not _has_letter(text[start:end])):
            continue  # "1." is no sentence; it goes with what it numbers
        sentences.append((start, end))
        start = end
    if start < len(text):  # what the last one would not take
        sentences.append((start, len(text)))
    if len(sentences) > 1 and not _has_letter(text[slice(*sentences[-1])]):
        sentences[-2:] = [(sentences[-2][0], sentences[-1][1])]
    return [stripped for piece in sentences if (stripped := strip(text, *piece)) is not None]


def _cut(text: str, language: str) -> Sequence[str]:
    """The pieces of a text as sentencex cuts it."""
    try:
        import sentencex
    except ImportError:
        raise InputError("splitting text into sentences needs sentencex: pip install sentencex") from None
    try:
        pieces: Sequence[str] = sentencex.segment(language, _ODD_BLANK.sub(" ", text))
    except BaseException as error:  # a panic of Rust is no Exception, so that a text could end the whole run
        if type(error).__name__ != "PanicException":
            raise
        return [text]
    return pieces


def _mend(text: str, pieces: Sequence[str], language: str) -> Iterator[int]:
    """The ends of pieces, but for those that are none, and with those that were missed."""
    known = ABBREVIATIONS.get(language, _NONE)
    missed = [end for word in known.after_all for end in _ends_after(text, word, language)]
    if language == "km":
        missed += [match.end() for match in _KHMER_END.finditer(text)]
    cuts, end = set(missed), 0
    for piece in pieces:
        end += len(piece)
        before = text[max(0, end - _REACH) : end]
        if end == len(text):
            cuts.add(end)
        elif not _goes_on(before, text[end], known, language):
            item = _ITEM.search(before)  # its number begins a sentence
            is_item = item is not None and not _goes_on(before[: item.end()], "0", known, language)
            cuts.add(end - len(before) + item.end() if item and is_item else end)
        elif (number := _NUMBER.match(text, end)) and not _is_small(text, number.end()):
            cuts.add(number.end())  # the number belongs to the abbreviation before it
    return iter(sorted(cuts))


def _goes_on(before: str, after: str, known: Abbreviations, language: str) -> bool:
    """Whether a sentence goes on after what looks like its end; `after`: the character after it."""
    if after == "-" and not before[-1:].isspace():  # Dipl.-Ing.
        return True
    if language == "ja":
        return after in _AFTER_QUOTED and _QUOTED.search(before) is not None
    for match in (_LAST_WORD.search(before), _SPELLED.search(before)):
        word = match[1].replace(" ", "").casefold() if match else ""
        for part in (word, word.rpartition("-")[2]):
            if part in known.before_more or (part in known.may_end and (after.isdigit() or after.islower())):
                return True
    if language != "de":
        return language in FURTHER and after.islower() and before.rstrip().endswith(".") and not before.endswith("\n")
    ordinal = _ORDINAL.search(before)
    return ordinal is not None and ordinal[1].casefold() in BEFORE_ORDINALS


def _is_small(text: str, place: int) -> bool:
    """Whether a small letter is the first one from here on."""
    letter = _LETTER.search(text, place)
    return letter is not None and letter[0].islower()


def _ends_after(text: str, word: str, language: str) -> Iterator[int]:
    """Where a sentence ends in this word: a capital letter follows; in German one of those that begin sentences."""
    for match in re.finditer(rf"(?<!\w){re.escape(word)}\.\s+(?=([^\W\d_]+))", text, re.IGNORECASE):
        if match[1][0].isupper() and (language != "de" or match[1].casefold() in GERMAN_OPENERS):
            yield match.end()


def _inside(place: int, ranges: Sequence[Range]) -> bool:
    last = bisect_left(ranges, (place, 0)) - 1  # of those that start before it
    return last >= 0 and place < ranges[last][1]


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
