"""Two models in one translation: a first pass with other subwords, and drafts that a document model edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from docflat import Translator
from docflat.cli import dispatch
from docflat.weights.marian.importing import import_model
from marian_files import write_huggingface

DOCUMENT = [
    "The lamp of the old lighthouse came from Paris.",
    "It is made of glass and weighs two tonnes.",
    "An engineer wrote a report about the bridge.",
    "It has forty pages.",
]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imported")
    write_huggingface(folder / "theirs")
    import_model(folder / "theirs", folder / "ours")
    return folder / "ours"


def test_a_first_pass_with_other_subwords_crosses_over_as_text(imported: Path) -> None:
    """By hand: its translations of every sentence, in the subwords of the second pass, are that pass's context."""
    both = Translator.load("en-de", device="cpu", first_pass=imported)
    alone = Translator.load(imported, device="cpu")
    ids = [both.model.subwords.encode(text) for text in DOCUMENT]
    assert [both.model.subwords.decode(one, "source") for one in ids] == DOCUMENT
    settings = both.decoder.settings(mode="two-pass")
    drafts = alone.translate(DOCUMENT, repairs=False)
    first = [both.model.subwords.encode(text, "target") for text in drafts]
    assert both.decoder.first_translations([ids], settings, lambda sentences: None) == [first]
    expected = both.decoder.passes(settings).second_pass([ids], [first], lambda sentences: None)
    assert both.decoder.decode([ids], settings) == expected


def test_a_document_model_edits_what_another_model_wrote() -> None:
    plain = Translator.load("en-de", device="cpu")
    edited = Translator.load("en-de", device="cpu", edit_with="en-de")
    drafts = plain.translate(DOCUMENT, mode="sentence")
    assert [drafts[1].split()[0], drafts[3].split()[0]] == ["Er", "Sie"]  # without context: by luck
    texts = edited.translate(DOCUMENT, mode="sentence")
    assert texts == [one.text for one in plain.edit(DOCUMENT, drafts)]
    assert texts != drafts


def test_the_command_names_the_model_that_edits(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" ".join(DOCUMENT))
    arguments = ["translate", str(tmp_path / "a.txt"), "-o", str(tmp_path / "b.txt"), "--mode", "sentence"]
    assert dispatch.run([*arguments, "--edit-with", "no such model"]) == 2
    assert not (tmp_path / "b.txt").exists()
    assert dispatch.run([*arguments, "--edit-with", "en-de"]) == 0
    plain = Translator.load("en-de", device="cpu")
    expected = plain.edit(DOCUMENT, plain.translate(DOCUMENT, mode="sentence"))
    assert (tmp_path / "b.txt").read_text() == " ".join(one.text for one in expected)
