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

from docflat.documents import Document

THINGS = 12  # a document names each at most once, so that a reference has one antecedent
WORDS = 20  # other words
ENDINGS = ("r", "s")
PRONOUNS = ("ol", "am")  # one for each ending
SENTENCES = 12  # in a document
FARTHEST = 8  # sentences between a thing and a reference to it


@dataclass(frozen=True)
class ProbeDocument:
    """A document and what must be known to score its translation; one entry a sentence."""

    document: Document
    distances: tuple[int, ...]  # how far back the thing was named; 0: no reference
    pronouns: tuple[str, ...]  # what the reference must become


class Language:
    """The words, drawn once; documents are drawn from them."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(f"words {seed}")
        drawn: set[str] = set()
        while len(drawn) < 2 * (THINGS + WORDS):
            drawn.add("".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(2)))
        words = sorted(drawn)
        chance.shuffle(words)
        self.things = words[:THINGS], words[THINGS : 2 * THINGS]  # source and target stems
        self.words = words[2 * THINGS : 2 * THINGS + WORDS], words[2 * THINGS + WORDS :]

    def document(self, chance: random.Random) -> ProbeDocument:
        things = chance.sample(range(THINGS), SENTENCES)
        genders = [chance.randrange(len(ENDINGS)) for _ in things]
        source: list[str] = []
        target: list[str] = []
        distances: list[int] = []
        pronouns: list[str] = []
        for place, (thing, gender) in enumerate(zip(things, genders, strict=True)):
            first, second, third = (chance.randrange(WORDS) for _ in range(3))
            distance = chance.randint(1, min(place, FARTHEST)) if place else 0
            pronoun = PRONOUNS[genders[place - distance]] if distance else ""
            reference = "we" + self.things[0][things[place - distance]]
            for side, middle, text in ((0, reference, source), (1, pronoun, target)):
                named = self.things[side][thing] + ENDINGS[gender]
                words = self.words[side]
                text.append(
                    " ".join([words[first], named, words[second], *([middle, words[third]] if distance else [])])
                )
            distances.append(distance)
            pronouns.append(pronoun)
        return ProbeDocument(Document(source, target), tuple(distances), tuple(pronouns))

    def documents(self, number: int, seed: str) -> list[ProbeDocument]:
        chance = random.Random(seed)
        return [self.document(chance) for _ in range(number)]
