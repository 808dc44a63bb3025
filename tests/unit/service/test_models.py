"""A service with several models."""

from __future__ import annotations

from pathlib import Path

from docflat.service.settings import Model
from docflat.weights.shipped import ENGLISH_GERMAN

from .conftest import Start
from .test_jobs import done

MODELS = (Model(ENGLISH_GERMAN, "en", "de"), Model(Path("mine"), "de", "en"), Model(Path("more"), "fr", "en"))
GERMAN = "Der Ausschuss hat beschlossen, dass er wieder zusammentritt."


def test_each_request_finds_its_model(start: Start) -> None:
    with start(models=MODELS) as service:
        client = service.client
        assert {line["code"]: line["targets"] for line in client.get("/languages").json()} == {
            "en": ["de", "en"],
            "de": ["en", "de"],
            "fr": ["en", "fr"],
        }
        answer = client.post("/translate", json={"q": GERMAN, "source": "auto", "target": "en"}).json()
        assert answer["translatedText"] == GERMAN.swapcase()
        assert answer["detectedLanguage"]["language"] == "de"
        pairs = client.get("/v2/glossary-language-pairs").json()["supported_languages"]
        assert pairs[2] == {"source_lang": "fr", "target_lang": "en"}
        job = done(client, {"a.txt": b"Un."}, source="fr", target="en")
        assert (job["source"], job["target"]) == ("fr", "en")
        assert "a.en.txt" in client.get(f"/api/jobs/{job['id']}/result").headers["content-disposition"]
        page = client.get("/?lang=de").text
        assert page.count("<option") == 3
        assert "Französisch → Englisch" in page


def test_a_job_whose_model_is_gone_fails_and_says_so(start: Start) -> None:
    with start(models=MODELS) as service:
        ready = done(service.client, {"a.txt": b"Un."}, source="fr", target="en")["id"]
        files = {"files": ("b.txt", b"sleep 2000")}
        left = service.client.post("/api/jobs", files=files, data={"source": "fr", "target": "en"}).json()["id"]
    with start() as service:
        job = service.client.get(f"/api/jobs/{left}").json()
        assert (job["state"], job["files"][0]["code"]) == ("failed", "model_gone")
        assert service.client.get(f"/api/jobs/{ready}/result").content == b"uN."
