"""How well `docflat edit` edits: pronouns put right and spoilt, and human translations touched.

    python benchmarks/edit.py --contrapro contrapro.jsonl.xz --parts 600,600 --human news/dev,ted/dev --cache edits
    python benchmarks/edit.py ... --learn --learn-parts 0 --learn-human ted/dev --write weights.json

Parts of ContraPro are drawn at random, one after the other (seed 20); their drafts are the model's own, sentence by
sentence, and the context of each is the draft of the one sentence before. A pronoun is right as `docflat contrast
--generate` judges it. A human translation is the target side of an aligned corpus: NAME.en and NAME.de, documents as
`docflat translate --lines` reads them. What takes long is kept in --cache: drafts, and the evidence of every change
that might be made. --learn fits the weights (--write src/docflat/editing/german_weights.json) to some parts and some
human translations, where every edit is wrong; thresholds and the rest are then seen without a model.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from docflat.data.documents import FilePair, read_documents
from docflat.editing.evidence import CONSTANT, limited, probability
from docflat.editing.german import PRONOUNS
from docflat.editing.pronouns import Pronouns
from docflat.editing.revisions import Revision
from docflat.evaluation.contrastive.examples import ContrastiveExample, read_contrastive
from docflat.evaluation.contrastive.scoring import judge
from docflat.support.console import print_table
from docflat.translation.translator import Translator

Record = dict[str, Any]  # a sentence: source, draft, what stands before it, and the edits that it might get
THRESHOLDS = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7)
HUMAN, NEUTRAL = 0.5, 0.4  # what counts in learning, beside an edit that puts right or spoils


@dataclass
class Part:
    name: str
    records: list[Record]
    examples: list[ContrastiveExample] | None = None  # of ContraPro, one a record


def parts_of_contrapro(options: argparse.Namespace, load: Any) -> Iterator[Part]:
    examples = read_contrastive(options.contrapro)
    order = list(range(len(examples)))
    random.Random(20).shuffle(order)
    bounds = np.cumsum([0, *options.parts]).tolist()
    for number, (start, end) in enumerate(pairwise(bounds)):
        if options.only_parts and number not in options.only_parts:
            continue
        chosen = [examples[n] for n in order[start:end]]
        documents = [[*example.source_context[-1:], example.source] for example in chosen]
        name = f"contrapro-{number}"

        def drafts(documents: list[list[str]] = documents) -> list[list[tuple[str, str]]]:
            translations = load().translate_documents(documents, mode="sentence")
            return [list(zip(*pair, strict=True)) for pair in zip(documents, translations, strict=True)]

        records = cached(options.cache / f"{name}.json", lambda make=drafts: evidence(load(), make()))
        last = np.cumsum([len(document) for document in documents]) - 1
        yield Part(name, [records[place] for place in last], chosen)


def human(options: argparse.Namespace, load: Any) -> Iterator[Part]:
    for name in options.human:
        pair = FilePair(Path(f"{name}.en"), Path(f"{name}.de"))

        def drafts(pair: FilePair = pair) -> list[list[tuple[str, str]]]:
            return [list(zip(each.source, each.target or [], strict=True)) for each in read_documents(pair)]

        file = options.cache / f"{name.replace('/', '-').strip('-')}.json"
        yield Part(name, cached(file, lambda make=drafts: evidence(load(), make())))


def cached(file: Path, make: Any) -> list[Record]:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(make(), ensure_ascii=False), encoding="utf-8")
    records: list[Record] = json.loads(file.read_text(encoding="utf-8"))
    return records


def evidence(translator: Translator, documents: Sequence[Sequence[tuple[str, str]]]) -> list[Record]:
    pronouns = Pronouns(translator.editor().scorer, PRONOUNS)
    candidates = pronouns.candidates([[Revision(*pair) for pair in document] for document in documents])
    records = []
    for d, document in enumerate(documents):
        for s, (source, draft) in enumerate(document):
            record: Record = {"source": source, "draft": draft, "before": document[max(0, s - 2) : s]}
            record["edits"] = [
                {
                    "text": one.variant.text,
                    "kind": one.kind,
                    "evidence": {k: round(n, 3) for k, n in one.evidence.items()},
                }
                for one in candidates.get((d, s), [])
            ]
            records.append(record)
    return records


def weigh(part: Part, weights: Any) -> list[tuple[float, str]]:
    """Of each sentence, the most probable edit and what the draft becomes by it."""
    best = []
    for record in part.records:
        edits = [(probability(edit["evidence"], edit["kind"], weights), edit["text"]) for edit in record["edits"]]
        best.append(max(edits, default=(0.0, "")))
    return best


def is_right(example: ContrastiveExample, text: str) -> bool:
    return judge(example, text) == "right"


def row(part: Part, threshold: float, weights: Any) -> list[object]:
    best = weigh(part, weights)
    touched = [chance > threshold for chance, _ in best]
    if part.examples is None:
        return [part.name, threshold, len(best), sum(touched), 1000 * sum(touched) / len(best), None, None, None, None]
    right = [is_right(e, r["draft"]) for e, r in zip(part.examples, part.records, strict=True)]
    after = [
        is_right(example, text if edited else record["draft"])
        for example, record, (_, text), edited in zip(part.examples, part.records, best, touched, strict=True)
    ]
    put_right = sum(new and not old for old, new in zip(right, after, strict=True))
    spoilt = sum(old and not new for old, new in zip(right, after, strict=True))
    shares = [100 * sum(each) / len(best) for each in (right, after)]
    return [part.name, threshold, len(best), sum(touched), 1000 * sum(touched) / len(best), *shares, put_right, spoilt]


def learn(parts: Sequence[Part], options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Logistic regression, a line of weights by kind of change; what all kinds have in common is not shrunk twice.

    An edit that leaves a wrong pronoun wrong does little harm, and counts little.
    """
    kinds = list(dict.fromkeys(edit["kind"] for part in parts for record in part.records for edit in record["edits"]))
    names: list[str] = []
    features, labels, counts = [], [], []
    chosen = {*options.learn_human, *(f"contrapro-{number}" for number in options.learn_parts)}
    for part in parts:
        if part.name not in chosen:
            continue
        for place, record in enumerate(part.records):
            example = part.examples[place] if part.examples else None
            was_right = example is not None and is_right(example, record["draft"])
            for edit in record["edits"]:
                names = [*edit["evidence"], CONSTANT]
                numbers = [*limited(edit["evidence"]).values(), 1.0]
                features.append(
                    [number * (one == edit["kind"]) for one in (*kinds, edit["kind"]) for number in numbers]
                )
                becomes_right = example is not None and is_right(example, edit["text"])
                labels.append(float(becomes_right and not was_right))
                counts.append(HUMAN if example is None else 1.0 if becomes_right != was_right else NEUTRAL)
    x, y, w = map(np.array, (features, labels, counts))
    scale = x.std(0) + 1e-6
    z, slopes = x / scale, np.zeros(x.shape[1])
    for _ in range(20):
        p = 1 / (1 + np.exp(-z @ slopes))
        penalty = options.shrink * np.eye(len(slopes))
        slopes -= np.linalg.solve(
            (z * (w * p * (1 - p))[:, None]).T @ z + penalty, z.T @ (w * (p - y)) + penalty @ slopes
        )
    weights = (slopes / scale).reshape(len(kinds) + 1, -1)
    return {
        one: dict(zip(names, (weights[n] + weights[-1]).round(3).tolist(), strict=True)) for n, one in enumerate(kinds)
    }


