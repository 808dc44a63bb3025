"""A training goes on with the data it began with, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from docflat.support.errors import InputError

from .conftest import prepare_documents, run_training, stage


def test_other_data_at_the_same_place_is_refused(data: Path, tmp_path: Path) -> None:
    run_training(data, tmp_path / "out", stage(max_steps=2, validation_sample=0))
    other = prepare_documents(tmp_path / "other", seed="other")
    with pytest.raises(InputError, match=r"data_hash\.\w+ was '\w+' when this training began"):
        run_training(other, tmp_path / "out", stage(max_steps=4, validation_sample=0))


def test_subwords_that_are_not_the_corpus_own_are_refused(tmp_path: Path) -> None:
    data = prepare_documents(tmp_path / "one")
    other = prepare_documents(tmp_path / "other", seed="other", vocabulary=280)
    (data / "tokenizer.json").write_bytes((other / "tokenizer.json").read_bytes())
    with pytest.raises(InputError, match="encoded with other subwords"):
        run_training(data, tmp_path / "out", stage(max_steps=2, validation_sample=0))
    assert not (tmp_path / "out").exists(), "nothing is begun"
