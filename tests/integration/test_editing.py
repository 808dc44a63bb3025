"""`docflat edit` with the model that comes with docflat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docflat import Translator
from docflat.cli.dispatch import run
from docflat.support.errors import InputError

ENGLISH = "The machine is new.\nIt works well.\n\nThe report is long.\nIt will be published tomorrow.\nIt is raining.\n"
GERMAN = (
    "Die Maschine ist neu.\nEs funktioniert gut.\n\n"
    "Der Bericht ist lang.\nSie wird morgen veröffentlicht.\nEs regnet.\n"
)
EDITED = GERMAN.replace("Es funktioniert", "Sie funktioniert").replace("Sie wird", "Er wird")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    source, draft = tmp_path / "text.en", tmp_path / "text.de"
    source.write_text(ENGLISH, encoding="utf-8")
    draft.write_text(GERMAN, encoding="utf-8")
    return source, draft


def test_pronouns_of_a_draft_follow_their_nouns(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    source, draft = files
    assert run(["edit", str(source), str(draft)]) == 0
    out = draft.with_name("text.edited.de")
    assert out.read_text(encoding="utf-8") == EDITED
    told = capsys.readouterr().out
    assert f"{draft}:2: Es -> Sie for 'it'" in told
    assert f"2 of 5 sentences edited -> {out}" in told
    assert draft.read_text(encoding="utf-8") == GERMAN


def test_changes_as_json(files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, draft = files
    assert run(["edit", str(source), str(draft), "--json", "-o", str(tmp_path / "new.de")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sentences"] == 5
    assert [one["edits"][0]["changes"][0]["new"] for one in told["edited"]] == ["Sie", "Er"]


def test_certainty_is_chosen(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["edit", *map(str, files), "--certainty", "1"]) == 0
    assert "0 of 5 sentences edited" in capsys.readouterr().out
    assert run(["edit", *map(str, files), "--certainty", "2", "--force"]) == 2
    assert "expected a number from 0 to 1, found '2'" in capsys.readouterr().err


def test_nothing_is_written_over(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    source, draft = files
    assert run(["edit", str(source), str(draft), "-o", str(draft)]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    source.write_text(ENGLISH.replace("\n\n", "\n"), encoding="utf-8")
    assert run(["edit", str(source), str(draft)]) == 2
    assert not draft.with_name("text.edited.de").exists()


def test_the_python_api() -> None:
    translator = Translator.load()
    source, draft = (text.split("\n\n")[0].splitlines() for text in (ENGLISH, GERMAN))
    assert [revision.text for revision in translator.edit(source, draft)] == EDITED.split("\n\n")[0].splitlines()
    with pytest.raises(InputError, match="from de to en cannot be edited; there is en to de"):
        translator.edit(source, draft, languages=("de", "en"))
    with pytest.raises(ValueError, match="2 sentences, but 1 drafts"):
        translator.edit(source, draft[:1])


def test_a_document_says_you_one_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, draft = tmp_path / "talk.en", tmp_path / "talk.de"
    source.write_text("Do you have time?\nI thank you.\nCan you help me?\nCome to me, please.\n", encoding="utf-8")
    german = "Haben Sie Zeit?\nIch danke Ihnen.\nKannst du mir helfen?\nKommen Sie bitte zu mir.\n"
    draft.write_text(german, encoding="utf-8")
    out = tmp_path / "talk.edited.de"
    assert run(["edit", str(source), str(draft)]) == 0
    assert out.read_text(encoding="utf-8") == german.replace("Kannst du", "Können Sie")
    assert "Kannst -> Können, du -> Sie for 'you': 3 of 4 sentences" in capsys.readouterr().out
    assert run(["edit", str(source), str(draft), "--formality", "informal", "--force"]) == 0
    assert out.read_text(encoding="utf-8").splitlines()[:3] == [
        "Hast du Zeit?",
        "Ich danke dir.",
        "Kannst du mir helfen?",
    ]
    assert run(["edit", str(source), str(draft), "--only", "pronouns,names", "--force"]) == 0
    assert out.read_text(encoding="utf-8") == german
    assert run(["edit", str(source), str(draft), "--only", "verbs", "--force"]) == 2
    assert "phenomenon 'verbs': there are pronouns, address, names" in capsys.readouterr().err
