"""A made-up language in which one word a sentence can only be translated with another sentence at hand.

Every sentence names a thing, whose ending shows its gender, and refers back to a thing that an earlier sentence of the
document named. As with "it", the reference does not show the gender; its translation must (er, sie, es):

    source  buse vonur lolo              target  kuge fenir masa
            niru tumus kopu wevonu leti          pura negis sazi ol lunu     wevonu: what was called vonur, hence ol

Both languages have the same word order, and every other word has one translation. How far back the thing was named is
drawn at random, and known.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

from docflat.data.documents import Document

ENDINGS = ("r", "s")
PRONOUNS = ("ol", "am")  # one for each ending


@dataclass(frozen=True)
class ProbeDocument:
    """A document and what must be known to score its translation; one entry a sentence."""

    document: Document
    distances: tuple[int, ...]  # how far back the thing was named; 0: no reference
    pronouns: tuple[str, ...]  # what the reference must become


@dataclass(frozen=True)
class Language:
    """The words are drawn once, by the seed; documents are drawn from them."""

    seed: int
    sentences: int = 12  # in a document
    farthest: int = 8  # sentences between a thing and a reference to it
    things: int = 12  # a document names each at most once, so that a reference has one antecedent
    words: int = 20  # others

    @cached_property
    def lexicon(self) -> tuple[list[str], list[str], list[str], list[str]]:
        """Stems of things and other words, source and target: entry n of one means entry n of the other."""
        chance = random.Random(f"words {self.seed}")
        drawn: set[str] = set()
        while len(drawn) < 2 * (self.things + self.words):
            drawn.add("".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(2)))
        stems = sorted(drawn)
        chance.shuffle(stems)
        things, words = stems[: 2 * self.things], stems[2 * self.things :]
        return things[::2], things[1::2], words[::2], words[1::2]

    def document(self, chance: random.Random) -> ProbeDocument:
        source_things, target_things, source_words, target_words = self.lexicon
        things = chance.sample(range(self.things), self.sentences)
        genders = [chance.randrange(len(ENDINGS)) for _ in things]
        source: list[str] = []
        target: list[str] = []
        distances: list[int] = []
        pronouns: list[str] = []
        for place, (thing, gender) in enumerate(zip(things, genders, strict=True)):
            distance = chance.randint(1, min(place, self.farthest)) if place else 0
            pronoun = PRONOUNS[genders[place - distance]] if distance else ""
            reference = "we" + source_things[things[place - distance]]
            first, second, third = (chance.randrange(self.words) for _ in range(3))
            for text, stems, words, referring in (
                (source, source_things, source_words, reference),
                (target, target_things, target_words, pronoun),
            ):
                sentence = [words[first], stems[thing] + ENDINGS[gender], words[second]]
                text.append(" ".join([*sentence, referring, words[third]] if distance else sentence))
            distances.append(distance)
            pronouns.append(pronoun)
        return ProbeDocument(Document(source, target), tuple(distances), tuple(pronouns))

    def documents(self, number: int, split: str) -> list[ProbeDocument]:
        """The documents of a split, such as "train": always the same."""
        chance = random.Random(f"{split} {self.seed}")
        return [self.document(chance) for _ in range(number)]
