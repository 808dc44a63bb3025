"""The probe's pattern on a smaller language: who sees what is a property of the systems and must show in learning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from docflat.evaluation.probe.language import PRONOUNS, Language
from docflat.evaluation.probe.probe import Probe, run
from docflat.model.sizes import ModelSizes

SMALL = Probe(
    Language(seed=1, sentences=6, farthest=4, things=6, words=8),
    context=1,
    training_documents=3000,
    test_documents=100,
    batch_tokens=1024,
    first_steps=150,
    steps=700,
    sizes=ModelSizes(dim=64, heads=4, feed_forward=128, encoder_layers=1, decoder_layers=1),
)


@pytest.fixture(scope="module")
def accuracy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    """By system, in per cent: at distance 1, 2, ..."""
    rows = run(SMALL, tmp_path_factory.mktemp("probe"), ["sent2sent", "doc2doc", "docflat-c"])
    return {row["system"]: [value for key, value in row.items() if key != "system"] for row in rows}


CHANCE = 100 / len(PRONOUNS)


def test_a_sentence_system_guesses(accuracy: dict[str, list[float]]) -> None:
    # About 100 references a distance: 20 points are four standard deviations.
    assert all(abs(value - CHANCE) < 20 for value in accuracy["sent2sent"])


def test_local_context_reaches_as_far_as_it_says(accuracy: dict[str, list[float]]) -> None:
    assert accuracy["doc2doc"][0] >= 95
    assert all(abs(value - CHANCE) < 20 for value in accuracy["doc2doc"][1:])


def test_flat_batch_attention_reaches_beyond_it(accuracy: dict[str, list[float]]) -> None:
    assert min(accuracy["docflat-c"]) >= 95


def test_table_and_plot_are_written(tmp_path: Path) -> None:
    run(replace(SMALL, training_documents=20, first_steps=1, steps=1), tmp_path, ["doc2doc"])
    assert (tmp_path / "probe.json").read_text().count("system") == 2
    assert (tmp_path / "probe.png").read_bytes().startswith(b"\x89PNG")
