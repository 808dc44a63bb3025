"""What is measured of a trained model: its translations and their scores, contrastive accuracy, speed."""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from docflat.data.rows import Ids
from docflat.decoding.document_decoder import DocumentDecoder, Documents, Done, ignore
from docflat.decoding.settings import DecodingSettings
from docflat.engines.engine import Hypothesis
from docflat.evaluation.contrastive.examples import accuracies, is_right
from docflat.evaluation.contrastive.scoring import score_examples
from docflat.evaluation.discourse import DISCOURSE
from docflat.evaluation.metrics import Metrics, SegmentMean
from docflat.evaluation.testsets import DocumentFile, Marking, read_beside
from docflat.reproduce.data import Dataset, TestSet, accuracy_name
from docflat.support.atomic import write_whole
from docflat.support.json_files import read_json
from docflat.translation.translator import Translator

Numbers = dict[str, tuple[float, str]]  # by metric: value, and its signature


@dataclass
class SharedFirstPass(DocumentDecoder):
    """Makes the first pass, or is given it: all systems of a dataset share that of sent2sent."""

    known: dict[tuple[int, ...], Ids] = field(default_factory=dict)  # translation of each source sentence by itself

    def first_translations(self, documents: Documents, settings: DecodingSettings, done: Done) -> list[list[Ids]]:
        return [[self.known[tuple(ids)] for ids in document] for document in self._with_readers(documents)]

    def search_with_drafts(
        self, documents: Documents, settings: DecodingSettings, done: Done = ignore
    ) -> tuple[list[list[Hypothesis]], list[list[Ids]] | None]:
        translations, drafts = super().search_with_drafts(documents, settings, done)
        if settings.mode == "sentence":
            for document, translation in zip(documents, translations, strict=True):
                tokens = [one.tokens for one in translation]
                self.known.update(zip(map(tuple, document), tokens, strict=True))
        return translations, drafts

    def save(self, path: Path) -> None:
        write_whole(path, json.dumps(list(self.known.items())))

    def load(self, path: Path) -> None:
        self.known.update((tuple(source), target) for source, target in json.loads(path.read_text(encoding="utf-8")))


def translate(translator: Translator, test: TestSet, out: Path, **settings: Any) -> float:
    """Translate a test set into a file, a line a sentence; the seconds that it takes."""
    documents = test.source.documents
    list(translator.translate_documents(documents[:1], **settings))  # what is done once a process is no system's fault
    start = time.perf_counter()
    # As one chunk: a window is never cut, and the clock stops once.
    translations = list(translator.translate_documents(documents, chunk=sum(test.source.sizes) + 1, **settings))
    seconds = time.perf_counter() - start
    write_whole(out, "".join(f"{sentence}\n" for document in translations for sentence in document))
    return seconds


def read_translation(path: Path, test: TestSet) -> DocumentFile:
    return read_beside(path, test.reference, Marking())


def translation_scores(translation: DocumentFile, test: TestSet, language: str) -> Numbers:
    metrics = Metrics(test.reference, ["bleu", "dbleu", *(DISCOURSE if language == "de" else ())])
    return {result.metric: (result.score, result.signature) for result in metrics.evaluate(translation, bootstrap=0)}


def comet_scores(translation: DocumentFile, test: TestSet, checkpoint: str) -> tuple[list[float], str]:
    """Of each sentence, and the signature."""
    metric = Metrics(test.reference, ["comet"], source=test.source, checkpoint=checkpoint).metrics["comet"]
    assert isinstance(metric, SegmentMean)
    return metric.scorer(translation.sentences), metric.get_signature().format()


def contrast(translator: Translator, dataset: Dataset, company: int = 0) -> tuple[list[bool], Numbers]:
    """Of each example whether the model is right about it; and the accuracies in per cent.

    company: how many other examples stand beside each in its batch.
    """
    scores = score_examples(translator, dataset.examples, company=company)
    right = [is_right([total for total, _ in candidates]) for candidates in scores]
    signature = f"examples:{len(scores)}|context:gold|company:{company}|rule:strictly-best-sum"
    numbers: Numbers = {}
    for row in accuracies(dataset.examples, scores):
        name, share = accuracy_name(row["by"], row["value"]), row["accuracy"]
        assert isinstance(share, float)
        if name in dataset.accuracies:
            numbers[name] = (100 * share, f"{signature}|n:{row['examples']}")
    return right, numbers


def updates_per_second(folder: Path) -> float:
    """Of the last stage of a training.

    The first updates wait for compilation, and a busy machine hiccups. The log has the speed of each stretch of as
    many updates: the usual one is the median, the mean is what the whole time gives.
    """
    last = max(folder.glob("stage-*/result.json"))
    result = read_json(last, "no result")
    if not result["seconds"]:
        return float("nan")
    records = [json.loads(line) for line in (last.parent / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    speeds = [record["target_tokens_per_second"] for record in records if record["kind"] == "train"]
    correction = statistics.median(speeds) / statistics.harmonic_mean(speeds) if speeds else 1.0
    return float(result["steps"] / result["seconds"] * correction)


def device_name(device: str) -> str:
    """device: of a recipe."""
    if device == "cpu" or not torch.cuda.is_available():
        return "CPU"
    return str(torch.cuda.get_device_name())
