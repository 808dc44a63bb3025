from __future__ import annotations

import json
import lzma
import os
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from docflat import __version__
from docflat.cli import dispatch as cli
from docflat.support.errors import InputError

Capture = pytest.CaptureFixture[str]


def docflat(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stopped:
        cli.main([str(argument) for argument in arguments])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def fails(capsys: Capture, *arguments: str | Path) -> str:
    """The one line on stderr of a command that ends with status 2."""
    assert docflat(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("docflat: error: ")
    assert err.count("\n") == 1
    return err.removeprefix("docflat: error: ").rstrip("\n")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch):
    """Puts modules in the place of those that need a model or hours."""

    def replace(name: str, **contents: Any) -> None:
        module = types.ModuleType(f"docflat.{name}")
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, f"docflat.{name}", module)

    return replace


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_verbs_with_a_line_each(capsys: Capture, arguments: list[str]):
    assert docflat(*arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    width = max(len(verb.name) for verb in cli.VERBS) + 2
    for verb in cli.VERBS:
        assert f"  {verb.name:<{width}}{verb.summary}" in lines


@pytest.mark.parametrize("verb", cli.VERBS, ids=lambda verb: verb.name)
def test_help_of_a_verb_ends_with_examples_that_parse(capsys: Capture, verb: cli.Verb):
    assert docflat(verb.name, "--help") == 0
    shown = capsys.readouterr().out.partition("example:\n")[2].splitlines()
    assert [line.strip() for line in shown] == verb.example.splitlines()
    for line in shown:  # what is shown can be run
        assert line.startswith(f"  docflat {verb.name}")
        words = shlex.split(re.split(" [<>]", line)[0])[1 + len(verb.name.split()) :]
        assert cli.verb_parser(verb).parse_intermixed_args(words)


def test_help_imports_nothing_slow():
    code = "import sys\nfrom docflat.cli.dispatch import VERBS, run\n"
    code += "for verb in ((), *((verb.name,) for verb in VERBS)):\n    try: run([*verb, '--help'])\n"
    code += "    except SystemExit: pass\n"
    code += "sys.exit(str({'torch', 'numpy', 'rich', 'tokenizers', 'yaml'} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr == "set()\n"
    assert found.stdout.count("example:") == len(cli.VERBS)


def test_translating_imports_nothing_that_it_does_not_need(tmp_path: Path):
    """Each of these takes as long as a short translation, the compiler of torch as long as all of torch."""
    model = Path(__file__).parents[2] / "data" / "model-format-1"
    (tmp_path / "notes.md").write_text("# Notes\n\nHello **you**. Bye.\n")
    (tmp_path / "lines.en").write_text("Hello.\n")
    out = tmp_path / "out"
    arguments = ["translate", "--model", str(model), "--device", "cpu", "--threads", "1"]
    code = "import sys\nfrom docflat.cli.dispatch import run\nfrom docflat.data.subwords import Subwords\n"
    # A model with random weights writes halves of characters, for which the source would stand.
    code += "decode = Subwords.decode\nSubwords.decode = lambda *them: decode(*them).replace('\\ufffd', 'x')\n"
    for precision in ("fp32", "int8"):
        for files in ([str(tmp_path / "lines.en")], [str(tmp_path / "notes.md"), "-o", str(out / f"{precision}.md")]):
            code += f"assert run({[*arguments, '--precision', precision, *files]!r}) == 0\n"
    heavy = {"torch._dynamo", "torch._inductor", "sympy", "transformers", "sacrebleu", "matplotlib", "rich", "yaml"}
    code += f"sys.exit(str({heavy!r} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    # Before it there may be warnings: what a model with random weights writes, in int8 too, depends on the machine.
    assert found.stderr.splitlines()[-1] == b"set()"
    assert {path.name for path in out.glob("*.md")} == {"fp32.md", "int8.md"}


def test_version(capsys: Capture):
    assert docflat("--version") == 0
    assert capsys.readouterr().out == f"docflat {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["trian"], "unknown verb 'trian'; did you mean 'train'?"),
        (["zzz"], "unknown verb 'zzz'; there are " + ", ".join(verb.name for verb in cli.VERBS)),
        (["--zzz"], "unrecognized arguments: --zzz (docflat --help says more)"),
        (
            ["systems", "--jso"],
            "unrecognized arguments: --jso; did you mean '--json'? (docflat systems --help says more)",
        ),
        (["train"], "the following arguments are required: RECIPE (docflat train --help says more)"),
        (
            ["translate", "--model", "m", "--beam", "0"],
            "argument --beam: expected a whole number of at least 1, found '0' (docflat translate --help says more)",
        ),
        (
            ["prepare", "--source", "a", "b", "--target", "c", "--out", "d"],
            "--target and --source must name as many files: 1 and 2 are given",
        ),
        (
            ["prepare", "--source", "a", "--target", "c", "--valid-docids", "v", "--out", "d"],
            "--valid-docids and --valid-source must name as many files: 1 and 0 are given",
        ),
        (
            ["translate", ""],
            "argument FILE: expected the name of a file or folder, found nothing (docflat translate --help says more)",
        ),
        (
            ["translate", "-o", "", "a.txt"],
            "argument -o/--out: expected the name of a file or folder, found nothing"
            " (docflat translate --help says more)",
        ),
        (
            ["translate", "--modle", "en-de"],
            "unrecognized arguments: --modle; did you mean '--model'? (docflat translate --help says more)",
        ),
        (
            ["serve", "--port", "80000"],
            "argument --port: expected a whole number of at least 0 and at most 65535, found '80000'"
            " (docflat serve --help says more)",
        ),
        (["translate", "a" * 5000], f"the name is too long: {'a' * 100}..."),
        (["train", "none.yaml"], "none.yaml: cannot be read: No such file or directory"),
    ],
)
def test_wrong_arguments(capsys: Capture, arguments: list[str], expected: str):
    assert fails(capsys, *arguments) == expected


