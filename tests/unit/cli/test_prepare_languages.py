"""`docflat prepare` asks for the languages, and keeps them for the models that are trained on its corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from docflat.cli.dispatch import run
from docflat.data.corpus import Corpus

TEXT = "".join(f"The ship {n} left.\nIt was {n} years old.\n\n" for n in range(20))


def prepare(folder: Path, source: str, target: str, *options: str) -> int:
    for name in (source, target):
        (folder / name).write_text(TEXT)
    files = ["--source", str(folder / source), "--target", str(folder / target), "--out", str(folder / "out")]
    return run(["prepare", *files, "--vocabulary", "300", "--force", *options])


@pytest.mark.parametrize(
    ("source", "target", "options", "languages"),
    [
        ("train.en", "train.de", [], ("en", "de")),
        ("train.fr.txt", "train.de.txt", [], None),
        ("a.src", "a.trg", ["--from", "fra", "--to", "pt_BR"], ("fr", "pt")),
        ("train.en", "train.de", ["--languages", "EN", "nl"], ("en", "nl")),
        ("train.en", "train2.en", [], None),
        ("train.en", "train.target", ["--tokenizer", "en-de"], ("en", "de")),
    ],
)
def test_the_languages_of_a_corpus(
    tmp_path: Path,
    source: str,
    target: str,
    options: list[str],
    languages: tuple[str, str] | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert prepare(tmp_path, source, target, *options) == 0
    assert Corpus.open(tmp_path / "out" / "train").languages == languages
    assert ("will not know their languages" in capsys.readouterr().err) == (languages is None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "en"], "--from and --to go together"),
        (["--from", "en", "--to", "de", "--languages", "en", "de"], "one of them will do"),
        (["--from", "english", "--to", "de"], "'english' is no code of a language; that of English is en"),
        (["--from", "e1", "--to", "de"], "'e1' is no code of a language, such as de or fr"),
    ],
)
def test_languages_that_cannot_be(
    tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare(tmp_path, "a.en", "a.de", *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
