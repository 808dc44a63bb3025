"""What is sent by those who mean harm, or only make mistakes."""

from __future__ import annotations

import io
import socket
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from docflat.service import keys
from docflat.service.keys import Keys, Rates, add_key
from docflat.support.errors import InputError

from .conftest import Running, Start
from .test_jobs import done, send

ASKED = {"q": "One.", "source": "en", "target": "de"}


def raw(service: Running, data: bytes, wait: float = 60.0, leave: bool = False) -> bytes:
    """What comes back until the server closes. leave: whether to say that no more will come."""
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), wait) as connection:
        parts = []
        with suppress(ConnectionError):  # it may answer and close before it was sent all
            connection.sendall(data)
            if leave:
                connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:9", 200),
        ("127.0.0.1", 200),
        ("[::1]:5", 200),
        ("evil.example", 421),
        ("", 400),
        ("a@127.0.0.1", 421),
        ("[::1", 421),
    ],
)
def test_other_names_are_not_answered(shared: Running, host: str, status: int) -> None:
    assert shared.client.get("/health", headers={"Host": host}).status_code == status


def test_names_can_be_allowed(start: Start) -> None:
    with start(allowed_hosts=("mt.example.org",)) as service:
        assert service.client.get("/health", headers={"Host": "MT.example.org"}).status_code == 200


def test_a_page_elsewhere_may_do_nothing_unless_it_is_named(shared: Running, start: Start) -> None:
    headers = {"Origin": "https://evil.example"}
    assert shared.client.post("/translate", json=ASKED, headers=headers).status_code == 403
    preflight = {**headers, "Access-Control-Request-Method": "POST"}
    answer = shared.client.options("/translate", headers=preflight)
    assert "access-control-allow-origin" not in answer.headers
    assert shared.client.post("/translate", json=ASKED, headers={"Origin": shared.url}).status_code == 200
    with start(origins=("https://good.example",)) as service:
        headers = {"Origin": "https://good.example"}
        answer = service.client.post("/translate", json=ASKED, headers=headers)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "https://good.example")
        assert service.client.options("/translate", headers=headers).status_code == 204
        assert "access-control-allow-credentials" not in answer.headers


def test_bytes_are_counted_as_they_come(start: Start) -> None:
    with start(most_upload=1 << 20, most_files=2) as service:
        head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        declared = raw(service, head + b"Content-Length: 99999999999\r\nConnection: close\r\n\r\n")
        assert declared.startswith(b"HTTP/1.1 413")
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        chunked = raw(service, head + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunk * 70)
        assert chunked.startswith(b"HTTP/1.1 413")
        for path in ("/v2/document", "/translate_file", "/files"):
            answer = service.client.post(path, files={"file": ("a.txt", b"x" * (6 << 20))}, data={"target_lang": "DE"})
            assert answer.status_code == 413, path


def test_a_zip_bomb_fails_alone(shared: Running) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", b" " * (300 << 20))
    job = done(shared.client, {"bomb.docx": packed.getvalue(), "good.txt": b"One."})
    assert [file["state"] for file in job["files"]] == ["failed", "done"]
    assert "bomb.docx" in job["files"][0]["error"]


