"""No full stop at the end of a translation where its source has none: headings and cells of tables."""

from __future__ import annotations

import re

from docflat.support.punctuation import SENTENCE_ENDS
from docflat.translation.abbreviations import ABBREVIATIONS

_ENDED = re.compile(rf"[{re.escape(SENTENCE_ENDS)}:;]\W*$")
_LETTER = re.compile(r"[^\W\d_](?=[\W\d_]*$)")
# A full stop after a word that is as short may belong to an abbreviation that nobody listed, but for these.
_SHORTEST = {"de": 4, "en": 3}
_SHORT_WORDS = {
    "de": "Uhr ab an auf aus bei ein er es hat ist mit sie uns vor war weg zu",
    "en": "am an as at be by do go he if is it me my of on or so to up us we",
}


def _pattern(language: str) -> re.Pattern[str]:
    known = ABBREVIATIONS[language]
    abbreviations = "|".join(map(re.escape, sorted(known.before_more | known.may_end)))
    short = _SHORT_WORDS[language].replace(" ", "|")
    street = "|[^\\W\\d_]*str" if language == "de" else ""  # Bahnhofstr.
    return re.compile(rf"(?<![\w.])(?!(?i:{abbreviations}{street})\.)(?:[^\W\d_]{{{_SHORTEST[language]},}}|{short})\.$")


_STOPS = {language: _pattern(language) for language in _SHORTEST}


def is_open(source: str) -> bool:
    """Whether the repair may have something to do: the source has letters, and no full stop.

    Scripts without capitals have full stops of their own, as Hindi, or none, as Thai: there it says nothing.
    """
    last = _LETTER.search(source)
    return last is not None and last[0].lower() != last[0].upper() and not _ENDED.search(source)


def remove_full_stop(source: str, target: str, language: str) -> str:
    """The translation without a full stop of the model's own. language: of the translation."""
    return target[:-1] if _STOPS[language].search(target) and is_open(source) else target
