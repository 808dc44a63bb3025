"""Several processes give what one gives with the same global batch, and their mistakes are one user's mistakes."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from .conftest import ENVIRONMENT, Mapping, read_log, recipe_mapping, run_training, stage

STAGES = (
    stage("sent2sent", accumulate=4, max_steps=12, clip=0.5),
    stage("docflat-c", accumulate=4, max_steps=12, rows={"max_tokens": 64, "context_free": 0.3}),
)


def write_recipe(folder: Path, mapping: Mapping) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(mapping), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def both(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of the same training by one process and by two."""
    folder = tmp_path_factory.mktemp("processes")
    run_training(data, folder / "one", *STAGES)
    recipe = write_recipe(folder, recipe_mapping(data, folder / "two", *STAGES))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, "-m", "docflat", "train", str(recipe), "--json"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"stage": 2') == 1  # only one of them prints
    assert done.stderr.count("step 12: validation") == 2
    return folder / "one", folder / "two"


@pytest.mark.parametrize("number", [1, 2])
def test_two_processes_have_the_losses_of_one(both: tuple[Path, Path], number: int):
    one, two = (read_log(folder / f"stage-{number}") for folder in both)
    assert [(line["kind"], line["step"]) for line in one] == [(line["kind"], line["step"]) for line in two]
    assert {line["kind"] for line in one} == {"train", "validation", "model"}
    for a, b in zip(one, two, strict=True):
        # Gradients are summed in another order, which is all that may differ.
        assert b["loss"] == pytest.approx(a["loss"], rel=1e-6)
        assert b.get("rate") == a.get("rate")
        assert b.get("epoch") == a.get("epoch")


@pytest.mark.parametrize("model", ["stage-1/model", "model"])
def test_two_processes_have_the_weights_of_one(both: tuple[Path, Path], model: str):
    one, two = (load_file(folder / model / "model.safetensors") for folder in both)
    assert one.keys() == two.keys()
    for name in one:
        a, b = one[name], two[name]
        if name.endswith("qkv.bias"):
            # Softmax takes the keys' bias out, so its gradient is rounding alone, which Adam makes as large as any.
            a, b = (torch.cat([x.chunk(3)[0], x.chunk(3)[2]]) for x in (a, b))
        torch.testing.assert_close(b, a, rtol=1e-3, atol=1e-4, msg=lambda text, name=name: f"{name}: {text}")


def test_two_processes_share_the_work(both: tuple[Path, Path]):
    """The same number of steps and epochs: micro-batches were divided, not repeated."""
    for number in (1, 2):
        one, two = (yaml.safe_load((folder / f"stage-{number}" / "result.json").read_text()) for folder in both)
        assert [two[key] for key in ("steps", "epochs", "best_step", "model")] == [
            one[key] for key in ("steps", "epochs", "best_step", "model")
        ]


def test_ray_train_does_what_torchrun_does(data: Path, both: tuple[Path, Path], tmp_path: Path):
    """Two processes add up in one order: the same bytes."""
    pytest.importorskip("ray.train", reason="ray is not installed: pip install 'docflat[bulk]'")
    recipe = write_recipe(tmp_path, recipe_mapping(data, tmp_path / "ray", *STAGES))
    done = subprocess.run(
        [sys.executable, "-m", "docflat", "train", str(recipe), "--engine", "ray", "--workers", "2", "--json"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"stage": 2') == 1
    for name in ("stage-1/model/model.safetensors", "model/model.safetensors"):
        assert (tmp_path / "ray" / name).read_bytes() == (both[1] / name).read_bytes()


def run_by_hand(recipe: Path, world: int = 2) -> list[tuple[int, str]]:
    """Start the processes as torchrun does, without its own error report; status and stderr of each."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    group = {**ENVIRONMENT, "MASTER_ADDR": "localhost", "MASTER_PORT": port, "WORLD_SIZE": str(world)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "docflat", "train", str(recipe)],
            env={**group, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        errors = [process.communicate(timeout=90)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return list(zip([process.returncode for process in processes], errors, strict=True))


def only_line(ended: list[tuple[int, str]]) -> str:
    """The one line that all of the processes together print; all of them end with status 2."""
    assert [status for status, _ in ended] == [2] * len(ended), ended
    (line,) = [line for _, error in ended for line in error.splitlines() if line]
    return line


def test_a_batch_that_cannot_be_shared_is_refused(data: Path, tmp_path: Path):
    stages = stage(accumulate=4), stage("docflat-c", accumulate=3)
    line = only_line(run_by_hand(write_recipe(tmp_path, recipe_mapping(data, tmp_path / "out", *stages))))
    assert line.startswith("docflat: error: stages[1].accumulate: ")
    assert "3 micro-batches" in line
    assert "2 processes" in line
    assert not (tmp_path / "out").exists()


def test_what_only_the_first_process_sees_ends_all(data: Path, both: tuple[Path, Path], tmp_path: Path):
    mapping = recipe_mapping(data, both[1], *STAGES, seed=2)
    line = only_line(run_by_hand(write_recipe(tmp_path, mapping)))
    assert line.startswith("docflat: error: ")
    assert "seed was 1" in line
