"""`docflat bulk` as its users run it, with the model that comes with docflat; the examples of its page."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docflat import Translator

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "bulk.md").read_text(encoding="utf-8")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
DOCUMENTS = ["Good morning.", "The cat sleeps.\nIt is tired."]


def docflat(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "docflat", *map(str, arguments)]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert ended.returncode == status, ended.stderr
    return ended


def test_a_run_its_status_and_its_merged_file(tmp_path: Path) -> None:
    lines = [json.dumps({"id": number, "text": text}) for number, text in enumerate(DOCUMENTS)]
    path, out = tmp_path / "corpus.jsonl.gz", tmp_path / "out"
    path.write_bytes(gzip.compress("\n".join([*lines, "{broken"]).encode()))
    docflat("bulk", path, "-o", out, "--plan-only", "--shard-size", 60)
    assert "0 of 3 documents; 0 of 3 shards" in docflat("bulk", "status", out).stdout
    docflat("bulk", path, "-o", out, "--slice", "2/2", "--shard-size", 60)
    assert "1 of 3 documents; 1 of 3 shards" in docflat("bulk", "status", out).stdout
    assert "shards are not done yet" in docflat("bulk", "merge", out, "-o", tmp_path / "de.jsonl", status=2).stderr
    ended = docflat("bulk", path, "-o", out, "--shard-size", 60, status=1)
    assert "1 documents and 0 shards have no translation; failed.jsonl says which" in ended.stderr
    assert json.loads((out / "failed.jsonl").read_text())["place"] == 3
    receipt = max((out / "done").rglob("*.json"))
    before = receipt.read_text()
    docflat("bulk", path, "-o", out, "--shard-size", 60, status=1)
    assert receipt.read_text() == before
    docflat("bulk", path, "-o", out, "--shard-size", 60, "--retry-failed", status=1)
    assert receipt.read_text() != before
    docflat("bulk", "merge", out, "-o", tmp_path / "de.jsonl.gz")
    merged = [json.loads(line) for line in gzip.decompress((tmp_path / "de.jsonl.gz").read_bytes()).splitlines()]
    translator = Translator.load(threads=1)
    expected = ["\n".join(translator.translate(text.split("\n"))) for text in DOCUMENTS]
    assert merged == [{"id": n, "text": text, "target": expected[n]} for n, text in enumerate(DOCUMENTS)]
    changed = docflat("bulk", path, "-o", out, "--shard-size", 60, "--beam", 2, status=2)
    assert "was begun with others: setting beam was not set, is 2" in changed.stderr


def test_repairs_and_what_computes_are_settings_of_a_run(tmp_path: Path) -> None:
    text = "The price rose to 1,234,567 euros."
    path = tmp_path / "docs.jsonl"
    path.write_text(json.dumps({"source": [text]}) + "\n")
    written = []
    for out, options in (("plain", ["--no-repairs", "--no-shortlist", "--model-engine", "onnx"]), ("repaired", [])):
        docflat("bulk", path, "-o", tmp_path / out, *options)
        docflat("bulk", "merge", tmp_path / out, "-o", tmp_path / f"{out}.jsonl")
        written.append(json.loads((tmp_path / f"{out}.jsonl").read_text())["target"])
    translator = Translator.load(threads=1)
    assert written == [translator.translate([text], repairs=False, shortlist=False), translator.translate([text])]
    changed = docflat("bulk", path, "-o", tmp_path / "plain", status=2)
    assert "setting repairs was" in changed.stderr


def test_a_first_pass_may_be_a_model_by_its_name(tmp_path: Path) -> None:
    path, out = tmp_path / "docs.jsonl", tmp_path / "out"
    path.write_text(json.dumps({"text": DOCUMENTS[0]}) + "\n")
    docflat("bulk", path, "-o", out, "--plan-only", "--first-pass", "en-de")
    settings = json.loads((out / "plan.json").read_text())["settings"]
    assert settings["first_pass"] == settings["model"]


@pytest.mark.parametrize(("package", "number"), [("ray", 0), ("datasets", 1)])
def test_the_examples_of_the_page(package: str, number: int, tmp_path: Path) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed: pip install 'docflat[dev]'")
    example = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[number]
    assert f"import {package}" in example or f"from {package}" in example
    code = f"{example}\nimport json\nprint(json.dumps(rows))\n"
    alone = {**ENVIRONMENT, "RAY_ADDRESS": "local"}  # not the Ray of another test, whose end it may not have noticed
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=alone, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    rows: list[dict[str, Any]] = json.loads(ended.stdout.splitlines()[-1])
    translator = Translator.load(threads=1)
    for row, text in zip(rows, DOCUMENTS, strict=True):
        expected = translator.translate(text.split("\n"))
        assert row["german"] == (expected if package == "datasets" else "\n".join(expected))
