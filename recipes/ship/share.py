"""Models between two others on development sets: which share of the later weights is best.

    python recipes/ship/share.py MODEL ... --dev europarl/dev,news/dev,ted/dev --contrast pronouns.jsonl

Of each model folder (mean.py and `docflat export --to int8` make them): nats a token of the references in their context
(lower is better), of whole documents of NAME.en and NAME.de up to --limit sentences; the share of contrastive examples
it is right about, by pronoun, and their mean, so that each pronoun counts alike; and how often it says er or sie where
nothing is named (unnamed.py).
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from unnamed import IMPERSONAL, SOMETHING, unnamed

from docflat import Translator
from docflat.data.documents import FilePair, read_documents
from docflat.decoding.scoring import Scorer
from docflat.evaluation.contrastive.examples import ContrastiveExample, accuracies, read_contrastive
from docflat.evaluation.contrastive.scoring import score_examples
from docflat.support.console import print_table

PRONOUNS = ("er", "sie", "es")


def nats(translator: Translator, name: str, limit: int) -> float:
    """A token of the references, the ends of sentences included."""
    sources, targets = [], []
    for document in read_documents(FilePair(Path(f"{name}.en"), Path(f"{name}.de"))):
        if sum(map(len, sources)) >= limit:
            break
        sources.append(document.source)
        targets.append(document.target or [])
    encode = translator.model.subwords.encode_batch
    ids = [[encode(lines, side) for lines in texts] for side, texts in (("source", sources), ("target", targets))]
    scores = [one for document in Scorer(translator.model).documents(*ids) for one in document]
    return -sum(one.total for one in scores) / sum(len(one.log_probabilities) for one in scores)


def drawn(path: Path, each: int) -> list[ContrastiveExample]:
    """Of each pronoun at most so many examples."""
    examples = read_contrastive(path)
    random.Random(1).shuffle(examples)
    return [
        example for word in PRONOUNS for example in [one for one in examples if one.fields["pronoun"] == word][:each]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--dev", type=lambda text: text.split(","), default=[], metavar="A,B")
    parser.add_argument("--limit", type=int, default=1000, help="sentences of each set (default: %(default)s)")
    parser.add_argument("--contrast", type=Path, metavar="SET", help="of er, sie and es")
    parser.add_argument(
        "--each", type=int, default=400, help="examples of each pronoun, at most (default: %(default)s)"
    )
    parser.add_argument("--unnamed", action="store_true", help="count er and sie where nothing is named, too")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    examples = drawn(options.contrast, options.each) if options.contrast else []
    columns = ["model", *options.dev, *([*PRONOUNS, "mean"] if examples else [])]
    columns += ["es would do", "only es"] if options.unnamed else []
    rows = []
    for folder in options.models:
        translator = Translator.load(folder, threads=options.threads)
        row: list[object] = [folder.name, *(nats(translator, name, options.limit) for name in options.dev)]
        if examples:
            found = {
                one["value"]: one["accuracy"] for one in accuracies(examples, score_examples(translator, examples))
            }
            shares = [100 * float(str(found[word])) for word in PRONOUNS]
            row += [*shares, sum(shares) / len(shares)]
        if options.unnamed:
            row += [len(unnamed(translator, sentences)) for sentences in (SOMETHING, IMPERSONAL)]
        rows.append(row)
        print(*row, file=sys.stderr)  # a model takes minutes
    print_table(columns, rows, options.json)


if __name__ == "__main__":
    main()
