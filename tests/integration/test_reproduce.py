"""`docflat reproduce` at the tiny scale: killed and going on, two workers, data of one's own, what it refuses."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import sacrebleu

from docflat.cli import dispatch as cli
from docflat.evaluation import metrics
from docflat.reproduce import runs
from docflat.reproduce.tiny import SETTINGS

from .conftest import ENVIRONMENT

REPORTS = ("report.md", "report.html", "report.csv", "report.tex")
QUICK = ["every_stage.max_steps=10", "every_stage.validate_every=5", "log_every=5"]


def words_of(out: Path, words: Sequence[str], tiny: bool) -> list[str]:
    return ["reproduce", f"--out={out}", *(["--scale=tiny"] if tiny else []), *words]


def start(out: Path, *words: str, tiny: bool = True) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "docflat", *words_of(out, words, tiny)]
    return subprocess.Popen(command, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def reproduce(out: Path, *words: str, tiny: bool = True) -> tuple[int, str, str]:
    """Within this process: another one would wait for torch again."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        status = cli.run(words_of(out, words, tiny))
    return status, stdout.getvalue(), stderr.getvalue()


def records(out: Path) -> list[dict[str, object]]:
    path = out / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keys(out: Path) -> list[tuple[object, ...]]:
    return [(record["job"], record["metric"], record["window"]) for record in records(out)]


def models(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in out.glob("jobs/**/model/model.safetensors")}


