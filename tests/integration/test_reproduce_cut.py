"""A plan that is killed twice on its way, and stopped by its budget, ends as one that was not: models to the bit,
translations, every number, and the report.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from docflat.cli import dispatch as cli
from docflat.reproduce import runs

from .conftest import ENVIRONMENT

SYSTEMS = ("sent2sent", "doc2doc", "docflat-c")
CHOICE = [
    "--scale=tiny",
    "--select=table2,elsewhere",
    "--datasets=europarl",
    f"--systems={','.join(SYSTEMS)}",
    "--seeds=2",
    "--commit=test",
    "I.max_steps=12",
    "II.max_steps=20",
    "every_stage.validate_every=8",
    "log_every=2",
]


def reproduce(out: Path, action: str, *words: str) -> tuple[int, str, str]:
    stdout, stderr = StringIO(), StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        status = cli.run(["reproduce", action, f"--out={out}", *CHOICE, *words])
    return status, stdout.getvalue(), stderr.getvalue()


def kill_when(out: Path, moment: Callable[[], bool]) -> None:
    command = [sys.executable, "-m", "docflat", "reproduce", "run", f"--out={out}", *CHOICE]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while not moment():
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)


def stop_after(monkeypatch: pytest.MonkeyPatch, questions: int) -> None:
    """The budget is over when it was asked about so often: no test should wait for a clock."""
    answers: Iterator[bool] = iter([False] * questions)
    monkeypatch.setattr(runs.Plan, "is_late", lambda plan: next(answers, True))


def numbers(out: Path) -> dict[tuple[Any, ...], Any]:
    records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    found = {(one["job"], one["metric"], one["window"]): (one["value"], one["file"]) for one in records}
    assert len(found) == len(records), "a number was measured twice"
    return found


@pytest.fixture(scope="module")
def outs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One that ran through, one that was killed and stopped."""
    whole, cut = (tmp_path_factory.mktemp(name) / "out" for name in ("whole", "cut"))
    status, _, stderr = reproduce(whole, "run")
    assert status == 0, stderr
    kill_when(cut, (cut / "jobs/europarl/doc2doc/stage-1/log.jsonl").exists)
    kill_when(cut, (cut / "jobs/europarl/doc2doc@2/stage-1/checkpoints/step-00000008").exists)
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 30)  # within docflat-c@2, between two validations
        assert reproduce(cut, "run", "--budget=1h")[0] == 0
    status, _, stderr = reproduce(cut, "run")
    assert status == 0, stderr
    return whole, cut


def test_models_and_translations_are_the_same_to_the_bit(outs: tuple[Path, Path]):
    whole, cut = (
        {
            path.relative_to(out): path.read_bytes()
            for pattern in ("**/model/model.safetensors", "**/test*.de", "**/right.json")
            for path in (out / "jobs").glob(pattern)
        }
        for out in outs
    )
    jobs = [f"europarl/{system}{seed}" for system in SYSTEMS for seed in ("", "@2")]
    assert {Path("jobs", job, "model", "model.safetensors") for job in jobs} <= whole.keys()
    assert whole == cut


def test_every_number_is_there_once_and_the_same(outs: tuple[Path, Path]):
    whole, cut = map(numbers, outs)
    assert {("europarl/docflat-c@2", metric, 16) for metric in ("bleu", "bleu on ted", "bleu p")} <= whole.keys()
    assert whole == cut
    for _, file in whole.values():
        assert not file or (outs[0] / file).exists()


def test_the_reports_say_the_same(outs: tuple[Path, Path]):
    whole, cut = (list(csv.DictReader((out / "report.csv").open(encoding="utf-8"))) for out in outs)
    assert whole == cut
    of_docflat = next(row for row in whole if row["job"] == "europarl/docflat-c" and row["metric"] == "bleu")
    assert of_docflat["seeds"] == "2"
    reasons = {row["open"] for row in whole if row["job"].startswith("europarl/doc2doc") and not row["measured"]}
    assert reasons <= {"not chosen", "no COMET checkpoint (--comet-model)"}


def test_a_plan_lists_what_is_left_and_what_it_costs(outs: tuple[Path, Path], tmp_path: Path):
    status, stdout, stderr = reproduce(tmp_path, "plan", "--json")
    assert status == 0, stderr
    plan = json.loads(stdout)
    assert [line["job"] for line in plan["jobs"]] == [
        "europarl/sent2sent",
        "europarl/doc2doc",
        "europarl/docflat-c",
        "europarl/doc2doc@2",
        "europarl/docflat-c@2",
        "europarl/sent2sent@2",
    ]
    assert plan["seconds"] > 0
    assert {line["state"] for line in plan["jobs"]} == {"to do"}
    assert not (tmp_path / "jobs").exists(), "a plan trains nothing"
    done = json.loads(reproduce(outs[0], "plan", "--json")[1])
    assert done["seconds"] == 0
    assert {line["state"] for line in done["jobs"]} == {"no COMET checkpoint (--comet-model)"}


def test_kept_translations_are_scored_again_without_their_models(outs: tuple[Path, Path], tmp_path: Path):
    """With the origin of the run that made them; and the tests that a budget left out."""
    out = tmp_path / "out"
    shutil.copytree(outs[0], out)
    lines = (out / "results.jsonl").read_text().splitlines(keepends=True)
    later = ("pronouns", "cohesion", "bleu p", "bleu on ted p")
    (out / "results.jsonl").write_text("".join(line for line in lines if json.loads(line)["metric"] not in later))
    for folder in out.glob("jobs/europarl/*/model"):
        shutil.rmtree(folder)
    words = [f"--out={out}", f"--data={out / 'data'}", "--commit=later"]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as stderr:
        assert cli.run(["reproduce", "report", *words]) == 0, stderr.getvalue()
    assert numbers(out) == numbers(outs[0])
    added = [one for one in map(json.loads, (out / "results.jsonl").open()) if one["metric"] in later]
    assert added
    records = {(one["job"], one["metric"], one["window"]): one for one in map(json.loads, lines)}
    for one in added:
        before = records[one["job"], one["metric"], one["window"]]["origin"]
        assert one["origin"]["commit"] == "later"
        assert {**one["origin"], "commit": "", "command": ""} == {**before, "commit": "", "command": ""}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budget=soon"], "expected a time such as 90s, 25m or 2h"),
        (["--budget=0m"], "expected a time such as 90s, 25m or 2h"),
        (["--seeds=0"], "at least 1"),
        (["--seeds=3-2"], "seeds such as 2-3"),
        (["--seeds=2-2", "seed=5"], "with --seeds they are 1, 2, 3"),
        (["--seeds=2", "seed=5"], "with --seeds they are 1, 2, 3"),
    ],
)
def test_what_a_plan_refuses(tmp_path: Path, words: list[str], message: str):
    status, _, stderr = reproduce(tmp_path, "run", *words)
    assert status == 2
    assert message in stderr.splitlines()[-1]
