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
from contextlib import contextmanager
from itertools import takewhile
from os import PathLike
from pathlib import Path
from typing import Any

import pytest
import yaml

from docflat.support.atomic import partial_name
from docflat.support.errors import InputError
from docflat.support.strict_yaml import from_mapping
from docflat.training.loop import Stopped, train
from docflat.training.recipe import Recipe, load_recipe

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
    stage(
        "docflat-c",
        max_steps=30,
        validate_every=5,
        average=3,
        rows={"max_tokens": 64, "context_free": 0.3},
        sampling={"train": 1.5},
    ),
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


def kill_when(recipe: Path, out: Path, moment: Callable[[Path], bool]) -> None:
    """Start the training and kill it at a moment."""
    with (out.parent / "stderr").open("w") as stderr:
        process = subprocess.Popen(command(recipe), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        limit = time.monotonic() + 60
        while process.poll() is None and not moment(out):
            assert time.monotonic() < limit, "the moment never came"
            time.sleep(0.0005)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL, (out.parent / "stderr").read_text()


@pytest.fixture(scope="module")
def uninterrupted(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping:
    """The outcome of TWO_STAGES, trained in one go."""
    out = tmp_path_factory.mktemp("uninterrupted") / "out"
    run_training(data, out, *TWO_STAGES)
    return outcome(out)


def test_killed_processes_end_with_the_same_weights_and_log(data: Path, uninterrupted: Mapping, tmp_path: Path):
    out = tmp_path / "out"
    recipe = write_recipe(tmp_path / "recipe.yaml", recipe_mapping(data, out, *TWO_STAGES))
    for moment in MOMENTS.values():
        kill_when(recipe, out, moment)
    done = subprocess.run(command(recipe), env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert outcome(out) == uninterrupted


OPERATIONS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}
watchers: list[Callable[[str, tuple[Any, ...]], None]] = []  # Python has no way to remove an audit hook


@contextmanager
def snapshots_of(out: Path, folder: Path) -> Iterator[None]:
    """Keep the state of the disk before each operation on files in `out`: what a kill there would leave behind.

    Where an operation empties a file, keep the state right after as well.
    """

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in OPERATIONS or not isinstance(arguments[0], str | PathLike):
            return
        path = Path(arguments[0])
        if not path.is_relative_to(out):
            return
        watchers.clear()  # what this function does itself is no event
        mode = arguments[1] if event == "open" else None
        empties = isinstance(mode, str) and "w" in mode and path.exists()
        for note in (f"before {event}", "after emptying")[: 2 if empties else 1]:
            copy = folder / f"{len(list(folder.iterdir())):04d} {note} {path.relative_to(out)}".replace("/", ":")
            shutil.copytree(out, copy) if out.exists() else copy.mkdir()
            if note == "after emptying":
                (copy / path.relative_to(out)).write_bytes(b"")
        watchers.append(watch)

    if not hasattr(sys, "docflat_watched"):
        sys.addaudithook(lambda event, arguments: watchers[0](event, arguments) if watchers else None)
        sys.docflat_watched = True  # type: ignore[attr-defined]
    watchers.append(watch)
    try:
        yield
    finally:
        watchers.clear()


def contents(folder: Path) -> str:
    """Files with their bytes, and folders."""
    paths = sorted(folder.rglob("*"))
    return repr([(str(path.relative_to(folder)), path.read_bytes() if path.is_file() else None) for path in paths])


def take_snapshots(data: Path, out: Path, snapshots: Path) -> list[Path]:
    """Train SHORT; all different states that `out` passed through, in their order."""
    snapshots.mkdir()
    with snapshots_of(out, snapshots):
        run_training(data, out, *SHORT)
    states: dict[str, Path] = {}
    for copy in sorted(snapshots.iterdir()):
        states.setdefault(contents(copy), copy)
    return list(states.values())


def spoilt(data: Path, states: list[Path], expected: Mapping, work: Path) -> str:
    """Go on from each of these states; a line for each that ends otherwise than expected."""
    lines = []
    for copy in states:
        shutil.rmtree(work, ignore_errors=True)
        results = run_training(data, shutil.copytree(copy, work), *SHORT)
        found = outcome(work)
        # A kill may leave a checkpoint that was about to be removed.
        found["checkpoints"] = {path: found["checkpoints"].get(path) for path in expected["checkpoints"]}
        different = [what for what in expected if found[what] != expected[what]]
        if different or [result["steps"] for result in results] != [6, 5]:
            lines.append(f"{copy.name}: {', '.join(different)}")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def watched(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping, list[Path]]:
    """The outcome of SHORT and the states on the way."""
    folder = tmp_path_factory.mktemp("watched")
    states = take_snapshots(data, folder / "out", folder / "snapshots")
    return outcome(folder / "out"), states


def test_every_state_a_kill_can_leave_leads_to_the_same_end(
    data: Path, watched: tuple[Mapping, list[Path]], tmp_path: Path
):
    expected, states = watched
    assert len(states) > 50
    assert spoilt(data, states, expected, tmp_path / "work") == ""


def test_a_kill_while_it_is_started_again_loses_nothing(
    data: Path, watched: tuple[Mapping, list[Path]], tmp_path: Path
):
    """Of the stage that goes on, the log has lines after the checkpoint, which must go, and before, which must stay."""
    expected, states = watched
    state = next(state for state in states if "stage-2:checkpoints:.step-00000004." in state.name)
    shutil.copytree(state, tmp_path / "out")
    again = take_snapshots(data, tmp_path / "out", tmp_path / "snapshots")
    start = list(takewhile(lambda state: "checkpoints" not in state.name, again))
    assert any("log.jsonl" in state.name for state in start)
    assert spoilt(data, start, expected, tmp_path / "work") == ""


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
    for leftover in ("stage-1/checkpoints/step-00000004", "stage-1/model", "model"):
        folder = partial_name(out / leftover)
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"\x40\0\0\0\0\0\0\0{")  # cut off within its header
        (folder / "unknown").mkdir()
    for leftover in ("recipe.json", "stage-1/result.json"):
        partial_name(out / leftover).write_text('{"sta')
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


def test_a_training_that_began_before_a_setting_was_there_goes_on(data: Path, finished: tuple[Path, list[Mapping]]):
    """As it was then: by the setting's default."""
    path = finished[0] / "recipe.json"
    before = path.read_bytes()
    earlier = json.loads(before)
    del earlier["model"]["architecture"]["recurrent_decoder"], earlier["tensorboard"]
    path.write_text(json.dumps(earlier))
    assert run_training(data, finished[0], *SHORT) == finished[1]
    earlier["model"]["architecture"]["activation"] = "swish"
    path.write_text(json.dumps(earlier))
    with pytest.raises(InputError, match=r"activation was 'swish'"):
        run_training(data, finished[0], *SHORT)
    path.write_bytes(before)


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


def test_limits_that_rise_too_late_are_a_warning(data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """A finished stage stays as it is: the next one has been trained from it."""
    before = run_training(data, tmp_path / "out", *SHORT)
    caplog.clear()
    files = outcome(tmp_path / "out")
    later = {**SHORT[0], "max_steps": 16}, SHORT[1]
    assert run_training(data, tmp_path / "out", *later) == before
    assert outcome(tmp_path / "out") == files
    (line,) = caplog.messages
    assert line.startswith("stage 1 is finished")
    assert "stages[0].max_steps = 16" in line


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


@pytest.mark.parametrize("stops", [(3,), (5, 2), (1, 1, 1)], ids=str)
def test_a_training_that_is_asked_to_stop_ends_as_one_that_was_not(data: Path, tmp_path: Path, stops: tuple[int, ...]):
    """After so many steps of each call, between validations and at one; what the model is the mean of is the same."""
    stages = [stage(system, max_steps=7, validate_every=3, average=3) for system in ("sent2sent", "docflat-c")]
    run_training(data, tmp_path / "whole", *stages)
    recipe = from_mapping(Recipe, recipe_mapping(data, tmp_path / "stopped", *stages))
    for steps in stops:
        answers = iter([False] * (steps - 1) + [True])
        with pytest.raises(Stopped):
            train(recipe, lambda answers=answers: next(answers))  # type: ignore[misc]
    train(recipe)
    whole, stopped = outcome(tmp_path / "whole"), outcome(tmp_path / "stopped")
    for part in ("models", "results", "checkpoints"):
        assert whole[part] == stopped[part], part
