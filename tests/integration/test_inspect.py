"""`docflat inspect` on a tiny trained model: the page, the pictures, the numbers, and bad input."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docflat.cli import dispatch as cli
from docflat.data.subwords import Subwords
from docflat.evaluation.inspection import MOST_SENTENCES, WIDEST, inspect
from docflat.support.errors import InputError
from docflat.translation.translator import Translator

from .conftest import made_up_documents, run_training, stage

Capture = pytest.CaptureFixture[str]

NASTY = """<b>&"</b> 'x' </script><script>alert(1)</script> <!-- &amp; 漢字"""
SOURCE = ["bado gife", NASTY, "lumo", "sate rinu bado", "gife"]
TARGET = ["eins zwei", "<i>&</i> drei", "vier", "fünf </td>", "sechs"]
EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "path", "rect", "source", "wbr"}


@pytest.fixture(scope="module")
def models(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny models of each kind of gate, and one without flat-batch attention."""
    folder = tmp_path_factory.mktemp("models")
    stages = {
        "docflat-c": stage("docflat-c"),
        "docflat-d": stage("docflat-d", rows={"max_tokens": 64, "window": 2}),
        "docflat-i": stage("docflat-i"),
        "encoder": stage("docflat-c", options={"decoder": False}),
        "all": stage("docflat-c", options={"scope": "all"}),
        "doc2doc": stage("doc2doc"),
    }
    for name, one in stages.items():
        run_training(data, folder / name, one | {"max_steps": 3, "validate_every": 3})
    return {name: folder / name / "model" for name in stages}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The second document is the one with everything in it."""
    for name, sentences in (("x.source", SOURCE), ("x.target", TARGET)):
        (tmp_path / name).write_text("bado\n\n" + "\n".join(sentences) + "\n", encoding="utf-8")
    return tmp_path / "x.source", tmp_path / "x.target"


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)

    def find(self, tag: str, **attributes: str) -> list[Element]:
        """All of them within, in order; class names a class among others."""
        found = []
        for child in self.children:
            if isinstance(child, str):
                continue
            has = child.attributes
            if child.tag == tag and all(
                value in has.get(key.rstrip("_"), "").split() for key, value in attributes.items()
            ):
                found.append(child)
            found += child.find(tag, **attributes)
        return found


