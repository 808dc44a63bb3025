"""LibreTranslate's API, as its documentation and its own client write requests."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from .conftest import Running

ASKED = {"q": "Hello. The cat.", "source": "en", "target": "de"}
TRANSLATED = "hELLO. tHE CAT. nach 1"


def test_a_request_may_come_in_four_ways(shared: Running) -> None:
    client = shared.client
    answers = [
        client.post("/translate", json=ASKED),
        client.post("/translate", data=ASKED),
        client.post("/translate", files={name: (None, value) for name, value in ASKED.items()}),
        client.post("/translate", params=ASKED),
        client.get("/translate", params=ASKED),
    ]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {"translatedText": TRANSLATED})] * 5


def test_a_list_is_one_document_and_comes_back_as_a_list(shared: Running) -> None:
    answer = shared.client.post("/translate", json={**ASKED, "q": ["One.", "Two.", ""]})
    assert answer.json() == {"translatedText": ["oNE.", "tWO. nach 1", ""]}


@pytest.mark.parametrize(
    "how", [{"json": {**ASKED, "unrelated": True}}, {"json": ASKED, "headers": {"X-Docflat-Unrelated": "1"}}]
)
def test_unrelated_texts_are_documents_of_their_own(shared: Running, how: dict[str, Any]) -> None:
    how["json"] = {**how["json"], "q": [f"Text {n}. <b>x</b> {{name}}." for n in range(70)]}
    answer = shared.client.post("/translate", **how).json()["translatedText"]
    alone = [shared.client.post("/translate", json={**ASKED, "q": text}).json() for text in how["json"]["q"][::23]]
    assert answer[::23] == [each["translatedText"] for each in alone]


def test_one_of_the_unrelated_that_fails_fails_the_request(shared: Running) -> None:
    answer = shared.client.post("/translate", json={**ASKED, "unrelated": True, "q": ["One.", "fail now", "Two."]})
    assert answer.status_code == 503


def test_lines_and_blanks_stay(shared: Running) -> None:
    answer = shared.client.post("/translate", json={**ASKED, "q": " One.\n\n  Two. \n"})
    assert answer.json() == {"translatedText": " oNE.\n\n  tWO. nach 1 \n"}


def test_html_keeps_its_tags(shared: Running) -> None:
    answer = shared.client.post("/translate", json={**ASKED, "q": "<p>One <b>word</b></p>", "format": "html"})
    assert answer.json() == {"translatedText": "<p>oNE <b>WORD</b></p>"}


def test_the_language_is_found_and_said(shared: Running) -> None:
    q = "The committee has decided that it will meet again."
    found = shared.client.post("/translate", json={"q": q, "source": "auto", "target": "de"}).json()
    assert found["translatedText"] == q.swapcase()
    assert found["detectedLanguage"]["language"] == "en"
    assert 80 < found["detectedLanguage"]["confidence"] <= 100


def test_how_sure_it_is_of_a_short_text_is_said_honestly(shared: Running) -> None:
    found = shared.client.post("/translate", json={"q": "Hello", "source": "auto", "target": "de"}).json()
    assert found["translatedText"] == "hELLO"
    assert found["detectedLanguage"]["confidence"] < 50


def test_a_text_in_another_language_is_no_silent_wrong_translation(shared: Running) -> None:
    q = "Le comité a décidé qu'il se réunira de nouveau la semaine prochaine."
    answer = shared.client.post("/translate", json={"q": q, "source": "auto", "target": "de"})
    assert answer.status_code == 400
    assert "French" in answer.json()["error"]


def test_a_text_in_the_target_language_comes_back_as_it_is(shared: Running) -> None:
    q = "Der Ausschuss hat beschlossen, dass er wieder zusammentritt."
    answer = shared.client.post("/translate", json={"q": q, "source": "auto", "target": "de"}).json()
    assert answer["translatedText"] == q
    assert answer["detectedLanguage"]["language"] == "de"


def test_an_alternative_is_how_it_reads_without_context(shared: Running) -> None:
    answer = shared.client.post("/translate", json={**ASKED, "alternatives": 3}).json()
    assert answer == {"translatedText": TRANSLATED, "alternatives": ["hELLO. tHE CAT."]}


def test_what_else_there_is(shared: Running) -> None:
    client = shared.client
    assert client.get("/languages").json()[0] == {"code": "en", "name": "English", "targets": ["de", "en"]}
    assert client.get("/health").json() == {"status": "ok"}
    assert client.post("/suggest", data={"q": "x", "s": "y"}).status_code == 403
    settings = client.get("/frontend/settings").json()
    assert settings["language"]["target"] == {"code": "de", "name": "German"}
    assert ".docx" in settings["supportedFilesFormat"]
    found = client.post("/detect", data={"q": "Der Ausschuss hat es beschlossen."}).json()
    assert found[0]["language"] == "de"
    assert found[0]["confidence"] > 80


def test_libretranslates_own_client(shared: Running) -> None:
    client = LibreTranslateAPI(shared.url)
    assert client.translate("Hello there", "en", "de") == "hELLO THERE"
    assert client.detect("Der Ausschuss hat es beschlossen.")[0]["language"] == "de"
    assert {language["code"] for language in client.languages()} == {"en", "de"}


BAD = [
    ({"source": "en", "target": "de"}, 400, "missing q parameter"),
    ({**ASKED, "q": 7}, 400, "q must be a text"),
    ({**ASKED, "q": ["a", None]}, 400, "q must be a text"),
    ({**ASKED, "q": []}, 400, "missing q parameter"),
    ({**ASKED, "target": "fr"}, 400, "en-de"),
    ({**ASKED, "source": "xx"}, 400, "en-de"),
    ({**ASKED, "format": "pdf"}, 400, "text, html"),
    ({**ASKED, "alternatives": "many"}, 400, "alternatives"),
    ({**ASKED, "q": "x" * 50_001}, 413, "50000"),
]


@pytest.mark.parametrize(("asked", "status", "words"), BAD)
def test_what_is_wrong_is_said(shared: Running, asked: dict[str, object], status: int, words: str) -> None:
    answer = shared.client.post("/translate", json=asked)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert words in answer.text


RAW = [
    (b"{", "application/json"),
    (b"[1]", "application/json"),
    (b'{"q": NaN}', "application/json"),
    (b'{"q": "\\ud800", "source": "en", "target": "de"}', "application/json"),
    (b"[" * 100_000, "application/json"),
    (b"\xff\xfe", "application/json"),
    (b"--x\r\nbroken", "multipart/form-data; boundary=x"),
    (b"no boundary", "multipart/form-data"),
]


@pytest.mark.parametrize(("body", "kind"), RAW)
def test_a_broken_body_is_a_problem_of_the_client(shared: Running, body: bytes, kind: str) -> None:
    answer = shared.client.post("/translate", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]


def test_other_kinds_of_bodies_and_addresses(shared: Running) -> None:
    client = shared.client
    assert client.post("/translate", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    assert client.get("/nothing").status_code == 404
    answer = client.put("/translate", json=ASKED)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    for path in ("/nothing", "/v2/nothing", f"/{quote('ä')}"):
        assert json.loads(client.get(path).text)


def test_its_own_words_for_what_is_missing_or_not_there(shared: Running) -> None:
    """As its own tests want them (tests/outside/clients.py runs those)."""
    cases = {
        "Invalid request: missing q parameter": {"source": "en", "target": "de"},
        "zz is not supported": {**ASKED, "target": "zz"},
        "xx is not supported": {**ASKED, "source": "xx"},
    }
    for words, asked in cases.items():
        assert shared.client.post("/translate", json=asked).json()["error"] == words
    assert shared.client.get("/spec").json() == shared.client.get("/openapi.json").json()


def test_lines_of_a_form_end_as_lines_of_a_text(shared: Running) -> None:
    answer = shared.client.post("/translate", data={**ASKED, "q": "One.\r\nTwo."})
    assert answer.json() == {"translatedText": "oNE.\ntWO. nach 1"}


def test_a_fault_of_the_model_is_no_traceback(shared: Running) -> None:
    answer = shared.client.post("/translate", json={**ASKED, "q": "fail now"})
    assert answer.status_code == 503
    assert "secret" not in answer.text
    assert httpx.get(f"{shared.url}/ready", trust_env=False).status_code == 200


def test_a_file_is_answered_when_it_is_translated(shared: Running) -> None:
    asked = {"source": "en", "target": "de"}
    answer = shared.client.post("/translate_file", data=asked, files={"file": ("a b.txt", b"One. Two.")})
    url = answer.json()["translatedFileUrl"]
    assert url.startswith(f"{shared.url}/download_file/")
    assert url.endswith("/a%20b.de.txt")
    found = httpx.get(url, trust_env=False)
    assert found.content == b"oNE. tWO. nach 1"
    assert "attachment" in found.headers["content-disposition"]


@pytest.mark.parametrize(
    ("name", "content", "words"), [("a.exe", b"x", "exe"), ("a.docx", b"PK", "a.docx"), ("a.txt", b"", "a.txt")]
)
def test_a_file_that_cannot_be_translated(shared: Running, name: str, content: bytes, words: str) -> None:
    asked = {"source": "en", "target": "de"}
    answer = shared.client.post("/translate_file", data=asked, files={"file": (name, content)})
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_a_session_remembers_and_an_unrelated_list_does_not(shared: Running) -> None:
    client = shared.client
    for text, translation in (("One.", "oNE."), ("Two.", "tWO. nach 1")):
        answer = client.post("/s/film/translate", json={**ASKED, "q": text})
        assert answer.json() == {"translatedText": translation}
    assert client.post("/unrelated/translate", json=ASKED).json() == {"translatedText": TRANSLATED}
    answer = client.post("/s/no%20name/translate", json=ASKED)
    assert answer.status_code == 400
