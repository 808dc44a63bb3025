"""How often is a text in the wrong language noticed, and how often a text in the right one suspected?

    python benchmarks/languages.py en=data/news/dev.en de=data/news/dev.de fr=...

Lines of each file are joined to pieces of at least 100 to 2,000 characters, and each piece is judged as `docflat
translate` judges a file: as the source of a model that translates from `--expected`, and as that of a model that
translates from its own language. It prints of each file and length how many of the pieces are noticed, and how many are
suspected wrongly.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from docflat.support.console import print_rows
from docflat.support.text_files import OPENERS
from docflat.translation.source_language import other_language

LENGTHS = (100, 200, 500, 2000)


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
    parser.add_argument("--expected", default="en", help="what the model translates from (default: %(default)s)")
    parser.add_argument("--most", type=int, default=2000, help="pieces of a length (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    options, rows = parser.parse_args(), []
    for language, _, name in (given.partition("=") for given in options.files):
        with OPENERS.get(Path(name).suffix, open)(name, "rb") as stream:
            lines = [line for line in stream.read().decode("utf-8").splitlines() if line.strip()]
        for length in LENGTHS:
            tried = list(islice(pieces(lines, length), options.most))
            noticed = sum(other_language(piece, options.expected) is not None for piece in tried)
            suspected = sum(other_language(piece, language) is not None for piece in tried)
            row = {"language": language, "file": Path(name).name, "characters": length, "pieces": len(tried)}
            row |= {"noticed": None if language == options.expected else noticed, "suspected": suspected}
            rows.append(row)
    print_rows(rows, options.json)


if __name__ == "__main__":
    main()
