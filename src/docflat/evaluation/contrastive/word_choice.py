"""Contrastive choices of words: a noun as a document has translated it before, against another translation of it.

Both translations are usual ones of the English word and have the same gender, so only what stands earlier in the
document tells which is right. The word may have been 0 to 20 sentences back.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from docflat.data.documents import Document
from docflat.evaluation.contrastive.examples import ContrastiveExample, Fields
from docflat.evaluation.contrastive.german_genders import WORD, Genders, is_noun

MOST_BACK = 20  # sentences
RANGES = ((0, 0), (1, 1), (2, 3), (4, 7), (8, 12), (13, 20))  # how far back, as results are told apart

_ENGLISH = re.compile(r"[a-z]{4,}")
_ROUNDS = 4  # of IBM model 1
_LEAST_TOGETHER = 5  # sentences that have a word and its translation
_LEAST_SHARE = 0.1  # of a word's translations that are this one
_LEAST_SOURCE = 0.3  # of a translation's occurrences that come from this word


class NounTranslations:
    """Which German nouns translate an English word, and how often: IBM model 1 (Brown et al., 1993), nouns only."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        sentences = [(sorted(set(english_words(source))), sorted(set(nouns(target)))) for source, target in pairs]
        together = Counter((word, noun) for words, targets in sentences for word in words for noun in targets)
        share = {pair: 1.0 for pair, number in together.items() if number >= _LEAST_TOGETHER}
        counts: dict[tuple[str, str], float] = {}
        for _ in range(_ROUNDS):
            counts = defaultdict(float)
            for words, targets in sentences:
                for noun in targets:
                    weights = {word: share[word, noun] for word in words if (word, noun) in share}
                    total = sum(weights.values())
                    for word, weight in weights.items():
                        counts[word, noun] += weight / total
            of_word: dict[str, float] = defaultdict(float)
            of_noun: dict[str, float] = defaultdict(float)
            for (word, noun), number in counts.items():
                of_word[word] += number
                of_noun[noun] += number
            share = {(word, noun): number / of_word[word] for (word, noun), number in counts.items()}
        self.of: dict[str, dict[str, float]] = defaultdict(dict)
        for (word, noun), number in counts.items():
            if share[word, noun] >= _LEAST_SHARE and number / of_noun[noun] >= _LEAST_SOURCE:
                self.of[word][noun] = share[word, noun]

    def rivals(self, word: str, noun: str, genders: Genders) -> list[str]:
        """Its other translations of the same gender, the most usual first."""
        gender = genders.of(noun)
        known = self.of.get(word, {})
        same = [other for other in known if gender and genders.of(other) == gender and not akin(other, noun)]
        return sorted(same, key=lambda other: -known[other])


def english_words(sentence: str) -> list[str]:
    return [word for word in WORD.findall(sentence) if _ENGLISH.fullmatch(word)]


def nouns(sentence: str) -> list[str]:
    return [word for word in WORD.findall(sentence) if is_noun(word) and word.isalpha()]


def akin(a: str, b: str) -> bool:
    """Forms, spellings or compounds of one word."""
    first, second = (word.lower().replace("ß", "ss") for word in (a, b))
    return first[:4] == second[:4] or first.endswith(second) or second.endswith(first)


def find_choices(
    document: Document, translations: NounTranslations, genders: Genders, context: int = MOST_BACK
) -> Iterator[ContrastiveExample]:
    """The last noun of a sentence whose English word was translated the same way where it was last said."""
    targets = document.target or []
    sources = [english_words(source) for source in document.source]
    german = [nouns(target) for target in targets]
    for index in range(len(targets)):
        for word in dict.fromkeys(sources[index]):
            known = translations.of.get(word, {})
            used = [noun for noun in german[index] if noun in known]
            if not used or len(set(used)) > 1 or len(used) != sources[index].count(word):
                continue
            rivals = translations.rivals(word, used[0], genders)
            back = 0 if len(used) > 1 else _back(word, sources, index)
            if not rivals or back is None:
                continue
            # What the document said wherever it had the word before must be the same.
            earlier = [german[n] for n in range(max(0, index - MOST_BACK), index) if word in sources[n]]
            if any(used[0] not in before or set(rivals) & set(before) for before in earlier):
                continue
            fields: Fields = {
                "word": word,
                "choice": used[0],
                "usual": "yes" if known[used[0]] >= known[rivals[0]] else "no",
                "distance": back,
                "range": range_of(back),
                "line": document.line + index,
            }
            yield ContrastiveExample(
                document.source[index],
                targets[index],
                (replace_last(targets[index], used[0], rivals[0]),),
                tuple(document.source[max(index - context, 0) : index]),
                tuple(targets[max(index - context, 0) : index]),
                fields,
            )


def _back(word: str, sources: Sequence[Sequence[str]], index: int) -> int | None:
    """How many sentences back the word was said last, if not too many."""
    for back in range(1, min(index, MOST_BACK) + 1):
        if word in sources[index - back]:
            return back
    return None


def range_of(back: int) -> str:
    first, last = next((first, last) for first, last in RANGES if first <= back <= last)
    return str(first) if first == last else f"{first}-{last}"


def replace_last(text: str, word: str, other: str) -> str:
    places = [match.span() for match in WORD.finditer(text) if match[0] == word]
    start, end = places[-1]
    return text[:start] + other + text[end:]


def choose_even(examples: Sequence[ContrastiveExample], seed: int) -> list[ContrastiveExample]:
    """In each range as many whose choice is the usual one as others, so that without context half is right at best."""
    draw = random.Random(seed)
    chosen: list[int] = []
    for each in dict.fromkeys(example.fields["range"] for example in examples):
        groups = [
            [n for n, one in enumerate(examples) if (one.fields["range"], one.fields["usual"]) == (each, usual)]
            for usual in ("yes", "no")
        ]
        size = min(map(len, groups))
        chosen += [n for group in groups for n in draw.sample(group, size)]
    return [examples[n] for n in sorted(chosen)]
