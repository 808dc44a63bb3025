"""The English-German model that comes with docflat: it is there, it is small, and it reads documents."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import torch

from docflat import Translator
from docflat.cli.dispatch import run
from docflat.engines.torch.int8_products import Int8Embedding
from docflat.training.loop import Data, StageTraining
from docflat.training.recipe import load_recipe
from docflat.training.recipe_names import RECIPES
from docflat.training.torchrun import Processes
from docflat.weights.folders import load_model, save_model
from docflat.weights.shipped import ENGLISH_GERMAN, model_folder

CHAIN = ["Good morning.", "We are all here.", "The commission has adopted a new report.", "It has forty pages."]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load()


def test_fits_where_it_is_kept() -> None:
    sizes = [file.stat().st_size for file in ENGLISH_GERMAN.iterdir()]
    assert max(sizes) < 16 << 20
    assert sum(sizes) <= 64 << 20
    assert {"README.md", "config.json", "tokenizer.json"} <= {file.name for file in ENGLISH_GERMAN.iterdir()}


def test_int8_weights_are_used_as_they_are_stored(translator: Translator, tmp_path: Path) -> None:
    assert translator.precision == "int8"
    assert isinstance(Translator.load(engine="torch").model.engine.model.embedding, Int8Embedding)
    loaded = load_model(ENGLISH_GERMAN)
    save_model(tmp_path / "wide", loaded.config, loaded.model.state_dict(), loaded.subwords, "")
    for engine in ("onnx", "torch"):
        assert Translator.load(tmp_path / "wide", engine=engine).precision == "fp32"
        assert Translator.load(precision="fp32", engine=engine).precision == "fp32"


@pytest.mark.parametrize(("noun", "pronoun"), [("report", "Er"), ("regulation", "Sie"), ("law", "Es")])
def test_a_pronoun_follows_its_noun(translator: Translator, noun: str, pronoun: str) -> None:
    """Der Bericht, die Verordnung, das Gesetz."""
    text = [f"The commission has adopted a new {noun}.", "It will be published tomorrow."]
    assert translator.translate(text)[1].startswith(f"{pronoun} ")


def test_translate_needs_no_model_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(CHAIN).encode() + b"\n")))
    assert run(["translate", "--changes"]) == 0
    out, err = capsys.readouterr()
    assert "Bericht" in out.splitlines()[2]
    assert "sentence 4: It has forty pages." in err
    assert "  without context: [Sie]" in err
    assert "  with context:    [Er]" in err


def test_changes_are_shown_where_context_demanded_them_and_nowhere_else(
    translator: Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("".join(line + "\n" for line in CHAIN), encoding="utf-8")
    assert run(["translate", str(tmp_path / "a.txt"), "--lines", "--changes", "-o", str(tmp_path / "a.de")]) == 0
    shown = [line for line in capsys.readouterr().err.splitlines() if ", sentence " in line]
    decoder, subwords = translator.decoder, translator.model.subwords
    (edited,) = decoder.edit([subwords.encode_batch(CHAIN)], decoder.settings(mode="edit"))
    demanded = [text for text, one in zip(CHAIN, edited, strict=True) if one.translation.tokens != one.draft.tokens]
    assert [line.split(": ", 1)[1] for line in shown] == demanded
    assert 0 < len(demanded) < len(CHAIN)
    assert all(one.objections for one in edited if one.translation.tokens != one.draft.tokens)


def test_no_changes_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("Good morning.\n", encoding="utf-8")
    assert run(["translate", str(tmp_path / "a.txt"), "--changes"]) == 0
    assert "context changed 0 of 1 sentences\n" in capsys.readouterr().err
    assert run(["translate", str(tmp_path / "a.txt"), "--changes"]) == 0
    assert "there are no changes to show" in capsys.readouterr().err


def test_changes_without_context_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["translate", "--changes", "--mode", "sentence"]) == 2
    assert "there are no changes to show" in capsys.readouterr().err


def test_scores_say_what_they_were_computed_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, sentences in (("en", CHAIN[2:]), ("de", ["Die Kommission hat berichtet.", "Das kommt morgen."])):
        (tmp_path / f"text.{side}").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    files = ["--source", str(tmp_path / "text.en"), "--reference", str(tmp_path / "text.de")]
    for precision, expected in (("auto", "int8"), ("fp32", "fp32")):
        assert run(["context", *files, "--model", "en-de", "--precision", precision]) == 0
        assert f"|precision:{expected}|" in capsys.readouterr().out


def test_a_shipped_model_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_folder("en-de") == ENGLISH_GERMAN
    assert model_folder("../models/en-de") == Path("../models/en-de")
    (tmp_path / "en-de").mkdir()
    assert model_folder("en-de") == Path("en-de")  # what the user has comes first


def test_the_recipe_for_own_documents_fits_the_model(tmp_path: Path) -> None:
    """Subwords by name, and weights that the recipe's stage can start from."""
    text = "\n\n".join(f"The ship {n} left.\nIt was {n} years old." for n in range(8)) + "\n"
    for side in ("en", "de"):
        (tmp_path / f"train.{side}").write_text(text)
    files = ["--source", str(tmp_path / "train.en"), "--target", str(tmp_path / "train.de")]
    assert run(["prepare", *files, "--tokenizer", "en-de", "--hold-out", "4", "--out", str(tmp_path / "data")]) == 0
    recipe = load_recipe(RECIPES / "finetune.yaml", [f"data={tmp_path / 'data'}", f"out={tmp_path / 'run'}"])
    stage = StageTraining(recipe, 0, Data.open(tmp_path / "data"), Processes.start("cpu"))
    model, rates = stage._build()
    shipped = load_model(ENGLISH_GERMAN).model.state_dict()
    assert all(torch.equal(tensor, shipped[name]) for name, tensor in model.state_dict().items())
    assert set(rates.values()) == {1.0}
    hint = (RECIPES / "finetune.yaml").read_text().split("On a GPU add: ")[1].splitlines()[0].split()
    assert load_recipe(RECIPES / "finetune.yaml", hint).stages[0].batch_tokens == 32768
    assert stage.config.rows == load_model(ENGLISH_GERMAN).config.rows
