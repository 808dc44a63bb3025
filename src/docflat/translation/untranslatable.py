"""Stretches of text that no model translates: words without an end, and sentences in a script that it never saw."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

LONGEST_WORD = 200  # characters; data such as keys and encoded bytes, over which a model works for minutes
_ENDLESS = re.compile(rf"([!-\u024f]{{{LONGEST_WORD},}})")  # of scripts that have blanks between words
_HALF = re.compile("[\ud800-\udfff]")
_FEWEST = 0.5  # of the letters of a sentence are in a script of its language

# What languages are written in, as `unicodedata` names it; of others nothing is known.
_SCRIPTS = {
    language: frozenset(scripts.split())
    for scripts, languages in (
        ("CYRILLIC", "ru uk bg be mk kk mn"),
        ("CYRILLIC LATIN", "sr"),
        ("GREEK", "el"),
        ("CJK", "zh"),
        ("CJK HIRAGANA KATAKANA KATAKANA-HIRAGANA", "ja"),
        ("HANGUL CJK", "ko"),
        ("ARABIC", "ar fa ur"),
        ("HEBREW", "he yi"),
        ("DEVANAGARI", "hi mr ne"),
        ("THAI", "th"),
        ("LATIN", "en de fr es it pt nl sv da no nb nn fi is pl cs sk sl hr ro hu et lv lt ga ca tr vi id ms"),
    )
    for language in languages.split()
}


def split_endless(text: str) -> list[str]:
    """The text, cut around words without an end: every second part is one, as far as there are any."""
    return _ENDLESS.split(text)


def is_broken(text: str) -> bool:
    """Whether it has half a surrogate pair, which no model can be given."""
    return not text.isascii() and _HALF.search(text) is not None


def scripts_of(language: str | None) -> frozenset[str]:
    """Empty: nothing is known of it."""
    return _SCRIPTS.get(language or "", frozenset())


def is_foreign(text: str, language: str | None) -> bool:
    """Whether most letters are of no script of this language; of a language that is not known that cannot be told."""
    scripts = scripts_of(language)
    if text.isascii() or not scripts:
        return False
    letters = [letter for letter in text if letter.isalpha()]
    return sum(script_of(letter) in scripts for letter in letters) < _FEWEST * len(letters)


@lru_cache(maxsize=10_000)
def script_of(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
