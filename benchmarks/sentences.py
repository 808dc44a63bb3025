"""How many hard texts a sentence splitter cuts as a reader would: docflat's, sentencex alone, and pysbd if it is there.

python benchmarks/sentences.py [--wrong]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import sentencex
import yaml

from docflat.support.console import print_table
from docflat.support.text_files import lines_of
from docflat.translation.sentences import split_sentences

CASES: dict[str, list[str]] = yaml.safe_load((Path(__file__).parents[1] / "tests/data/sentences.yaml").read_text())
Splitter = Callable[[str, str], list[str]]


def ours(text: str, language: str) -> list[str]:
    return [text[slice(*place)] for place in split_sentences(text, language)]


def plain(text: str, language: str) -> list[str]:
    return [piece.strip() for piece in sentencex.segment(language, text)]


def splitters() -> dict[str, Splitter]:
    known: dict[str, Splitter] = {"docflat": ours, "sentencex": plain}
    try:
        import pysbd  # type: ignore[import-not-found]
    except ImportError:
        return known
    there = [language for language in CASES if language in pysbd.languages.LANGUAGE_CODES]
    made = {
        language: pysbd.Segmenter(language=language if language in there else "en", clean=False) for language in CASES
    }
    known["pysbd"] = lambda text, language: [piece.strip() for piece in made[language].segment(text)]
    return known


def count_lines(file: Path, language: str) -> None:
    """Lines that are cut whole out of their documents."""
    documents: list[list[str]] = [[]]
    for line in lines_of(file, file):
        if line.strip():
            documents[-1].append(" ".join(line.split()))
        elif documents[-1]:
            documents.append([])
    total = sum(map(len, documents))
    rows = []
    for name, split in splitters().items():
        whole = pieces = 0
        for document in documents:
            cut = Counter(split(" ".join(document), language))
            pieces += cut.total()
            whole += (cut & Counter(document)).total()
        rows.append([name, total, pieces, whole, 100 * whole / total])
    print_table(["splitter", "lines", "pieces", "whole", "%"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true", help="show what is cut otherwise")
    parser.add_argument("--lines", type=Path)
    parser.add_argument("--language", default="en")
    options = parser.parse_args()
    if options.lines:
        count_lines(options.lines, options.language)
        return
    counts: dict[str, list[str]] = {}
    right = dict.fromkeys(splitters(), 0)
    for name, split in splitters().items():
        for language, cases in CASES.items():
            known = 0
            cut, between = ("|", "") if language in ("zh", "ja") else (" | ", " ")
            for case in cases:
                wanted = case.split(cut)
                pieces = split(between.join(wanted), language)
                known += pieces == wanted
                if options.wrong and pieces != wanted:
                    print(f"{name}: {language}: {' | '.join(pieces)}")
            right[name] += known
            counts.setdefault(language, []).append(f"{known} of {len(cases)}")
    rows = [[language, *numbers] for language, numbers in counts.items()]
    print_table(["language", *right], [*rows, ["all", *(str(number) for number in right.values())]])


if __name__ == "__main__":
    main()
