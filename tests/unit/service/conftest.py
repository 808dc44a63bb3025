"""A service on a free port of this machine, with stub models in its processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("starlette")

from docflat.service import server
from docflat.service.service import Service
from docflat.service.settings import Settings
from docflat.weights.shipped import ENGLISH_GERMAN

HERE = Path(__file__).parent


@dataclass
class Running:
    url: str
    service: Service
    client: httpx.Client
    loop: asyncio.AbstractEventLoop
    notes: Path

    def call(self, work: Callable[[], Any]) -> Any:
        """Run something in the loop of the service."""

        async def run() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def noted(self, word: str) -> int:
        return sum(line.startswith(word) for line in self.notes.read_text().splitlines()) if self.notes.exists() else 0


Start = Callable[..., Any]


@contextmanager
def running(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Iterator[Running]:
    notes = folder / "notes.txt"
    monkeypatch.setenv("STUB_NOTES", str(notes))
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=":")
    given = Settings(port=0, folder=folder / "data", loader="stub_model:load", threads=1)
    given = Settings(**{**given.__dict__, **settings})
    taken = server.listen(given)
    service = Service(given)
    http = server.make_server(service)
    ready, failed = threading.Event(), []
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        try:
            await service.start()
            ready.set()
            await http.serve(sockets=[taken])
        finally:
            await service.stop()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(300)  # a machine may be busy with other tests
    if failed:
        raise failed[0]
    url = server.url_of(given, taken)
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        try:
            yield Running(url, service, client, loops[0], notes)
        finally:
            http.should_exit = True
            thread.join(60)
            taken.close()
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One service for the tests of a file that leave it as it was."""
    with pytest.MonkeyPatch.context() as patch, running(tmp_path_factory.mktemp("service"), patch) as service:
        yield service


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start a service with settings of its own: `with start(rate=5) as service`."""
    return lambda **settings: running(tmp_path, monkeypatch, **settings)


SHIPPED = ENGLISH_GERMAN
