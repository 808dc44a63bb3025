"""Terms and the translations that a user wants for them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import takewhile

from docflat.support.errors import InputError
from docflat.support.text_ranges import Range
from docflat.translation.placeholders import Terms

_TOKEN = re.compile(r"\w+|[^\w\s]")
_STEM, _ENDING = 4, 2  # letters: of what two forms of a word share at least, and of what they do not at most

Wanted = tuple[Range, str]  # a term's place in a sentence, and its translation


def find_fault(term: str, translation: str) -> str | None:
    """What is wrong with an entry."""
    if not term.strip() or not translation.strip():
        return "a term and its translation have a letter each, at least"
    if any(unicodedata.category(char) == "Cc" for char in translation.strip()):  # no office file can hold it
        return "a control character in a translation"
    return None


class Glossary:
    """Terms are whole words in the same letters; at the start of a sentence their first may be a capital."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        for term, translation in entries.items():
            if fault := find_fault(term, translation):
                raise InputError(f"{fault}: {term!r}, {translation!r}")
        self._entries = {" ".join(term.split()): translation.strip() for term, translation in entries.items()}
        self._initial = {term[0].upper() + term[1:]: translation for term, translation in self._entries.items()}
        self._terms = Terms([*self._entries, *self._initial])

    def find(self, sentence: str, fixed: Sequence[Range] = ()) -> list[Wanted]:
        """Where its terms are in a sentence, outside of what is fixed; of those that overlap, the first."""
        hits: list[Wanted] = []
        for start, end in self._terms.find(sentence):
            term = " ".join(sentence[start:end].split())
            translation = self._entries.get(term) or (self._initial[term] if _is_first(sentence, start) else None)
            free = not any(a < end and start < b for a, b in [*fixed, *(place for place, _ in hits)])
            if translation is not None and free:
                hits.append(((start, end), translation))
        return hits


def has_all(target: str, translations: Sequence[str]) -> bool:
    """Whether a sentence has each translation as often as the list has it; endings may differ: words are inflected."""
    tokens = list(_TOKEN.finditer(target))
    free = [True] * len(tokens)
    for translation in sorted(translations, key=len, reverse=True):  # "apple" is not found in "red apple" again
        words = _TOKEN.findall(translation)
        for start in range(len(tokens) - len(words) + 1):
            expected = words
            if _is_first(target, tokens[start].start()):
                expected = [_capital(words[0], tokens[start][0]), *words[1:]]
            here = range(start, start + len(words))
            if all(free[n] and _alike(tokens[n][0], word) for n, word in zip(here, expected, strict=True)):
                for n in here:
                    free[n] = False
                break
        else:
            return False
    return True


def at_start(translation: str, sentence: str) -> str:
    """A translation at the start of a sentence, which has a capital if its source has; iPhone stays as it is."""
    first = next(filter(str.isalpha, sentence), "")
    plain = translation.split()[0].islower()
    return translation[0].upper() + translation[1:] if first.isupper() and plain else translation


def _is_first(sentence: str, start: int) -> bool:
    return not any(map(str.isalnum, sentence[:start]))


def _capital(word: str, model: str) -> str:
    return word[0].upper() + word[1:] if model[0].isupper() else word


def _alike(word: str, other: str) -> bool:
    """Whether two words are the same, or forms of one."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    return word == other or (shared >= _STEM and max(len(word), len(other)) - shared <= _ENDING)