def trained_steps(out: Path, job: str) -> list[int]:
    lines = (out / "jobs" / job / "stage-1" / "log.jsonl").read_text().splitlines()
    return [record["step"] for record in map(json.loads, lines) if record["kind"] == "train"]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed while it trained its third model, and then went on; with results cut in the last line."""
    out = tmp_path_factory.mktemp("reproduce") / "out"
    choice = ["--select=table4,batch", "--datasets=ted", *QUICK]
    process = start(out, *choice)
    while not (out / "jobs/ted/docflat-d/stage-1/log.jsonl").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before, measured = models(out), keys(out)
    assert {path.parts[-3] for path in before} >= {"sent2sent", "docflat-c"}
    with (out / "results.jsonl").open("a") as file:
        file.write('{"job": "ted/docfl')

    status, stdout, stderr = reproduce(out, *choice)
    assert status == 0, stderr
    assert stdout.split() == [str(out / name) for name in REPORTS]
    assert before.items() <= models(out).items(), "a finished training was done again"
    assert keys(out)[: len(measured)] == measured
    return out


def test_after_a_kill_every_number_is_there_once(killed: Path):
    found = keys(killed)
    assert len(found) == len(set(found))
    wanted = [
        (f"ted/docflat-{gate}", metric, window) for gate in "cdi" for metric, window in (("bleu", 16), ("accuracy", 0))
    ]
    wanted += [(f"ted/docflat-{gate}", "bleu", window) for gate in "cd" for window in (1, 2, 4, 8, 16, 32)]
    assert set(wanted) <= set(found)


def test_after_a_kill_every_step_was_trained_once(killed: Path):
    for job in ("sent2sent", "docflat-c", "docflat-d", "docflat-i"):
        assert trained_steps(killed, f"ted/{job}") == [5, 10]


def test_a_record_has_all_that_made_it(killed: Path):
    for record in records(killed):
        origin = record["origin"]
        assert isinstance(origin, dict)
        assert origin["commit"]
        assert origin["seed"] == 1
        assert len(origin["data"]) in (12, 21)
        assert origin["command"].startswith(f"docflat reproduce run --out={killed}")
        assert origin["training"].startswith("docflat train ted systems/")
        assert QUICK[0] in origin["settings"]


def test_the_report_is_written_again_from_the_results_alone(killed: Path, tmp_path: Path):
    for name in ("results.jsonl", "open.json"):
        shutil.copy(killed / name, tmp_path)
    assert reproduce(tmp_path, "report")[0] == 0
    for name in REPORTS:
        assert (tmp_path / name).read_text() == (killed / name).read_text()
    text = (tmp_path / "report.md").read_text()
    assert "| docflat-i | 25.07 | not run" not in text
    assert "| docflat-i | 25.07 | " in text
    assert "| gtrans | 25.29 | not run |  |" in text


def test_a_finished_run_has_nothing_to_do(killed: Path):
    before, measured = models(killed), keys(killed)
    status, _, stderr = reproduce(killed, "--select=table4,batch", "--datasets=ted", *QUICK)
    assert status == 0
    assert "[1/" not in stderr
    assert models(killed) == before
    assert keys(killed) == measured


def test_other_settings_are_refused_where_a_model_was_trained_already(killed: Path):
    choice = ["--select=speed", "--systems=docflat-c", "--datasets=ted"]
    status, _, stderr = reproduce(killed, *choice, "every_stage.max_steps=12")
    assert status == 2
    assert "trained with other settings" in stderr.splitlines()[-1]


def test_another_decoding_is_refused_where_some_numbers_are_there(killed: Path):
    """Numbers of two beams side by side would be compared as if they were of one."""
    choice = ["--select=speed", "--systems=docflat-c", "--datasets=ted", *QUICK]
    for other in ("--beam=2", "--global-context=first-pass"):
        status, _, stderr = reproduce(killed, *choice, other)
        assert status == 2
        assert "was decoded with beam 5, global context partial" in stderr.splitlines()[-1]


def test_a_metric_that_comes_later_needs_no_new_translation(killed: Path, monkeypatch: pytest.MonkeyPatch):
    """COMET stands for it, and the number of letters for COMET."""
    monkeypatch.setattr(metrics, "check_names", lambda *names, **source: None)
    lengths = lambda side, *rest: ([float(len(text)) for text in side.sentences], "letters")  # noqa: E731
    monkeypatch.setattr(runs, "comet_scores", lengths)
    before = {path: path.stat().st_mtime_ns for path in killed.glob("jobs/ted/*/test.*.de")}
    status, _, stderr = reproduce(killed, "--select=table4,batch", "--datasets=ted", "--comet-model=letters", *QUICK)
    assert status == 0, stderr
    assert {path: path.stat().st_mtime_ns for path in killed.glob("jobs/ted/*/test.*.de")} == before
    found = {(record["job"], record["metric"], record["window"]): record["value"] for record in records(killed)}
    for window in (1, 2, 4, 8, 16, 32):
        lines = (killed / f"jobs/ted/docflat-c/test.{window}.de").read_text().splitlines()
        mean = sum(map(len, lines)) / len(lines)
        assert found["ted/docflat-c", "comet", window] == pytest.approx(mean)


def test_two_workers_share_the_jobs(killed: Path, tmp_path: Path):
    """On data of one's own: the folders that the tiny scale made."""
    shutil.copytree(killed / "data" / "ted", tmp_path / "data" / "ted")
    out = tmp_path / "out"
    words = [f"--data={tmp_path / 'data'}", "--select=table2,speed", "--systems=sent2sent,doc2doc,han", "--jobs=2"]
    process = start(out, *words, *SETTINGS, *QUICK, tiny=False)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert "news is not run: there is no" in stderr
    assert stderr.count("COMET is not run") == 1
    for job in ("sent2sent", "doc2doc", "han"):
        assert stderr.count(f"] ted/{job}\n") == 1
    found = keys(out)
    assert len(found) == len(set(found))
    assert {("ted/han", "bleu", 16), ("ted/han", "bleu p", 16), ("ted/han", "accuracy p", 0)} <= set(found)
    assert "The numbers mean nothing" not in (out / "report.md").read_text()
    # Beside each other they have no speed of their own. What can still be measured is measured when one is alone.
    speeds = {("ted/han", "seconds", 16), ("ted/han", "updates/s", 0)}
    assert not speeds & set(found)
    assert stderr.count("speed is not measured") == 1
    status, _, stderr = reproduce(out, *words[:-1], *SETTINGS, *QUICK, tiny=False)
    assert status == 0, stderr
    assert speeds & set(keys(out)) == {("ted/han", "seconds", 16)}

    with (tmp_path / "data/ted/test.de").open("a") as file:
        file.write("noch ein Satz\n")
    with (tmp_path / "data/ted/test.en").open("a") as file:
        file.write("one more\n")
    status, _, stderr = reproduce(out, *words, *SETTINGS, *QUICK, tiny=False)
    assert status == 2
    assert "on other data" in stderr