def show(part: Part, threshold: float, weights: Any, number: int) -> None:
    edited = [(r, *b) for r, b in zip(part.records, weigh(part, weights), strict=True) if b[0] > threshold]
    for record, chance, text in random.Random(1).sample(edited, min(number, len(edited))):
        print(f"\n{part.name} {chance:.2f}")
        for source, target in record["before"]:
            print(f"    {source}\n    {target}")
        print(f"  {record['source']}\n- {record['draft']}\n+ {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contrapro", type=Path)
    parser.add_argument("--parts", type=lambda text: [int(n) for n in text.split(",")], default=[], help="sizes")
    numbers = "of these, those to look at: the last one is best left alone until the end"
    parser.add_argument("--only-parts", type=lambda text: [int(n) for n in text.split(",")], default=[], help=numbers)
    parser.add_argument("--human", type=lambda text: text.split(","), default=[], help="NAME.en and NAME.de each")
    parser.add_argument("--cache", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--learn-parts", type=lambda text: [int(n) for n in text.split(",")], default=[0])
    parser.add_argument("--learn-human", type=lambda text: text.split(","), default=[])
    parser.add_argument("--shrink", type=float, default=60.0)
    parser.add_argument("--write", type=Path, metavar="FILE", help="for what was learned")
    parser.add_argument("--thresholds", type=lambda text: [float(n) for n in text.split(",")], default=THRESHOLDS)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="edits of each, drawn at random")
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    loaded: list[Translator] = []

    def load() -> Translator:
        loaded.extend([] if loaded else [Translator.load(options.model)])
        return loaded[0]

    parts = [*(parts_of_contrapro(options, load) if options.parts else ()), *human(options, load)]
    weights = learn(parts, options) if options.learn else PRONOUNS.weights
    if options.write:
        options.write.write_text(json.dumps(weights, indent=1) + "\n", encoding="utf-8")
    columns = ["text", "threshold", "sentences", "touched", "in 1,000", "right before", "after", "put right", "spoilt"]
    print_table(columns, [row(part, t, weights) for part in parts for t in options.thresholds], options.json)
    for part in parts if options.show else ():
        show(part, options.thresholds[0], weights, options.show)


if __name__ == "__main__":
    main()
