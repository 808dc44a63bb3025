"""`docflat translate` again: what is translated anew, what is kept, and that each is said."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from docflat.cli import dispatch as cli
from docflat.decoding.alignment import Weights
from docflat.support.errors import InputError
from docflat.translation.provenance import NOTES

Capture = pytest.CaptureFixture[str]


class Shouter:
    first_pass = None
    edit_with = None
    languages: tuple[str, str] | None = None

    @classmethod
    def load(cls, folder: Path, **options: Any) -> Shouter:
        if options["device"] == "cuda":
            raise InputError("there is no GPU")
        if not (Path(folder) / "config.json").exists():
            raise InputError("is no model folder", folder)
        return cls()

    def translate_documents(
        self, documents: Iterable[Sequence[str]], chunk: int = 1, done: Any = lambda n: None, **settings: Any
    ) -> Iterator[list[str]]:
        for document in documents:
            if "bug" in document:
                raise ZeroDivisionError("1/0 \x1b[2J")
            yield [sentence.upper() + "!" * (settings["beam"] == 1) for sentence in document]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Weights | None]:
        return [None] * len(pairs)


Translate = Callable[..., int]


@pytest.fixture
def translate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Translate:
    module = types.ModuleType("docflat.translation.translator")
    module.Translator = Shouter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "docflat.translation.translator", module)
    monkeypatch.chdir(tmp_path)
    Path("m").mkdir()
    Path("m/config.json").write_text("{}")
    Path("in").mkdir()
    for name in ("a.txt", "b.md"):
        Path("in", name).write_text("one")
    return lambda *arguments: cli.run(["translate", "--model", "m", *map(str, arguments)])


def outputs() -> dict[str, str]:
    return {path.name: path.read_text() for path in Path("out").glob("[!.]*")}


@pytest.mark.parametrize(
    ("change", "options", "why", "expected"),
    [
        (lambda: Path("in/a.txt").write_text("two"), [], "source", "TWO"),
        (lambda: None, ["--beam", "1"], "--beam", "ONE!"),
        (lambda: None, ["--no-shortlist"], "--no-shortlist", "ONE"),
        (lambda: Path("m/config.json").write_text("{ }"), [], "model", "ONE"),
        (lambda: Path("terms").write_text("x"), ["--keep-terms", "terms"], "--keep-terms", "ONE"),
    ],
)
def test_what_was_made_from_something_else_is_made_again(
    translate: Translate, capsys: Capture, change: Callable[[], object], options: list[str], why: str, expected: str
):
    assert translate("in", "-o", "out/") == 0
    change()
    before = os.stat("out/a.txt").st_ino
    capsys.readouterr()
    assert translate("in", "-o", "out/", *options) == 0
    again = f"in/a.txt: is translated again, as its translation was made from another {why}"
    assert again in capsys.readouterr().out.splitlines()
    assert outputs()["a.txt"] == expected
    assert os.stat("out/a.txt").st_ino != before
    assert translate("in", "-o", "out/", *options) == 0
    assert capsys.readouterr().out.count("nothing to do") == 2


def test_moved_folders_and_other_batch_sizes_change_nothing(translate: Translate, capsys: Capture):
    assert translate("in", "-o", "out/") == 0
    shutil.move("m", "n")
    shutil.copytree("n", "m")
    shutil.move("out", "elsewhere")
    capsys.readouterr()
    assert translate("in", "-o", "elsewhere/", "--batch-size", "3", "--model", "n") == 0
    assert capsys.readouterr().out.count("nothing to do") == 2


def test_what_a_person_edited_is_never_replaced(translate: Translate, capsys: Capture):
    assert translate("in", "-o", "out/") == 0
    Path("out/a.txt").write_text("edited")
    assert translate("in", "-o", "out/") == 0
    Path("in/a.txt").write_text("two")
    capsys.readouterr()
    assert translate("in", "-o", "out/") == 1
    assert capsys.readouterr().err.splitlines() == [
        "docflat: error: out/a.txt: was edited after it was translated, and now source changed (--force replaces it)",
        "docflat: error: 1 of 2 files were not translated",
    ]
    assert outputs()["a.txt"] == "edited"
    assert translate("in", "-o", "out/", "--force") == 0
    assert outputs()["a.txt"] == "TWO"


def test_what_others_wrote_is_kept(translate: Translate, capsys: Capture):
    Path("out").mkdir()
    Path("out/a.txt").write_text("by hand")
    assert translate("in", "-o", "out/") == 0
    kept = (
        "in/a.txt was not translated: out/a.txt is there already, and docflat has no note of it (--force replaces it)"
    )
    assert capsys.readouterr().err == f"docflat: warning: {kept}\n"
    assert outputs() == {"a.txt": "by hand", "b.md": "ONE"}
    for file in ("in/a.txt", "in/b.md"):
        shutil.copy(file, "lines.en")
        Path("lines.de").write_text("by hand")
        assert translate("lines.en", "-o", "lines.de") == 2
        assert Path("lines.de").read_text() == "by hand"


@pytest.mark.parametrize("wrong", [["--model", "nosuch"], ["--device", "cuda"]])
def test_options_are_checked_although_all_is_done(translate: Translate, capsys: Capture, wrong: list[str]):
    assert translate("in", "-o", "out/") == 0
    capsys.readouterr()
    assert translate("in", "-o", "out/", *wrong) == 2
    assert re.search("no GPU|no model folder", capsys.readouterr().err)


def test_notes_that_a_kill_cut(translate: Translate):
    assert translate("in", "-o", "out/") == 0
    notes = Path("out", NOTES)
    notes.write_text(notes.read_text()[:-30])
    Path("in/a.txt").write_text("two")
    assert translate("in", "-o", "out/") == 0
    for line in notes.read_text().splitlines():
        if line.endswith("}"):
            assert set(json.loads(line)) == {"out", "sha256", "origin", "docflat"}
    assert outputs()["a.txt"] == "TWO"


def test_a_fault_of_ours_in_one_file_does_not_stop_the_others(translate: Translate, capsys: Capture):
    Path("in/a.txt").write_text("bug")
    assert translate("in", "-o", "out/") == 1
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "docflat: error: in/a.txt: a fault of docflat: ZeroDivisionError: 1/0 \\x1b[2J",
        "docflat: error: 1 of 2 files were not translated",
    ]
    assert outputs() == {"b.md": "ONE"}
    assert translate("in", "-o", "out/", "--verbose") == 1
    assert 'ZeroDivisionError("1/0' in capsys.readouterr().err


def test_a_file_to_stdout(translate: Translate, capfd: pytest.CaptureFixture[str]):
    assert translate("in/b.md", "-o", "-") == 0
    assert capfd.readouterr() == ("ONE", "")
    assert translate("in/b.md", "-o", "/dev/stdout") == 0
    assert capfd.readouterr() == ("ONE", "")
    assert not Path("in", NOTES).exists()


def test_a_text_in_the_place_of_a_file(translate: Translate, capsys: Capture):
    assert translate("Hello world") == 2
    hint = "there is no such file; text is read from stdin: echo 'Hello world' | docflat translate"
    assert capsys.readouterr().err == f"docflat: error: Hello world: {hint}\n"


def test_a_language_that_the_model_does_not_read(translate: Translate, capsys: Capture):
    assert cli.run(["translate", "in/a.txt", "--source-language", "fr"]) == 2
    assert (
        "there is no model from fr to de (there are en-de); `docflat import Helsinki-NLP/opus-mt-fr-de` gets one"
        in capsys.readouterr().err
    )


def test_limits(translate: Translate, capsys: Capture):
    Path("x.en").write_text("a\n" * 20)
    assert translate("x.en", "--max-lines", "19") == 2
    assert capsys.readouterr().err == "docflat: error: x.en: more than 19 lines (--max-lines)\n"
    Path("x.en").write_text("a\n" + "b" * 20)
    assert translate("x.en", "--max-line-length", "19") == 2
    message = "x.en:2: a sentence of 20 characters; 19 are the most (--max-line-length)"
    assert capsys.readouterr().err == f"docflat: error: {message}\n"


def test_input_that_is_output(translate: Translate, tmp_path: Path):
    """`docflat translate x >> x` would never end."""
    Path("x.en").write_text("one\n")
    model = Path(__file__).parent.parent / "data" / "model-format-1"
    words = [sys.executable, "-m", "docflat", "translate", "--model", str(model), "x.en"]
    with open("x.en", "a") as out:
        ended = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (2, "docflat: error: x.en: is input and output at the same time\n")
    assert Path("x.en").read_text() == "one\n"


def test_a_line_at_a_time(tmp_path: Path):
    """A program that writes a line and waits for its translation before it writes the next."""
    model = Path(__file__).parent.parent / "data" / "model-format-1"
    words = [sys.executable, "-m", "docflat", "translate", "--model", str(model), "--line-buffered", "--device", "cpu"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            process.stdin.write("One two.\n")
            assert process.stdout.readline().endswith("\n")
        process.stdin.close()
        assert process.wait(30) == 0
