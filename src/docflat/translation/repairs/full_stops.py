"""No full stop at the end of a translation where its source has none: headings and cells of tables."""

from __future__ import annotations

import re

from docflat.support.punctuation import SENTENCE_ENDS

_ENDED = re.compile(rf"[{re.escape(SENTENCE_ENDS)}:;]\W*$")
_LETTER = re.compile(r"[^\W\d_](?=[\W\d_]*$)")
# What a full stop belongs to, by language: abbreviations, after which it stays. 5., too, has one of its own.
ABBREVIATIONS = {
    "de": "MwSt|Sept|inkl|exkl|zzgl|evtl|[^\\W\\d_]*[Ss]tr",
    "en": "approx|[Dd]ept|[Ii]nc|[Cc]orp|[Ee]xcl|[Ii]ncl|[Aa]ppt|[Ee]st|[Mm]isc|[Ss]ept",
}
# Shorter words than four letters may be abbreviations that nobody listed, but for these.
SHORT = {
    "de": "Uhr|ab|an|auf|aus|bei|ein|er|es|hat|ist|mit|sie|uns|vor|war|weg|zu",
    "en": "a|am|an|are|as|at|be|but|by|can|did|do|for|had|has|he|her|him|his|how|I|if|in|is|it|its|me|my|not|now|of|off"
    "|on|one|or|our|out|own|see|she|so|the|to|too|two|up|us|was|way|we|who|why|you",
}
_STOPS = {
    language: re.compile(rf"(?<![\w.])(?!(?:{ABBREVIATIONS[language]})\.)(?:[^\W\d_]{{4,}}|{SHORT[language]})\.$")
    for language in SHORT
}


def remove_full_stop(source: str, target: str, language: str) -> str:
    """The translation without a full stop of the model's own. language: its own."""
    return target[:-1] if _STOPS[language].search(target) and _has_no_stop(source) else target


def _has_no_stop(source: str) -> bool:
    """Scripts without capitals have full stops of their own, as Hindi, or none, as Thai: there it says nothing."""
    last = _LETTER.search(source)
    return last is not None and last[0].lower() != last[0].upper() and not _ENDED.search(source)
