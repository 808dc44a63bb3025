"""Metrics of translations with signatures, confidence and significance: sacreBLEU's, and COMET in its way."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from sacrebleu.metrics.base import Metric, Score, Signature
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from docflat.evaluation.discourse import DISCOURSE, DiscourseF1
from docflat.evaluation.testsets import DocumentFile
from docflat.support.errors import InputError
from docflat.support.strict_yaml import nearest

METRICS = ("bleu", "dbleu", "chrf", "ter", "comet", *DISCOURSE)
COMET_CHECKPOINT = "Unbabel/wmt20-comet-da"  # the paper's

Scorer = Callable[[Sequence[str]], list[float]]  # translations, in the order of the references, to a score for each


@dataclass(frozen=True)
class Result:
    """A score; with resamples, their mean and half the width of the 95% interval around it."""

    metric: str
    score: float
    mean: float | None
    confidence: float | None
    signature: str


@dataclass(frozen=True)
class Comparison(Result):
    """A score of one of several systems; the p-values are those of its difference from the first one."""

    system: str
    p_bootstrap: float | None = None
    p_randomisation: float | None = None


@dataclass(frozen=True)
class Difference:
    """A place where two systems differ, by chrF: a document, counted from 0, or one sentence of it."""

    document: int
    sentence: int | None
    baseline: float
    system: float


class SegmentMean(Metric):
    """The mean of a score that each sentence has by itself, in a form that sacreBLEU can resample."""

    def __init__(self, name: str, scorer: Scorer, signature: dict[str, str]) -> None:
        super().__init__()
        self.name, self.scorer, self.num_refs = name, scorer, 1
        self.extra = signature
        self._known: dict[tuple[str, ...], list[list[float]]] = {}

    def get_signature(self) -> Signature:
        signature = super().get_signature()
        for key, value in self.extra.items():
            signature.update(key, value)
        return signature

    def _extract_corpus_statistics(self, hypotheses: Sequence[str], references: Any) -> list[list[float]]:
        key = tuple(hypotheses)  # each of the paired tests asks anew, and a model is slow
        if key not in self._known:
            self._known[key] = [[score, 1] for score in self.scorer(hypotheses)]
        return self._known[key]

    def _aggregate_and_compute(self, stats: Any) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: Any) -> Score:
        return Score(self.name, float(stats[0] / stats[1]))

    def _preprocess_segment(self, sent: str) -> str:
        raise NotImplementedError("the scorer has the references")

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        raise NotImplementedError("the scorer has the references")

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[Any]:
        raise NotImplementedError("sentences are scored together")


class Metrics:
    """Some of METRICS, made ready for one test set."""

    def __init__(
        self,
        reference: DocumentFile,
        names: Sequence[str],
        tokenize: str = "13a",
        source: DocumentFile | None = None,
        checkpoint: str = COMET_CHECKPOINT,
    ) -> None:
        """tokenize: one of sacreBLEU's tokenisers, for BLEU; source, checkpoint: for COMET."""
        check_names(names, source is not None)
        _check_seed()
        makers: dict[str, Callable[[], Metric]] = {
            "bleu": lambda: BLEU(tokenize=tokenize, references=[reference.sentences]),
            "dbleu": lambda: BLEU(tokenize=tokenize, references=[reference.joined]),
            "chrf": lambda: CHRF(references=[reference.sentences]),
            "ter": lambda: TER(references=[reference.sentences]),
            "comet": lambda: _comet(checkpoint, source.sentences if source else [], reference.sentences),
            **{name: partial(DiscourseF1, name, reference.documents) for name in DISCOURSE},
        }
        self.metrics = {name: makers[name]() for name in dict.fromkeys(names)}

    def evaluate(self, translation: DocumentFile, bootstrap: int = 1000) -> list[Result]:
        """bootstrap: resamples for the confidence interval; 0: none."""
        results = []
        for name, metric in self.metrics.items():
            segments = _segments(name, translation)
            if bootstrap:
                # A paired test of one system: corpus_score would stop at a mixture of float32 and float.
                signature, (estimate,) = paired_test("bs", [(str(translation.file), segments)], metric, bootstrap)
                score, mean, confidence = estimate.score, float(estimate.mean), float(estimate.ci)
            else:
                score, mean, confidence = metric.corpus_score(segments, None).score, None, None
                signature = metric.get_signature()
            results.append(Result(name, float(score), mean, confidence, _format(name, signature)))
        return results

    def compare(
        self, translations: Sequence[DocumentFile], bootstrap: int = 1000, randomisation: int = 10000
    ) -> list[Comparison]:
        """The first is the baseline. bootstrap, randomisation: resamples and trials of the paired tests; 0: none."""
        comparisons = []
        for name, metric in self.metrics.items():
            systems: list[tuple[str, Sequence[str]]] = [
                (str(translation.file), _segments(name, translation)) for translation in translations
            ]
            signature, by_bootstrap = paired_test("bs", systems, metric, bootstrap)
            by_randomisation: list[float | None] = [None] * len(systems)
            if randomisation:
                _, trials = paired_test("ar", systems, metric, randomisation)
                by_randomisation = [trial.p_value for trial in trials]
                signature.update("ar", randomisation)  # beside bs, as sacreBLEU writes where it does both
            text = _format(name, signature)
            for (system, _), bs, p_randomisation in zip(systems, by_bootstrap, by_randomisation, strict=True):
                scores = (float(bs.score), float(bs.mean), float(bs.ci))
                comparisons.append(Comparison(name, *scores, text, system, bs.p_value, p_randomisation))
        return comparisons


