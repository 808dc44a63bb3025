"""The table of repairs: which run on the translations of which language pair, in their order.

docs/repairs.md has their measured rates, and those of what is not here any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from docflat.translation.repairs.hours_german import has_morning_hours, localize_hours
from docflat.translation.repairs.numbers_german import has_english_thousands, has_thousands, localize_numbers

Languages = tuple[str, str]


@dataclass(frozen=True)
class Repair:
    """A rule that changes a translation where it is surely wrong."""

    name: str
    applies: Callable[[str], bool]  # whether a sentence has what it looks for
    run: Callable[[str, str], str]  # a sentence and its translation: the translation as it should be


REPAIRS: dict[Languages, tuple[Repair, ...]] = {
    ("en", "de"): (
        Repair("numbers", has_thousands, localize_numbers),
        Repair("hours", has_morning_hours, localize_hours),
    ),
}
# Numbers that nothing repairs, for people write them too, and that are others to who reads them.
MISREAD: dict[Languages, Callable[[str, str], bool]] = {("en", "de"): has_english_thousands}


def repairs_for(languages: Languages | None) -> tuple[Repair, ...]:
    """Those of a language pair; none of one that is not known."""
    return REPAIRS.get(languages, ()) if languages else ()


def is_misread(source: str, target: str, languages: Languages | None) -> bool:
    """Whether a translation has a number of its source in a way that its readers take for another."""
    misread = MISREAD.get(languages) if languages else None
    return misread is not None and misread(source, target)
