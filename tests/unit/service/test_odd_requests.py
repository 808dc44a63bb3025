"""Requests that no client sends who knows what it does: each gets an answer in JSON, and none a 5xx."""

from __future__ import annotations

import json

import httpx
import pytest

from .conftest import Running, Start
from .test_guard import ASKED, raw
from .test_jobs import done

FORM = "application/x-www-form-urlencoded"


def post(body: bytes, kind: str = "application/json", path: str = "/translate") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def with_(**more: object) -> bytes:
    return json.dumps({**ASKED, **more}).encode()


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]).encode(
        "latin1"
    )


ODD = {
    "no JSON": (post(b""), 400),
    "not an object": (post(b"[1]"), 400),
    "nested": (post(b"[" * 100_000), 400),
    "no number": (post(b'{"q": NaN}'), 400),
    "digits without end": (post(with_()[:-1] + b', "alternatives": ' + b"9" * 5000 + b"}"), 400),
    "a number beyond all bounds": (post(with_()[:-1] + b', "alternatives": 1e999}'), 400),
    "a broken number": (post(with_(alternatives=1.5)), 400),
    "half a character": (post(b'{"q": "\\ud800", "source": "en", "target": "de"}'), 400),
    "half a character in a name": (post(with_()[:-1] + b', "\\ud800": 1}'), 400),
    "lists in a list": (post(with_(q=[["a"]])), 400),
    "nothing in a list": (post(with_(q=["a", None])), 400),
    "a list of languages": (post(with_(source=["en", "de"])), 400),
    "very many empty texts": (post(with_(q=[""] * 20_000)), 413),
    "not UTF-8 in a form": (post(b"q=%ff&source=en&target=de", FORM), 400),
    "bytes that are not UTF-8 in a form": (post(b"q=\xfc&source=en&target=de", FORM), 400),
    "half a character in a form": (post(b"q=%ed%a0%80&source=en&target=de", FORM), 400),
    "very many fields": (post(b"q=a&" * 5000, FORM), 400),
    "not UTF-8 in a query": (get("/translate?q=%ff&source=en&target=de"), 400),
    "very many fields in a query": (get("/translate?" + "q=a&" * 5000), 400),
    "no boundary": (post(b"q=a", "multipart/form-data"), 400),
    "another kind": (post(b"q=a", "text/plain"), 415),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "a host that does not end": (b"GET / HTTP/1.1\r\nHost: [::1\r\nConnection: close\r\n\r\n", 421),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.0\r\n\r\n", 400),
    "an origin that does not end": (post(with_()).replace(b"\r\n", b"\r\nOrigin: http://[::1\r\n", 1), 403),
    "a length below zero": (b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", 400),
    "a chunk of no length": (
        b"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nZZ\r\n",
        400,
    ),
    "a path without end": (get("/" + "a" * 200_000), 400),
    "a path upwards": (get("/static/%2e%2e%2fapp.py"), 404),
    "an unknown method": (b"FOO / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
    "a cookie of other letters": (get("/nothing", "Cookie: docflat-key=\xff"), 404),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_each_gets_an_answer_in_words(shared: Running, name: str) -> None:
    request, status = ODD[name]
    head, _, body = raw(shared, request).partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    if b"chunked" in head:
        body = body.split(b"\r\n")[1]
    assert json.loads(body)["error"]


def test_a_fault_of_the_server_is_said_in_the_form_of_each_api(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with start() as service:
        for part, name in ((service.service.texts, "translate"), (service.service.detector, "rank")):

            async def fail(*rest: object) -> None:
                raise ZeroDivisionError("secret")

            monkeypatch.setattr(part, name, fail)
        answer = service.client.post("/translate", json=ASKED)
        assert (answer.status_code, list(answer.json())) == (500, ["error"])
        answer = service.client.post("/v2/translate", json={"text": ["One."], "source_lang": "EN", "target_lang": "DE"})
        assert (answer.status_code, list(answer.json())) == (500, ["message"])
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


def test_a_client_that_leaves_in_the_middle_is_no_fault(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    with start() as service:
        head, _, body = post(with_()).partition(b"\r\n\r\n")
        assert raw(service, head + b"\r\n\r\n" + body[:3], leave=True) == b""
        assert service.client.get("/health").status_code == 200
    assert "fault" not in caplog.text


@pytest.mark.parametrize(
    "wanted", ["bytes=0-2", "bytes=-3", "bytes=9-", "bytes=5-2", "lines=1-2", "bytes=0-" + "9" * 99]
)
def test_parts_of_a_result(shared: Running, wanted: str) -> None:
    id = done(shared.client, {"a.txt": b"One."})["id"]
    answer = shared.client.get(f"/api/jobs/{id}/result", headers={"Range": wanted})
    assert answer.status_code in (200, 206, 400, 416)
    if answer.status_code in (200, 206):
        assert answer.content in (b"oNE.", b"oNE", b"NE.")


def test_a_result_that_is_deleted_while_it_is_fetched(shared: Running) -> None:
    id = done(shared.client, {"a.txt": b"One two three. " * 20 + b"x" * 500_000})["id"]
    with shared.client.stream("GET", f"/api/jobs/{id}/result") as answer:
        parts = answer.iter_raw(100)
        length = len(next(parts))
        assert httpx.delete(f"{shared.url}/api/jobs/{id}", trust_env=False, timeout=60).status_code == 204
        assert length + sum(map(len, parts)) == int(answer.headers["content-length"]) > 500_000
    assert shared.client.get(f"/api/jobs/{id}/result").status_code == 404


@pytest.mark.parametrize("path", ["/nothing", "/api/jobs/aaaaaaaaaaaaaaaaaaaaaaaa/side-by-side", "/api/jobs/a/result"])
def test_a_person_is_told_on_a_page_and_a_program_in_json(shared: Running, path: str) -> None:
    as_browsers_ask = {"Accept": "text/html,application/xhtml+xml;q=0.9", "Accept-Language": "de"}
    page, answer = shared.client.get(path, headers=as_browsers_ask), shared.client.get(path)
    assert (page.status_code, answer.status_code) == (404, 404)
    assert page.headers["content-type"].startswith("text/html")
    assert '<p id="problem" role="alert" class="problem">' in page.text
    assert answer.json()["error"]
