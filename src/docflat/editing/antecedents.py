"""What a pronoun may stand for: nouns of the draft before it, and their genders.

A list of nouns tells genders, and a compound has that of its end. A noun that translates a word for a person, or is in
the plural, is no candidate for *it*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from importlib.resources import files

from docflat.decoding.alignment import Links, find_words
from docflat.editing.revisions import SentenceAndDraft

GENDERS = "mfn"  # in the order of the forms
_PLURAL = "p"
_SHORTEST_END, _LONGEST_END = 4, 40  # letters of the end of a compound
_MANY = 3  # with more nouns than these in a sentence, each says little


@dataclass(frozen=True)
class Support:
    """What speaks for a gender, 1 or 0 each."""

    last_noun: float  # of the sentence before
    first_noun: float
    any_noun: float
    only_gender: float  # all nouns of the sentence before have it
    earlier_noun: float  # of the sentence before that
    noun_beside: float  # of the same sentence, before the pronoun
    pronoun: float  # that stands for it in the sentence before
    nearest_beside: float  # the nearest noun of the same sentence


@dataclass(frozen=True)
class Nouns:
    """Genders of a language's nouns, and what the source calls persons."""

    file: str  # in this folder
    persons: frozenset[str]
    pronouns: Mapping[str, str]  # of "it", and their genders

    @cached_property
    def genders(self) -> Mapping[str, str]:
        text = files("docflat.editing").joinpath(self.file).read_text(encoding="utf-8")
        lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
        return {line[0]: line[1] for line in lines}

    def gender(self, noun: str) -> str:
        """Empty: nobody knows."""
        return _gender(self, noun)

    def __hash__(self) -> int:
        return hash(self.file)


@lru_cache(maxsize=20_000)
def _gender(nouns: Nouns, noun: str) -> str:
    first = max(1, len(noun) - _LONGEST_END)
    ends = (noun[start:].capitalize() for start in range(first, len(noun) - _SHORTEST_END + 1))
    return next((nouns.genders[end] for end in (noun, *ends) if end in nouns.genders), "")


class Antecedents:
    """The nouns before a pronoun."""

    def __init__(
        self,
        nouns: Nouns,
        before: Sequence[tuple[SentenceAndDraft, Links]],
        current: tuple[SentenceAndDraft, Links],
        place: int,
    ) -> None:
        """before: the two sentences before, or fewer; place: of the pronoun in its draft."""
        self.beside = _genders(nouns, *current, place)
        self.last = _genders(nouns, *before[-1]) if before else []
        self.earlier = _genders(nouns, *before[-2]) if len(before) > 1 else []
        self.pronouns = _pronouns(nouns, *before[-1]) if before else set()

    def support(self, gender: str) -> Support:
        return Support(
            last_noun=float(self.last[-1:] == [gender]),
            first_noun=float(self.last[:1] == [gender]),
            any_noun=float(gender in self.last),
            only_gender=float(set(self.last) == {gender}),
            earlier_noun=float(gender in self.earlier),
            noun_beside=float(gender in self.beside),
            pronoun=float(gender in self.pronouns),
            nearest_beside=float(self.beside[-1:] == [gender]),
        )

    def numbers(self, new: str, old: Sequence[str]) -> dict[str, float]:
        """For a gender, and for the likeliest of those that the old word may have."""
        supports = [self.support(gender) for gender in old]
        numbers = {"no_noun": float(not self.last), "many_nouns": float(len(self.last) > _MANY)}
        for each in fields(Support):
            numbers[f"new_{each.name}"] = getattr(self.support(new), each.name)
            numbers[f"old_{each.name}"] = max(getattr(support, each.name) for support in supports)
        return numbers


def _genders(nouns: Nouns, pair: SentenceAndDraft, links: Links, end: int | None = None) -> list[str]:
    """Of the nouns before this place, in their order."""
    source, draft = pair
    source_words = [source[slice(*place)].lower() for place in find_words(source)]
    genders = []
    for number, (start, stop) in enumerate(find_words(draft)):
        if end is not None and start >= end:
            break
        gender = nouns.gender(draft[start:stop]) if draft[start].isupper() and stop - start > 2 else ""
        is_person = any(source_words[s] in nouns.persons for s, t in links if t == number)
        if gender and gender != _PLURAL and not is_person:
            genders.append(gender)
    return genders


def _pronouns(nouns: Nouns, pair: SentenceAndDraft, links: Links) -> set[str]:
    source, draft = ([text[slice(*place)].lower() for place in find_words(text)] for text in pair)
    return {nouns.pronouns[draft[t]] for s, t in links if source[s] == "it" and draft[t] in nouns.pronouns}
