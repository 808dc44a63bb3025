"""It must learn: every system learns a tiny corpus by heart and translates it without a mistake."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from docflat import Translator
from docflat.data.documents import FilePair
from docflat.data.preparing import prepare
from docflat.data.row_settings import RowSettings
from docflat.model.sizes import ModelSizes
from docflat.systems import SYSTEMS
from docflat.training.loop import train
from docflat.training.recipe import Recipe, Stage

SIZES = ModelSizes(dim=64, heads=4, feed_forward=128, encoder_layers=1, decoder_layers=1)
STEPS = 150


def made_up_documents() -> list[list[tuple[str, str]]]:
    """4 documents of 3 to 6 sentences. No word of a translation follows from a word of its source."""
    chance = random.Random(1)
    lexicons = []
    for vowels in ("aei", "ou"):
        syllables = [consonant + vowel for consonant in "bdgklmnprst" for vowel in vowels]
        lexicons.append([first + second for first, second in zip(syllables, reversed(syllables), strict=True)])

    def sentence(words: list[str]) -> str:
        return " ".join(chance.choices(words, k=chance.randint(2, 6))).capitalize() + "."

    return [[(sentence(lexicons[0]), sentence(lexicons[1])) for _ in range(size)] for size in (5, 3, 6, 4)]


DOCUMENTS = made_up_documents()
SOURCES = [[source for source, _ in document] for document in DOCUMENTS]
TARGETS = [[target for _, target in document] for document in DOCUMENTS]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, documents in (("source", SOURCES), ("target", TARGETS)):
        (folder / name).write_text("\n\n".join("\n".join(document) for document in documents) + "\n")
    pair = FilePair(folder / "source", folder / "target")
    prepare([pair], folder / "prepared", valid_pairs=[pair], vocabulary=400, index_tokens=8)
    return folder / "prepared"


class Models:
    """Each system is trained once, when it is first asked for."""

    def __init__(self, data: Path, folder: Path) -> None:
        self.data, self.folder = data, folder

    def trained(self, system: str) -> Path:
        # Lone sentences too, so that a system can do the first pass itself.
        local = SYSTEMS[system].rows.get("context") != 0
        rows = RowSettings(context=2 if local else None, max_tokens=128, context_free=0.5)
        # One stage from nothing: all is trained, also what a system would freeze or slow down in a stage II.
        stage = Stage(
            system,
            rows=rows,
            batch_tokens=2048,
            accumulate=1,
            learning_rate=3e-3,
            warmup_steps=30,
            dropout=0.0,
            label_smoothing=0.0,
            max_steps=STEPS,
            validate_every=STEPS,
            average=1,
            validation_sample=1000,
        )
        out = self.folder / system
        (result,) = train(Recipe(self.data, out, (stage,), SIZES, device="cpu", tensorboard=False))
        assert result["bleu"] == pytest.approx(100)
        assert result["loss"] < 0.05
        return out / "model"


@pytest.fixture(scope="module")
def models(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(data, tmp_path_factory.mktemp("models"))


def translations(model: Path, first_pass: Path | None = None, **settings: Any) -> list[list[str]]:
    translator = Translator.load(model, device="cpu", first_pass=first_pass)
    return list(translator.translate_documents(SOURCES, **settings))


BEAMS = pytest.mark.parametrize("beam", [1, 5])


@BEAMS
def test_sentence_by_sentence(models: Models, beam: int):
    assert translations(models.trained("sent2sent"), beam=beam) == TARGETS


@BEAMS
@pytest.mark.parametrize("system", [name for name, system in SYSTEMS.items() if not system.sentence_level])
def test_with_context(models: Models, system: str, beam: int):
    model, first = models.trained(system), models.trained("sent2sent")
    found = {"sequential": translations(model, mode="sequential", beam=beam)}
    for name, first_pass in (("itself", None), ("sent2sent", first)):
        found[f"two-pass after {name}"] = translations(model, first_pass, mode="two-pass", beam=beam)
    assert [what for what in found if found[what] != TARGETS] == []