def test_an_error_of_several_lines_is_printed_as_one(capsys: Capture, library):
    def load_recipe(paths: list[Path], overrides: list[str]) -> None:
        raise InputError("first\nsecond", paths[0])

    library("training.recipe", load_recipe=load_recipe)
    library("training.loop", train=None)
    assert fails(capsys, "train", "r.yaml") == "r.yaml: first second"


def test_interruption_is_quiet_and_a_bug_is_not(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*settings: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("docflat.evaluation.probe.probe.run", interrupted)
    assert docflat("probe") == 130
    assert capsys.readouterr() == ("", "")
    for bug in (ZeroDivisionError, RuntimeError):

        def broken(*settings: Any, kind: type[Exception] = bug) -> None:
            raise kind

        monkeypatch.setattr("docflat.evaluation.probe.probe.run", broken)
        with pytest.raises(bug):
            cli.main(["probe"])


def test_a_full_gpu_is_one_line_with_advice(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    def full(*settings: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate\n2 GiB")

    monkeypatch.setattr("docflat.evaluation.probe.probe.run", full)
    assert "--batch-size" in fails(capsys, "probe")


@pytest.mark.parametrize("arguments", [["--help"], ["systems"]])
def test_a_reader_who_has_gone_is_no_error(arguments: list[str]):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "docflat", *arguments]
    # Unbuffered, argparse itself swallows the error; the usual case is that Python notices at the end.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_systems_as_text_and_json(capsys: Capture):
    from docflat.systems import SYSTEMS

    assert docflat("systems") == 0
    text = capsys.readouterr().out
    assert docflat("systems", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(SYSTEMS)
    for row in rows:
        assert any(row["name"] in line and row["summary"] in line for line in text.splitlines())


def test_train_hands_on_overrides_on_both_sides_of_an_option(capsys: Capture, library):
    given = []

    def load_recipe(paths: list[Path], overrides: list[str]) -> str:
        given.append((paths, overrides))
        return "the recipe"

    def train(recipe: str) -> list[dict[str, object]]:
        return [{"stage": 1, "loss": 2.5, "recipe": recipe}]

    library("training.recipe", load_recipe=load_recipe)
    library("training.loop", train=train)
    assert docflat("train", "r.yaml", "a=1", "--json", "over.yaml", "stages.1.b=2") == 0
    assert given == [([Path("r.yaml"), Path("over.yaml")], ["a=1", "stages.1.b=2"])]
    assert json.loads(capsys.readouterr().out) == [{"stage": 1, "loss": 2.5, "recipe": "the recipe"}]


def test_train_prints_once_however_many_processes(capsys: Capture, library, monkeypatch: pytest.MonkeyPatch):
    library("training.recipe", load_recipe=lambda path, overrides: None)
    library("training.loop", train=lambda recipe: [{"stage": 1}])
    monkeypatch.setenv("RANK", "1")
    assert docflat("train", "r.yaml") == 0
    assert capsys.readouterr().out == ""


def test_probe_as_json(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    def run(probe: Any, out: Any, systems: Any) -> list[dict[str, Any]]:
        return [{"steps": probe.steps, "seed": probe.language.seed, "out": str(out), "systems": systems}]

    monkeypatch.setattr("docflat.evaluation.probe.probe.run", run)
    assert docflat("probe", "--systems", "doc2doc, docflat-c", "--steps", "9", "--seed", "4", "--json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {"steps": 9, "seed": 4, "out": "runs/probe", "systems": ["doc2doc", "docflat-c"]}
    ]


def test_prepare_writes_a_folder_and_a_summary(capsys: Capture, tmp_path: Path):
    for name in ("a.en", "a.de", "b.en", "b.de"):
        (tmp_path / name).write_text("one two\nthree\n\nfour five six\n")
    (tmp_path / "v.tsv").write_text("one\tzwei\nthree\tvier\n")
    files = ["--source", tmp_path / "a.en", tmp_path / "b.en", "--target", tmp_path / "a.de"]
    files += ["--target", tmp_path / "b.de", "--valid-source", tmp_path / "v.tsv"]
    arguments = [*files, "--out", tmp_path / "out", "--vocabulary", "300", "--index-tokens", "8", "--json"]
    assert docflat("prepare", *arguments) == 0
    train, valid, *parts = json.loads(capsys.readouterr().out)
    assert [(part["part"], part["documents"], part["sentences"]) for part in parts] == [
        ("train: a", 2, 3),
        ("train: b", 2, 3),
    ]
    assert (train["part"], train["documents"], train["sentences"]) == ("train", 4, 6)
    assert (valid["part"], valid["documents"], valid["sentences"]) == ("valid", 1, 2)
    assert train["source_tokens"] == train["target_tokens"] > 0
    assert (tmp_path / "out" / "tokenizer.json").exists()


def test_prepare_says_what_cleaning_dropped(capsys: Capture, tmp_path: Path):
    (tmp_path / "a.tsv").write_text("one two\teins zwei\n* *\t* *\n&amp;\tund\n\nthree\tdrei\n")
    (tmp_path / "b.tsv").write_text("four\tvier\nfive\tfünf\n")
    files = ["--source", tmp_path / "a.tsv", tmp_path / "b.tsv", "--loose", "b", "--clean", "--hold-out", "0"]
    assert docflat("prepare", *files, "--out", tmp_path / "out", "--vocabulary", "300", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    counts = [(row["part"], row["documents"], row["sentences"], row["dropped"]) for row in rows]
    assert counts == [("train", 4, 4, 2), ("train: a", 2, 2, 2), ("train: b", 2, 2, 0)]


class Shouter:
    """A translator that shouts, three documents at a time."""

    languages = None

    settings: ClassVar[dict[str, Any]] = {}
    loaded: ClassVar[tuple[Any, ...]] = ()

    @classmethod
    def load(cls, folder: Path, device: str, first_pass: Path | None, **_: Any) -> Shouter:
        cls.loaded = (folder, device, first_pass)
        return cls()

    def translate_documents(
        self, documents: Iterable[list[str]], chunk: int, done: Any, **settings: Any
    ) -> Iterator[list[str]]:
        type(self).settings = settings
        todo = iter(documents)
        while batch := list(islice(todo, 3)):
            for document in batch:
                done(len(document))
                yield [sentence.upper() for sentence in document]


@pytest.fixture
def shouter(library) -> type[Shouter]:
    library("translation.translator", Translator=Shouter)
    return Shouter


def translated(tmp_path: Path, name: str, data: bytes, *options: str | Path) -> bytes:
    (tmp_path / name).write_bytes(data)
    assert docflat("translate", tmp_path / name, "-o", tmp_path / "out", "--model", "m", *options) == 0
    assert sorted(file.name for file in tmp_path.iterdir() if file.name.startswith("out")) == ["out"]
    return (tmp_path / "out").read_bytes()


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("x.en", b"a\nb\n\nc\n", b"A\nB\n\nC\n"),
        ("x.en", b"\n \na\r\nb\r\n\r\n\r\nc", b"\n\nA\nB\n\n\nC\n"),
        ("x.en", b"a\n\n\n", b"A\n\n\n"),
        ("x.en", b"a\n\n" * 10, b"A\n\n" * 10),
        ("x.en", b"\xef\xbb\xbf<d>\na\n\nb\n<d>\nc\n<d>\n", b"<d>\nA\n\nB\n<d>\nC\n<d>\n"),
        ("x.en", "a\u2028b\x85\n\nc\x0bd\n".encode(), "A\u2028B\x85\n\nC\x0bD\n".encode()),
        ("x.en.xz", lzma.compress(b"a\n\nb\n"), b"A\n\nB\n"),
        ("x.tsv", b"a\tx\nb\ty\n\t\nc\tz\n", b"A\nB\n\nC\n"),
        (
            "x.jsonl",
            b'{"source": "a", "docid": 1}\n{"source": "b", "docid": 2, "more": "\xc3\xa4"}\n',
            b'{"source": "a", "docid": 1, "target": "A"}\n'
            b'{"source": "b", "docid": 2, "more": "\xc3\xa4", "target": "B"}\n',
        ),
        (
            "x.jsonl",
            b'{"source": ["a", "b"]}\n{"source": ["c"]}\n',
            b'{"source": ["a", "b"], "target": ["A", "B"]}\n{"source": ["c"], "target": ["C"]}\n',
        ),
        (  # half a surrogate pair in a name or another field is none of the translation's
            "x.jsonl",
            b'{"source": "a", "docid": 1, "x\\ud800": "\\udc00 \xc3\xa4"}\n',
            b'{"source": "a", "docid": 1, "x\\ud800": "\\udc00 \\u00e4", "target": "A"}\n',
        ),
    ],
)
def test_translate_gives_a_line_for_each_line(
    tmp_path: Path, shouter: type[Shouter], name: str, data: bytes, expected: bytes
):
    assert translated(tmp_path, name, data) == expected


@pytest.mark.parametrize(
    ("option", "marks"), [("--docids", b"x\nx\ny\n"), ("--starts", b"1\n3\n"), ("--boundaries", b"")]
)
def test_translate_with_boundaries_elsewhere(tmp_path: Path, shouter: type[Shouter], option: str, marks: bytes):
    (tmp_path / "marks").write_bytes(marks)
    value = tmp_path / "marks" if marks else "none"
    assert translated(tmp_path, "x.en", b"a\n\nc\n", option, value) == b"A\n\nC\n"


def test_translate_hands_on_its_options(tmp_path: Path, shouter: type[Shouter]):
    translated(tmp_path, "x.en", b"a\n", "--device", "cpu", "--first-pass", "f", "--beam", "2")
    assert shouter.loaded == (Path("m"), "cpu", Path("f"))
    assert shouter.settings["beam"] == 2


def test_translate_has_the_defaults_of_the_library(tmp_path: Path, shouter: type[Shouter]):
    from docflat.decoding.settings import DecodingSettings

    translated(tmp_path, "x.en", b"a\n")
    assert shouter.loaded == (Path("m"), "auto", None)
    assert shouter.settings.pop("mode") == "auto"
    assert shouter.settings.pop("repairs") is False  # they run on what it returns
    # `edit_beam` is of Python only; of the other two it asks elsewhere
    assert shouter.settings.keys() == vars(DecodingSettings()).keys() - {"mode", "n_best", "edit_beam"}
    # The library fills in what is None: it depends on the model.
    given = {key: value for key, value in shouter.settings.items() if value is not None}
    assert DecodingSettings(**given) == DecodingSettings()


def test_translate_from_stdin_to_stdout(
    capfdbinary: pytest.CaptureFixture[bytes], shouter: type[Shouter], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "in").write_bytes("ä\n\nß\n".encode())
    with open(tmp_path / "in") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert docflat("translate", "--model", "m") == 0
    assert capfdbinary.readouterr() == ("Ä\n\nSS\n".encode(), b"")


def test_translate_not_in_place_but_to_a_device(tmp_path: Path, shouter: type[Shouter], capsys: Capture):
    file = tmp_path / "x"
    file.write_text("a\n")
    os.link(file, tmp_path / "hard")
    os.symlink(file, tmp_path / "soft")
    for out in ("x", "hard", "soft"):
        for force in ([], ["--force"]):
            error = fails(capsys, "translate", file, "-o", tmp_path / out, "--model", "m", *force)
            assert error == f"{tmp_path / out}: would be overwritten: this command has it twice"
    assert file.read_text() == "a\n"
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    assert docflat("translate", file, "-o", link, "--model", "m") == 0
    assert link.is_symlink()


@pytest.mark.parametrize(
    ("data", "expected"), [(b"a\n\xff\n", "x:2: not UTF-8"), (b"", "x: no sentences"), (None, "x: cannot be read")]
)
def test_translate_bad_input_writes_nothing(
    capsys: Capture, tmp_path: Path, shouter: type[Shouter], data: bytes | None, expected: str
):
    if data is not None:
        (tmp_path / "x").write_bytes(data)
    (tmp_path / "out").write_text("before")
    command = ("translate", tmp_path / "x", "-o", tmp_path / "out", "--model", "m")
    if data is not None:
        assert fails(capsys, *command) == f"{tmp_path}/out: exists already (--force replaces it)"
    error = fails(capsys, *command, "--force")
    assert error.startswith(f"{tmp_path}/{expected}")
    assert (tmp_path / "out").read_text() == "before"
    assert set(os.listdir(tmp_path)) <= {"x", "out"}


def test_translate_into_a_folder_that_is_not_there(capsys: Capture, tmp_path: Path, shouter: type[Shouter]):
    (tmp_path / "x").write_text("a\n")
    assert docflat("translate", tmp_path / "x", "-o", tmp_path / "new" / "out", "--model", "m") == 0
    assert (tmp_path / "new" / "out").read_text() == "A\n"
    capsys.readouterr()
    error = fails(capsys, "translate", tmp_path / "x", "-o", tmp_path / "x" / "out", "--model", "m")
    assert error == f"{tmp_path}/x: cannot be made: File exists"


@pytest.mark.parametrize("wrong", [[], ["A", "B"], ["A\nB"]])
def test_translate_notices_a_translator_that_loses_count(
    tmp_path: Path, shouter: type[Shouter], monkeypatch: pytest.MonkeyPatch, wrong: list[str]
):
    def lose(self: Shouter, documents: Iterable[list[str]], **settings: Any) -> Iterator[list[str]]:
        for _ in documents:
            yield wrong

    monkeypatch.setattr(Shouter, "translate_documents", lose)
    (tmp_path / "x").write_text("a\n")
    with pytest.raises(AssertionError, match="1 sentences in"):
        cli.main(["translate", str(tmp_path / "x"), "-o", str(tmp_path / "out"), "--model", "m"])
    assert not (tmp_path / "out").exists()


def test_a_table_on_a_terminal_cuts_nothing() -> None:
    """Of a signature every letter is there, in several lines if need be."""
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|segment:document|version:2.6.0"
    code = "from docflat.support.console import print_table\n"
    code += f"print_table(['metric', 'signature'], [['bleu', {signature!r}]])"
    environment = {**os.environ, "COLUMNS": "40", "TERM": "xterm"}
    read, write = os.openpty()
    subprocess.run([sys.executable, "-c", code], stdout=write, env=environment, check=True)
    os.close(write)
    with open(read, "rb", buffering=0) as terminal:
        shown = terminal.read(10_000).decode()
    cells = [line.split("│")[2].strip() for line in shown.splitlines() if line.count("│") == 3]
    assert "".join(cells) == signature
