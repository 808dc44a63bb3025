"""What is put right in a model's translation of a sentence of a file, whatever the model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docflat.figures import localize_numbers
from docflat.sentences import Range

_ENDED = re.compile(r"[.!?…:;。！？]\W*$")
_STOP = re.compile(r"(?<![\w.])[^\W\d_]{4,}\.$")  # after a word: 5. and usw. have points of their own


def finish(source: str, target: str, languages: tuple[str, str] | None, fixed: Sequence[Range] = ()) -> str:
    """Numbers as the target language writes them, and no full stop where the source has none: in headings, cells.

    languages: of the model, if they are known; fixed: ranges of the source that stay as they are.
    """
    if languages is not None:
        target = localize_numbers(source, target, languages, fixed)
    return target[:-1] if _STOP.search(target) and not _ENDED.search(source) else target
