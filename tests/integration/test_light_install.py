"""What `pip install docflat` brings is enough to translate: there is no torch, and nothing else of the extras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import docx
import pptx
import pytest
from odf.opendocument import OpenDocumentText
from odf.text import P

from docflat.cli.dispatch import VERBS

HERE = Path(__file__).parent
MODEL = HERE.parent / "data" / "model-format-1"
SENTENCES = ["The commission has adopted a new report.", "It has forty pages."]
TEXT = " ".join(SENTENCES)
# The interpreter of an environment that has nothing else (`make test-light`); else, ours with blinkers.
LIGHT = os.environ.get("DOCFLAT_LIGHT")
ENVIRONMENT = {**os.environ, "PYTHONPATH": "" if LIGHT else os.pathsep.join([str(HERE.parent / "light"), *sys.path])}


def python(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [LIGHT or sys.executable, *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, env=ENVIRONMENT, check=False)


def docflat(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return python("-m", "docflat", *arguments, text=text)


def test_there_is_no_torch() -> None:
    assert python("-c", "import torch").stderr.endswith("ModuleNotFoundError: No module named 'torch'\n")


@pytest.mark.skipif(not LIGHT, reason="an environment of its own has a size: make test-light")
def test_the_environment_is_small() -> None:
    """The model is included, and so are pip and setuptools."""
    root = Path(str(LIGHT)).parents[1]
    old = python("-c", "import sys; print(sys.version_info < (3, 11))").stdout == "True\n"
    # The last ONNX Runtime for Python 3.10 asks for sympy.
    assert sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) < (370e6 if old else 320e6)


def write_files(folder: Path) -> None:
    """A file of every format, with the same two sentences."""
    one, other = SENTENCES
    texts = {
        "a.txt": f"{TEXT}\n",
        "a.md": f"# {one}\n\n{other} *{one}*\n",
        "a.html": f"<html><body><p>{one} <b>{other}</b></p></body></html>",
        "a.json": json.dumps({"text": TEXT}),
        "a.srt": f"1\n00:00:01,000 --> 00:00:03,000\n{one}\n\n2\n00:00:04,000 --> 00:00:06,000\n{other}\n",
        "a.vtt": f"WEBVTT\n\n00:01.000 --> 00:03.000\n{one}\n\n00:04.000 --> 00:06.000\n{other}\n",
        "a.po": f'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "{TEXT}"\nmsgstr ""\n',
        "a.xliff": '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        '<file source-language="en" target-language="de" original="a" datatype="plaintext"><body>'
        f'<trans-unit id="1"><source>{one}</source></trans-unit><trans-unit id="2"><source>{other}</source>'
        "</trans-unit></body></file></xliff>",
        "a.properties": f"one={one}\nother={other}\n",
        "a.strings": f'"one" = "{one}";\n"other" = "{other}";\n',
        "a.arb": json.dumps({"@@locale": "en", "one": one, "other": other}),
        "a.resx": f'<root><data name="one"><value>{one}</value></data>'
        f'<data name="other"><value>{other}</value></data></root>',
        "a.xml": f'<resources><string name="one">{one}</string><string name="other">{other}</string></resources>',
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    word = docx.Document()
    word.add_paragraph().add_run(one).bold = True
    word.add_paragraph(other)
    word.save(str(folder / "a.docx"))
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = TEXT
    slides.save(str(folder / "a.pptx"))
    odt = OpenDocumentText()
    odt.text.addElement(P(text=TEXT))
    odt.save(str(folder / "a.odt"))


def test_every_format_is_translated_with_its_changes_side_by_side(tmp_path: Path) -> None:
    files, out, page = tmp_path / "in", tmp_path / "out", tmp_path / "page.html"
    files.mkdir()
    write_files(files)
    done = docflat("translate", files, "-o", out, "--changes", "--side-by-side", page)
    assert done.returncode == 0, done.stderr
    assert {file.name for file in out.rglob("a*")} == {file.name for file in files.iterdir()}
    assert "Bericht" in (out / "a.txt").read_text(encoding="utf-8")
    assert "Bericht" in docx.Document(str(out / "a.docx")).paragraphs[0].text
    assert "context changed" in done.stderr
    assert "Bericht" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", ["sentence", "two-pass", "edit", "sequential", "stream"])
def test_every_mode_translates_lines(mode: str) -> None:
    done = docflat("translate", "--mode", mode, text="\n".join(SENTENCES) + "\n")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "Bericht" in first
    assert "vierzig Seiten" in second


def test_translating_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """ONNX Runtime would note an id of the machine there, for its telemetry."""
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [LIGHT or sys.executable, "-m", "docflat", "translate"]
    environment = {**ENVIRONMENT, **home}
    done = subprocess.run(command, input="Hello.\n", capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*")) == []


API = """
import json, sys
from docflat import Translator
sentences, path = json.loads(sys.argv[1]), sys.argv[2]
translator = Translator.load()
assert translator.precision == "int8"
translated = translator.translate(sentences)
both = list(translator.translate_documents([sentences, sentences[:1]], mode="sentence"))
streamed = list(translator.stream(iter(sentences)))
translator.translate_file(path, path + ".de.txt")
(weights, none) = translator.align([(sentences[0], translated[0]), ("", "x")])
scores = translator.score(sentences, translated)
alone = translator.score(sentences, translated, context=False)
assert "torch" not in sys.modules
print(json.dumps([translated, both, streamed, weights.tolist(), none, scores, alone]))
"""


def test_the_python_api(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    done = python("-c", API, json.dumps(SENTENCES), tmp_path / "a.txt")
    assert done.returncode == 0, done.stderr
    translated, both, streamed, weights, none, scores, alone = json.loads(done.stdout)
    assert list(map(len, (translated, both[0], both[1], streamed, scores, alone))) == [2, 2, 1, 2, 2, 2]
    assert all(score < 0 for score in (*scores, *alone))
    assert none is None
    report = SENTENCES[0].split().index("report.")
    german = [word.strip(".") for word in translated[0].split()]
    row = weights[german.index("Bericht")]  # words, and the full stop
    assert row.index(max(row)) == report
    assert "Bericht" in (tmp_path / "a.txt.de.txt").read_text(encoding="utf-8")


HELP = """
from docflat.cli.dispatch import VERBS, run
for verb in VERBS:
    try:
        run([*verb.name.split(), "--help"])
    except SystemExit as end:
        assert not end.code
