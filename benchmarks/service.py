"""`docflat serve` under load, on this machine: speed, right answers, memory, and jobs when processes are killed.

    python benchmarks/service.py --speed --clients 200 --seconds 300 --requests 10000 \\
        --connections 10000 --kills 30

It starts a server of its own on 127.0.0.1 with the model that comes with docflat, and ends it. All loops are bounded.
With --stub the model only swaps capitals, for what does not depend on the model: right answers, memory, kills.

speed: requests of 20 strings, one after another, with 0, 1 and 4 documents under way; each is of other strings.
clients: that many at once; each asks for a text of those whose translations were asked for one by one before, and
compares. What is refused (429, 503) is asked again after the time that the server says.
memory: of the web process after 100 and after all requests.
connections: that many are opened at once and left silent; those over the limit are refused in words, and whoever has
a connection is answered.
kills: jobs of two files are sent all the time while a random process (the web process, that of texts, that of
documents) gets kill -9, each so many times; the web process is started again. In the end every job that was accepted
must be done, with the right translation, once, and the spool must hold nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import resource
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from docflat.support.console import print_rows

STUB = Path(__file__).parents[1] / "tests" / "outside" / "clients.py"
SEED = 1
STRINGS = 20  # of a request
DOCUMENTS = (0, 1, 4)
EACH = 5  # requests of a round, for each of these
TEXTS = 100  # that clients choose from
THINGS = [
    "lamp",
    "door",
    "dog",
    "cat",
    "house",
    "report",
    "table",
    "car",
    "letter",
    "garden",
    "bridge",
    "song",
    "river",
]
DEEDS = ["is new", "was open", "is very old", "was found yesterday", "will be sold", "has been repaired", "is not here"]
THEN = ["It is bright.", "It was expensive.", "We saw it.", "Nobody wanted it.", "It belongs to my sister."]


def make_texts(count: int, draw: random.Random) -> list[str]:
    """Two sentences each, and no two the same."""
    texts: set[str] = set()
    while len(texts) < count:
        number = draw.randrange(2, 100)
        texts.add(f"The {draw.choice(THINGS)} number {number} {draw.choice(DEEDS)}. {draw.choice(THEN)}")
    return sorted(texts)


@dataclass
class Server:
    """A server of our own."""

    folder: Path
    options: Sequence[str] = ()
    stub: bool = False
    process: subprocess.Popen[str] | None = None
    url: str = ""
    port: int = 0

    def start(self) -> None:
        command = [sys.executable, "-m", "docflat", "serve", "--data", str(self.folder), *self.options]
        if self.stub:
            command = [sys.executable, str(STUB), "--serve", str(self.folder)]
        command += ["--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "listens on" in line:
                self.url = line.split()[-1]
                self.port = int(self.url.rpartition(":")[2])
                return
        raise SystemExit("the server did not start")

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(30)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def workers(self) -> dict[str, int]:
        """Process ids: that of documents has a lower priority."""
        workers = {}
        for text in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
            with contextlib.suppress(OSError):
                workers["documents" if os.getpriority(os.PRIO_PROCESS, int(text)) else "texts"] = int(text)
        return workers

    def memory(self) -> float:
        """MiB of the web process."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise OSError("no VmRSS")


async def translate(client: httpx.AsyncClient, text: str | list[str]) -> httpx.Response:
    return await client.post("/translate", json={"q": text, "source": "en", "target": "de"})


async def measure_speed(server: Server, rounds: int, draw: random.Random) -> None:
    """In turns, so that a busy moment of the machine meets all numbers of documents."""
    seconds: dict[int, list[float]] = {count: [] for count in DOCUMENTS}
    ended = Counter[int]()
    async with httpx.AsyncClient(base_url=server.url, timeout=120, trust_env=False) as client:
        for _ in range(rounds):
            for count in DOCUMENTS:
                document = " ".join(make_texts(1000, draw)).encode()
                jobs = []
                for number in range(count):
                    files = {"files": (f"{number}.txt", document)}
                    jobs.append((await client.post("/api/jobs", files=files)).json()["id"])
                await asyncio.sleep(0.5)
                for _ in range(EACH):
                    strings = [text.partition(". ")[0] + "." for text in make_texts(STRINGS, draw)]
                    started = time.perf_counter()
                    (await translate(client, strings)).raise_for_status()
                    seconds[count].append(time.perf_counter() - started)
                for id in jobs:
                    ended[count] += (await client.get(f"/api/jobs/{id}")).json()["state"] == "done"
                    await client.delete(f"/api/jobs/{id}")
    rows = []
    for count in DOCUMENTS:
        middle, high = statistics.median(seconds[count]), statistics.quantiles(seconds[count], n=20)[-1]
        row: dict[str, object] = {"documents": count, "requests": len(seconds[count]), "p50 ms": 1000 * middle}
        row |= {"p95 ms": 1000 * high, "documents that ended meanwhile": ended[count]}
        row["p50 against none"] = middle / statistics.median(seconds[0])
        row["p95 against none"] = high / statistics.quantiles(seconds[0], n=20)[-1]
        rows.append(row)
    print_rows(rows, title=f"a request of {STRINGS} strings of a sentence")


