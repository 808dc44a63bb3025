"""Characters that a model never learned: letters of other scripts, pictographs, what is invisible.

Invisible ones are left out before a model reads a sentence. The others must be in its translation as they were: a
sentence that lost one is translated again with stand-ins for them, and if those are lost too, around them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from docflat.support.text_ranges import Range
from docflat.translation.placeholders import mask, unmask
from docflat.translation.untranslatable import LONGEST_WORD, is_foreign, script_of, scripts_of, split_endless

# Beyond Latin letters, accents, IPA, and the signs that a translation may write otherwise, such as quotes and units.
_CANDIDATE = re.compile("[\u0370-\u1dff\u1f00-\u1fff\u2190-\U0010ffff]")
_PICTOGRAPHS = ("So", "Sk", "Co", "Cn")
_ARROWS = "".join(map(chr, range(0x2190, 0x2200)))
_GOES_ON = re.compile(
    "[\u0300-\u036f\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\U000e0000-\U000e007f]*"
)  # after one of them
_BETWEEN = re.compile(r"[^\w]{0,3}")  # what does not part two of them
# Soft hyphens, blanks without width, marks of direction, tags: words with them inside are words that no model knows.
_HIDDEN = "\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f"
_INVISIBLE = re.compile(f"(?<= )[{_HIDDEN}]+ |[{_HIDDEN}]+")
# Marks in heaps on a letter: no language has as many, and each is a token or two of nonsense to a model.
_HEAP = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{5,}")
_MOST = 20  # odd stretches of a sentence that a model is shown
_ALPHABETS = {"LATIN", "CYRILLIC", "GREEK"}  # that need none of those
Languages = tuple[str, str]
Translate = Callable[[Sequence[str]], Sequence[str]]  # of sentences, each for itself


def visible(text: str, language: str | None) -> str:
    """The text without characters that nobody sees and without heaps of marks, in languages that need none of them."""
    if text.isascii() or not scripts_of(language) or not scripts_of(language) <= _ALPHABETS:
        return text
    return _HEAP.sub("", _INVISIBLE.sub("", text))


def find_odd(text: str, languages: Languages | None) -> list[Range]:
    """Stretches of odd characters, in order. Of languages that are not known these are pictographs alone."""
    if text.isascii():
        return []
    scripts = [scripts_of(language) for language in languages or ()]
    known = frozenset({"LATIN"}).union(*scripts) if scripts and all(scripts) else None
    ranges: list[Range] = []
    place = 0
    while match := _CANDIDATE.search(text, place):
        start, place = match.span()
        if _is_odd(match[0], known):
            place = _end_of(text, place)
            if ranges and _BETWEEN.fullmatch(text, ranges[-1][1], start):
                start = ranges.pop()[0]
            ranges.append((start, place))
    return ranges


def _end_of(text: str, place: int) -> int:
    match = _GOES_ON.match(text, place)
    assert match is not None
    return match.end()


@lru_cache(maxsize=10_000)
def _is_odd(letter: str, known: frozenset[str] | None) -> bool:
    category = unicodedata.category(letter)
    if category.startswith("L"):
        return known is not None and script_of(letter) not in known
    return category in _PICTOGRAPHS or letter in _ARROWS


def is_wordless(text: str, languages: Languages | None) -> bool:
    """Whether there is nothing but odd characters and signs."""
    odd = find_odd(text, languages)
    return bool(odd) and not any(map(_has_words, cut_at_odd(text, odd)[::2]))


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def split_untranslatable(text: str, languages: Languages | None) -> list[str]:
    """The text, cut around words without an end and around odd characters in any number: every second part is one."""
    odd = find_odd(text, languages)
    cuts = [place for place in odd if len(odd) > _MOST or place[1] - place[0] >= LONGEST_WORD]
    parts = []
    for number, part in enumerate(cut_at_odd(text, cuts)):
        parts += [part] if number % 2 else split_endless(part)
    return parts


def cut_at_odd(text: str, ranges: Sequence[Range]) -> list[str]:
    """The text around these ranges, and they: every second part is one."""
    ends = [0, *(end for place in ranges for end in place), len(text)]
    return [text[slice(*place)] for place in pairwise(ends)]


def keep_odd(
    texts: Sequence[str], translations: Sequence[str], languages: Languages | None, translate: Translate
) -> list[str]:
    """The translations; those that lost odd characters of their sentences, or are no translations, are done again.

    A sentence stays as it was where a model writes half a character, which it does where it was given odd ones.
    """
    results = list(translations)
    parts = {
        number: cut_at_odd(text, ranges) for number, text in enumerate(texts) if (ranges := find_odd(text, languages))
    }
    source = languages and languages[0]
    same = {number for number in parts if results[number] == texts[number] and not is_foreign(texts[number], source)}
    for again in (_with_stand_ins, _around_them):
        lost = [number for number, cut in parts.items() if number in same or not _has_all(cut[1::2], results[number])]
        same = set()
        if lost:
            for number, text in zip(lost, again([parts[number] for number in lost], translate), strict=True):
                results[number] = text
    return results


def _has_all(odd: Sequence[str], translation: str) -> bool:
    return all(translation.count(one) >= odd.count(one) for one in set(odd))


def _with_stand_ins(sentences: Sequence[Sequence[str]], translate: Translate) -> list[str]:
    """Empty: one is lost again, or stands in a word."""
    masked = [_mask(parts) for parts in sentences]
    new = iter(translate([one for one in masked if one]))
    whole = [unmask(next(new), parts[1::2]) if one else None for one, parts in zip(masked, sentences, strict=True)]
    return [one[0] if one else "" for one in whole]


def _mask(parts: Sequence[str]) -> str:
    ends = [0, *accumulate(map(len, parts))]
    return mask("".join(parts), list(pairwise(ends))[1::2]) or ""


def _around_them(sentences: Sequence[Sequence[str]], translate: Translate) -> list[str]:
    """Only what is between them is translated; the blanks around it stay."""
    words = [part for parts in sentences for part in parts[::2] if _has_words(part)]
    new = iter(translate([part.strip() for part in words]))

    def written(part: str) -> str:
        return part.replace(part.strip(), next(new)) if _has_words(part) else part

    return ["".join(part if number % 2 else written(part) for number, part in enumerate(parts)) for parts in sentences]
