"""What a review found to be lost with --force, or by a name: each of these lost something."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from docflat import Translator
from docflat.cli import dispatch
from docflat.support.text_files import OPENERS, lines_of
from docflat.translation.provenance import NOTES
from docflat.weights.shipped import ENGLISH_GERMAN

TEXT = "The report is short.\nIt is good.\n"
GERMAN = "Der Bericht ist kurz."


def docflat(*arguments: object) -> int:
    return dispatch.run([str(argument) for argument in arguments])


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text(TEXT)
    return tmp_path / "in.txt"


@pytest.mark.parametrize("suffix", OPENERS)
def test_lines_are_packed_as_their_name_says(text: Path, suffix: str) -> None:
    if suffix == ".zst":
        pytest.importorskip("pyarrow", reason=".zst files need pyarrow")
    out = text.with_name(f"out.de{suffix}")
    assert docflat("translate", text, "--lines", "-o", out) == 0
    assert next(iter(lines_of(out, out))) == GERMAN
    assert sorted(path.name for path in text.parent.iterdir()) == [NOTES, "in.txt", out.name]


@pytest.mark.parametrize("kind", ["onnx", "int8"])
def test_an_export_replaces_no_folder_of_something_else(text: Path, kind: str) -> None:
    folder = text.parent / "thesis"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    assert docflat("export", "--model", "en-de", "--to", kind, "-o", folder, "--force") == 2
    assert (folder / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("kind", ["onnx", "int8", "ctranslate2", "marian-hf"])
@pytest.mark.parametrize("out", ["", ".."])
def test_an_export_does_not_replace_its_own_source(text: Path, kind: str, out: str) -> None:
    model = text.parent / "models" / "mine"
    shutil.copytree(ENGLISH_GERMAN, model)
    before = sorted(path.name for path in model.iterdir())
    assert docflat("export", "--model", model, "--to", kind, "-o", model / out, "--force") == 2
    assert sorted(path.name for path in model.iterdir()) == before


@pytest.mark.parametrize("option", ["--glossary", "--keep-terms"])
def test_the_page_replaces_no_other_input(text: Path, option: str) -> None:
    terms = text.with_name("terms.tsv")
    terms.write_text("report\tBericht\n" if option == "--glossary" else "Ann\n")
    before = terms.read_text()
    page = ["--side-by-side", terms, "--force"]
    assert docflat("translate", text, "-o", text.with_name("out.txt"), option, terms, *page) == 2
    assert terms.read_text() == before


def test_an_output_that_is_a_link_to_another_input_is_refused(text: Path) -> None:
    folder = text.parent / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("One.")
    (folder / "b.txt").write_text("Two.")
    (folder / "a.de.txt").symlink_to("b.txt")
    assert docflat("translate", folder / "a.txt", folder / "b.txt", "--suffix", "de", "--force") != 0
    assert (folder / "b.txt").read_text() == "Two."


@pytest.mark.parametrize("name", ["in.txt", "hard.txt", "soft.txt", "out.txt"])
def test_the_log_is_no_file_of_the_command(text: Path, name: str) -> None:
    os.link(text, "hard.txt")
    Path("soft.txt").symlink_to(text)
    assert docflat("translate", text, "-o", "out.txt", "--log", name) == 2
    assert text.read_text() == TEXT
    assert not Path("out.txt").exists()


def test_a_log_that_is_a_pipe_without_a_reader_is_an_error(text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert docflat("systems", "--log", "pipe") == 2
    assert "pipe: cannot be written" in capfd.readouterr().err


@pytest.mark.parametrize("out", ["docs.jsonl", "hard.jsonl", "run/plan.json", "run/parts/new.jsonl"])
def test_a_merge_replaces_neither_its_source_nor_its_run(text: Path, out: str) -> None:
    Path("docs.jsonl").write_text('{"text": "The cat sleeps."}\n')
    os.link("docs.jsonl", "hard.jsonl")
    assert docflat("bulk", "docs.jsonl", "-o", "run", "--workers", 1, "--model", ENGLISH_GERMAN) == 0
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert docflat("bulk", "merge", "run", "-o", out, "--force") == 2
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_probe_replaces_no_file_of_others(text: Path) -> None:
    Path("mine").mkdir()
    Path("mine", "train.source").write_text("years of work")
    assert docflat("probe", "--systems", "sent2sent", "--steps", 1, "--out", "mine") == 2
    assert Path("mine", "train.source").read_text() == "years of work"
    assert docflat("probe", "--systems", "sent2sent", "--steps", 1, "--out", text) == 2


def test_pictures_are_not_replaced_without_force(text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("sent2sent.png").write_text("my picture")
    assert docflat("systems", "--pictures", ".") == 2
    assert Path("sent2sent.png").read_text() == "my picture"


def test_what_is_wrong_with_a_folder_is_a_line(text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert docflat("translate", text, "-o", "a.txt", "--side-by-side", text / "page.html") == 2
    assert "Traceback" not in capfd.readouterr().err


def test_edited_text_goes_to_stdout_by_itself(text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (text.parent / "draft.de").write_text("Der Bericht ist kurz.\nEs ist gut.\n")
    assert docflat("edit", text, text.parent / "draft.de", "--lines", "-o", "-") == 0
    assert len(capfd.readouterr().out.splitlines()) == 2
    assert not Path("-").exists()


@pytest.mark.parametrize("mode", ["sentence", "edit", "two-pass", "stream"])
def test_characters_that_no_model_learned_come_back(mode: str) -> None:
    odd = ["寿司", "при", "🎉", "👨\u200d👩\u200d👧", "ไทย", "ا", "ש", "한", "☃", "→", "𓀀", "あ", "\ue000"]
    document = [text.format(one) for one in odd for text in ("He wrote {} on the wall.", "The {}\u200b is red.")]
    (written,) = Translator.load(threads=1).translate_documents([document], mode=mode)
    for number, (sentence, translation) in enumerate(zip(document, written, strict=True)):
        assert odd[number // 2] in translation, (sentence, translation)
        assert "\ufffd" not in translation
        assert "  " not in translation
    assert "Wand" in written[0]
    assert "rot" in written[1]


def test_half_a_surrogate_pair_and_heaps_of_marks_end_no_translation() -> None:
    broken, heaped = "One \ud800 word.", "He came" + "\u0301" * 10_000 + " home."
    translated = Translator.load(threads=1).translate([broken, heaped, "The \u202ecat\u202c sleeps."])
    assert translated == [broken, "Er kam nach Hause.", "Die Katze schläft."]
