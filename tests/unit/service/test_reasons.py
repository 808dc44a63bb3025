"""Reasons of refusals: all that reading and translating a file can say are known in German."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import docflat
from docflat.service.reasons import GERMAN, INNER, for_clients, in_german

from .conftest import Running
from .test_jobs import done, send

SOURCE = Path(docflat.__file__).parent
# What reads a file, what translates it, and what reads a glossary.
READERS = (*SOURCE.glob("formats/**/*.py"), SOURCE / "service" / "tagged_texts.py", SOURCE / "service" / "entries.py")
READERS = (*READERS, SOURCE / "service" / "deepl_glossaries.py", SOURCE / "service" / "jobs_api.py")
NEVER = {  # of writing where a user said, and of endings that no job has
    "{} is no format that docflat reads{} (formats: {})",
    "{} no format that docflat reads, and lines would break it (--lines takes it as text)",
    "would be overwritten by its translation",
    "the translation of a {} file is no {} file{}",
    "cannot be made: {}",
}


def template(node: ast.expr) -> str:
    """A text with {} for what changes in it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def said(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in ("InputError", "Unreadable"):
            text = node.args[0]
            yield from map(template, (text.body, text.orelse) if isinstance(text, ast.IfExp) else (text,))
        elif node.func.id == "Problem":
            yield from (template(keyword.value) for keyword in node.keywords if keyword.arg == "reason")


def all_said() -> set[str]:
    texts = {text for path in (*READERS, SOURCE / "translation" / "files.py") for text in said(path)}
    return {text for text in texts if text.strip("{}")} - NEVER


def test_all_are_known_and_none_is_of_yesterday() -> None:
    """'entry {}: a second translation' is 'entry {}: {}', with what it names."""
    known = {*GERMAN, *INNER}
    whole = all_said()
    assert {text for text in whole - known if in_german(text) == text} == set()
    assert set(GERMAN) - whole == set()


@pytest.mark.parametrize("english", [*GERMAN, *INNER])
def test_what_changes_in_them_is_in_the_german_too(english: str) -> None:
    german = {**GERMAN, **INNER}[english]
    names = [f"<{number}>" for number in range(english.count("{}"))]
    filled = in_german(for_clients(english.format(*names)))
    assert "{" not in filled
    assert "--" not in filled
    assert all((f"{{{number}}}" in german) == (name in filled) for number, name in enumerate(names))
    assert filled == german.format(*names)


NESTED = {
    "is not XML: mismatched tag: line 3, column 14": (
        "ist kein XML: ein Tag schließt nicht, was offen ist: Zeile 3, Spalte 14"
    ),
    "is not JSON: Expecting value": "ist kein JSON: ein Wert wird erwartet",
    "nothing to translate: code (2), no letters (1)": "nichts zu übersetzen: Code (2), keine Buchstaben (1)",
    "entry 3: a second translation of a term": "Eintrag 3: eine zweite Übersetzung eines Begriffs",
    "no text under the keys title, text; --keys names others": (
        "kein Text unter den Schlüsseln title, text; keys nennt andere"
    ),
    "has no text: its pages are pictures, as of a scanner; a program for recognition of text (OCR) may help": (
        "hat keinen Text: seine Seiten sind Bilder, wie von einem Scanner; ein Programm zur Texterkennung (OCR) kann "
        "helfen"
    ),
    "what nobody knows": "what nobody knows",
}


@pytest.mark.parametrize("english", NESTED)
def test_reasons_in_reasons(english: str) -> None:
    assert in_german(for_clients(english)) == NESTED[english]


def test_a_german_page_gets_german_reasons(shared: Running) -> None:
    files = {"empty.txt": b"", "a: b.xlf": b"<xliff>\n</xlif>", "broken.docx": b"PK"}
    job = done(shared.client, files)
    english, german = (shared.client.get(f"/api/jobs/{job['id']}?lang={lang}").json()["files"] for lang in ("en", "de"))
    assert english[0]["error"] == "This cannot be translated: empty.txt: is empty"
    assert [file["error"] for file in german] == [
        "Das kann nicht übersetzt werden: empty.txt: ist leer",
        "Das kann nicht übersetzt werden: a: b.xlf: ist kein XML: ein Tag schließt nicht, was offen ist: "
        "Zeile 2, Spalte 2",
        "Das kann nicht übersetzt werden: broken.docx: ist beschädigt: keine Zip-Datei",
    ]
    refused = send(shared.client, {"a.txt": b"One."}, glossary="cat", lang="de")
    assert refused.json()["code"] == "bad_glossary"
    refused = shared.client.post("/api/jobs?lang=de", files={"files": ("a.txt", b"One.")}, data={"glossary": "cat"})
    assert refused.json()["error"].startswith("Das Glossar ist nicht lesbar: Zeile 1 besteht nicht aus")
    xml = shared.client.post("/api/translate?lang=de", json={"text": "<a>One.", "format": "xml"})
    assert xml.json()["error"].startswith("Das kann nicht übersetzt werden: seine Tags sind kein XML")
