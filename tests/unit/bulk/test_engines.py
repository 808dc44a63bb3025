"""Engines: every document once, whatever ends; the same bytes as of a run that nothing ended."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bulk.stub_model import NOTES, translated, write_json_lines
from docflat.bulk.merge import merge
from docflat.bulk.plan import Plan
from docflat.bulk.receipts import names_done, write_report
from docflat.bulk.run import How, run
from docflat.bulk.settings import Settings
from docflat.support.errors import InputError

# Ray sets fields of its own that it calls deprecated.
pytestmark = pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*")

Make = Callable[..., tuple[Plan, Settings]]
DOCUMENTS = [[f"sentence {i} {place}" for place in range(1 + i % 4)] for i in range(40)]

DRIVER = """
import pickle, sys
from docflat.bulk.run import How, run
if __name__ == "__main__":
    run(*pickle.load(open(sys.argv[1], "rb")))
"""


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Ray of two cores, and the file where its actors note what they do."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("Ray now and then ends the process it runs in, and other tests with it: make test-ray runs these")
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'docflat[bulk]'")
    pytest.importorskip("ray.data")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for the stub
    notes = tmp_path_factory.mktemp("ray") / "notes"
    notes.touch()
    os.environ[NOTES] = str(notes)
    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield notes
    ray.shutdown()
    del os.environ[NOTES]


@pytest.fixture(params=["local", "ray"])
def how(request: pytest.FixtureRequest) -> How:
    if request.param == "ray":
        request.getfixturevalue("ray")
    return How(request.param, workers=2)


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(NOTES, str(tmp_path / "notes"))
    (tmp_path / "notes").touch()
    return tmp_path / "notes"


def documents_file(path: Path, *more: str) -> Path:
    return write_json_lines(path, [{"source": document} for document in [*DOCUMENTS, *([text] for text in more)]])


def targets(plan: Plan) -> list[Any]:
    out = plan.out.with_name("merged.jsonl")
    merge(plan, out)
    return [json.loads(line)["target"] for line in out.read_text().splitlines()]


def test_all_is_translated_once_and_the_model_loaded_once_a_worker(tmp_path: Path, make: Make, how: How, notes: Path):
    plan, settings = make([documents_file(tmp_path / "docs.jsonl")], tmp_path / "out")
    outcome = run(plan, settings, how)
    assert targets(plan) == [translated(document) for document in DOCUMENTS]
    assert (outcome.totals.documents, outcome.totals.failed, outcome.lost) == (40, 0, [])
    assert outcome.totals.sentences == sum(map(len, DOCUMENTS))
    if how.engine == "local":  # Ray's actors have the environment of when Ray began
        lines = notes.read_text().splitlines()
        assert 1 <= sum("loaded" in line for line in lines) <= 2
        assert sum("sentence" in line for line in lines) == 40
        run(plan, settings, how)
        assert notes.read_text().splitlines() == lines  # nothing is left to do


def test_slices_share_the_plan_and_meet_nowhere(tmp_path: Path, make: Make):
    plan, settings = make([documents_file(tmp_path / "docs.jsonl")], tmp_path / "out")
    done: list[set[str]] = []
    for part in (3, 1, 2):
        run(plan, settings, How(workers=1, slice=(part, 3)))
        done.append(names_done(plan))
    assert all(before < after for before, after in pairwise(done))
    assert len(done[-1]) == plan.shards
    assert targets(plan) == [translated(document) for document in DOCUMENTS]


def test_a_document_that_ends_processes_fails_alone(tmp_path: Path, make: Make, how: How):
    path = documents_file(tmp_path / "docs.jsonl", "die now", "fine", "die now too")
    plan, settings = make([path], tmp_path / "out")
    outcome = run(plan, settings, how)
    assert outcome.lost == []
    assert targets(plan) == [*(translated(document) for document in DOCUMENTS), None, ["0:enif"], None]
    failed = [json.loads(line) for line in (plan.out / "failed.jsonl").read_text().splitlines()]
    assert [each["place"] for each in failed] == [41, 43]
    assert {each["reason"] for each in failed} == {"the process ended while it was translated"}
    assert not [path for path in (plan.out / "doing").rglob("*") if path.is_file()]


def test_a_worker_that_ended_once_costs_nothing(tmp_path: Path, make: Make, notes: Path):
    plan, settings = make([documents_file(tmp_path / "docs.jsonl", "die once")], tmp_path / "out")
    assert run(plan, settings, How(workers=2)).totals.failed == 0
    assert notes.read_text().count("died") == 1
    assert targets(plan) == [*(translated(document) for document in DOCUMENTS), ["0:ecno eid"]]


def test_failed_documents_are_tried_again_if_asked(tmp_path: Path, make: Make, notes: Path):
    plan, settings = make([documents_file(tmp_path / "docs.jsonl", "fail now")], tmp_path / "out")
    assert run(plan, settings, How(workers=1)).totals.failed == 1
    before = notes.read_text().count("loaded")
    assert run(plan, settings, How(workers=1)).totals.failed == 1
    assert notes.read_text().count("loaded") == before
    assert run(plan, settings, How(workers=1, retry_failed=True)).totals.failed == 1
    assert notes.read_text().count("loaded") == before + 1


def test_a_run_that_is_killed_goes_on(tmp_path: Path, make: Make, model: str):
    """Kills of the first process, at moments that differ from run to run."""
    path = documents_file(tmp_path / "docs.jsonl", *(f"wait {i}" for i in range(40)))
    plan, settings = make([path], tmp_path / "out")
    undisturbed, _ = make([path], tmp_path / "undisturbed")
    run(undisturbed, settings, How(workers=2))
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "arguments").write_bytes(pickle.dumps((plan, settings, How(workers=2))))
    command = [sys.executable, str(tmp_path / "driver.py"), str(tmp_path / "arguments")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(4):
        before = len(names_done(plan))
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as driver:
            while driver.poll() is None and len(names_done(plan)) == before:
                time.sleep(0.01)
            time.sleep(random.random() / 20)
            driver.send_signal(signal.SIGKILL)
        if len(names_done(plan)) == plan.shards:
            break
    assert len(names_done(plan)) > 3
    run(plan, settings, How(workers=2))
    assert targets(plan) == targets(undisturbed)


def test_ray_goes_on_after_its_actors_were_killed(tmp_path: Path, make: Make, ray: Path):
    path = documents_file(tmp_path / "docs.jsonl", *(f"wait {i}" for i in range(60)))
    plan, settings = make([path], tmp_path / "out", shard_size=100)
    killed: list[int] = []

    def done(receipt: Any) -> None:
        if len(killed) < 2 and len(names_done(plan)) > 5 * (len(killed) + 1):
            latest = int(ray.read_text().splitlines()[-1].split()[0])  # the actor that wrote last
            os.kill(latest, signal.SIGKILL)
            killed.append(latest)

    from docflat.bulk.engines.ray_data import run_ray

    assert run_ray(plan, settings, list(plan.read_shards()), done, 2, 1) == []
    assert len(killed) == 2
    expected = [translated(document) for document in [*DOCUMENTS, *([f"wait {i}"] for i in range(60))]]
    assert targets(plan) == expected


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path, make: Make):
    from docflat.support.atomic import alone

    plan, settings = make([documents_file(tmp_path / "docs.jsonl")], tmp_path / "out")
    with alone(plan.out, "run"), pytest.raises(InputError, match="another run of docflat bulk is writing here"):
        run(plan, settings, How(workers=1))


def test_a_model_that_cannot_be_loaded_is_named(tmp_path: Path, make: Make, how: How):
    plan, settings = make(
        [documents_file(tmp_path / "docs.jsonl")], tmp_path / "out", loader="docflat.bulk.documents:load"
    )
    with pytest.raises(InputError, match=r"model/config.json"):
        run(plan, settings, how)


def test_an_address_where_no_ray_is_is_named(tmp_path: Path, make: Make):
    pytest.importorskip("ray", reason="ray is not installed: pip install 'docflat[bulk]'")
    import ray

    if ray.is_initialized():
        ray.shutdown()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    plan, settings = make([documents_file(tmp_path / "docs.jsonl")], tmp_path / "out")
    with pytest.raises(InputError, match=rf"no Ray answers at 127.0.0.1:{port}: Connection refused"):
        run(plan, settings, How("ray", address=f"127.0.0.1:{port}"))


def test_without_room_the_run_ends_and_what_was_finished_stays(tmp_path: Path, make: Make):
    """A limit to the size of files stands for a disk that is full."""
    big = ["x" * 30_000]
    path = write_json_lines(tmp_path / "docs.jsonl", [{"source": document} for document in [*DOCUMENTS, big]])
    plan, settings = make([path], tmp_path / "out")
    (tmp_path / "driver.py").write_text(
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n" + DRIVER
    )
    (tmp_path / "arguments").write_bytes(pickle.dumps((plan, settings, How(workers=1))))
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "driver.py"), str(tmp_path / "arguments")],
        # The stub's notes have no room either.
        env={**{k: v for k, v in os.environ.items() if k != NOTES}, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert "parts/docs.jsonl/000000000041-000000000041.jsonl: cannot be written: File too large" in ended.stderr
    assert len(names_done(plan)) == plan.shards - 1
    assert run(plan, settings, How(workers=1)).totals.documents == 41
    assert targets(plan)[-1] == translated(big)
    assert write_report(plan).failed == 0
