"""Hours before noon of an English text in German: 9 Uhr for 9 a.m., where a model wrote 21 Uhr."""

from __future__ import annotations

import re

from docflat.translation.hours import CLOCK, PART_OF_DAY, UHR, find_clocks, find_wrong_hours

# An hour that is not said with a.m. or p.m. may be meant by 8 Uhr as well: "leaves at 8 pm and arrives at eight".
_WORDS = [
    "twelve|noon|midnight",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
]
# Numbers that are no hours: dates, ordinals, percents, money, decimals.
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_NO_HOUR = re.compile(
    rf"\b{_MONTH}\.? [0-9]+(?:st|nd|rd|th)?\b|\b[0-9]+(?:st|nd|rd|th)?(?: of)? {_MONTH}|\b[0-9]+(?:st|nd|rd|th)\b"
    r"|[$€£][0-9]+|(?<![0-9])[0-9]+(?:[.,][0-9]+| ?(?:%|percent))",
    re.IGNORECASE,
)


def has_morning_hours(source: str) -> bool:
    """Whether the repair may have something to do: an hour before noon."""
    return any(hour < 12 for _, hour in find_clocks(source))


def localize_hours(source: str, german: str) -> str:
    """A German translation without afternoon hours that should be before noon.

    The other way round nothing changes: Germans say 9 Uhr for 9 p.m. too. Nor does it where the translation says a part
    of the day, which may be wrong as well, nor where it is not sure which hour of the source is meant: it has both
    8 a.m. and 8 p.m., or another 8.
    """
    if not has_morning_hours(source) or PART_OF_DAY.search(german):
        return german
    clocks = [hour for _, hour in find_clocks(source)]
    others = _NO_HOUR.sub(" ", CLOCK.sub(" ", source)).lower()
    written = [int(hour) % 12 for match in UHR.finditer(german) for hour in match.group(1, 2) if hour]
    for (start, end), hours, said in reversed(find_wrong_hours(source, german)):
        (hour, *more) = hours
        often = sum(clock % 12 == hour % 12 for clock in clocks)
        is_sure = not more and not said and written.count(hour % 12) <= often and not _mentions(others, hour)
        if is_sure and hour < 12 < int(german[start:end]):
            german = f"{german[:start]}{hour}{german[end:]}"
    return german


def _mentions(text: str, hour: int) -> bool:
    """Whether a text has this hour of the day, or that of the other half of it, in digits or as a word."""
    digits = f"0?{hour % 12}|{hour % 12 + 12}" if hour % 12 else "12|0?0|24"
    return re.search(rf"(?<![0-9])(?:{digits})(?![0-9])|\b(?:{_WORDS[hour % 12]})\b", text) is not None
