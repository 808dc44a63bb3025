"""The numbers of a sentence and of its translation, compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from docflat.translation.hours import find_clocks, find_wrong_hours

_RUN = re.compile("[0-9]+")
_THOUSANDS = re.compile(r"(?<=[0-9])[.,'’\u00a0\u202f](?=[0-9]{3}(?![0-9]))")
_BLANK = re.compile(r"(?<=[0-9]) (?=[0-9]{3}(?![0-9]))")
_NOUN = r"(?![:.]?[0-9]|\s?Uhr)\s[A-ZÄÖÜ]"  # German: 15 Pillen are no hour
# How words for 1 to 12 begin, in English and German: numbers, and months. In other languages they are not known.
_WORDS = [
    re.compile(rf"\b(?:{stems})")
    for stems in (
        "one|first|once|ein|erst|jan",
        "two|second|twice|zwei|zwo|feb",
        "three|third|drei|dritt|mar|mär",
        "four|vier|apr",
        "five|fifth|fünf|may|mai",
        "six|sechs|jun",
        "seven|sieb|jul",
        "eight|acht|aug",
        "nine|ninth|neun|sep",
        "ten|zehn|oct|okt",
        "eleven|elf|nov",
        "twelve|twelfth|zwölf|dec|dez|noon|mittag|midnight|mitternacht",
    )
]


def numbers_differ(source: str, target: str) -> bool:
    """Whether a translation has other numbers than its source, whatever separates their digits.

    What may become a word or come from one is no difference: small numbers, months; nor is the clock of 24 hours for
    that of 12, if it is the same hour.
    """
    # A blank parts thousands, or two numbers: only what holds for neither is a difference.
    other = all(_differ(*texts) for texts in ((source, target), (_BLANK.sub("", source), _BLANK.sub("", target))))
    return other or bool(find_wrong_hours(source, target) or find_wrong_hours(target, source))


def _differ(source: str, target: str) -> bool:
    left, new = ([_plain(run) for run in _RUN.findall(_THOUSANDS.sub("", text))] for text in (source, target))
    left, new = _without(left, new), _without(new, left)
    for text, other, here, there in ((source, target, left, new), (target, source, new, left)):
        for written, hour in find_clocks(text):
            shifted = [new for new in (hour, hour or 24) if _plain(str(new)) in there]
            if str(written) in here and shifted and not re.search(rf"(?<![0-9]){shifted[0]}{_NOUN}", other):
                here.remove(str(written))
                there.remove(_plain(str(shifted[0])))
    decades = [(a, b) for a in left for b in new if {len(a), len(b)} == {2, 4} and a[-2:] == b[-2:]]
    left, new = _without(left, [a for a, _ in decades]), _without(new, [b for _, b in decades])
    return any(not _is_word(number, target) for number in left) or any(not _is_word(number, source) for number in new)


def _plain(run: str) -> str:
    """Without zeros before it: 5 for 05, and nothing for 0 and 00; but 000 are thousands."""
    return run.lstrip("0") or run * (len(run) > 2)


def _without(numbers: Sequence[str], others: Sequence[str]) -> list[str]:
    """Those that the others do not have, each as often as it is there too often; in order."""
    left = Counter(others)
    more = []
    for number in numbers:
        if left[number]:
            left[number] -= 1
        else:
            more.append(number)
    return more


def _is_word(number: str, text: str) -> bool:
    """Whether a text has it as a word; nothing, as in 10.00, needs none."""
    if not number:
        return True
    return len(number) <= 2 and int(number) <= len(_WORDS) and _WORDS[int(number) - 1].search(text.lower()) is not None
