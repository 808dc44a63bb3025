"""The data of an experiment: for each dataset a prepared folder, with its test set and a contrastive set in it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docflat.data.corpus import Corpus
from docflat.data.subwords import Subwords
from docflat.evaluation.contrastive.examples import ContrastiveExample, grouped, read_contrastive
from docflat.evaluation.testsets import DocumentFile, Marking, read_beside, read_reference
from docflat.reproduce.grid import DATASETS, IN_COMPANY, set_of
from docflat.support.errors import InputError

ENGLISH_GERMAN = ("en", "de")  # the ends of the names of test files, if nothing else is said
PACKED = ("", ".xz", ".gz", ".bz2")
CONTRASTIVE = [f"contrapro.{kind}{packed}" for kind in ("jsonl", "json") for packed in PACKED]


@dataclass(frozen=True)
class TestSet:
    """Files with a line a sentence and an empty one between documents."""

    __test__ = False  # it is none of pytest's
    source_path: Path
    target_path: Path

    @classmethod
    def find(cls, folder: Path, languages: tuple[str, str] = ENGLISH_GERMAN) -> TestSet | None:
        source, target = (_any(folder, [f"test.{side}{packed}" for packed in PACKED]) for side in languages)
        return None if source is None or target is None else cls(source, target)

    @cached_property
    def reference(self) -> DocumentFile:
        return read_reference(self.target_path, Marking())

    @cached_property
    def source(self) -> DocumentFile:
        return read_beside(self.source_path, self.reference, Marking(), "source")

    @cached_property
    def digest(self) -> bytes:
        return b"".join(hashlib.sha256(path.read_bytes()).digest() for path in (self.source_path, self.target_path))


@dataclass(frozen=True)
class Dataset:
    name: str
    folder: Path  # of `docflat prepare`: tokenizer.json, train, valid
    tests: dict[str, TestSet]  # its own under "", those of other datasets, as far as they are there, by name
    contrastive: Path | None  # a contrastive set

    @classmethod
    def find(cls, data: Path, name: str, languages: tuple[str, str] = ENGLISH_GERMAN) -> Dataset | None:
        """None where there is no folder for it; one that lacks something is an error."""
        folder = data / name
        if not folder.is_dir():
            return None
        for part in ("tokenizer.json", "train", "valid"):
            if not (folder / part).exists():
                raise InputError(f"there is no {part} here; `docflat prepare --out {folder}` writes it", folder)
        all_names = dict.fromkeys((name, *DATASETS))
        test_sets = {"" if other == name else other: TestSet.find(data / other, languages) for other in all_names}
        tests = {other: test for other, test in test_sets.items() if test is not None}
        if "" not in tests:
            wanted = " and ".join(f"test.{language}" for language in languages)
            raise InputError(f"there is no test set here: {wanted}, an empty line between documents", folder)
        return cls(name, folder, tests, _any(folder, CONTRASTIVE) or _any(data, CONTRASTIVE))

    @cached_property
    def examples(self) -> list[ContrastiveExample]:
        return [] if self.contrastive is None else read_contrastive(self.contrastive)

    @cached_property
    def accuracies(self) -> set[str]:
        """What can be measured with the contrastive set."""
        groups = grouped(self.examples, None, usual=("pronoun", "distance"))
        # Examples without a field are only a part of the whole.
        names = {accuracy_name(name, value) for name, value, _ in groups if name == "all" or value is not None}
        return names | ({IN_COMPANY} if len(self.examples) > 1 else set())

    @cached_property
    def sizes(self) -> dict[str, int]:
        """What table 1 shows."""
        counts_of: dict[str, int] = {}
        for split in ("train", "valid"):
            counts = Corpus.open(self.folder / split).counts
            counts_of |= {f"{split} sentences": counts.sentences, f"{split} documents": counts.documents}
        sizes = self.tests[""].reference.sizes
        return {**counts_of, "test sentences": sum(sizes), "test documents": len(sizes)}

    def hash(self, metric: str) -> str:
        """Of all data that a number depends on."""
        contrastive = metric.startswith("accuracy") and self.contrastive is not None
        text = self._text_hash(set_of(metric))
        return f"{text}+{self._contrastive_hash}" if contrastive else text

    @cached_property
    def _contrastive_hash(self) -> str:
        return hashlib.sha256(self.contrastive.read_bytes() if self.contrastive else b"").hexdigest()[:8]

    def _text_hash(self, test: str) -> str:
        digest = self._training_hash.copy()
        digest.update(self.tests[test].digest)
        return digest.hexdigest()[:12]

    @cached_property
    def _training_hash(self) -> hashlib._Hash:
        digest = hashlib.sha256()
        for split in ("train", "valid"):
            digest.update(Corpus.open(self.folder / split).hash.encode())
        digest.update(Subwords.load(self.folder / "tokenizer.json").hash.encode())
        return digest


def accuracy_name(field: object, value: object) -> str:
    """The metric that a row of `docflat.evaluation.contrastive.examples.accuracies` is."""
    return "accuracy" if field == "all" else f"accuracy {value}"


def _any(folder: Path, names: list[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
