"""Many clients at once: what is joined, gathered, given up, refused and done again."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from docflat.service import supervisor, texts
from docflat.service.together import run_together

from .conftest import Running, Start
from .stub_model import Stub
from .test_jobs import done, send, wait


def ask(service: Running, text: str) -> httpx.Response:
    asked = {"q": text, "source": "en", "target": "de"}
    return httpx.post(f"{service.url}/translate", json=asked, timeout=30, trust_env=False)


@contextmanager
def clients(service: Running, asked: Sequence[str]) -> Iterator[list[Future[httpx.Response]]]:
    """Clients that ask at the same time, and their answers to come."""
    with ThreadPoolExecutor(len(asked)) as pool:
        yield [pool.submit(ask, service, text) for text in asked]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def work(service: Running) -> int:
    return service.call(lambda: len(service.service.texts._known))


def leave(service: Running, text: str) -> socket.socket:
    """A client that asks, and may go away."""
    host, port = service.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    body = f"q={text}&source=en&target=de".encode()
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def test_requests_that_come_together_get_what_each_would_get_alone(start: Start) -> None:
    asked = [f"Text {n}. And another. And <b>one</b> {{name}} more." for n in range(8)]
    with start() as service:
        alone = [ask(service, text).json() for text in asked]
        before = service.noted("call")
        with clients(service, ["sleep 30"]) as slow:
            until(lambda: service.noted("call") > before)
            with clients(service, asked) as answers:
                assert [answer.result().json() for answer in answers] == alone
        assert slow[0].result().status_code == 200
        assert any(service.noted(f"call {count}") for count in range(2, 9))  # of the engine, for several


def test_one_that_fails_does_not_fail_the_others_of_its_call(start: Start) -> None:
    with start() as service, clients(service, ["sleep 30"]):
        until(lambda: service.noted("call") == 1)
        with clients(service, ["One.", "fail now", "Two."]) as answers:
            assert [answer.result().status_code for answer in answers] == [200, 503, 200]


def test_an_identical_request_is_joined(start: Start) -> None:
    with start() as service, clients(service, ["sleep 50"] * 5) as answers:
        assert [answer.result().json()["translatedText"] for answer in answers] == ["SLEEP 50"] * 5
        assert service.noted("call") == 1
        assert "docflat_joined_total 4.0" in service.client.get("/metrics").text


def test_who_comes_back_finds_the_work_that_it_left(start: Start) -> None:
    """Clients give up after some seconds and send the same again; begun anew, it would never be done."""
    with start(grace_seconds=5.0) as service:
        for _ in range(2):
            before = service.noted("call")
            client = leave(service, "sleep 30")
            until(lambda: work(service) == 1)
            client.close()
            assert ask(service, "sleep 30").json() == {"translatedText": "SLEEP 30"}
            assert service.noted("call") == before + 1
            until(lambda: work(service) == 0)


def test_work_stops_when_nobody_waits_for_it(start: Start) -> None:
    with start(grace_seconds=0.1) as service:
        one, two = leave(service, "sleep 3000"), leave(service, "sleep 3000")
        until(lambda: work(service) == 1 and service.noted("call") == 1)
        one.close()
        assert work(service) == 1
        two.close()
        until(lambda: work(service) == 0)
        started = time.monotonic()
        assert ask(service, "One.").status_code == 200
        assert time.monotonic() - started < 10  # and not the 30 s of what was given up
        assert "docflat_abandoned_total 1.0" in service.client.get("/metrics").text


def test_who_leaves_the_queue_is_never_translated(start: Start) -> None:
    with start(grace_seconds=0.1) as service, clients(service, ["sleep 50"]):
        until(lambda: service.noted("call") == 1)
        waiting = leave(service, "never")
        until(lambda: work(service) == 2)
        waiting.close()
        until(lambda: work(service) == 1)
    assert service.noted("call") == 1


def test_too_much_is_refused_with_a_time_and_nothing_accepted_is_lost(start: Start) -> None:
    with start(text_seconds=2.0) as service:
        asked = [f"sleep 5 {'x' * 100} {n}" for n in range(12)]  # a second each, by the first estimate
        with clients(service, asked) as futures:
            answers = {text: future.result() for text, future in zip(asked, futures, strict=True)}
        refused = [answer for answer in answers.values() if answer.status_code == 429]
        assert refused
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        for text, answer in answers.items():
            assert answer.status_code == 429 or answer.json()["translatedText"] == text.swapcase()


def test_a_process_that_dies_is_replaced_and_its_work_done_again(start: Start) -> None:
    with start() as service:
        with clients(service, ["die 1 times", "One.", "Two."]) as answers:
            assert [answer.result().status_code for answer in answers] == [200, 200, 200]
        assert service.noted("died") == 1
        assert ask(service, "die 9 times").status_code == 503
        assert service.noted("died") == 1 + texts.MOST_TRIES
        assert ask(service, "One.").status_code == 200


def test_a_process_that_hangs_is_replaced_and_its_work_done_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "SLOW", 0.5)
    with start() as service:
        assert ask(service, "hang now once").status_code == 200
        assert service.noted("hung") == 1
        assert "docflat_process_restarts_total" in service.client.get("/metrics").text


def test_a_process_that_is_silent_is_replaced_unless_it_is_at_work(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a process of low priority gets no turn for minutes: its file must not fail for that."""
    monkeypatch.setattr(supervisor, "PING_SECONDS", 0.1)
    with start(answer_seconds=0.2) as service:
        loads = service.noted("load")
        assert ask(service, "grind 60").status_code == 200
        assert service.noted("load") == loads
        os.kill(service.service.texts.processes[0].pid, signal.SIGSTOP)
        assert ask(service, "One.").status_code == 200
        assert service.noted("load") == loads + 1


def test_a_text_does_not_wait_for_a_document(start: Start) -> None:
    with start() as service:
        id = send(service.client, {"long.txt": b"sleep 3000"}).json()["id"]
        wait(service.client, id, "running")
        assert ask(service, "One.").json() == {"translatedText": "oNE."}
        assert service.client.get(f"/api/jobs/{id}").json()["state"] == "running"


def test_an_abandoned_file_is_given_up_too(start: Start) -> None:
    with start() as service:
        asked = {"source": "en", "target": "de"}
        with pytest.raises(httpx.ReadTimeout):
            service.client.post("/translate_file", data=asked, files={"file": ("a.txt", b"sleep 3000")}, timeout=0.5)
        assert done(service.client, {"b.txt": b"One."})["state"] == "done"


def test_calls_that_are_gathered_may_be_of_several_kinds() -> None:
    """Each task may ask several times, with settings of its own."""

    def do(task: tuple[int, str], translator: Stub) -> None:
        count, mode = task
        for n in range(count):
            answers[task].append(next(iter(translator.translate_documents([["a", f"b {n}"]], mode=mode))))

    tasks = [(1, "two-pass"), (3, "two-pass"), (2, "sentence")]
    answers: dict[tuple[int, str], list[list[str]]] = {task: [] for task in tasks}
    run_together(Stub(), tasks, do)
    for count, mode in tasks:
        tail = "" if mode == "sentence" else " nach 1"
        assert answers[count, mode] == [["A", f"B {n}{tail}"] for n in range(count)]