def test_keys_are_asked_for_and_belong_to_somebody(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    mia, ben = add_key(path, "mia"), add_key(path, "ben")
    assert mia not in path.read_text()
    with start(keys=path) as service:
        client = service.client
        assert client.post("/translate", json=ASKED).status_code == 403
        assert client.post("/translate", json={**ASKED, "api_key": "wrong"}).status_code == 403
        assert client.post("/translate", json={**ASKED, "api_key": mia}).status_code == 200
        deepl = {"text": "One.", "target_lang": "DE", "source_lang": "EN"}
        assert (
            client.post("/v2/translate", json=deepl, headers={"Authorization": "DeepL-Auth-Key x"}).status_code == 403
        )
        headers = {"Authorization": f"DeepL-Auth-Key {mia}"}
        assert client.post("/v2/translate", json=deepl, headers=headers).status_code == 200
        assert client.get("/v2/usage", headers=headers).json()["character_count"] == 8
        other = {"Authorization": f"Bearer {ben}"}
        assert client.get("/v2/usage", headers=other).json()["character_count"] == 0
        id = client.post("/api/jobs", files={"files": ("a.txt", b"One.")}, headers=headers).json()["id"]
        for method, address in (
            ("GET", ""),
            ("GET", "/events"),
            ("GET", "/result"),
            ("GET", "/report"),
            ("DELETE", ""),
        ):
            assert client.request(method, f"/api/jobs/{id}{address}", headers=other).status_code == 404
        assert client.get(f"/api/jobs/{id}", headers=headers).status_code == 200
        assert client.get("/health").status_code == 200


def test_all_keys_are_compared_and_in_constant_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    own = [add_key(path, name) for name in "abc"]
    compared = []
    monkeypatch.setattr(keys.hmac, "compare_digest", lambda a, b: compared.append(a) or a == b)
    assert Keys.read(path).owner(own[0]) == "a"
    assert Keys.read(path).owner("wrong") is None
    assert len(compared) == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no keys"), ("mia abc", "SHA-256"), (f"mia {'0' * 64}\nmia {'1' * 64}", "keys:2: a second key for mia")],
)
def test_a_broken_file_of_keys_is_no_open_door(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "keys"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        Keys.read(path)


def test_rates_fill_steadily_and_are_each_clients_own() -> None:
    rates = Rates(2)
    assert [rates.take("a", 0.0), rates.take("a", 0.0)] == [0.0, 0.0]
    assert rates.take("a", 0.0) == 30.0
    assert rates.take("b", 0.0) == 0.0
    assert rates.take("a", 31.0) == 0.0


def test_who_asks_too_often_is_told_when_to_come_back(start: Start) -> None:
    with start(rate=3) as service:
        answers = [service.client.post("/detect", json={"q": "x"}) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
        assert service.client.get("/health").status_code == 200


def test_clients_that_are_slow_or_silent_are_let_go(start: Start) -> None:
    with start(client_seconds=0.3) as service:
        started = time.monotonic()
        assert raw(service, b"") == b""
        assert raw(service, b"GET / HT") == b""
        head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
        answer = raw(service, head + b"Content-Type: application/json\r\nConnection: close\r\n\r\n{")
        assert answer.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - started < 8
        assert service.client.get("/health").status_code == 200


def test_connections_over_the_limit_are_refused_in_words(start: Start) -> None:
    with start(most_connections=20) as service:
        host, port = service.url.removeprefix("http://").split(":")
        service.client.get("/health")  # keeps one
        held = [socket.create_connection((host, int(port))) for _ in range(60)]
        try:
            answers = []
            for connection in held[-5:]:
                connection.settimeout(5)
                answers.append(connection.recv(1000))
            assert all(answer.startswith(b"HTTP/1.1 503") and b"Retry-After" in answer for answer in answers)
            assert service.client.get("/health").status_code == 200
        finally:
            for connection in held:
                connection.close()
        deadline = time.monotonic() + 5
        while raw(service, b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 503"):
            assert time.monotonic() < deadline


def test_no_text_reaches_the_log(
    start: Start, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with start() as service:
        service.client.post("/translate", json={**ASKED, "q": "fail now, my secret diary"})
        done(service.client, {"secret-name.txt": b"fail now, my secret diary"})
        service.client.get("/secret-address?q=secret")
        send(service.client, {"secret.exe": b"x"})
    assert "RuntimeError" in caplog.text + capfd.readouterr().err
    assert "secret" not in caplog.text + capfd.readouterr().err


def test_answers_have_the_headers_that_browsers_heed(shared: Running) -> None:
    for path in ("/", "/health", "/nothing", "/static/icon.svg"):
        headers = shared.client.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


def test_behind_a_proxy(start: Start) -> None:
    with start(root_path="/mt", proxy=True, allowed_hosts=("mt.example.org",)) as service:
        headers = {"Host": "mt.example.org", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
        page = httpx.get(f"{service.url.removesuffix('/mt')}/", headers=headers, trust_env=False).text
        assert 'href="/mt/static/style.css"' in page
        files = {"file": ("a.txt", b"One.")}
        asked = {"source": "en", "target": "de"}
        url = f"{service.url.removesuffix('/mt')}/translate_file"
        answer = httpx.post(url, headers=headers, data=asked, files=files, trust_env=False)
        assert answer.json()["translatedFileUrl"].startswith("https://mt.example.org/mt/download_file/")