"""


def test_help_of_every_verb() -> None:
    listing = docflat("--help")
    assert listing.returncode == 0
    for verb in VERBS:
        assert verb.name in listing.stdout
    done = python("-c", HELP)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage: docflat") == len(VERBS)


@pytest.mark.parametrize(
    "command",
    [
        ["models"],
        ["edit", "TEXT", "TARGET", "-o", "OUT"],
        ["bulk", "TEXT", "--lines", "-o", "OUT"],
        ["context", "--model", "en-de", "--source", "TEXT", "--reference", "TARGET"],
        ["export", "--model", "MODEL", "--to", "onnx", "-o", "OUT"],
    ],
    ids=lambda command: command[0],
)
def test_verbs_that_need_nothing_more(command: Sequence[str], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(SENTENCES) + "\n")
    (tmp_path / "target").write_text("Die Kommission hat einen neuen Bericht angenommen.\nEr hat vierzig Seiten.\n")
    places = {name.upper(): str(tmp_path / name) for name in ("text", "target", "out")} | {"MODEL": str(MODEL)}
    done = docflat(*(places.get(word, word) for word in command))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").exists() == ("OUT" in command)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["train", "RECIPE"], "train"),
        (["probe", "--out", "OUT"], "train"),
        (["systems"], "train"),
        (["inspect", "--model", "MODEL", "--source", "TEXT", "--out", "OUT"], "train"),
        (["export", "--model", "MODEL", "--to", "int8", "-o", "OUT"], "train"),
        (["translate", "--engine", "torch", "TEXT", "--lines"], "train"),
        (["translate", "--device", "cuda", "TEXT", "--lines"], "train"),
        (["evaluate", "--hypothesis", "TEXT", "--reference", "TEXT"], "evaluate"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else value,
)
def test_what_is_missing_is_named_with_its_extra(command: Sequence[str], extra: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(SENTENCES) + "\n")
    places = {
        "MODEL": str(MODEL),
        "TEXT": str(tmp_path / "text"),
        "OUT": str(tmp_path / "out"),
        "RECIPE": "quickstart",
    }
    done = docflat(*(places.get(word, word) for word in command))
    assert done.returncode == 2
    assert done.stderr.startswith("docflat: error: ")
    assert done.stderr.count("\n") == 1
    assert f"pip install 'docflat[{extra}]'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_system_that_only_torch_runs_is_refused(tmp_path: Path) -> None:
    for file in MODEL.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((MODEL / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**config, "system": "abd", "options": {}}))
    done = docflat("translate", "--model", tmp_path, text="One.\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "abd runs on torch alone: pip install 'docflat[train]'" in done.stderr
