"""`docflat export --to onnx`: what the files say is enough to translate as docflat does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docflat.cli.dispatch import run
from docflat.translation.translator import Translator

ROOT = Path(__file__).parents[2]
OLD_MODEL = ROOT / "tests" / "data" / "model-format-1"  # docflat-c


@pytest.mark.parametrize("quantization", ["int8", "float32"])
def test_the_example_translates_as_docflat_does(quantization: str, tmp_path: Path) -> None:
    out = tmp_path / "graphs"
    arguments = ["--to", "onnx", "--quantization", quantization, "-o", str(out)]
    assert run(["export", "--model", str(OLD_MODEL), *arguments]) == 0
    lines = ["a b c", "b", "", "c c a b"]
    example = [sys.executable, str(ROOT / "examples" / "onnx_translate.py"), str(out)]
    done = subprocess.run(example, input="\n".join(lines) + "\n", text=True, capture_output=True, check=True)
    translator = Translator.load(OLD_MODEL, precision={"float32": "fp32"}.get(quantization, quantization))
    translated = [translator.translate([line], mode="sentence", beam=1)[0] for line in lines]
    assert done.stdout.split("\n") == [*translated, ""]


def test_every_graph_is_explained(tmp_path: Path) -> None:
    out = tmp_path / "graphs"
    assert run(["export", "--model", str(OLD_MODEL), "--to", "onnx", "-o", str(out)]) == 0
    card = (out / "README.md").read_text(encoding="utf-8")
    onnx = pytest.importorskip("onnx")
    for path in out.glob("*.onnx"):
        graph = onnx.load(path, load_external_data=False).graph
        assert f"## {path.name}" in card
        for one in (*graph.input, *graph.output):
            name = one.name.rstrip("0123456789")
            assert (f"{name}N" if name != one.name else name) in card


def test_other_kinds_of_weights_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--to", "onnx", "--quantization", "int16", "-o", str(tmp_path / "graphs")]
    assert run(["export", "--model", str(OLD_MODEL), *arguments]) == 2
    assert "--quantization" in capsys.readouterr().err
    assert not (tmp_path / "graphs").exists()
