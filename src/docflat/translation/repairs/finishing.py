"""What is put right in a model's translation of a sentence of a file, whatever the model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docflat.support.text_ranges import Range
from docflat.translation.repairs.numbers import localize_hours, localize_numbers

_ENDED = re.compile(r"[.!?…:;。！？]\W*$")
_LETTER = re.compile(r"[^\W\d_](?=[\W\d_]*$)")
# After a word: 5., usw. and MwSt. have points of their own. Short ones are German, which ends in parts of verbs.
_ABBREVIATED = "MwSt|Sept|inkl|exkl|zzgl|evtl|[^\\W\\d_]*[Ss]tr"
_SHORT = "Uhr|ab|an|auf|aus|bei|ein|er|es|hat|ist|mit|sie|uns|vor|war|weg|zu"
_STOP = re.compile(rf"(?<![\w.])(?!(?:{_ABBREVIATED})\.)(?:[^\W\d_]{{4,}}|{_SHORT})\.$")


def finish(source: str, target: str, languages: tuple[str, str] | None, fixed: Sequence[Range] = ()) -> str:
    """Numbers and hours as the target language writes them, no full stop where the source has none: in cells.

    languages: of the model, if they are known; fixed: ranges of the source that stay as they are.
    """
    if languages is not None:
        target = localize_numbers(source, target, languages, fixed)
    if languages is not None and languages[1] == "de":
        target = localize_hours(source, target)
    return target[:-1] if _STOP.search(target) and _has_no_stop(source) else target


def _has_no_stop(source: str) -> bool:
    """Scripts without capitals have full stops of their own, as Hindi, or none, as Thai: there it says nothing."""
    last = _LETTER.search(source)
    return last is not None and last[0].lower() != last[0].upper() and not _ENDED.search(source)
