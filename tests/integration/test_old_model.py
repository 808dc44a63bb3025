"""A model folder written by an earlier version must keep loading, and translate as it did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docflat import Translator

FOLDER = Path(__file__).parents[1] / "data" / "model-format-1"
HAN = Path(__file__).parents[1] / "data" / "han-without-inner-norms"


def test_a_folder_of_format_1_translates_as_when_it_was_written() -> None:
    # expected.json holds what the version that wrote the folder (0.1.0) made of these sentences.
    sentences = ["The ship left.", "It was old."]
    expected = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    translator = Translator.load(FOLDER, device="cpu")
    subwords = translator.model.subwords
    # By ids: it writes half characters, in the place of which a translator now leaves the sentence as it was.
    settings = translator.decoder.settings(mode="sequential", beam=2)
    (translated,) = translator.decoder.decode([subwords.encode_batch(sentences)], settings)
    assert [subwords.decode(ids) for ids in translated] == expected


def test_a_model_of_han_from_before_its_inner_norms_scores_as_when_it_was_written() -> None:
    # expected.json holds what the code of commit 27c240d made of them: log probabilities, the second in its context.
    expected = json.loads((HAN / "expected.json").read_text(encoding="utf-8"))
    translator = Translator.load(HAN, device="cpu")
    scores = translator.score(["The ship left.", "It was old."], ["Das Schiff fuhr ab.", "Es war alt."])
    assert scores == pytest.approx(expected, rel=1e-6)
