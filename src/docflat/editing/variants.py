"""Words of a draft whose form the source leaves open, and the draft with other forms in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from docflat.decoding.alignment import Links, find_words
from docflat.support.text_ranges import Range, overlap

Forms = tuple[str, ...]  # of one word, by what decides: masculine, feminine and neuter
OpenForms = Mapping[str, Sequence[Forms]]  # by word of the source: a row for each case or ending

_MOST_WORDS = 4  # of a sentence; in a list of more, each is changed for itself
_MOST_VARIANTS = 24
_OPENERS = frozenset(".?!:…\"„“”»«‚‘'()-–—")  # a sentence may begin after them


@dataclass(frozen=True)
class OpenWord:
    """A word of a draft that translates one which leaves its form open."""

    place: Range  # in the draft
    form: str  # in small letters
    source: str  # what it translates, in small letters


@dataclass(frozen=True)
class Change:
    place: Range  # in the draft
    old: str
    new: str
    source: str  # what both translate


@dataclass(frozen=True)
class Variant:
    """A draft with the same other gender in one place, or in all of them."""

    text: str
    changes: tuple[Change, ...]  # in their order
    gender: int  # of the new forms: their column
    before: frozenset[int]  # genders that the old forms may have


def find_open_words(
    source: str, draft: str, links: Links, forms: OpenForms, fixed: re.Pattern[str] | None = None
) -> list[OpenWord]:
    """In the order of the draft; fixed: stretches of it whose words are left alone."""
    closed = [match.span() for match in fixed.finditer(draft)] if fixed else []
    source_words, draft_words = find_words(source), find_words(draft)
    open_words = []
    for number, place in enumerate(draft_words):
        word = draft[slice(*place)]
        form = word.lower()
        # German Sie within a sentence is another word.
        if word != form and not (word == form.capitalize() and starts_sentence(draft, place[0])):
            continue
        if overlap(place, closed):
            continue
        linked = [source[slice(*source_words[s])].lower() for s, t in links if t == number]
        open_word = next((one for one in linked if any(form in row for row in forms.get(one, ()))), None)
        if open_word is not None:
            open_words.append(OpenWord(place, form, open_word))
    return open_words


def starts_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip()
    return not before or before[-1] in _OPENERS


def make_variants(draft: str, words: Sequence[OpenWord], forms: OpenForms) -> list[Variant]:
    """Each word in another form, and all of them together: what stands for the same noun agrees."""
    groups = [[word] for word in words]
    if 1 < len(words) <= _MOST_WORDS:
        groups.append(list(words))
    variants: dict[str, Variant] = {}
    for group in groups:
        rows = [[row for row in forms[word.source] if word.form in row] for word in group]
        before = frozenset(
            gender for word, row_of in zip(group, rows, strict=True) for row in row_of for gender in _columns(row, word)
        )
        for gender in range(len(rows[0][0])):
            # A form can be that of two cases, so that there are several others for it.
            for chosen in product(*(sorted({row[gender] for row in row_of}) for row_of in rows)):
                variant = _variant(draft, group, chosen, gender, before)
                if variant is not None:
                    variants.setdefault(variant.text, variant)
    return list(variants.values())[:_MOST_VARIANTS]


def _columns(row: Forms, word: OpenWord) -> list[int]:
    return [gender for gender, form in enumerate(row) if form == word.form]


def _variant(
    draft: str, group: Sequence[OpenWord], chosen: Sequence[str], gender: int, before: frozenset[int]
) -> Variant | None:
    changes = []
    for word, form in zip(group, chosen, strict=True):
        old = draft[slice(*word.place)]
        if form != word.form:
            changes.append(Change(word.place, old, form.capitalize() if old[0].isupper() else form, word.source))
    return Variant(apply_changes(draft, changes), tuple(changes), gender, before) if changes else None


def apply_changes(draft: str, changes: Sequence[Change]) -> str:
    parts, end = [], 0
    for change in changes:
        parts += [draft[end : change.place[0]], change.new]
        end = change.place[1]
    return "".join([*parts, draft[end:]])
