"""Tiny data, recipes that train on it in a second, and what several tests of training read from the result."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from docflat.data.documents import FilePair
from docflat.data.preparing import prepare
from docflat.support.strict_yaml import from_mapping
from docflat.training.loop import train
from docflat.training.recipe import Recipe

# A child's arithmetic must not depend on how many cores are free, and two cores are all that CI has.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
TIMING = {"target_tokens_per_second", "mfu", "time_left", "seconds"}

Mapping = dict[str, Any]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def made_up_documents(number: int, seed: str, sentences: tuple[int, int] = (2, 6)) -> list[list[tuple[str, str]]]:
    """Documents of (source, target) sentences; each of 30 words has one translation."""
    words = random.Random("words")
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    stems = ["".join(pair) for pair in zip(words.sample(syllables, 60), words.sample(syllables, 60), strict=True)]
    chance = random.Random(seed)
    documents = []
    for _ in range(number):
        lengths = [chance.randint(2, 6) for _ in range(chance.randint(*sentences))]
        ids = [[chance.randrange(30) for _ in range(length)] for length in lengths]
        documents.append([(" ".join(stems[i] for i in x), " ".join(stems[30 + i] for i in x)) for x in ids])
    return documents


def write_corpus(folder: Path, split: str, documents: Sequence[Sequence[tuple[str, str]]]) -> FilePair:
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{split}.source", folder / f"{split}.target"]
    for side, file in enumerate(files):
        text = "\n\n".join("\n".join(pair[side] for pair in document) for document in documents)
        file.write_text(text + "\n", encoding="utf-8")
    return FilePair(*files)


def prepare_documents(folder: Path, seed: str = "data", documents: int = 30, vocabulary: int = 300) -> Path:
    pairs = [write_corpus(folder, "train", made_up_documents(documents, f"{seed} train"))]
    valid = [write_corpus(folder, "valid", made_up_documents(6, f"{seed} valid"))]
    prepare(pairs, folder / "prepared", valid_pairs=valid, vocabulary=vocabulary, index_tokens=8)
    return folder / "prepared"


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared corpus of 30 documents, with 6 for validation."""
    return prepare_documents(tmp_path_factory.mktemp("data"))


def stage(system: str = "sent2sent", **changes: Any) -> Mapping:
    """A stage of 12 steps, with everything random switched on."""
    return {
        "system": system,
        "rows": {"max_tokens": 64},
        "batch_tokens": 200,
        "accumulate": 2,
        "learning_rate": 4e-3,
        "warmup_steps": 5,
        "dropout": 0.1,
        "word_dropout": 0.1,
        "max_steps": 12,
        "validate_every": 4,
        "average": 2,
        "validation_sample": 5,
        **changes,
    }


def recipe_mapping(data: Path, out: Path, *stages: Mapping, **changes: Any) -> Mapping:
    return {
        "data": str(data),
        "out": str(out),
        "model": {"dim": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1},
        "stages": list(stages),
        "device": "cpu",
        "log_every": 2,
        "tensorboard": False,
        **changes,
    }


def run_training(data: Path, out: Path, *stages: Mapping, **changes: Any) -> list[Mapping]:
    """Train in this process."""
    return train(from_mapping(Recipe, recipe_mapping(data, out, *stages, **changes)))


def read_log(folder: Path) -> list[Mapping]:
    """The lines of a stage's log.jsonl, strictly JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    text = (folder / "log.jsonl").read_text(encoding="utf-8")
    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def without_timing(record: Mapping) -> Mapping:
    return {key: value for key, value in record.items() if key not in TIMING}


def outcome(out: Path) -> Mapping:
    """All that a training must give again whatever happened on the way: bytes of the models, logs, results."""
    models = {path.relative_to(out): path.read_bytes() for path in out.rglob("model/*")}
    logs = {path.name: [without_timing(line) for line in read_log(path)] for path in sorted(out.glob("stage-*"))}
    results = {
        path.parent.name: without_timing(json.loads(path.read_text())) for path in out.glob("stage-*/result.json")
    }
    checkpoints = {path.relative_to(out): path.read_bytes() for path in out.rglob("step-*/*.safetensors")}
    return {"models": models, "logs": logs, "results": results, "checkpoints": checkpoints}
