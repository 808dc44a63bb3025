"""A text in the wrong language is noticed, and one in the right language never is."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from docflat import Translator
from docflat.cli.dispatch import run
from docflat.translation.source_language import LanguageCheck, other_language

FRENCH = "Le rapport de la commission est court. Il a été publié hier, et personne ne l'a encore lu jusqu'à la fin."
GERMAN = "Der Bericht der Kommission ist kurz. Er wurde gestern veröffentlicht, und niemand hat ihn bisher gelesen."
ENGLISH = "The report of the commission is short. It was published yesterday, and nobody has read it to its end yet."
CROATIAN = (
    "Izvješće povjerenstva je kratko. Objavljeno je jučer, a nitko ga još nije pročitao do kraja, pa ni ministar."
)
INDONESIAN = (
    "Laporan komisi itu singkat. Laporan tersebut terbit kemarin, dan belum ada yang membacanya sampai selesai."
)
# Hardly a word of these is among the common ones.
LISTS = "Invoice number, customer, delivery address, payment method, total amount, discount, tax rate, currency code"


def test_other_languages_are_told_from_the_expected_one() -> None:
    assert [other_language(text, "en") for text in (FRENCH, GERMAN, ENGLISH, LISTS)] == ["fr", "de", None, None]
    assert [other_language(text, "fr") for text in (FRENCH, GERMAN, ENGLISH)] == [None, "de", "en"]


def test_a_language_that_is_like_others_is_told_from_a_third_one() -> None:
    """Which of the likes it is may stay open: none of them is English."""
    assert other_language(CROATIAN, "en") in {"hr", "bs", "sr"}
    assert other_language(INDONESIAN, "en") in {"id", "ms"}
    assert [other_language(CROATIAN, like) for like in ("hr", "bs", "sr")] == [None] * 3
    assert other_language(INDONESIAN, "ms") is None


def test_nothing_is_said_of_little_text_or_of_a_language_that_nobody_knows() -> None:
    assert other_language(FRENCH[:90], "en") is None
    assert other_language(FRENCH, "xyz") is None
    assert other_language("12 345 / 678 " * 20, "en") is None


def test_a_stream_is_judged_once_by_its_beginning(caplog: pytest.LogCaptureFixture) -> None:
    check = LanguageCheck("a.txt", ("en", "de"))
    with caplog.at_level(logging.WARNING, "docflat"):
        for _ in range(200):
            check.add([FRENCH])
        check.finish()
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        "a.txt: this looks like French, but the model translates from English"
    ]


@pytest.mark.parametrize("name", ["a.txt", "a.en"])
def test_the_command_warns_of_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, warns in ((FRENCH, True), (ENGLISH, False)):
        (tmp_path / name).write_text(text.replace(". ", ".\n") + "\n")
        assert run(["translate", str(tmp_path / name), "-o", str(tmp_path / f"out{name}"), "--force"]) == 0
        assert ("looks like French" in capsys.readouterr().err) == warns


def test_the_library_warns_of_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.txt").write_text(FRENCH)
    with caplog.at_level(logging.WARNING, "docflat"):
        Translator.load().translate_file(tmp_path / "a.txt", tmp_path / "b.txt")
    assert "looks like French" in caplog.text


def test_another_source_language_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text(FRENCH)
    assert run(["translate", str(tmp_path / "a.txt"), "--source-language", "fr", "--to", "de"]) == 2
    assert "there is no model from fr to de" in capsys.readouterr().err
    assert run(["translate", str(tmp_path / "a.txt"), "--from", "fr"]) == 2
    assert "there is no model from fr to de" in capsys.readouterr().err
