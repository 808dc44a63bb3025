"""The page without JavaScript, what the server says in two languages, and the description of its calls."""

from __future__ import annotations

import re
import string
import subprocess
import sys
from importlib import resources
from pathlib import Path

import httpx
import pytest

from docflat.service.app import TABLE
from docflat.service.keys import add_key
from docflat.service.openapi import OPERATIONS, description
from docflat.service.wording import WORDING

from .conftest import Running, Start
from .test_jobs import done, send

FORM = {"text": "One. Two.", "pair": "en-de", "compare": "1"}


def text_of(html: str) -> str:
    body = re.sub(r"<(script|style|textarea)[^>]*>.*?</\1>", "", html, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", "", body).split())


def test_a_text_without_javascript(shared: Running) -> None:
    answer = shared.client.post("/", data=FORM)
    assert answer.status_code == 200
    assert re.search(r'tWO. <mark tabindex="0">nach 1<span[^>]*>without context: not there</span></mark>', answer.text)
    assert "One. Two.</textarea>" in answer.text
    plain = shared.client.post("/", data={"text": "One. Two.", "pair": "en-de"})
    assert "oNE. tWO. nach 1" in plain.text
    assert "<mark" not in plain.text


def test_a_file_without_javascript(shared: Running) -> None:
    client = shared.client
    answer = client.post("/files", data=FORM, files={"files": ("notes.txt", b"One. Two.")})
    assert answer.status_code == 303
    job = answer.headers["location"]
    assert client.get(job).status_code == 200
    id = job.split("/")[2].split("?")[0]
    while (page := client.get(job).text).count('http-equiv="refresh"'):
        pass
    assert f"/api/jobs/{id}/files/1/result" in page
    assert f"/api/jobs/{id}/side-by-side" in page
    assert client.post(f"/jobs/{id}/delete").status_code == 303
    assert client.get(job).status_code == 404


def test_what_is_wrong_stands_on_the_page(shared: Running) -> None:
    client = shared.client
    answer = client.post("/?lang=de", data={**FORM, "text": "x" * 50_001})
    assert (answer.status_code, "50001 Zeichen sind zu viele" in answer.text) == (413, True)
    assert "Eine Datei fehlt." in client.post("/files?lang=de", data=FORM, files={"files": ("", b"")}).text
    assert "No loaded model" in client.post("/", data={**FORM, "pair": "de-fr"}).text
    bad = client.post("/", data={**FORM, "glossary": "a line without a tab"})
    assert (bad.status_code, "line 1 is not a term" in bad.text) == (400, True)


def test_texts_are_escaped(shared: Running) -> None:
    evil = "<script>alert(1)</script> \"'> One."
    page = shared.client.post("/", data={**FORM, "text": f"{evil} {evil}"}).text
    assert "<script>alert" not in page.lower().replace("&lt;script", "")
    job = done(shared.client, {'<img src=x onerror="alert(1)">.txt': f"{evil}\n{evil}".encode()}, compare="1")
    page = shared.client.get(f"/api/jobs/{job['id']}/side-by-side").text
    assert "<script>alert" not in page.lower()
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_side_by_side_shows_what_context_changed(shared: Running) -> None:
    job = done(shared.client, {"notes.txt": b"One. Two."}, compare="1")
    assert job["files"][0]["changed"] == 1
    page = shared.client.get(f"/api/jobs/{job['id']}/side-by-side?lang=de").text
    assert '<mark tabindex="0">nach 1<span class="alone" role="tooltip">ohne Zusammenhang: fehlt</span></mark>' in page
    assert "Der Zusammenhang änderte 1 von 2 Sätzen." in text_of(page)
    other = done(shared.client, {"notes.txt": b"One. Two."})
    assert shared.client.get(f"/api/jobs/{other['id']}/side-by-side").json()["code"] == "no_comparison"


def test_the_page_speaks_the_browsers_language(shared: Running) -> None:
    get = shared.client.get
    assert "Text übersetzen" in get("/", headers={"Accept-Language": "fr, de-AT;q=0.8, en;q=0.5"}).text
    assert "Englisch → Deutsch" in get("/?lang=de").text
    assert "Translate text" in get("/", headers={"Accept-Language": "fr"}).text


def test_nothing_is_loaded_from_elsewhere_and_it_is_small(shared: Running) -> None:
    page = shared.client.get("/")
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"', page.text)
    assert addresses
    assert not [address for address in addresses if "//" in address]
    files = [file for file in resources.files("docflat.service").joinpath("page").iterdir() if file.is_file()]
    assert len(page.content) + sum(len(file.read_bytes()) for file in files) < 150_000
    for name in ("style.css", "page.js", "jobs.js", "glossary.js", "icon.svg"):
        assert shared.client.get(f"/static/{name}").status_code == 200
    assert shared.client.get("/static/index.html").status_code == 404
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert not re.search(r"<script(?![^>]*src=)|style=|\son\w+=", page.text)


def test_the_page_asks_for_a_key_where_one_is_needed(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    key = add_key(path, "mia")
    with start(keys=path) as service:
        client = service.client
        assert 'name="key"' in client.get("/").text
        assert client.post("/key", data={"key": "wrong"}).status_code == 401
        assert send(client, {"a.txt": b"One."}).status_code == 401
        answer = client.post("/key", data={"key": key})
        assert answer.status_code == 303
        assert {"HttpOnly", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))
        assert 'name="text"' in client.get("/").text
        assert done(client, {"a.txt": b"One."})["state"] == "done"


@pytest.mark.parametrize("code", WORDING)
def test_both_languages_say_the_same(code: str) -> None:
    fields = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in WORDING[code]]
    assert fields[0] == fields[1]
    assert all(text and text == text.strip() for text in WORDING[code])


def test_every_word_that_the_page_asks_for_is_there() -> None:
    folder = resources.files("docflat.service").joinpath("page")
    for file in folder.iterdir():
        if file.name.endswith(".html"):
            assert set(re.findall(r'say\("(\w+)"', file.read_text())) <= set(WORDING), file.name
        if file.name.endswith(".js"):
            words = re.findall(r'\bwords\.(\w+)|\bsay\("(\w+)"', file.read_text())
            assert {f"page_{a or b}" for a, b in words} <= set(WORDING), file.name


def test_the_description_has_every_call_and_no_other() -> None:
    assert set(OPERATIONS) == {(entry.method, entry.path) for entry in TABLE}
    assert len(TABLE) == len(OPERATIONS)


def test_the_description_is_served(shared: Running) -> None:
    found = shared.client.get("/openapi.json").json()
    assert found["paths"] == description()["paths"]
    assert found["servers"] == [{"url": "/"}]


def test_the_web_process_needs_no_engine() -> None:
    """What holds the connections stays small: tensors are the model processes'."""
    code = "import sys, docflat.service.server; print({'torch', 'onnxruntime'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


def test_health_readiness_and_metrics(shared: Running) -> None:
    client = shared.client
    assert client.get("/ready").json() == {"status": "ready", "documents": True}
    client.post("/translate", json={"q": "a secret text", "source": "en", "target": "de"})
    client.get("/secret-address")
    found = client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    assert 'docflat_requests_total{method="POST",route="/translate",status="200"}' in found.text
    assert 'route="other",status="404"' in found.text
    assert "secret" not in found.text
    assert httpx.codes(client.head("/health").status_code) == 200