@dataclass
class Tally:
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    without_a_time: int = 0  # refusals that do not say when to come back
    seconds: list[float] = field(default_factory=list)


async def one_client(
    client: httpx.AsyncClient, known: dict[str, str], end: float, draw: random.Random, tally: Tally
) -> None:
    while time.monotonic() < end:
        text = draw.choice(list(known))
        started = time.monotonic()
        answer = await translate(client, text)
        tally.statuses[answer.status_code] += 1
        if answer.status_code == 200:
            tally.seconds.append(time.monotonic() - started)
            tally.wrong += answer.json()["translatedText"] != known[text]
        elif "retry-after" not in answer.headers:
            tally.without_a_time += 1
        else:
            await asyncio.sleep(min(float(answer.headers["retry-after"]), max(0.0, end - time.monotonic())))


async def measure_clients(server: Server, count: int, seconds: float, draw: random.Random) -> None:
    limits = httpx.Limits(max_connections=count)
    async with httpx.AsyncClient(base_url=server.url, timeout=120, trust_env=False, limits=limits) as client:
        texts = make_texts(TEXTS, draw)
        known = {text: (await translate(client, text)).json()["translatedText"] for text in texts}
        tally, end = Tally(), time.monotonic() + seconds
        clients = [one_client(client, known, end, random.Random(number), tally) for number in range(count)]
        await asyncio.gather(*clients)
    row: dict[str, object] = {"clients": count, "seconds": seconds, "right": tally.statuses[200] - tally.wrong}
    row |= {"wrong": tally.wrong, "refused": tally.statuses[429] + tally.statuses[503]}
    row |= {"refused without a time": tally.without_a_time}
    row["other answers"] = (
        sum(tally.statuses.values()) - tally.statuses[200] - tally.statuses[429] - tally.statuses[503]
    )
    row |= {"p50 s": statistics.median(tally.seconds), "p95 s": statistics.quantiles(tally.seconds, n=20)[-1]}
    print_rows([row], title="many clients")


async def measure_memory(server: Server, requests: int) -> None:
    done = 0
    sizes = {}

    async def ask(client: httpx.AsyncClient, first: int) -> None:
        nonlocal done
        for number in range(first, requests, 20):
            # The twenty ask for the same at the same time, so that the model, which is not measured, has less to do.
            (await translate(client, f"Number {number // 20}.")).raise_for_status()
            done += 1
            if done in (100, requests):
                sizes[done] = server.memory()

    async with httpx.AsyncClient(base_url=server.url, timeout=120, trust_env=False) as client:
        await asyncio.gather(*(ask(client, first) for first in range(20)))
    row = {"requests": requests, "MiB after 100": sizes[100], "MiB after all": sizes[requests]}
    print_rows([row | {"ratio": sizes[requests] / sizes[100]}], title="memory of the web process")


def check_jobs(
    client: httpx.Client, url: str, accepted: dict[str, list[str]], expected: dict[str, bytes]
) -> tuple[int, int]:
    """Jobs that were not done within five minutes, and translations that are not as expected."""
    lost, wrong, deadline = 0, 0, time.monotonic() + 300
    for id, texts in accepted.items():
        job = client.get(f"{url}/api/jobs/{id}").json()
        while job.get("ended") is None and "error" not in job and time.monotonic() < deadline:
            time.sleep(0.1)
            job = client.get(f"{url}/api/jobs/{id}").json()
        lost += [file["state"] for file in job.get("files", [])] != ["done", "done"]
        for number, text in enumerate(texts, 1):
            answer = client.get(f"{url}/api/jobs/{id}/files/{number}/result")
            wrong += answer.content != expected[text]
    return lost, wrong


