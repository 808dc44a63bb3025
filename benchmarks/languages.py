"""How often is a text taken for another language than it is in?

    python benchmarks/languages.py en=data/news/dev.en de=data/news/dev.de ...

Lines of each file are joined to pieces of at least 50 to 2,000 characters, and each piece is judged as
`docflat translate` judges a file. It prints, for each file and length, how many of the pieces are taken for another
language.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from docflat.support.console import print_rows
from docflat.support.text_files import OPENERS
from docflat.translation.source_language import Detector

LENGTHS = (50, 100, 200, 500, 2000)
MOST = 2000  # pieces of a length


def pieces(lines: list[str], length: int) -> Iterator[str]:
    piece = ""
    for line in lines:
        piece += f" {line}"
        if len(piece) >= length:
            yield piece
            piece = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="LANGUAGE=FILE")
    detector, rows = Detector(), []
    for language, _, name in (given.partition("=") for given in parser.parse_args().files):
        with OPENERS.get(Path(name).suffix, open)(name, "rb") as stream:
            lines = [line for line in stream.read().decode("utf-8").splitlines() if line.strip()]
        for length in LENGTHS:
            ranked = [detector.rank(piece)[0] for _, piece in zip(range(MOST), pieces(lines, length), strict=False)]
            wrong = sum(best != language and sure >= 0.99 for best, sure in ranked)
            rows.append({"file": Path(name).name, "characters": length, "pieces": len(ranked), "taken wrong": wrong})
    print_rows(rows)


if __name__ == "__main__":
    main()