def differences(
    reference: DocumentFile, baseline: DocumentFile, system: DocumentFile
) -> tuple[list[Difference], list[Difference]]:
    """Sentences and documents whose chrF differs, the largest differences first.

    chrF, because BLEU says little about a single sentence.
    """
    sentences, documents = [], []
    for number, texts in enumerate(zip(reference.documents, baseline.documents, system.documents, strict=True)):
        for place, (wanted, first, second) in enumerate(zip(*texts, strict=True)):
            sentences.append(Difference(number, place, _chrf(first, wanted), _chrf(second, wanted)))
        wanted, first, second = (" ".join(document) for document in texts)
        documents.append(Difference(number, None, _chrf(first, wanted), _chrf(second, wanted)))
    return _largest(sentences), _largest(documents)


def check_names(names: Sequence[str], with_source: bool) -> None:
    """Says what is wrong with a choice of metrics before anything slow is done."""
    for name in names:
        if name not in METRICS:
            hint = nearest(name, METRICS, f"; there are {', '.join(METRICS)}")
            raise InputError(f"unknown metric {name!r}{hint}")
    if "comet" not in names:
        return
    if not with_source:
        raise InputError("comet reads the source too: --source FILE")
    if not find_spec("comet"):
        raise InputError("comet needs a package that is not installed: pip install 'docflat[comet]'")


def paired_test(
    test: Literal["bs", "ar"], systems: Sequence[tuple[str, Sequence[str]]], metric: Metric, trials: int
) -> tuple[Signature, list[Any]]:
    """sacreBLEU's signature, and its result for each system; one metric at a time, as two of ours are named BLEU."""
    signatures, scores = PairedTest(list(systems), {"": metric}, None, test, trials)()
    name, signature = next(iter(signatures.items()))
    return signature, scores[name]


def _largest(differences: list[Difference]) -> list[Difference]:
    changed = [each for each in differences if each.system != each.baseline]
    return sorted(changed, key=lambda each: -abs(each.system - each.baseline))


_CHRF = CHRF()


def _chrf(hypothesis: str, reference: str) -> float:
    return float(_CHRF.sentence_score(hypothesis, [reference]).score)


def _segments(name: str, translation: DocumentFile) -> list[str]:
    return translation.joined if name == "dbleu" else translation.sentences


def _format(name: str, signature: Signature) -> str:
    if name == "dbleu":
        signature.update("segment", "document")  # sacreBLEU cannot know
    return signature.format()


def _check_seed() -> None:
    """sacreBLEU reads its seed (12345) from SACREBLEU_SEED if that is set; `none` stands for another one each time."""
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    if seed.lower() != "none" and not seed.isdecimal():
        raise InputError(f"SACREBLEU_SEED must be a whole number or none, not {seed!r}")


def _comet(checkpoint: str, sources: Sequence[str], references: Sequence[str]) -> SegmentMean:
    with _quiet():
        model = _load_comet(checkpoint)

    def score(translations: Sequence[str]) -> list[float]:
        import torch

        columns = {"src": sources, "mt": translations}
        if model.requires_references():
            columns["ref"] = references
        samples = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        gpus = int(torch.cuda.is_available())
        with _quiet():
            predicted = model.predict(samples, batch_size=16, gpus=gpus, progress_bar=False, num_workers=0)
        return [float(each) for each in predicted.scores]

    return SegmentMean("COMET", score, {"model": checkpoint, "version": version("unbabel-comet")})


def _load_comet(checkpoint: str) -> Any:
    """A model of a local file or folder, or of the hub."""
    import comet

    path = Path(checkpoint)
    if path.is_dir():
        path = path / "checkpoints" / "model.ckpt"
    if not path.exists():
        # A name of the hub is a word, or two with a slash between them.
        if path != Path(checkpoint) or checkpoint.startswith((".", "/", "~")) or len(path.parts) > 2:
            raise InputError("no COMET checkpoint here", path)
        try:
            path = Path(comet.download_model(checkpoint))
        except KeyError:
            message = "no COMET checkpoint of this name is here, nor could one be got from the hub"
            raise InputError(message, checkpoint) from None
    try:
        with _only_weights():
            return comet.load_from_checkpoint(str(path))
    except Exception as error:  # it raises this very class where hparams.yaml is missing, and much else
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(f"cannot be loaded as a COMET checkpoint: {type(error).__name__}: {reason}", path) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """COMET and what it is made of tell about the hardware and each other's old age, and set the log to tell more."""
    level = logging.getLogger().level
    logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.INFO)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
            logging.getLogger().setLevel(level)


@contextmanager
def _only_weights() -> Iterator[None]:
    """A checkpoint is a pickle, which could run anything: within, torch takes tensors and plain values only.

    Who sets torch's own TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD trusts the checkpoint.
    """
    name = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(name)
    if not os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
        os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before
