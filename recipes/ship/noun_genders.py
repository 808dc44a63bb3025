"""The genders of German nouns, counted from the words that stand before them.

    python recipes/ship/noun_genders.py --out src/docflat/editing/german_nouns.txt --limit 300000 FILE.de.xz ...

Four kinds of nouns (masculine, feminine, neuter, plural) differ in the articles that they follow: a mixture of four
multinomials, which a few rounds of expectation maximisation fit, starting from a grammar's table. A noun is written
if its kind is e^3 times as likely as the next one, and if the end of it, as a noun of its own, does not say the same
already: Haustür is what Tür is.
"""

from __future__ import annotations

import argparse
import lzma
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

Counts = dict[str, Counter[str]]  # of a noun, how often each article stands before it

# How often each article stands before a noun of each kind, roughly: where learning starts.
START = {
    "m": "der 30 den 20 dem 15 des 2 ein 12 einen 10 einem 5 eines 1 keinen 5",
    "f": "die 45 der 25 eine 12 einer 6 keine 8 zur 4",
    "n": "das 40 dem 20 des 2 ein 25 einem 8 eines 1",
    "p": "die 60 der 17 den 10 keine 8 keinen 5 einer 0.3",
}
FLOOR = 0.003  # an article's least share: texts have errors
FEWEST, CERTAIN, ROUNDS, MOST = 4, 3.0, 6, 50  # MOST: what a noun counts at most while learning
NO_NOUNS = frozenset(["Aber", "Ihnen", "Ihr", "Ihre", "Sie"])  # with a capital in letters and after a colon
_WORD = re.compile(r"\w+|[^\w\s]")
_ADJECTIVE = re.compile(r"[a-zäöüß]+(?:e|en|er|es|em)")


ENDINGS = ("e", "en", "em", "er", "es")
STEMS = {word: word for word in ("mein", "dein", "sein", "ihr", "kein", "unser")} | {"euer": "eur"}


def articles() -> dict[str, str]:
    """Each form that is counted, and as what: meiner as einer; but meine, unlike eine, can be a plural."""
    forms = {f"d{end}": f"d{end}" for end in ("er", "ie", "as", "en", "em", "es")}
    forms |= {f"ein{end}": f"ein{end}" for end in ("", *ENDINGS)}
    for word, stem in STEMS.items():
        forms[word] = "ein"
        forms |= {stem + end: f"kein{end}" if end in ("e", "en") else f"ein{end}" for end in ENDINGS}
    for stem in ("dies", "jen", "jed", "welch"):
        forms |= {stem + end: word for end, word in zip(ENDINGS, ["die", "den", "dem", "der", "das"], strict=True)}
    contracted = {"im": "dem", "am": "dem", "zum": "dem", "vom": "dem", "beim": "dem", "zur": "zur"}
    return forms | contracted | {"ins": "das", "ans": "das", "aufs": "das"}


def count(files: list[Path], limit: int) -> Counts:
    known, counts = articles(), defaultdict[str, Counter[str]](Counter)
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            for line in islice(lines, limit):
                words = _WORD.findall(line)
                for number, word in enumerate(words):
                    if number and len(word) > 2 and word[0].isupper() and word[1:].islower() and word not in NO_NOUNS:
                        before = words[number - 1]
                        if before not in known and number > 1 and _ADJECTIVE.fullmatch(before):
                            before = words[number - 2]
                        if article := known.get(before.lower()):
                            counts[word][article] += 1
    return {word: counted for word, counted in counts.items() if counted.total() >= FEWEST}


Shares = Mapping[str, Mapping[str, float]]  # of each kind, of each article


def learn(counts: Counts) -> dict[str, str]:
    """The kind of each noun that shows one."""
    names = sorted(set(articles().values()))
    start = {kind: text.split() for kind, text in START.items()}
    shares = {k: _normal(dict(zip(t[::2], map(float, t[1::2]), strict=True)), names) for k, t in start.items()}
    prior = dict.fromkeys(START, 1 / len(START))
    for _ in range(ROUNDS):
        sums, total = {kind: Counter[str]() for kind in START}, Counter[str]()
        for counted in counts.values():
            logs = _logs(counted, shares, prior)
            most = max(logs.values())
            whole = sum(math.exp(value - most) for value in logs.values())
            weight = min(1, MOST / counted.total())
            for kind, value in logs.items():
                share = math.exp(value - most) / whole
                total[kind] += share  # type: ignore[assignment]
                for name, times in counted.items():
                    sums[kind][name] += share * times * weight  # type: ignore[assignment]
        prior = {kind: total[kind] / total.total() for kind in START}
        shares = {kind: _normal(sums[kind], names) for kind in START}
    kinds = {}
    for word, counted in counts.items():
        logs = _logs(counted, shares, prior)
        first, second = sorted(logs, key=logs.__getitem__, reverse=True)[:2]
        if logs[first] - logs[second] > CERTAIN:
            kinds[word] = first
    return kinds


def _normal(counted: Mapping[str, float], names: list[str]) -> dict[str, float]:
    whole = sum(counted.values())
    floored = {name: counted.get(name, 0) / whole + FLOOR for name in names}
    return {name: value / sum(floored.values()) for name, value in floored.items()}


def _logs(counted: Counter[str], shares: Shares, prior: Mapping[str, float]) -> dict[str, float]:
    return {
        kind: math.log(prior[kind]) + sum(times * math.log(each[name]) for name, times in counted.items())
        for kind, each in shares.items()
    }


def shorten(kinds: Mapping[str, str]) -> dict[str, str]:
    """Without those whose ends say it."""
    left: dict[str, str] = {}
    for word in sorted(kinds, key=len):
        ends = (word[start:].capitalize() for start in range(1, len(word) - 3))
        if next((left[end] for end in ends if end in left), None) != kinds[word]:
            left[word] = kinds[word]
    return left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE.de.xz")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300_000, help="lines of each file")
    options = parser.parse_args()
    kinds = shorten(learn(count(options.files, options.limit)))
    lines = [f"{word} {kind}" for word, kind in sorted(kinds.items())]
    head = "# Nouns: m masculine, f feminine, n neuter, p plural. Written by recipes/ship/noun_genders.py.\n"
    options.out.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    print(len(lines), Counter(kinds.values()))


if __name__ == "__main__":
    main()
