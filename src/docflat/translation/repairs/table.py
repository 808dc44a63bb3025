"""The table of repairs: which run on the translations of which language pair, in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from docflat.translation.repairs.full_stops import is_open, remove_full_stop
from docflat.translation.repairs.hours_german import has_clock, localize_hours
from docflat.translation.repairs.numbers import has_separators, localize_numbers


@dataclass(frozen=True)
class Repair:
    """A rule that changes a translation where it is surely wrong."""

    name: str
    applies: Callable[[str], bool]  # whether a sentence has what it looks for
    run: Callable[[str, str], str]  # a sentence and its translation: the translation as it should be


def _numbers(source: str, target: str) -> Repair:
    return Repair("numbers", has_separators, partial(localize_numbers, languages=(source, target)))


REPAIRS: dict[tuple[str, str], tuple[Repair, ...]] = {
    ("en", "de"): (
        _numbers("en", "de"),
        Repair("hours", has_clock, localize_hours),
        Repair("full stops", is_open, partial(remove_full_stop, language="de")),
    ),
    ("de", "en"): (_numbers("de", "en"), Repair("full stops", is_open, partial(remove_full_stop, language="en"))),
}


def repairs_for(languages: tuple[str, str] | None) -> tuple[Repair, ...]:
    """Those of a language pair; none of one that is not known."""
    return REPAIRS.get(languages, ()) if languages else ()
