"""Sentences with an "it", each as a document with some sentences before it.

    python recipes/ship/pronouns.py {named,neuter,unnamed} OUT FEWEST MOST CORPUS...

Reads CORPUS.en and CORPUS.de, or .xz; writes OUT.en and OUT.de. How many sentences stand before it, as far as there
are so many, is left to chance between FEWEST and MOST: a sentence knows its place, which must not tell what comes.

named: "it" is *er* or *sie*, with the sentences that stood before it. In two and a half million pairs there are some
50,000: all there is to learn from about *er* and *sie*. The recipe of the model shows them more often than the rest.

neuter: "it" is *es*, likewise, as many by chance as there are of the others. Without them a model that is shown *er*
and *sie* in short documents says so in all short documents.

unnamed: "it" is *es*, in a corpus whose sentences have nothing to do with each other, each several times with others of
them before it that name no thing: where nothing is named, *es* it is.

The rules are loose: what they find is mostly right, and need not be.
"""

import lzma
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from unnamed import IMPERSONAL, SOMETHING

IT = re.compile(r"\bit\b", re.IGNORECASE)
# With one of these, er and sie may be somebody, or several, or you.
PERSONS = re.compile(
    r"\b(he|him|his|she|her|hers|they|them|their|you|your|who|himself|herself|themselves)\b", re.IGNORECASE
)
MALE, FEMALE, NEUTER = {"er", "ihn", "ihm"}, {"sie", "ihr"}, {"es"}
NO_THINGS = {"Tom", "Toms", "Maria", "Marias", "Mary", "Sie", "Ihnen", "Ihr", "Ihre", "Ihren", "Ihrem", "Ihrer"}
NEUTER_SHARE = 0.6  # of the sentences with es, how many are taken: about as many as there are with er or sie
TIMES = 5  # that a sentence is taken where documents are made up

Pair = tuple[str, str]  # English, German


def german_words(german: str) -> set[str]:
    first, *others = re.findall(r"\w+", german) or [""]
    return {first.lower(), *others}  # "Sie" within a sentence is you


def asks_for_context(pair: Pair) -> bool:
    if not IT.search(pair[0]) or PERSONS.search(pair[0]):
        return False
    found = german_words(pair[1])
    return bool(found & MALE) != bool(found & FEMALE) and not found & NEUTER


def is_neuter(pair: Pair) -> bool:
    if len(IT.findall(pair[0])) != 1 or PERSONS.search(pair[0]):
        return False
    found = german_words(pair[1])
    return bool(found & NEUTER) and not found & (MALE | FEMALE)


def names_nothing(pair: Pair) -> bool:
    """No word within its sentences has a capital letter, as German nouns do."""
    words = [word for sentence in re.split(r"[.!?:]\s", pair[1]) for word in re.findall(r"\w+", sentence)[1:]]
    return not IT.search(pair[0]) and all(word in NO_THINGS or not word[0].isupper() for word in words)


def lines(path: Path) -> Iterator[str]:
    packed = path.with_name(f"{path.name}.xz")
    with lzma.open(packed, "rt", encoding="utf-8") if packed.exists() else path.open(encoding="utf-8") as file:
        yield from (line.strip() for line in file)
    yield ""


def documents(corpus: str) -> Iterator[list[Pair]]:
    document: list[Pair] = []
    for pair in zip(lines(Path(f"{corpus}.en")), lines(Path(f"{corpus}.de")), strict=True):
        if any(pair):
            document.append(pair)
            continue
        yield document
        document = []


def found(kind: str, fewest: int, most: int, corpora: list[str]) -> Iterator[list[Pair]]:
    """Those that stood in documents."""
    chance = random.Random(1)
    for corpus in corpora:
        for document in documents(corpus):
            for n in range(1, len(document)):
                if kind == "named":
                    wanted = asks_for_context(document[n])
                else:
                    wanted = is_neuter(document[n]) and chance.random() < NEUTER_SHARE
                if wanted:
                    start = max(0, n - chance.randint(fewest, most))
                    yield document[start : n + 1]


def made_up(fewest: int, most: int, corpora: list[str]) -> Iterator[list[Pair]]:
    """Those of loose sentences. What `unnamed.py` asks for is left to it."""
    chance = random.Random(1)
    for corpus in corpora:
        pairs = [pair for document in documents(corpus) for pair in document]
        before = [pair for pair in pairs if names_nothing(pair)]
        for pair in pairs:
            if is_neuter(pair) and pair[0] not in SOMETHING + IMPERSONAL:
                for _ in range(TIMES):
                    yield [*chance.sample(before, chance.randint(fewest, most)), pair]


def main(kind: str, out: str, fewest: str, most: str, *corpora: str) -> None:
    limits = int(fewest), int(most), list(corpora)
    with open(f"{out}.en", "w", encoding="utf-8") as source, open(f"{out}.de", "w", encoding="utf-8") as target:
        for document in made_up(*limits) if kind == "unnamed" else found(kind, *limits):
            for english, german in document:
                print(english, file=source)
                print(german, file=target)
            print(file=source)
            print(file=target)


if __name__ == "__main__":
    main(*sys.argv[1:])
