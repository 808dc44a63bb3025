"""A training that is killed and started again ends as if nothing had happened: weights to the bit, and the log."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docflat.errors import InputError
from docflat.recipe import load_recipe
from docflat.training import train

from .conftest import (
    ENVIRONMENT,
    Mapping,
    outcome,
    prepare_documents,
    read_log,
    recipe_mapping,
    run_training,
    stage,
    without_timing,
)

TWO_STAGES = (
    stage("sent2sent", max_steps=30, validate_every=5, average=3),
    stage("docflat-c", max_steps=30, validate_every=5, average=3, rows={"max_tokens": 64, "context_free": 0.3}),
)
# Three checkpoints each, so that one of them is pruned; the last stage ends between two validations.
SHORT = (
    stage("sent2sent", max_steps=6, validate_every=2, validation_sample=0),
    stage("docflat-c", max_steps=5, validate_every=2, validation_sample=0),
)


def write_recipe(path: Path, mapping: Mapping) -> Path:
    path.write_text(yaml.safe_dump(mapping), encoding="utf-8")
    return path


def command(recipe: Path) -> list[str]:
    return [sys.executable, "-m", "docflat", "train", str(recipe)]


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


# Moments of a training, in their order. Where one is missed because a file was too fast, the kill comes just after.
MOMENTS: dict[str, Callable[[Path], bool]] = {
    "first checkpoint half written": lambda out: any((out / "stage-1" / "checkpoints").glob("step-00000005*")),
    "within stage I": lambda out: lines_of(out / "stage-1" / "log.jsonl") >= 14,
    "stage I's model half written": lambda out: any((out / "stage-1").glob("model*")),
    "within stage II": lambda out: lines_of(out / "stage-2" / "log.jsonl") >= 12,
    "the model, before it has its name": lambda out: any(out.glob("model*")),
}


def kill_when(recipe: Path, out: Path, moment: Callable[[Path], bool]) -> int:
    """Start the training and kill it at a moment; its exit status."""
    process = subprocess.Popen(command(recipe), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        limit = time.monotonic() + 60
        while process.poll() is None and not moment(out):
            assert time.monotonic() < limit, "the moment never came"
            time.sleep(0.0005)
        process.kill()
    finally:
        process.kill()
        process.communicate()
    return process.returncode


@pytest.fixture(scope="module")
def uninterrupted(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping:
    """The outcome of TWO_STAGES, trained in one go."""
    out = tmp_path_factory.mktemp("uninterrupted") / "out"
    run_training(data, out, *TWO_STAGES)
    return outcome(out)


def test_killed_processes_end_with_the_same_weights_and_log(data: Path, uninterrupted: Mapping, tmp_path: Path):
    out = tmp_path / "out"
    recipe = write_recipe(tmp_path / "recipe.yaml", recipe_mapping(data, out, *TWO_STAGES))
    statuses = {name: kill_when(recipe, out, moment) for name, moment in MOMENTS.items()}
    assert statuses == dict.fromkeys(MOMENTS, -signal.SIGKILL)
    subprocess.run(command(recipe), env=ENVIRONMENT, check=True, capture_output=True)
    assert outcome(out) == uninterrupted


# Runs trainings in forks of itself, which have torch already. With a folder for snapshots, it keeps the state of the
# disk before each operation on files below `out`, and, where one empties a file, also the state right after: what
# a kill at any of these moments would leave behind.
SERVER = """
import json, os, shutil, sys
import docflat.cli, docflat.training, sacrebleu

def watch(out, snapshots):
    busy, count = [], 0
    def hook(event, arguments):
        nonlocal count
        if busy or event not in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"):
            return
        path = os.fspath(arguments[0]) if isinstance(arguments[0], (str, os.PathLike)) else ""
        if not path.startswith(out):
            return
        busy.append(True)
        try:
            emptied = event == "open" and isinstance(arguments[1], str) and "w" in arguments[1] and os.path.exists(path)
            for empty in (False, True) if emptied else (False,):
                copy = os.path.join(snapshots, f"{count:04d}")
                shutil.copytree(out, copy) if os.path.exists(out) else os.mkdir(copy)
                if empty:
                    open(copy + path[len(out):], "w").close()
                with open(copy + ".txt", "w") as note:
                    note.write(("after emptying " if empty else f"before {event} ") + path[len(out):])
                count += 1
        finally:
            busy.pop()
    sys.addaudithook(hook)

