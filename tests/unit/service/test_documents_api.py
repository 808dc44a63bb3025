"""Our own API of texts, and sessions."""

from __future__ import annotations

import httpx

from docflat.service.sessions import Sessions
from docflat.service.settings import Settings

from .conftest import Running


def test_a_document_says_what_context_changed(shared: Running) -> None:
    answer = shared.client.post("/api/translate", json={"text": "One. Two.", "source": "en"}).json()
    assert answer == {
        "texts": ["oNE. tWO. nach 1"],
        "source": "en",
        "target": "de",
        "sentences": [
            {"source": "One.", "parts": [["oNE.", None]], "alone": "oNE."},
            {"source": "Two.", "parts": [["tWO. ", None], ["nach 1", ""]], "alone": "tWO."},
        ],
        "changed": 1,
        "parts": [["oNE. tWO. ", None], ["nach 1", ""]],
    }


def test_options_of_a_document(shared: Running) -> None:
    def ask(**options: object) -> httpx.Response:
        return shared.client.post("/api/translate", json={"text": "One Acme.", "source": "en", **options})

    assert ask(context="Before.").json()["texts"] == ["oNE aCME. nach 1"]
    assert ask(unrelated=True, context="Before.").json()["texts"] == ["oNE aCME."]
    assert ask(terms=["Acme"]).json()["texts"] == ["oNE Acme."]
    assert ask(compare=False).json()["sentences"] == []
    assert ask(text="<b>One</b>", format="html").json()["texts"] == ["<b>oNE</b>"]
    assert ask(glossary={"One": ""}).json()["code"] == "bad_glossary"
    assert ask(target="fr").json()["code"] == "language"


def test_sessions_are_limited_in_number_size_and_age() -> None:
    sessions = Sessions(Settings(most_sessions=2, session_seconds=1e9))
    for name in ("a", "b", "c"):
        sessions.remember("", name, "en-de", [f"line {n}" for n in range(20)])
    assert sessions.before("", "a", "en-de") == ()
    assert sessions.before("", "c", "en-de") == tuple(f"line {n}" for n in range(14, 20))
    assert sessions.before("key other", "c", "en-de") == ()
    sessions.remember("", "c", "en-de", ["x" * 500, "y" * 500])
    assert sessions.before("", "c", "en-de") == ("y" * 500,)
    old = Sessions(Settings(session_seconds=-1))
    old.remember("", "a", "en-de", ["One."])
    assert old.before("", "a", "en-de") == ()