def kill_at_random(server: Server, kills: int, draw: random.Random) -> None:
    texts = make_texts(40, draw)
    expected: dict[str, bytes] = {}
    accepted: dict[str, list[str]] = {}  # the files of a job
    left = [kind for kind in ("web", "texts", "documents") for _ in range(kills)]
    draw.shuffle(left)
    lost_answers = 0
    with httpx.Client(timeout=60, trust_env=False) as client:

        def send(names: Sequence[str]) -> str:
            files = [("files", (f"{texts.index(text)}.txt", text.encode())) for text in names]
            found = client.post(f"{server.url}/api/jobs", files=files).raise_for_status().json()
            return str(found["id"])

        for text in texts:
            expected[text] = (
                client.post(f"{server.url}/translate", json={"q": text, "source": "en", "target": "de"})
                .json()["translatedText"]
                .encode()
            )
        for kind in left:
            for _ in range(3):
                names = draw.sample(texts, 2)
                try:
                    accepted[send(names)] = names
                except (httpx.HTTPError, KeyError):
                    lost_answers += 1  # nobody was told that it was accepted
            time.sleep(draw.random() * 0.5)
            pid = server.pid if kind == "web" else server.workers().get(kind)
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if kind == "web":
                assert server.process is not None
                server.process.wait(30)
                server.start()
        lost, wrong = check_jobs(client, server.url, accepted, expected)
    with contextlib.closing(sqlite3.connect(server.folder / "jobs.db")) as database:
        (rows,) = database.execute("select count(*) from files").fetchone()
    files = [path.name for path in (server.folder / "spool").glob("*/*")]
    odd = [name for name in files if not name.endswith((".source.txt", ".result.txt"))]
    row = {"kills of each": kills, "jobs": len(accepted), "lost": lost, "wrong": wrong, "half files": len(odd)}
    row |= {"results": sum(".result." in name for name in files), "files": rows}
    print_rows([row | {"not accepted, as the server was dead": lost_answers}], title="kill -9")


def open_connections(server: Server, count: int) -> None:
    with contextlib.ExitStack() as held, httpx.Client(base_url=server.url, timeout=30, trust_env=False) as client:
        client.get("/health").raise_for_status()
        sockets = [held.enter_context(socket.create_connection(("127.0.0.1", server.port), 5)) for _ in range(count)]
        answer = client.post("/translate", json={"q": "One.", "source": "en", "target": "de"})
        refused = 0
        for each in sockets:
            each.settimeout(0.01)
            with contextlib.suppress(OSError):
                refused += each.recv(4000).startswith(b"HTTP/1.1 503")
    row = {"connections": count, "refused in words": refused, "answer meanwhile": answer.status_code}
    print_rows([row | {"MiB": server.memory()}], title="silent connections")


@contextlib.contextmanager
def running(options: Sequence[str], stub: bool) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), options, stub)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--speed", action="store_true", help="of texts beside documents")
    parser.add_argument("--rounds", type=int, default=8, help="of speed, with 5 requests for each number of documents")
    parser.add_argument("--clients", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--requests", type=int, default=0, help="for the memory of the web process")
    parser.add_argument("--connections", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0, help="of each process")
    parser.add_argument("--stub", action="store_true", help="a model that only swaps capitals")
    parser.add_argument("--option", action="append", default=[], help="of docflat serve, as --option=--threads=1")
    arguments = parser.parse_args()
    options = [part for option in arguments.option for part in option.split("=", 1)]
    draw = random.Random(SEED)
    if arguments.speed:
        with running(options, arguments.stub) as server:
            asyncio.run(measure_speed(server, arguments.rounds, draw))
    if arguments.clients:
        with running(options, arguments.stub) as server:
            asyncio.run(measure_clients(server, arguments.clients, arguments.seconds, draw))
    if arguments.requests:
        with running(options, arguments.stub) as server:
            asyncio.run(measure_memory(server, arguments.requests))
    if arguments.connections:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with running(options, arguments.stub) as server:
            open_connections(server, arguments.connections)
    if arguments.kills:
        with running(options, arguments.stub) as server:
            kill_at_random(server, arguments.kills, draw)


if __name__ == "__main__":
    main()
