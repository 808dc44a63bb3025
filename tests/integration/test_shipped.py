"""The English-German model that comes with docflat: it is there, it is small, and it reads documents."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from docflat import Translator
from docflat.checkpoints import load_model, save_model
from docflat.cli import run
from docflat.quantization import Int8Embedding
from docflat.shipped import ENGLISH_GERMAN

CHAIN = ["The commission has adopted a new report.", "It will be published tomorrow."]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load()


def test_fits_where_it_is_kept() -> None:
    sizes = [file.stat().st_size for file in ENGLISH_GERMAN.iterdir()]
    assert max(sizes) < 16 << 20
    assert sum(sizes) <= 64 << 20
    assert {"README.md", "config.json", "tokenizer.json"} <= {file.name for file in ENGLISH_GERMAN.iterdir()}


def test_int8_weights_are_used_as_they_are_stored(translator: Translator, tmp_path: Path) -> None:
    assert isinstance(translator.folder.model.embedding, Int8Embedding)
    loaded = load_model(ENGLISH_GERMAN)
    save_model(tmp_path / "wide", loaded.config, loaded.model.state_dict(), loaded.subwords, "")
    assert not isinstance(Translator.load(tmp_path / "wide").folder.model.embedding, Int8Embedding)
    assert not isinstance(Translator.load(precision="fp32").folder.model.embedding, Int8Embedding)


def test_a_pronoun_follows_its_noun(translator: Translator) -> None:
    """Der Bericht is masculine; alone, "it" is as good as neuter."""
    _, with_context = translator.translate(CHAIN)
    _, alone = translator.translate(CHAIN, mode="sentence")
    assert with_context.startswith("Er ")
    assert alone.startswith("Es ")


def test_translate_needs_no_model_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(CHAIN).encode() + b"\n")))
    assert run(["translate", "--changes"]) == 0
    out, err = capsys.readouterr()
    assert "Bericht" in out.splitlines()[0]
    assert "sentence 2: It will be published tomorrow." in err
    assert "  without context: [Es]" in err
    assert "  with context:    [Er]" in err


def test_no_changes_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("Good morning.\n", encoding="utf-8")
    assert run(["translate", str(tmp_path / "a.txt"), "--changes"]) == 0
    assert "context changed 0 of 1 sentences\n" in capsys.readouterr().err
    assert run(["translate", str(tmp_path / "a.txt"), "--changes"]) == 0
    assert "there are no changes to show" in capsys.readouterr().err
