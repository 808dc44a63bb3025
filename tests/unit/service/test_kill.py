"""kill -9 of the whole server, which no program can prepare for. benchmarks/service.py does it at random moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from .test_jobs import send, wait

SERVE = Path(__file__).parents[2] / "outside" / "clients.py"


@contextmanager
def served(folder: Path) -> Iterator[tuple[httpx.Client, int]]:
    """A server in a process of its own, that nobody asks to end."""
    command = [sys.executable, str(SERVE), "--serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().split()[-1]
            with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
                yield client, process.pid
        finally:
            process.kill()


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_what_was_accepted_is_done_after_a_kill(tmp_path: Path) -> None:
    with served(tmp_path) as (client, pid):
        ready = wait(client, send(client, {"a.txt": b"One."}).json()["id"])["id"]
        left = send(client, {"b.txt": b"sleep 300", "c.txt": b"Two."}).json()["id"]
        wait(client, left, "running")
        children = Path(f"/proc/{pid}/task/{pid}/children")
        workers = [int(text) for text in children.read_text().split()] if children.exists() else []
        os.kill(pid, signal.SIGKILL)
    # What a kill in the middle of a write leaves behind.
    (tmp_path / "spool" / left / ".1.result.txt.0123456789abcdef.partial").write_text("half")
    (tmp_path / "spool" / "a_job_that_was_not_yet_accepted").mkdir()
    with served(tmp_path) as (client, _):
        assert client.get(f"/api/jobs/{ready}/result").content == b"oNE."
        assert wait(client, left)["state"] == "done"
        assert client.get(f"/api/jobs/{left}/files/2/result").content == b"tWO."
        assert not list((tmp_path / "spool").glob("*/.*partial"))
        assert {path.name for path in (tmp_path / "spool").iterdir()} == {ready, left}
        assert not any(map(is_alive, workers))  # nobody speaks to them any more
