"""How often the repairs touch what is right, and what they put right: run over sources and human references.

    python benchmarks/repairs.py touched DATA/news/test DATA/europarl/dev --languages en de
    python benchmarks/repairs.py mended DATA/news/test --languages en de --most 300

A name stands for two aligned files, NAME.en and NAME.de, also with .xz or .gz. `touched` counts, for each repair, the
pairs that have what it looks for, and how many human translations among them it would change. `mended` translates such
sentences with the shipped model, up to --most a repair, and counts the outputs that the repair changes, and how many
of the changes the human reference bears out, or speaks against.
"""

from __future__ import annotations

import argparse
import difflib
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from docflat.support.console import print_table
from docflat.support.text_files import lines_of
from docflat.translation.repairs.table import Repair, repairs_for

Pairs = dict[str, list[tuple[str, str]]]  # of each repair, by its name


def read_pairs(name: str, languages: tuple[str, str]) -> Iterator[tuple[str, str]]:
    files = []
    for language in languages:
        candidates = [Path(f"{name}.{language}{packed}") for packed in ("", ".xz", ".gz")]
        files.append(next(path for path in candidates if path.exists()))
    for pair in zip(*(lines_of(file, file) for file in files), strict=True):
        if all(map(str.strip, pair)):
            yield pair


def collect(names: list[str], repairs: tuple[Repair, ...], languages: tuple[str, str]) -> tuple[Pairs, int]:
    """The pairs that a repair applies to, each once; how many sentences there are in all."""
    collected: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    total = 0
    for name in names:
        for pair in read_pairs(name, languages):
            total += 1
            for repair in repairs:
                if repair.applies(pair[0]):
                    collected[repair.name][pair] = None
    return {name: list(pairs) for name, pairs in collected.items()}, total


def changed_words(before: str, after: str) -> tuple[str, str]:
    """What a repair took away and put in."""
    old, new = (re.findall(r"[\w.,:]+", text) for text in (before, after))
    taken: list[str] = []
    put: list[str] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            taken += old[a:b]
            put += new[c:d]
    return " ".join(taken), " ".join(put)


def touched(repairs: tuple[Repair, ...], pairs: Pairs, show: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for repair in repairs:
        mine = pairs.get(repair.name, [])
        changes = [(*pair, new) for pair in mine if (new := repair.run(*pair)) != pair[1]]
        for source, target, new in random.Random(1).sample(changes, min(show, len(changes))):
            print(f"{repair.name}: {source}\n    {' -> '.join(changed_words(target, new))}: {target}")
        rows.append([repair.name, len(mine), len(changes)])
    return rows


def verdict(reference: str, before: str, after: str) -> str:
    """What the human reference says of a change."""
    taken, put = changed_words(before, after)
    has = [
        all(re.search(rf"(?<![\w.,]){re.escape(word)}(?!\w)", reference) for word in text.split())
        for text in (put, taken)
    ]
    return {(True, False): "right", (False, True): "wrong"}.get((has[0], has[1]), "unknown")


def mended(repairs: tuple[Repair, ...], pairs: Pairs, most: int, show: int) -> list[list[object]]:
    from docflat import Translator

    translator = Translator.load()
    rows: list[list[object]] = []
    for repair in repairs:
        chosen = random.Random(1).sample(pairs.get(repair.name, []), min(most, len(pairs.get(repair.name, []))))
        texts = translator.translate_documents([[source] for source, _ in chosen], repairs=False, mode="sentence")
        counts = {"right": 0, "wrong": 0, "unknown": 0}
        for (source, reference), (text,) in zip(chosen, texts, strict=True):
            if (new := repair.run(source, text)) != text:
                said = verdict(reference, text, new)
                counts[said] += 1
                if show:
                    print(f"{repair.name}: {said}: {source}\n    {text}\n    {new}\n    {reference}")
        rows.append([repair.name, len(chosen), sum(counts.values()), *counts.values()])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("touched", "mended"))
    parser.add_argument("names", nargs="+")
    parser.add_argument("--languages", nargs=2, default=("en", "de"))
    parser.add_argument("--most", type=int, default=300)
    parser.add_argument("--show", type=int, default=0, help="examples to print")
    options = parser.parse_args()
    languages = (options.languages[0], options.languages[1])
    repairs = repairs_for(languages)
    pairs, total = collect(options.names, repairs, languages)
    if options.what == "touched":
        columns = ["repair", "applies to", "would change"]
        print_table(columns, touched(repairs, pairs, options.show), title=f"{total} sentences")
    else:
        columns = ["repair", "translated", "changed", "right", "wrong", "unknown"]
        print_table(columns, mended(repairs, pairs, options.most, options.show))


if __name__ == "__main__":
    main()
