"""How much a model gains by context, by how far back it lies: accuracy on a set of `docflat contrast build --words`.

    python benchmarks/context_by_distance.py words.jsonl --each 40 --out gain.png

Each example is scored up to four times (`--ways`): without context; with its local context; with what stands before it
in the document as rows of its batch as well; and with as many sentences of other examples there instead.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

from docflat.evaluation.contrastive.examples import ContrastiveExample, is_right, read_contrastive
from docflat.evaluation.contrastive.scoring import draw, in_context, score_examples
from docflat.evaluation.contrastive.word_choice import RANGES, range_of
from docflat.reproduce.significance import mean_p
from docflat.translation.translator import Translator
from docflat.weights.shipped import model_folder

WAYS = ("no context", "local", "local and document", "local and other documents")


def verdicts(translator: Translator, examples: Sequence[ContrastiveExample], company: int, way: str) -> list[bool]:
    if way == "no context":
        examples = in_context(examples, "none", translator)
    beside = company if way.startswith("local and") else 0
    scores = score_examples(translator, examples, company=beside, of_document=way == "local and document")
    return [is_right([total for total, _ in candidates]) for candidates in scores]


def draw_by_range(examples: Sequence[ContrastiveExample], each: int, seed: int) -> list[ContrastiveExample]:
    """So many of each range, as many of the usual choice as of others."""
    drawn: list[ContrastiveExample] = []
    for first, _ in RANGES:
        for usual in ("yes", "no"):
            group = [one for one in examples if (one.fields["range"], one.fields["usual"]) == (range_of(first), usual)]
            drawn += draw(group, each // 2, seed)
    return drawn


def table(examples: Sequence[ContrastiveExample], right: dict[str, list[bool]]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name in [*(range_of(first) for first, _ in RANGES), "all"]:
        places = [n for n, one in enumerate(examples) if name in ("all", one.fields["range"])]
        if places:
            shares = {way: round(100 * sum(right[way][n] for n in places) / len(places), 1) for way in right}
            base = [right["no context"][n] for n in places]
            tests = {
                f"p of {way}": round(mean_p(base, [right[way][n] for n in places]), 4)
                for way in right
                if way != WAYS[0]
            }
            rows.append({"sentences back": name, "examples": len(places), **shares, **tests})
    return rows


def picture(rows: Sequence[dict[str, object]], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.6))
    places = [row for row in rows if row["sentences back"] != "all"]
    for number, way in enumerate(way for way in WAYS[1:] if way in places[0]):
        gains = [float(str(row[way])) - float(str(row[WAYS[0]])) for row in places]
        axes.bar([n + 0.27 * (number - 1) for n in range(len(places))], gains, width=0.26, label=way)
    # Of one share of so many examples; the difference of two on the same ones varies less or as much.
    errors = [100 * math.sqrt(0.25 / int(str(row["examples"]))) for row in places]
    axes.errorbar(range(len(places)), [0] * len(places), yerr=errors, fmt="none", ecolor="grey", capsize=3)
    axes.set_xticks(range(len(places)), [f"{row['sentences back']}\n(n={row['examples']})" for row in places])
    axes.set_xlabel("sentences since the word was said last")
    axes.set_ylabel("points more right than without context")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("--model", type=model_folder, default=model_folder("en-de"))
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--each", type=int, default=40, help="examples of each range")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--company", type=int, default=20, help="sentences of the batch before the current one")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    examples = draw_by_range(read_contrastive(arguments.set), arguments.each, arguments.seed)
    translator = Translator.load(arguments.model, precision=arguments.precision)
    right = {way: verdicts(translator, examples, arguments.company, way) for way in arguments.ways}
    rows = table(examples, right)
    for row in rows:
        print(json.dumps(row))
    if arguments.out:
        picture(rows, arguments.out)


if __name__ == "__main__":
    main()