class Strict(HTMLParser):
    """Every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(text)
        self.close()
        assert self.open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {key: value or "" for key, value in attrs})
        self.open[-1].children.append(element)
        if tag not in EMPTY:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def docflat(*arguments: str | Path | int) -> int:
    return cli.run([str(each) for each in arguments])


def inspected(out: Path, *arguments: str | Path | int) -> tuple[Any, Element]:
    """The numbers and the page."""
    assert docflat("inspect", *arguments, "--out", out, "--device", "cpu") == 0
    page = (out / "inspect.html").read_text(encoding="utf-8")
    return json.loads((out / "inspect.json").read_text(encoding="utf-8")), Strict(page).root


def refused(capsys: Capture, *arguments: str | Path | int) -> str:
    """The one line of an error."""
    assert docflat("inspect", *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("docflat: error: ").rstrip("\n")


def test_page_pictures_and_numbers(models: dict[str, Path], files: tuple[Path, Path], tmp_path: Path, capsys: Capture):
    source, target = files
    given = ("--model", models["docflat-c"], "--source", source, "--target", target, "--document", 2)
    numbers, _ = inspected(tmp_path / "out", *given)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "inspect.html",
        "inspect.json",
        "source.png",
        "target.png",
    ]
    for name in ("source", "target"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "out" / "inspect.html") in capsys.readouterr().out
    page = (tmp_path / "out" / "inspect.html").read_text(encoding="utf-8")
    words = re.findall(r'<p class="legend">([a-z ]+) \(\S+\) <.*?> ([a-z ]+) \(\S+( or more)?\)</p>', page)
    assert words == [("hardly read", "read most", " or more")] * 2 + [("least context", "most context", "")]

    assert numbers["system"] == "docflat-c"
    assert numbers["window"] == 32
    for name, sentences in (("source", SOURCE), ("target", TARGET)):
        side = numbers[name]
        assert side["sentences"] == sentences
        (one,) = side["maps"]
        weights, heads = np.array(one["weights"]), np.array(one["heads"])
        assert weights.shape == (5, 5)
        assert heads.shape == (2, 5, 5)
        np.testing.assert_allclose(heads.mean(0), weights, atol=1e-6)
        np.testing.assert_allclose(weights @ np.array(one["tokens"]), 1, atol=1e-5)
        assert [len(tokens) for tokens in side["tokens"]] == one["tokens"]
        assert all(0 < token["opening"] < 1 for tokens in side["tokens"] for token in tokens)
        words = ["".join(token["text"] for token in tokens if not token["symbol"]) for tokens in side["tokens"]]
        assert words == [f" {sentence}" for sentence in sentences]
        assert [tokens[0]["text"] for tokens in side["tokens"]] == [f"<{n}>" for n in range(1, 6)]
    assert np.all(np.triu(numbers["target"]["maps"][0]["weights"], 1) == 0)


def test_page_shows_every_sentence_and_needs_nothing_else(
    models: dict[str, Path], files: tuple[Path, Path], tmp_path: Path
):
    source, target = files
    given = ("--model", models["docflat-c"], "--source", source, "--target", target, "--document", 2)
    numbers, page = inspected(tmp_path / "out", *given)
    text = (tmp_path / "out" / "inspect.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]|\b(src|href)\s*=|@import|url\(|<link", text)
    assert not re.search(r"</script><script>alert|<b>|<i>", text)
    assert len(page.find("script")) == 2  # the data, and what reads it: none from a sentence

    for column, sentences in enumerate((SOURCE, TARGET)):
        cells = [row.find("td")[column] for row in page.find("tr")[1:]]
        for cell, sentence in zip(cells, sentences, strict=True):
            symbols = cell.find("span", class_="symbol")
            cell.children = [child for child in cell.children if child not in symbols]
            # Where a character has several ids, the ones before the last show a dot.
            assert cell.text().replace("·", "").strip() == sentence
            assert all(0 < float(span.attributes["data-opening"]) < 1 for span in cell.find("span"))
    data = json.loads(page.find("script", id="data")[0].text())
    assert data["source"]["sentences"] == SOURCE
    np.testing.assert_allclose(data["target"]["maps"][0]["weights"], numbers["target"]["maps"][0]["weights"], rtol=1e-3)
    maps = page.find("svg", class_="map")
    assert [svg.attributes["data-side"] for svg in maps] == ["source", "target"]
    cells = [sum(path.attributes["d"].count("M") for path in svg.find("path")) for svg in maps]
    assert cells == [25, 15]  # of the target only what can be read


def test_the_model_translates_where_no_target_is_given(models: dict[str, Path], tmp_path: Path):
    (document,) = made_up_documents(1, "inspect", (5, 5))
    source = [x for x, _ in document]
    (tmp_path / "x").write_text("\n".join(source) + "\n")
    numbers, _ = inspected(tmp_path / "out", "--model", models["docflat-d"], "--source", tmp_path / "x")
    assert numbers["target"]["sentences"] == Translator.load(models["docflat-d"], "cpu").translate(source)
    assert numbers["window"] == 2  # as it was trained
    assert [one["sentences"] for one in numbers["source"]["maps"]] == [[0, 1], [2, 3], [4]]
    assert numbers["gate"] == "share open"
    shares = [token["opening"] * 16 for tokens in numbers["source"]["tokens"] for token in tokens]  # of 16 dimensions
    np.testing.assert_allclose(shares, np.round(shares), atol=1e-5)

    whole, _ = inspected(tmp_path / "whole", "--model", models["docflat-d"], "--source", tmp_path / "x", "--window", 0)
    assert [one["sentences"] for one in whole["source"]["maps"]] == [[0, 1, 2, 3, 4]]


def test_a_system_without_a_gate_or_with_one_side(models: dict[str, Path], files: tuple[Path, Path], tmp_path: Path):
    source, _ = files
    numbers, page = inspected(tmp_path / "i", "--model", models["docflat-i"], "--source", source, "--document", 2)
    assert numbers["gate"] == "none"
    assert all(token["opening"] is None for tokens in numbers["source"]["tokens"] for token in tokens)
    assert "no gate" in page.text()
    numbers, page = inspected(tmp_path / "e", "--model", models["encoder"], "--source", source, "--document", 2)
    assert numbers["target"] is None
    assert len(page.find("svg", class_="map")) == 1
    assert not (tmp_path / "e" / "target.png").exists()


def test_with_local_context_in_the_flat_sequence(models: dict[str, Path], tmp_path: Path):
    (tmp_path / "x").write_text("bado\ngife lumo\nsate\n")
    given = ("--source", tmp_path / "x", "--target", tmp_path / "x")
    numbers, page = inspected(tmp_path / "out", "--model", models["all"], *given)
    side = numbers["target"]
    sizes = [len(tokens) for tokens in side["tokens"]]
    assert side["maps"][0]["tokens"][:3] == [sizes[0], sum(sizes[:2]), sum(sizes[:3])]
    assert all(token["opening"] is not None for tokens in side["tokens"] for token in tokens)
    assert "local context" in page.text()


def test_empty_sentences_are_left_out(models: dict[str, Path]):
    translator = Translator.load(models["docflat-c"], "cpu", engine="torch")
    found = inspect(translator, ["bado", " ", "gife", "lumo"], ["eins", "", "zwei", " "])
    assert found.source is not None
    assert found.source.maps[0].sentences == [0, 2]
    assert [len(tokens) > 0 for tokens in found.source.tokens] == [True, False, True, False]
    with pytest.raises(InputError, match="no sentence in this document with words on both sides"):
        inspect(translator, ["bado", ""], ["", "eins"])
    with pytest.raises(ValueError, match="2 sentences, but 1 translations"):
        inspect(translator, ["bado", "gife"], ["eins"])


def test_without_matplotlib_there_is_a_warning(
    models: dict[str, Path], files: tuple[Path, Path], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    inspected(tmp_path / "out", "--model", models["docflat-c"], "--source", files[0], "--target", files[1])
    assert capsys.readouterr().err == "".join(
        f"docflat: warning: {side}.png is not drawn: pip install 'docflat[plot]'\n" for side in ("source", "target")
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["inspect.html", "inspect.json"]


def test_bad_input(models: dict[str, Path], files: tuple[Path, Path], tmp_path: Path, capsys: Capture):
    source, target = files
    given = ("--model", models["docflat-c"], "--source", source, "--out", tmp_path / "out")
    assert refused(capsys, *given, "--document", 3) == f"{source}: there is no document 3: there are 2"
    found = refused(capsys, "--model", models["doc2doc"], *given[2:])
    assert found == "doc2doc has no flat-batch attention to look at; the docflat-* systems have"
    short = tmp_path / "short"
    short.write_text("eins\n\nzwei\n")
    found = refused(capsys, *given, "--target", short, "--document", 2)
    assert found == f"{short}:4: the source file goes on after the target file has ended (3 lines)"
    long = tmp_path / "long"
    long.write_text("bado\n" * (MOST_SENTENCES + 1))
    found = refused(capsys, *given[:2], "--source", long, *given[4:])
    assert found == f"{long}:1: a document of 1001 sentences; {MOST_SENTENCES} at most can be looked at"
    long.write_text("bado\n\n" + "bado\n" * (WIDEST + 1))
    found = refused(capsys, *given[:2], "--source", long, "--document", 2, "--window", 0, *given[4:])
    assert found == f"{long}:3: a window of 401 sentences; {WIDEST} at most can be looked at"
    assert "is not a model folder" in refused(capsys, "--model", tmp_path / "none", *given[2:])
    assert not (tmp_path / "out").exists()

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("")
    assert refused(capsys, *given) == f"{tmp_path / 'out'}: exists already and is not an empty folder"
    other = f"{tmp_path / 'out'}: is not replaced: it holds 'mine', which docflat did not write here"
    assert refused(capsys, *given, "--force") == other
    (tmp_path / "out" / "mine").unlink()
    (tmp_path / "out" / "target.png").write_text("old")
    inspected(tmp_path / "out", *given[:4], "--target", target, "--force")
    assert (tmp_path / "out" / "target.png").read_bytes() != b"old"


def test_pieces_spell_the_text(data: Path):
    subwords = Subwords.load(data / "tokenizer.json")
    for text in (NASTY, "bado gife", "ä漢😀 \ufffd", "", "a  b"):
        ids = subwords.encode(text)
        assert "".join(subwords.pieces(ids)) == (f" {text}" if text else "")
        assert len(subwords.pieces(ids)) == len(ids)
    assert subwords.pieces([subwords.eos, subwords.text_size]) == ["</s>", "<1>"]
