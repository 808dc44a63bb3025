"""Trainings that cannot be, and devices that are not there."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from docflat.data.documents import FilePair
from docflat.data.preparing import prepare
from docflat.support.atomic import alone
from docflat.support.errors import InputError
from docflat.training.steps import ahead

from .conftest import (
    ENVIRONMENT,
    prepare_documents,
    run_training,
    stage,
    write_corpus,
)


def test_no_data_at_all_is_named(tmp_path: Path):
    with pytest.raises(InputError) as caught:
        run_training(tmp_path / "data", tmp_path / "out", stage())
    assert str(tmp_path / "data") in str(caught.value)


def test_a_corpus_of_other_subwords_is_refused(data: Path, tmp_path: Path):
    other = prepare_documents(tmp_path / "other", vocabulary=290)
    shutil.copytree(data, tmp_path / "data")
    shutil.copy(other / "tokenizer.json", tmp_path / "data" / "tokenizer.json")
    with pytest.raises(InputError, match=r"other subwords") as caught:
        run_training(tmp_path / "data", tmp_path / "out", stage())
    assert str(tmp_path / "data") in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_out_that_cannot_be_is_named(data: Path, tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError) as caught:
        run_training(data, tmp_path / "file" / "out", stage())
    assert str(tmp_path / "file" / "out") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("split", ["train", "valid"])
def test_data_of_which_nothing_fits_is_refused(data: Path, tmp_path: Path, split: str):
    """All sentences of one part are longer than a row may be."""
    for part in ("train", "valid"):
        short = [[("ba", "ba")] * 3] * 3
        long = [[("ba " * 20, "ba " * 20)] * 3] * 3
        write_corpus(tmp_path, part, long if part == split else short)
    pairs = {part: [FilePair(tmp_path / f"{part}.source", tmp_path / f"{part}.target")] for part in ("train", "valid")}
    prepare(pairs["train"], tmp_path / "data", valid_pairs=pairs["valid"], tokenizer=data / "tokenizer.json")
    with pytest.raises(InputError, match=r"max_tokens"):
        run_training(tmp_path / "data", tmp_path / "out", stage(rows={"max_tokens": 8}, validation_sample=0))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(data: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"^device: "):
        run_training(data, tmp_path, stage(), device="cuda")


def test_training_leaves_no_thread_behind(data: Path, tmp_path: Path):
    before = set(threading.enumerate())
    run_training(data, tmp_path, stage(max_steps=2, validation_sample=0))
    assert set(threading.enumerate()) == before


def test_what_is_computed_ahead_ends_with_its_use():
    before = set(threading.enumerate())
    items = ahead(iter(lambda: lambda: torch.zeros(10) + 1, None))
    assert len(next(items)) == 10
    items.close()
    assert set(threading.enumerate()) == before


def test_leaving_while_batches_are_laid_out_is_no_crash():
    """Python ends background threads wherever they are; one that is inside of torch then takes the process along."""
    script = (
        "import torch\nfrom docflat.training.steps import ahead\n"
        "def work():\n"
        "    x = torch.arange(2000)\n"
        "    for _ in range(500): x = (x + 1).clamp_max(10**6)\n"
        "    return x\n"
        "items = ahead(iter(lambda: work, None)); next(items); items.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_two_trainings_do_not_write_into_one_folder(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with alone(out), pytest.raises(InputError, match="another training is writing here"):
        run_training(data, out, stage(max_steps=2))
    assert not (out / "recipe.json").exists()
    run_training(data, out, stage(max_steps=2))  # it was let go
    assert (out / "model" / "model.safetensors").exists()
