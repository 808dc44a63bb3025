"""What is put right in a model's translation of a sentence of a file, whatever the model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docflat.figures import localize_hours, localize_numbers
from docflat.sentences import Range

_ENDED = re.compile(r"[.!?…:;。！？]\W*$")
# After a word: 5. and usw. have points of their own. Short ones are German, which ends in parts of verbs.
_SHORT = "Uhr|ab|an|auf|aus|bei|ein|er|es|hat|ist|mit|sie|uns|vor|war|weg|zu"
_STOP = re.compile(rf"(?<![\w.])(?:[^\W\d_]{{4,}}|{_SHORT})\.$")


def finish(source: str, target: str, languages: tuple[str, str] | None, fixed: Sequence[Range] = ()) -> str:
    """Numbers and hours as the target language writes them, no full stop where the source has none: in cells.

    languages: of the model, if they are known; fixed: ranges of the source that stay as they are.
    """
    if languages is not None:
        target = localize_numbers(source, target, languages, fixed)
    if languages is not None and languages[1] == "de":
        target = localize_hours(source, target)
    return target[:-1] if _STOP.search(target) and not _ENDED.search(source) else target