for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr = open(order["log"], "w")
        if order["snapshots"]:
            watch(order["out"], order["snapshots"])
        docflat.cli.main(["train", order["recipe"], "out=" + order["out"]])
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Server:
    def __init__(self, folder: Path) -> None:
        self.log = folder / "server.log"
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def train(self, recipe: Path, out: Path, snapshots: Path | None = None) -> None:
        order = {
            "recipe": str(recipe),
            "out": str(out),
            "log": str(self.log),
            "snapshots": snapshots and str(snapshots),
        }
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        status = self.process.stdout.readline().strip()
        assert status == "0", self.log.read_text()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.process.communicate()


def contents(folder: Path) -> Mapping:
    """Files with their bytes, and folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_every_state_a_kill_can_leave_leads_to_the_same_end(data: Path, server: Server, tmp_path: Path):
    recipe = write_recipe(tmp_path / "recipe.yaml", recipe_mapping(data, tmp_path / "x", *SHORT))
    snapshots = tmp_path / "snapshots"
    snapshots.mkdir()
    server.train(recipe, tmp_path / "watched", snapshots)
    expected = outcome(tmp_path / "watched")
    assert expected["results"]["stage-2"]["steps"] == 5

    states: dict[str, Path] = {}
    for copy in sorted(path for path in snapshots.iterdir() if path.is_dir()):
        states.setdefault(repr(sorted(contents(copy).items())), copy)
    assert len(states) > 40
    bad = []
    for copy in states.values():
        server.train(recipe, copy)
        found = outcome(copy)
        different = [what for what in expected if found[what] != expected[what]]
        if different:
            bad.append(f"{copy.with_suffix('.txt').read_text()}: {', '.join(different)}")
        shutil.rmtree(copy)
    assert not bad


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Mapping]]:
    """A folder where SHORT was trained, and its results."""
    out = tmp_path_factory.mktemp("finished") / "out"
    return out, run_training(data, out, *SHORT)


def test_a_finished_training_run_again_does_nothing(data: Path, finished: tuple[Path, list[Mapping]]):
    out, results = finished

    def facts() -> Mapping:
        files = [path for path in out.rglob("*") if path.is_file() and path.name != "recipe.json"]
        return {path: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = facts()
    assert run_training(data, out, *SHORT) == results
    assert facts() == before


def test_results_are_those_of_the_files(finished: tuple[Path, list[Mapping]]):
    out, results = finished
    assert results == [json.loads((out / f"stage-{n}" / "result.json").read_text()) for n in (1, 2)]
    assert [(result["stage"], result["system"], result["steps"]) for result in results] == [
        (1, "sent2sent", 6),
        (2, "docflat-c", 5),
    ]


def test_leftovers_of_a_kill_do_no_harm(data: Path, finished: tuple[Path, list[Mapping]], tmp_path: Path):
    out = tmp_path / "out"
    for leftover in ("stage-1/checkpoints/step-00000004.partial", "stage-1/model.partial", "model.partial"):
        folder = out / leftover
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"\x40\0\0\0\0\0\0\0{")  # cut off within its header
        (folder / "unknown").mkdir()
    for leftover in ("recipe.json.partial", "stage-1/result.json.partial"):
        (out / leftover).write_text('{"sta')
    run_training(data, out, *SHORT)
    assert outcome(out) == outcome(finished[0])
    assert not list(out.rglob("*.partial"))


# What only says where things are, when training ends and what it shows.
MAY_CHANGE = {
    "out",
    "log_every",
    "tensorboard",
    "device",
    "stages[1].max_steps",
    "stages[1].max_epochs",
    "stages[1].max_minutes",
    "stages[1].patience",
}
CHANGES: dict[str, Any] = {
    "seed": 2,
    "precision": "bf16",
    "compile": True,
    "log_every": 1,
    "tensorboard": True,
    "device": "auto",
    "model.dim": 32,
    "model.heads": 1,
    "model.feed_forward": 16,
    "model.encoder_layers": 2,
    "model.decoder_layers": 2,
    "stages[1].system": "docflat-i",
    "stages[1].options.gamma": 0.25,
    "stages[1].rows.context": 2,
    "stages[1].rows.local_context": "irrelevant",
    "stages[1].rows.document_mask": False,
    "stages[1].rows.window": 2,
    "stages[1].rows.max_tokens": 63,
    "stages[1].rows.context_free": 0.5,
    "stages[1].rows.index_shift": 0.2,
    "stages[1].batch_tokens": 201,
    "stages[1].accumulate": 1,
    "stages[1].learning_rate": 1e-3,
    "stages[1].warmup_steps": 4,
    "stages[1].betas": [0.9, 0.99],
    "stages[1].clip": 1.0,
    "stages[1].dropout": 0.2,
    "stages[1].word_dropout": 0.0,
    "stages[1].label_smoothing": 0.0,
    "stages[1].max_steps": 7,
    "stages[1].max_epochs": 9,
    "stages[1].max_minutes": 9.0,
    "stages[1].patience": 3,
    "stages[1].average": 3,
    "stages[1].validate_every": 3,
}


def changed(mapping: Mapping, key: str, value: Any) -> Mapping:
    mapping = json.loads(json.dumps(mapping))
    *before, last = key.replace("[1]", ".1").split(".")
    here: Any = mapping
    for name in before:
        here = here[int(name)] if isinstance(here, list) else here.setdefault(name, {})
    here[last] = value
    return mapping


@pytest.mark.parametrize("key", [key for key in CHANGES if key not in MAY_CHANGE])
def test_a_recipe_that_computes_something_else_is_refused(
    data: Path, finished: tuple[Path, list[Mapping]], tmp_path: Path, key: str
):
    out = finished[0]
    before = (out / "recipe.json").read_bytes()
    mapping = changed(recipe_mapping(data, out, *SHORT), key, CHANGES[key])
    with pytest.raises(InputError) as caught:
        train(load_recipe(write_recipe(tmp_path / "recipe.yaml", mapping)))
    # A list may be named by what differs within it: betas[1].
    assert re.match(rf"{re.escape(str(out / 'recipe.json'))}: {re.escape(key)}(\[\d+\])? was ", str(caught.value))
    assert repr(CHANGES[key][1] if key.endswith("betas") else CHANGES[key]) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (out / "recipe.json").read_bytes() == before


def test_the_number_of_stages_is_part_of_what_computes(data: Path, finished: tuple[Path, list[Mapping]]):
    with pytest.raises(InputError, match=r"recipe\.json: stages was "):
        run_training(data, finished[0], *SHORT, stage("docflat-c"))


def test_other_data_is_refused(finished: tuple[Path, list[Mapping]], data: Path, tmp_path: Path):
    """The folder may have moved, what is in it must be the same."""
    other = prepare_documents(tmp_path, seed="other data")
    with pytest.raises(InputError, match=r"data"):
        run_training(other, finished[0], *SHORT)
    moved = tmp_path / "moved"
    shutil.copytree(data, moved)
    assert run_training(moved, finished[0], *SHORT) == finished[1]


def test_a_training_goes_on_when_only_its_limits_rise(data: Path, tmp_path: Path):
    short, long = (stage("sent2sent", max_steps=steps, validate_every=4, average=3) for steps in (8, 16))
    run_training(data, tmp_path / "at once", long)
    run_training(data, tmp_path / "in two", short)
    (tmp_path / "in two" / "stage-1" / "result.json").unlink()  # as if it had been killed just before the end
    shutil.rmtree(tmp_path / "in two" / "model")
    shown = {"patience": 11, "max_epochs": 1000, "max_minutes": 60.0}
    (result,) = run_training(data, tmp_path / "in two", {**long, **shown}, tensorboard=True)
    assert result["steps"] == 16
    log = [line for line in read_log(tmp_path / "in two" / "stage-1") if line["kind"] != "model" or line["step"] == 16]
    assert [without_timing(line) for line in log] == outcome(tmp_path / "at once")["logs"]["stage-1"]
    for part in ("models", "checkpoints"):
        assert outcome(tmp_path / "in two")[part] == outcome(tmp_path / "at once")[part]


def test_a_finished_training_goes_on_when_only_its_limits_rise(data: Path, tmp_path: Path):
    short, long = (stage("sent2sent", max_steps=steps, validate_every=4, average=3) for steps in (8, 16))
    run_training(data, tmp_path / "at once", long)
    run_training(data, tmp_path / "in two", short)
    (result,) = run_training(data, tmp_path / "in two", long)
    assert result["steps"] == 16
    assert outcome(tmp_path / "in two")["models"] == outcome(tmp_path / "at once")["models"]


def test_the_cut_log_of_a_killed_training_is_mended(data: Path, finished: tuple[Path, list[Mapping]], tmp_path: Path):
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    for path in (out / "stage-2" / "result.json", out / "model"):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    log = out / "stage-2" / "log.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    assert json.loads(lines[-1])["kind"] == "model"
    log.write_text("".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    run_training(data, out, *SHORT)
    assert outcome(out) == outcome(finished[0])
