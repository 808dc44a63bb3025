"""German hours at the right half of the day: 9 Uhr for 9 a.m., where a model wrote 21 Uhr."""

from __future__ import annotations

from docflat.translation.hours import PART_OF_DAY, UHR, find_wrong_hours


def localize_hours(source: str, german: str) -> str:
    """A German translation with hours at the right half of the day: 9 Uhr for 9 a.m., where a model wrote 21 Uhr.

    Not if it says a part of the day, which may be wrong as well; nor if it has the right hour too: in "at 9, not at
    9 pm" the first is no wrong 21 Uhr.
    """
    hours = {int(hour) % 24 for match in UHR.finditer(german) for hour in match.group(1, 2) if hour}
    if not PART_OF_DAY.search(german):
        for (start, end), right, said in reversed(find_wrong_hours(source, german)):
            if len(right) == 1 and not said and not right & hours:
                german = f"{german[:start]}{right.pop()}{german[end:]}"
    return german
