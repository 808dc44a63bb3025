"""`docflat evaluate`: the scores of translations."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.cli.arguments import add_test_set
from docflat.support.console import print_rows, warn

if TYPE_CHECKING:
    from docflat.evaluation.metrics import Metrics
    from docflat.evaluation.testsets import DocumentFile


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--hypothesis", type=Path, required=True, metavar="FILE", help="the translations to score")
    add_test_set(parser, "bleu,dbleu,chrf,ter")


def run(arguments: Namespace) -> None:
    metrics, _, _, (hypothesis,) = read_test_set(arguments, [arguments.hypothesis])
    rows = [asdict(result) for result in metrics.evaluate(hypothesis, arguments.bootstrap)]
    print_rows(rows, arguments.json, title=str(hypothesis.file))


def read_test_set(
    arguments: Namespace, hypotheses: list[Path]
) -> tuple[Metrics, DocumentFile, DocumentFile | None, list[DocumentFile]]:
    """The metrics, the reference, the source if there is one, and the hypotheses, all lined up."""
    from docflat.evaluation.metrics import Metrics, check_names
    from docflat.evaluation.testsets import Marking, read_beside, read_reference

    check_names(arguments.metrics, arguments.source is not None)
    marking = Marking(arguments.boundaries, arguments.docids, arguments.starts)
    reference = read_reference(arguments.reference, marking)
    source = read_beside(arguments.source, reference, marking, "source") if arguments.source else None
    translations = [read_beside(file, reference, marking) for file in hypotheses]
    for translation in translations:
        _warn_of_empty(translation)
    metrics = Metrics(reference, arguments.metrics, arguments.tokenize, source, arguments.comet_model)
    return metrics, reference, source, translations


def _warn_of_empty(translation: DocumentFile) -> None:
    numbers = [number for lines in translation.lines for number in lines]
    empty = [number for number, text in zip(numbers, translation.sentences, strict=True) if not text.strip()]
    if empty:
        warn(f"{translation.file}:{empty[0]}: {len(empty)} of {len(numbers)} translations are empty, this one first")
