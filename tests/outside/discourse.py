"""Our scores of what documents decide beside the code of those who defined such scores, on any translation.

    git clone https://github.com/CoderPat/MuDA; git clone https://github.com/EleanorJiang/BlonDe
    python tests/outside/discourse.py --reference test.de --hypothesis translation.de --muda MuDA --blonde BlonDe

Their taggers need models of spaCy, Stanza and AllenNLP, and BlonDe is for English: so what is compared is how they
count and score what has been found. MuDA: `compute_metrics` on the words that we count. BlonDe: `count_pronoun`, told
the German forms, on the words of the text, but for forms with a capital within a sentence or sie and ihr at its start,
where ours is another definition; and `scoring` of these counts. Exits with 1 where a number differs.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

from docflat.evaluation.discourse import COUNTINGS, DISCOURSE, DiscourseF1
from docflat.evaluation.testsets import Marking, read_beside, read_reference

FORMS = ("er", "ihn", "ihm", "sie", "es", "ihr")
NOT_INSTALLED = ("spacy", "spacy.tokens", "spacy.language", "spacy_stanza", "en_core_web_sm")
NOT_INSTALLED += ("allennlp", "allennlp.predictors", "allennlp.predictors.predictor")


def code_of(clone: Path, package: str, *modules: str) -> list[Any]:
    """Modules of a clone, without what its own package file would import."""
    sys.path.insert(0, str(clone))
    sys.modules.update({name: MagicMock() for name in NOT_INSTALLED if name not in sys.modules})
    if package == "muda":  # its package file loads the taggers of all languages
        parent = ModuleType("muda")
        parent.__path__ = [str(clone / "muda")]
        sys.modules["muda"] = parent
    return [importlib.import_module(f"{package}.{name}" if name else package) for name in modules]


def by_muda(clone: Path, documents: Sequence[tuple[list[str], list[str]]]) -> dict[str, float]:
    """Each metric, in per cent: the words that we count are tagged, nothing else is there."""
    metrics, tagger = code_of(clone, "muda", "metrics", "tagger")
    scores = {}
    for name in DISCOURSE:
        sides: list[list[Any]] = [[], []]
        for pair in documents:
            for side, text in zip(sides, pair, strict=True):
                words = [list(count.elements()) for count in COUNTINGS[name](text)]
                side.append([[tagger.Tagging(word, [name]) for word in sentence] for sentence in words])
        scores[name] = 100 * metrics.compute_metrics(*sides)[2][name]
    return scores


def plain(text: str) -> bool:
    """Whether BlonDe's way of counting, by the form alone, means the same as ours."""
    return not re.search(r"\b(Sie|Ihr|Er|Ihn|Ihm|Es)\b", text) and text == text.strip()


def by_blonde(clone: Path, documents: Sequence[tuple[list[str], list[str]]]) -> tuple[int, list[str], float, float]:
    """Sentences compared, those whose counts differ, and both F1 of the pronouns in them."""
    processing, scoring = code_of(clone, "blonde", "processing", "dBlonDe")
    processing.PRONOUN_TYPE, processing.PRONOUN_MAP = FORMS, {form: [form] for form in FORMS}
    different, ours = [], [[], []]
    theirs: list[list[Any]] = [[], []]
    for pair in documents:
        counts = [COUNTINGS["pronouns"](text) for text in pair]
        for n, sentences in enumerate(zip(*pair, strict=True)):
            if not all(map(plain, sentences)):
                continue
            for side, text in enumerate(sentences):
                found = processing.count_pronoun(re.findall(r"\w+(?:-\w+)*", text))
                theirs[side].append({"pronoun": found})
                ours[side].append(counts[side][n])
                if Counter({word: number for word, number in found.items() if number}) != counts[side][n]:
                    different.append(text)
    weights, categories = {"pronoun": [1.0] * len(FORMS)}, {"pronoun": FORMS}
    right = sum((a & b).total() for a, b in zip(*ours, strict=True))
    everything = sum(count.total() for side in ours for count in side)
    totals = [0.0, 0.0, 0.0]
    for system, reference in zip(theirs[1], theirs[0], strict=True):
        _, *parts = scoring.sim(system, reference, weights, categories)
        totals = [total + part["pronoun"] for total, part in zip(totals, parts, strict=True)]
    recall, precision = totals[0] / totals[1], totals[0] / totals[2]
    return len(ours[0]), different, 200 * right / everything, 100 * scoring.compute_F1(recall, precision)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("reference", "hypothesis", "muda", "blonde"):
        parser.add_argument(f"--{name}", type=Path, required=name in ("reference", "hypothesis"))
    options = parser.parse_args()
    reference = read_reference(options.reference, Marking())
    documents = list(
        zip(reference.documents, read_beside(options.hypothesis, reference, Marking()).documents, strict=True)
    )
    translated = [text for _, document in documents for text in document]
    wrong = False
    if options.muda:
        for name, score in by_muda(options.muda, documents).items():
            ours = DiscourseF1(name, reference.documents).corpus_score(translated, None).score
            wrong |= abs(ours - score) > 1e-9
            print(f"{name}: {ours:.6f}, by MuDA's compute_metrics {score:.6f}")
    if options.blonde:
        number, different, ours, score = by_blonde(options.blonde, documents)
        wrong |= bool(different) or abs(ours - score) > 1e-9
        print(f"pronouns of {number} sentences: {ours:.6f}, by BlonDe {score:.6f}; counts differ in {len(different)}")
        print(*different[:10], sep="\n")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