def test_a_corpus_of_ones_own_in_other_languages_has_all_tables(killed: Path, tmp_path: Path):
    """With the base recipe, as it has none; an analysis that the paper has of TED; no German, so no pronouns."""
    data = tmp_path / "data" / "minutes"
    shutil.copytree(killed / "data" / "ted", data)
    for old, new in (("en", "fr"), ("de", "en")):
        (data / f"test.{old}").rename(data / f"test.{new}")
    words = [f"--data={data.parent}", "--datasets=minutes", "--languages", "fr", "en", "--select=table3,discourse"]
    out = tmp_path / "out"
    choice = [*words, "--systems=sent2sent,docflat-c", *SETTINGS, *QUICK]
    status, _, stderr = reproduce(out, *choice, tiny=False)
    assert status == 0, stderr
    assert {("minutes/docflat-c-encoder-only", "bleu", 16), ("minutes/docflat-c", "accuracy", 0)} <= set(keys(out))
    assert (out / "jobs/minutes/docflat-c/test.16.en").exists()
    text = (out / "report.md").read_text()
    assert "## Table 3: flat-batch attention by side, minutes" in text
    assert "counted for German only" in text


def test_systems_are_tested_on_other_test_sets(tmp_path: Path):
    """The numbers are those of sacreBLEU for the files, and the other set may come later."""
    choice = ["--datasets=europarl", "--systems=sent2sent,doc2doc", *QUICK]
    assert reproduce(tmp_path, "--select=table2", *choice)[0] == 0
    before = models(tmp_path)
    status, _, stderr = reproduce(tmp_path, "--select=elsewhere", *choice)
    assert status == 0, stderr
    assert models(tmp_path) == before
    found = {(record["job"], record["metric"]): record["value"] for record in records(tmp_path)}
    for system in ("sent2sent", "doc2doc"):
        for test in ("ted", "news"):
            lines = (tmp_path / f"jobs/europarl/{system}/test.{test}.16.de").read_text().splitlines()
            reference = [line for line in (tmp_path / f"data/{test}/test.de").read_text().splitlines() if line]
            score = sacrebleu.corpus_bleu(lines, [reference]).score
            assert found[f"europarl/{system}", f"bleu on {test}"] == pytest.approx(score)
    assert ("europarl/sent2sent", "bleu on ted p") in found
    shutil.rmtree(tmp_path / "data/ted")
    (tmp_path / "data/ted").mkdir()
    (tmp_path / "data/ted/contrapro.jsonl").touch()  # or it would be made anew
    status, _, stderr = reproduce(tmp_path, "--select=elsewhere", *choice)
    assert status == 0, stderr
    assert "nothing is tested on ted: there is no test.en" in stderr


def test_a_training_that_fails_leaves_the_others_alone(tmp_path: Path):
    """With a frozen sentence model there is nothing to train in doc2doc; in hybrid there is."""
    words = ["--select=table2", "--datasets=ted", "--systems=hybrid,doc2doc", "stages.0.sentence_rate=0", *QUICK]
    status, stdout, stderr = reproduce(tmp_path, *words)
    assert status == 2
    assert stderr.splitlines()[-1].startswith("docflat: error: ted/doc2doc failed: stages[0].sentence_rate")
    assert ("ted/hybrid", "bleu", 16) in keys(tmp_path)
    assert stdout.split() == [str(tmp_path / name) for name in REPORTS]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--select=table9"], "--select: unknown 'table9'; did you mean"),
        (["--systems=doc2dok"], "--systems: unknown 'doc2dok'; did you mean 'doc2doc'?"),
        (["--datasets=wiki"], "there are ted, news, europarl"),
        (["--data=/nowhere"], "/nowhere: none of the datasets is here"),
        (["report"], "there is no results.jsonl here"),
        (["--out=/dev/null/x"], "/dev/null/x: cannot be made: Not a directory"),
        (["nonsense"], "an override is key=value"),
        (["--comet-model=x"], "pip install 'docflat[comet]'"),
    ],
)
def test_what_it_refuses_is_said_in_a_line(tmp_path: Path, words: Sequence[str], message: str):
    tiny = words[0] in ("nonsense",)
    status, stdout, stderr = reproduce(tmp_path, *words, tiny=tiny)
    assert status == 2
    assert stdout == ""
    assert message in stderr.splitlines()[-1]
