"""Jobs: files up, progress, translations down; and what becomes of them when a process dies."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from docflat.service import store

from .conftest import Running, Start

THREE = {
    "notes.txt": b"One. Two.\n",
    "page.html": b"<p>One <b>word</b>.</p>",
    "strings.json": b'{"title": "One."}',
}


def send(client: httpx.Client, files: dict[str, bytes], **data: Any) -> httpx.Response:
    return client.post("/api/jobs", files=[("files", pair) for pair in files.items()], data=data)


def wait(client: httpx.Client, id: str, *states: str) -> dict[str, Any]:
    """The job when it is in one of these states; its events say when."""
    with client.stream("GET", f"/api/jobs/{id}/events") as stream:
        for line in stream.iter_lines():
            if line.startswith("data: {") and (job := json.loads(line[6:])):
                assert job["state"] != "gone"
                if job["state"] in (states or ("done", "failed")):
                    return dict(job)
    raise AssertionError("the stream ended before that")


def done(client: httpx.Client, files: dict[str, bytes], **data: Any) -> dict[str, Any]:
    return wait(client, send(client, files, **data).raise_for_status().json()["id"])


def test_files_of_several_formats_are_one_job(shared: Running) -> None:
    client = shared.client
    answer = send(client, THREE)
    assert answer.status_code == 201
    job = wait(client, answer.json()["id"])
    assert answer.headers["location"] == f"/api/jobs/{job['id']}"
    assert [(file["name"], file["state"], file["done"], file["total"]) for file in job["files"]] == [
        ("notes.txt", "done", 2, 2),
        ("page.html", "done", 1, 1),
        ("strings.json", "done", 1, 1),
    ]
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"/api/jobs/{job['id']}/result").content))
    assert {name: archive.read(name) for name in archive.namelist()} == {
        "notes.de.txt": b"oNE. tWO. nach 1\n",
        "page.de.html": b"<p>oNE <b>WORD</b>.</p>",
        "strings.de.json": b'{"title": "oNE."}',
    }
    one = client.get(f"/api/jobs/{job['id']}/files/2/result")
    assert one.content == b"<p>oNE <b>WORD</b>.</p>"
    report = client.get(f"/api/jobs/{job['id']}/report").json()
    assert [file["report"]["sentences"] for file in report["files"]] == [2, 1, 1]


def test_what_comes_down_is_never_a_page_of_ours(shared: Running) -> None:
    job = done(shared.client, {"evil.html": b"<script>alert(1)</script><p>One.</p>"})
    answer = shared.client.get(f"/api/jobs/{job['id']}/result")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["../../etc/passwd.txt", "..\\a.txt", "\x00.txt", "a" * 300 + ".txt", "ä\r\nb: c.txt"])
def test_a_files_name_is_never_a_path(shared: Running, name: str) -> None:
    job = done(shared.client, {name: b"One."})
    answer = shared.client.get(f"/api/jobs/{job['id']}/result")
    assert answer.content == b"oNE."
    disposition = answer.headers["content-disposition"]
    assert "/" not in disposition.replace("utf-8''", "")
    assert {path.name for path in shared.service.jobs.spool.of(job["id"]).iterdir()} == {"1.source.txt", "1.result.txt"}


@pytest.mark.parametrize(
    ("name", "result"),
    [
        (".txt", "document.de.txt"),
        ("a.TXT ", "a.de.TXT"),
        ("C:\\x\\a.b.txt", "a.b.de.txt"),
        ("..txt", "_.de.txt"),
        ("a*b?.txt", "a_b_.de.txt"),
    ],
)
def test_names_of_results(shared: Running, name: str, result: str) -> None:
    job = done(shared.client, {name: b"One."})
    answer = shared.client.get(f"/api/jobs/{job['id']}/result")
    assert answer.headers["content-disposition"] == f'attachment; filename="{result}"'


def test_other_users_of_the_machine_can_read_nothing(shared: Running) -> None:
    done(shared.client, {"a.txt": b"One."})
    folder = shared.service.settings.folder
    assert (folder / "spool").stat().st_mode & 0o077 == 0
    assert [path.name for path in folder.glob("jobs.db*") if path.stat().st_mode & 0o077] == []


def test_glossary_and_terms_go_with_a_job(shared: Running) -> None:
    text = {"notes.txt": b"The cat likes Acme."}
    assert b"Acme" in shared.client.get(f"/api/jobs/{done(shared.client, text, terms='Acme')['id']}/result").content
    job = done(shared.client, text, glossary="cat\tKatze")
    (file,) = shared.client.get(f"/api/jobs/{job['id']}/report").json()["files"]
    assert file["report"]["terms"] == [["The cat likes Acme.", "tHE CAT LIKES aCME."]]  # the stub has no such word
    assert send(shared.client, text, glossary="cat").json()["code"] == "bad_glossary"
    old = [("files", ("a.txt", b"One.")), ("glossary", ("g.tsv", "Tür\tdoor".encode("latin-1")))]
    assert "not UTF-8" in shared.client.post("/api/jobs", files=old).json()["error"]


BAD = [
    ({}, 400, "no_file"),
    ({"a.exe": b"x"}, 400, "file_kind"),
    ({"a": b"x"}, 400, "file_kind"),
    ({f"{n}.txt": b"x" for n in range(21)}, 413, "too_many_files"),
]


@pytest.mark.parametrize(("files", "status", "code"), BAD)
def test_what_is_wrong_is_said(shared: Running, files: dict[str, bytes], status: int, code: str) -> None:
    answer = send(shared.client, files, source="en")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    german = shared.client.post("/api/jobs", data={"source": "en"}, headers={"Accept-Language": "de"})
    assert german.json()["error"] == "Eine Datei fehlt."


def test_one_bad_file_does_not_stop_the_others(shared: Running) -> None:
    job = done(shared.client, {"empty.txt": b"", "broken.docx": b"PK", "fails.txt": b"fail now", "good.txt": b"One."})
    assert [file["state"] for file in job["files"]] == ["failed", "failed", "failed", "done"]
    assert "empty.txt" in job["files"][0]["error"]
    assert "secret" not in json.dumps(job)
    answer = shared.client.get(f"/api/jobs/{job['id']}/files/1/result")
    assert (answer.status_code, answer.json()["code"]) == (409, "job_failed")


def test_a_file_over_the_limit_is_refused_while_it_comes(start: Start) -> None:
    with start(most_upload=1 << 20) as service:
        answer = send(service.client, {"a.txt": b"x" * (2 << 20)})
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert not list(service.service.jobs.spool.folder.iterdir())


def test_a_job_that_is_deleted_is_gone_at_once(start: Start) -> None:
    with start() as service:
        id = send(service.client, {"a.txt": b"sleep 2000"}).json()["id"]
        wait(service.client, id, "running")
        assert service.client.get(f"/api/jobs/{id}/result").json()["code"] == "job_running"
        assert service.client.delete(f"/api/jobs/{id}").status_code == 204
        assert service.client.get(f"/api/jobs/{id}").status_code == 404
        assert done(service.client, {"b.txt": b"One."})["state"] == "done"  # which waits for the first
        assert not service.service.jobs.spool.of(id).exists()


def test_a_job_and_its_files_go_when_their_time_is_over(start: Start) -> None:
    with start(retention=0.2) as service:
        id = send(service.client, {"a.txt": b"One."}).json()["id"]
        deadline = time.monotonic() + 60
        while service.client.get(f"/api/jobs/{id}").status_code == 200:
            assert time.monotonic() < deadline
        while service.service.jobs.spool.of(id).exists():
            assert time.monotonic() < deadline


def test_a_file_that_kills_a_process_is_tried_again_and_then_given_up(start: Start) -> None:
    with start() as service:
        assert done(service.client, {"a.txt": b"die 1 times"})["state"] == "done"
        assert service.noted("died") == 1
        job = done(service.client, {"a.txt": b"die 100 times"})
        assert (job["state"], job["files"][0]["code"]) == ("failed", "model_failed")
        assert done(service.client, {"b.txt": b"One."})["state"] == "done"


def test_a_process_that_hangs_is_replaced(start: Start) -> None:
    with start(silence_seconds=1.0) as service:
        assert done(service.client, {"a.txt": b"hang now once"})["state"] == "done"


def test_too_much_work_is_refused_with_a_time_to_wait(start: Start) -> None:
    with start(document_seconds=1.0) as service:
        assert send(service.client, {"a.txt": b"sleep 200 " + b"x" * 1000}).status_code == 201
        answer = send(service.client, {"b.txt": b"One."})
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        assert int(answer.headers["retry-after"]) >= 1


def test_jobs_outlive_the_server(start: Start) -> None:
    with start() as service:
        ready = done(service.client, {"a.txt": b"One."})["id"]
        first = send(service.client, {"b.txt": b"sleep 2000"}).json()["id"]
        second = send(service.client, {"c.txt": b"Two.", "d.txt": b"Three."}).json()["id"]
        wait(service.client, first, "running")
    with start(loader="stub_model:load_awake") as service:
        assert service.client.get(f"/api/jobs/{ready}/result").content == b"oNE."
        assert [wait(service.client, id)["state"] for id in (first, second)] == ["done", "done"]


def test_a_killed_process_loses_nothing(start: Start) -> None:
    with start() as service:
        id = send(service.client, {"a.txt": b"sleep 20", "b.txt": b"sleep 20"}).json()["id"]
        killed: list[int] = []
        for _ in range(2):
            wait(service.client, id, "running")
            while (pid := service.service.jobs.processes[0].pid) in (None, *killed):  # not replaced yet
                time.sleep(0.02)
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        assert wait(service.client, id)["state"] == "done"
        assert {file["state"] for file in service.client.get(f"/api/jobs/{id}").json()["files"]} == {"done"}


def test_events_end_when_the_server_stops(start: Start) -> None:
    with start() as service:
        id = send(service.client, {"a.txt": b"sleep 2000"}).json()["id"]
        lines: list[str] = []

        def follow() -> None:
            with service.client.stream("GET", f"/api/jobs/{id}/events") as stream:
                lines.extend(stream.iter_lines())

        thread = threading.Thread(target=follow)
        thread.start()
        wait(service.client, id, "running")
    thread.join(5)
    assert not thread.is_alive()
    assert any(line.startswith("data: ") for line in lines)


def test_a_full_disk_stops_the_work_and_loses_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DISK_SECONDS", 0.1)
    full = threading.Event()
    transaction = store.Store.transaction

    @contextmanager
    def refusing(self: store.Store) -> Iterator[Any]:
        with transaction(self) as connection:
            yield connection
            if full.is_set():
                raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(store.Store, "transaction", refusing)
    glossary = {"name": "a", "source_lang": "en", "target_lang": "de", "entries": "a\tb"}
    with start() as service:
        client = service.client
        client.post("/translate", json={"q": "Four", "source": "en", "target": "de"})
        id = send(client, {"a.txt": b"sleep 50"}).json()["id"]
        wait(client, id, "running")
        full.set()
        refused = send(client, {"b.txt": b"One."})
        assert (refused.status_code, refused.json()["code"]) == (507, "disk_full")
        assert client.post("/v2/glossaries", json=glossary).status_code == 507
        service.call(service.service.usage.write)
        assert client.get("/v2/usage").json()["character_count"] == 4
        assert len(list(service.service.jobs.spool.folder.iterdir())) == 1
        while service.service.jobs.running:
            time.sleep(0.05)
        assert client.get(f"/api/jobs/{id}").json()["state"] == "running"
        full.clear()
        assert wait(client, id)["state"] == "done"
        assert client.post("/v2/glossaries", json=glossary).status_code == 201


def test_a_translation_that_cannot_be_stored_is_made_again(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DISK_SECONDS", 0.1)
    with start() as service:
        id = send(service.client, {"a.txt": b"sleep 20"}).json()["id"]
        in_the_way = service.service.jobs.spool.of(id) / "1.result.txt"
        in_the_way.mkdir()
        while service.noted("call") < 2:
            assert service.client.get(f"/api/jobs/{id}").json()["state"] in ("queued", "running")
            time.sleep(0.05)
        in_the_way.rmdir()
        assert wait(service.client, id)["state"] == "done"
        assert service.client.get(f"/api/jobs/{id}/result").content == b"SLEEP 20"
