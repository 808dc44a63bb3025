"""The service under kill -9: a job that it accepted is done in the end, with the right translation, once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx

SERVE = Path(__file__).parents[1] / "outside" / "clients.py"  # its model is a stub that swaps capitals


class Jobs:
    """What the service accepted, and the translation that it owes."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.owed: dict[str, bytes] = {}
        self.asked = 0

    def start(self) -> tuple[subprocess.Popen[str], httpx.Client]:
        command = [sys.executable, str(SERVE), "--serve", str(self.folder)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the service did not start"
        return process, httpx.Client(base_url=line.split()[-1], timeout=60, trust_env=False)

    def send(self, client: httpx.Client) -> None:
        self.asked += 1
        text = f"Job number {self.asked}, sleep {self.chance.randrange(30)}."
        answer = client.post("/api/jobs", files=[("files", (f"{self.asked}.txt", text.encode()))])
        if answer.status_code == 201:
            self.owed[answer.json()["id"]] = text.swapcase().encode()

    def check(self, client: httpx.Client, seconds: float = 120) -> None:
        """All that was accepted is done, and is what it must be."""
        end = time.monotonic() + seconds
        for number, translation in self.owed.items():
            while (state := client.get(f"/api/jobs/{number}").json()["state"]) != "done":
                assert state in ("waiting", "running", "queued"), f"job {number} is {state}"
                assert time.monotonic() < end, f"job {number} is still {state}"
                time.sleep(0.1)
            assert client.get(f"/api/jobs/{number}/result").content == translation, f"job {number} has another text"
        half = [path.name for path in self.folder.rglob(".*.partial")]
        assert not half, f"left behind: {half[:5]}"


def children(process: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def attack_service(
    folder: Path, kills: int, chance: random.Random, tell: Callable[[str], object], gone: Callable[[int], bool]
) -> Counter[str]:
    """gone: whether nobody of a session is left, after a while."""
    jobs, count = Jobs(folder, chance), Counter[str]()
    while count["kills"] < kills:
        process, client = jobs.start()
        with client:
            for _ in range(chance.randint(1, 3)):
                jobs.send(client)
            time.sleep(chance.uniform(0, 1))
            kind = chance.choice(("main", "worker", "group"))
            workers = children(process.pid)
            if kind == "worker" and workers:  # the service goes on, with another
                os.kill(chance.choice(workers), signal.SIGKILL)
                jobs.send(client)
                time.sleep(chance.uniform(0, 0.5))
                count["kills"] += 1
                count["kills of worker"] += 1
            if kind == "group":
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        count["kills"] += 1
        count[f"kills of {'group' if kind == 'group' else 'main'}"] += 1
        tell(f"serve: kill {count['kills']} of {kind}, {len(jobs.owed)} jobs owed")
        assert gone(process.pid), "processes outlived the one that was killed"
        if chance.random() < 0.2 or count["kills"] >= kills:
            process, client = jobs.start()
            with client:
                jobs.check(client)
            process.terminate()
            process.wait(60)
            count["ends"] += 1
    count["jobs"] = len(jobs.owed)
    return count
