"""Hours of the day in English and German texts: those of the clock of 12, and those that a German text says."""

from __future__ import annotations

import re

from docflat.support.text_ranges import Range

# 3:30 p.m.; from 3 to 5 pm, where the first has the half of the day too. 15.30 Uhr; 8 Uhr abends.
_HOUR = r"(?<![0-9:.,])([0-9]{1,2})(?:[:.][0-9]{2})?"
CLOCK = re.compile(rf"(?:{_HOUR}\s?(?:-|–|to|and|until)\s?)?{_HOUR}\s?([ap])\.?\s?m\b", re.IGNORECASE)
UHR = re.compile(
    rf"(?:{_HOUR}(?:\s?Uhr)?\s?(?:-|–|bis|und)\s?)?{_HOUR}\s?Uhr\b"
    r"(?:\s(?:am\s)?(?:(morgen|vormittag|früh)|(nachmittag|abend)))?",
    re.IGNORECASE,
)
_OF_24 = re.compile(r"(?<![0-9:.,])([0-9]{1,2})[:.][0-9]{2}(?![0-9])")
PART_OF_DAY = re.compile("mittag|abend|nacht", re.IGNORECASE)


def find_clocks(text: str) -> list[tuple[int, int]]:
    """The hours of the clock of 12, as they are written, and as hours of the day: 9 p.m. is 9 and 21."""
    hours = []
    for match in CLOCK.finditer(text):
        last = int(match[2])
        half = 12 * (match[3].lower() == "p")
        hours.append((last, last % 12 + half))
        if match[1]:  # of 11 to 1 pm the first is before noon
            first = int(match[1])
            hours.append((first, first % 12 + (half if first % 12 <= last % 12 else 12 - half)))
    return hours


def find_wrong_hours(text: str, german: str) -> list[tuple[Range, set[int], bool]]:
    """Hours of a German text at the other half of the day than those of a text in the clock of 12.

    Such is 9 Uhr for 9 p.m., without a word of evening. What the other text has in the clock of 24 is right. With
    each the hours that it should be, and whether a part of the day is said of it.
    """
    hours = [hour for _, hour in find_clocks(text)]
    others = {int(hour) % 24 for hour in _OF_24.findall(CLOCK.sub(" ", text))}
    in_part = PART_OF_DAY.search(german) is not None
    wrong = []
    for match in UHR.finditer(german) if hours else ():
        for group in (1, 2):
            if match[group]:
                hour = int(match[group]) % 24
                alike = {one for one in hours if one % 12 == hour % 12}
                morning, evening = (bool(match[n]) and group == 2 for n in (3, 4))
                if alike and hour not in others and not alike & _meant(hour, morning, evening, in_part):
                    wrong.append((match.span(group), alike, morning or evening))
    return wrong


def _meant(hour: int, morning: bool, evening: bool, in_part: bool) -> set[int]:
    """The hours of the day that an hour may be; in_part: a part of the day is said somewhere."""
    if hour > 12 or morning:
        return {hour}
    if evening:
        return {hour % 12 + 12}
    return {hour % 12, hour % 12 + 12} if in_part else {hour}
