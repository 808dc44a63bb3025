"""What is wrong with a model folder, a processor or an installation is said in one line."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import docflat.engines.onnx.loading
import docflat.engines.onnx.sessions
from docflat.data.subwords import Subwords
from docflat.engines.onnx.graph import FLOAT, Graph
from docflat.engines.onnx.hardware import has_int8
from docflat.engines.onnx.loading import load
from docflat.engines.onnx.sessions import Session
from docflat.support.errors import InputError
from docflat.weights.config import read_config, vocabulary_of

OLD_MODEL = Path(__file__).parents[2] / "data" / "model-format-1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD_MODEL, tmp_path / "model"))


def loaded(folder: Path, precision: str = "fp32") -> object:
    return load(folder, read_config(folder), vocabulary_of(Subwords.load(folder / "tokenizer.json")), precision, 1)


def changed(folder: Path, **tensors: np.ndarray | None) -> None:
    path = folder / "model.safetensors"
    weights = {**load_file(path), **tensors}
    save_file({name: array for name, array in weights.items() if array is not None}, path)


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("embedding.weight", None, "lack embedding.weight"),
        ("source_norm.bias", np.zeros(17, np.float32), r"source_norm.bias has the shape \(17,\), expected \(16,\)"),
        ("more.weight", np.zeros((1, 1), np.float32), "have more.weight"),
        ("embedding.weight", np.zeros((1, 1), np.int8), "embedding.weight holds whole numbers"),
    ],
)
def test_weights_that_do_not_fit_are_named(folder: Path, name: str, array: np.ndarray | None, said: str) -> None:
    changed(folder, **{name: array})
    with pytest.raises(InputError, match=said):
        loaded(folder)


def test_a_system_without_graphs_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "options": {"scope": "all"}}))
    with pytest.raises(InputError, match="no graphs for this docflat-d"):
        loaded(folder)


def test_a_graph_that_cannot_run_is_named() -> None:
    graph = Graph("broken", "")
    graph.input("x", FLOAT, 1)
    graph.output(graph.add("NoSuchOperator", "x"), "y", FLOAT, 1)
    with pytest.raises(InputError, match=r"cannot run the graph broken: .*NoSuchOperator"):
        Session(graph, 1)


def test_a_processor_without_exact_int8_products_computes_in_fp32(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docflat.engines.onnx.loading, "has_int8", lambda: False)
    engine = loaded(folder, "int8")
    assert engine.precision == "fp32"  # type: ignore[attr-defined]
    assert "VNNI" in capsys.readouterr().err


def test_int8_products_are_tried() -> None:
    assert has_int8() in (True, False)


@pytest.mark.parametrize(("version", "said"), [("1.9.1", "1.9.1 is too old"), (None, "needs onnxruntime")])
def test_an_onnxruntime_that_is_missing_or_old_is_named(
    version: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = None if version is None else types.SimpleNamespace(__version__=version)
    monkeypatch.setitem(sys.modules, "onnxruntime", other)  # type: ignore[arg-type]
    monkeypatch.delitem(sys.modules, "docflat.engines.onnx.sessions")
    with pytest.raises(InputError, match=said):
        importlib.import_module("docflat.engines.onnx.sessions")


def test_a_shortlist_is_read_from_the_folder_if_it_fits(folder: Path) -> None:
    size = vocabulary_of(Subwords.load(folder / "tokenizer.json")).text_size
    starts, words = np.arange(size + 1, dtype=np.int32), np.zeros(size, dtype=np.uint16)
    arrays = {"starts": starts, "words": words, "frequent": np.array([5, 7], dtype=np.uint16)}
    path = folder / "shortlist.safetensors"
    save_file(arrays, path)
    shortlist = loaded(folder).shortlist  # type: ignore[attr-defined]
    assert shortlist.frequent.tolist() == [5, 7]
    for name, array in (("starts", starts[:-1]), ("words", words[:-1]), ("frequent", np.array([size], np.uint16))):
        save_file({**arrays, name: array}, path)
        with pytest.raises(InputError, match="of another vocabulary"):
            loaded(folder)
    save_file({"starts": starts}, path)
    with pytest.raises(InputError, match="no shortlist"):
        loaded(folder)
