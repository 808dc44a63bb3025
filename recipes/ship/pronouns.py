"""Sentences whose "it" is no "es", each as a document with some sentences before it.

    python recipes/ship/pronouns.py OUT FEWEST MOST CORPUS...

Reads CORPUS.en and CORPUS.de, or .xz; writes OUT.en and OUT.de. How many sentences stand before it, as far as there
are so many, is left to chance between FEWEST and MOST: a sentence knows its place, which must not tell that er or sie
comes.

In two and a half million pairs there are some 50,000: all there is to learn from about *er* and *sie*. The recipe of
the model shows them more often than the rest. The rules are loose: what they find is mostly right, and need not be.
"""

import lzma
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

IT = re.compile(r"\bit\b", re.IGNORECASE)
# With one of these, er and sie may be somebody, or several, or you.
PERSONS = re.compile(
    r"\b(he|him|his|she|her|hers|they|them|their|you|your|who|himself|herself|themselves)\b", re.IGNORECASE
)
MALE, FEMALE, NEUTER = {"er", "ihn", "ihm"}, {"sie", "ihr"}, {"es"}


def asks_for_context(english: str, german: str) -> bool:
    if not IT.search(english) or PERSONS.search(english):
        return False
    first, *others = re.findall(r"\w+", german) or [""]
    found = {first.lower(), *others}  # "Sie" within a sentence is you
    return bool(found & MALE) != bool(found & FEMALE) and not found & NEUTER


def lines(path: Path) -> Iterator[str]:
    packed = path.with_name(f"{path.name}.xz")
    with lzma.open(packed, "rt", encoding="utf-8") if packed.exists() else path.open(encoding="utf-8") as file:
        yield from (line.strip() for line in file)
    yield ""


def main(out: str, fewest: str, most: str, *corpora: str) -> None:
    chance = random.Random(1)
    with open(f"{out}.en", "w", encoding="utf-8") as source, open(f"{out}.de", "w", encoding="utf-8") as target:
        for corpus in corpora:
            document: list[tuple[str, str]] = []
            for pair in zip(lines(Path(f"{corpus}.en")), lines(Path(f"{corpus}.de")), strict=True):
                if any(pair):
                    document.append(pair)
                    continue
                for n in range(1, len(document)):
                    if asks_for_context(*document[n]):
                        start = max(0, n - chance.randint(int(fewest), int(most)))
                        for english, german in document[start : n + 1]:
                            print(english, file=source)
                            print(german, file=target)
                        print(file=source)
                        print(file=target)
                document = []


if __name__ == "__main__":
    main(*sys.argv[1:])
