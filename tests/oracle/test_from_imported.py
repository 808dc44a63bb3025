"""Document models that start from imported ones: at first they compute what the imported one does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from docflat.data.documents import FilePair
from docflat.data.preparing import prepare
from docflat.data.row_settings import RowSettings
from docflat.data.rows import Rows, SentenceList
from docflat.model.batch import make_batch
from docflat.model.transformer import Transformer
from docflat.systems import find_system
from docflat.training.loop import Data, StageTraining
from docflat.training.recipe import load_recipe
from docflat.training.recipe_names import RECIPES
from docflat.training.torchrun import Processes
from docflat.weights.config import vocabulary_of
from docflat.weights.folders import load_model
from docflat.weights.marian.importing import import_model
from marian_files import ENGLISH, GERMAN, write_huggingface

RECIPE = RECIPES / "from-imported.yaml"
QUIET = ["doc2doc", "flattrans", "docflat-c", "docflat-d", "docflat-i"]


@pytest.fixture(params=[{}, {"separate": True, "activation_function": "relu"}], ids=str)
def imported(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A model folder, and beside it data in its subwords."""
    write_huggingface(tmp_path / "theirs", d_model=32, **request.param)
    import_model(tmp_path / "theirs", tmp_path / "imported", int8=False)
    for name, lines in (("en", ENGLISH), ("de", GERMAN)):
        text = "".join(f"{line}\n" + "\n" * (number % 8 == 7) for number, line in enumerate(lines))
        (tmp_path / name).write_text(text, encoding="utf-8")
    pair = FilePair(tmp_path / "en", tmp_path / "de")
    prepare([pair], tmp_path / "data", tokenizer=tmp_path / "imported", valid_pairs=[pair])
    return tmp_path / "imported"


def start(imported: Path, system: str, **rows: Any) -> Transformer:
    """The model as the stage of the recipe starts with it."""
    folder = imported.parent
    overrides = [f"start={imported}", f"data={folder / 'data'}", f"out={folder / 'run'}", f"stages.0.system={system}"]
    overrides += ["device=cpu", *(f"stages.0.rows.{key}={value}" for key, value in rows.items())]
    recipe = load_recipe(RECIPE, overrides)
    stage = StageTraining(recipe, 0, Data.open(recipe.data), Processes.start("cpu"))
    return stage._build()[0].eval()


def loss(model: Transformer, system: str, imported: Path, context: int) -> float:
    """Of the first document, in the rows of a system."""
    subwords = load_model(imported).subwords
    sides = [
        SentenceList([subwords.encode(line, side) for line in lines[:8]])  # type: ignore[arg-type]
        for side, lines in (("source", ENGLISH), ("target", GERMAN))
    ]
    place = np.arange(8)
    group = np.zeros(8, dtype=np.int64) if context else -1 - place
    rows = Rows(place, np.minimum(place, context), place, place, group)
    one = find_system(system)
    settings = one.rows_of(RowSettings(source_starts=False, context=context if one.rows.get("context") != 0 else None))
    batch = make_batch(*sides, rows, one.layout(settings, vocabulary_of(subwords)))
    with torch.no_grad():
        return float(model(batch)[1])


@pytest.mark.parametrize("system", QUIET)
def test_a_stage_starts_with_the_loss_of_the_imported_model(imported: Path, system: str) -> None:
    """Of lone sentences the loss that it has itself; of sentences in context, the loss that it has on such rows."""
    sentence_model = load_model(imported).model
    model = start(imported, system, window=0)
    alone = loss(sentence_model, "sent2sent", imported, 0)
    assert loss(model, system, imported, 0) == pytest.approx(alone, rel=0.01)
    sentence_model.start_index_tokens()
    if system != "flattrans":  # which has no context on the target side
        assert loss(model, system, imported, 3) == pytest.approx(loss(sentence_model, "doc2doc", imported, 3), rel=0.01)
