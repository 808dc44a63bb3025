"""A user whom the system does not know has no home folder: `docker run --user 12345`."""

from __future__ import annotations

from pathlib import Path

import pytest

from docflat.cli.dispatch import run
from docflat.service.settings import default_folder
from docflat.support.errors import InputError


@pytest.fixture(autouse=True)
def _no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    for name in ("DOCFLAT_MODELS", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_models_that_come_with_docflat_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models"]) == 0
    assert "en-de" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "fr"], "there is no model from en to fr"),
        (["--to", "French"], "'French' is no code of a language; that of French is fr"),
        (["--model", "fr"], "is not a model folder, nor the name of a model"),
    ],
)
def test_translate_finds_no_others(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("A text.\n")
    assert run(["translate", str(tmp_path / "a.txt"), *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 1


def test_what_needs_a_folder_says_which_option_names_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model").mkdir()
    assert run(["import", str(tmp_path / "model")]) == 2
    assert "say --out, or set DOCFLAT_MODELS" in capsys.readouterr().err
    with pytest.raises(InputError, match="say --data"):
        default_folder({})
