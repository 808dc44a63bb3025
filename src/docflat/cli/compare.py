"""`docflat compare`: whether systems differ from a baseline, and where."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docflat.cli.arguments import add_number, add_test_set
from docflat.cli.evaluate import read_test_set
from docflat.support.console import print_json, print_rows, say
from docflat.support.errors import InputError

if TYPE_CHECKING:
    from docflat.evaluation.metrics import Comparison, Difference
    from docflat.evaluation.testsets import DocumentFile

JsonObject = dict[str, Any]


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("baseline", type=Path, metavar="BASELINE", help="translations to compare with")
    parser.add_argument("systems", type=Path, nargs="+", metavar="SYSTEM", help="translations by other systems")
    add_test_set(parser, "bleu,dbleu,chrf")
    add_number(parser, "--randomisation", 10000, "trials of approximate randomisation")
    add_number(parser, "--show", 5, "sentences and documents to show, where systems differ most", least=0)


def run(arguments: Namespace) -> None:
    from docflat.evaluation.metrics import differences

    if not arguments.bootstrap:
        raise InputError("the paired test needs resamples: --bootstrap of at least 1")
    metrics, reference, source, translations = read_test_set(arguments, [arguments.baseline, *arguments.systems])
    comparisons = metrics.compare(translations, arguments.bootstrap, arguments.randomisation)
    sentences: list[JsonObject] = []
    documents: list[JsonObject] = []
    for system in translations[1:] if arguments.show else []:
        texts = _Texts(reference, source, translations[0], system)
        in_sentences, in_documents = differences(reference, translations[0], system)
        sentences += [texts.sentence(one) for one in in_sentences[: arguments.show]]
        for difference in in_documents[: arguments.show]:
            within = [one for one in in_sentences if one.document == difference.document][: arguments.show]
            within.sort(key=lambda one: one.sentence or 0)
            documents.append(texts.place(difference) | {"sentences": [texts.sentence(one) for one in within]})
    if arguments.json:
        print_json({"scores": [asdict(one) for one in comparisons], "sentences": sentences, "documents": documents})
        return
    _print_scores(comparisons)
    if sentences:
        say("", "sentences that differ most, by chrF")
    for sentence in sentences:
        _print_sentence(sentence)
    for document in documents:
        say("", f"among the documents that differ most: document {document['document']}, {_scores(document)}")
        for sentence in document["sentences"]:
            _print_sentence(sentence)


class _Texts:
    """What is shown of two systems."""

    def __init__(
        self, reference: DocumentFile, source: DocumentFile | None, baseline: DocumentFile, system: DocumentFile
    ) -> None:
        named_texts = {"source": source, "reference": reference, "baseline": baseline, "system": system}
        self.texts = {name: text for name, text in named_texts.items() if text is not None}

    def place(self, difference: Difference) -> JsonObject:
        return {
            "system": str(self.texts["system"].file),
            "document": difference.document + 1,
            "baseline_chrf": difference.baseline,
            "system_chrf": difference.system,
        }

    def sentence(self, difference: Difference) -> JsonObject:
        texts = [
            {
                "side": name,
                "file": str(text.file),
                "line": text.lines[difference.document][difference.sentence or 0],
                "text": text.documents[difference.document][difference.sentence or 0],
            }
            for name, text in self.texts.items()
        ]
        return self.place(difference) | {"texts": texts}


def _print_scores(comparisons: Sequence[Comparison]) -> None:
    columns = ("metric", "system", "score", "mean", "confidence", "p_bootstrap", "p_randomisation")
    print_rows([{name: getattr(one, name) for name in columns} for one in comparisons])
    say("")
    for metric, signature in {one.metric: one.signature for one in comparisons}.items():
        say(f"{metric}: {signature}")
    say("p_randomisation is two-sided; p_bootstrap, as sacreBLEU computes it, is of one tail: double it for both")


def _print_sentence(sentence: JsonObject) -> None:
    say("", f"  document {sentence['document']}: {_scores(sentence)}")
    places = [f"{text['file']}:{text['line']}" for text in sentence["texts"]]
    width = max(map(len, places))
    for place, text in zip(places, sentence["texts"], strict=True):
        say(f"    {place:<{width}}  {text['text']}".rstrip())


def _scores(row: JsonObject) -> str:
    baseline, system = row["baseline_chrf"], row["system_chrf"]
    return f"chrF {baseline:.1f}, {system:.1f} by {row['system']} ({system - baseline:+.1f})"
