"""DeepL's API, as its own client for Python speaks it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import deepl
import docx
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries

from .conftest import Running, Start


@pytest.fixture(scope="module")
def client(shared: Running) -> Iterator[deepl.DeepLClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepl.http_client.max_network_retries", 0)
        patch.setattr("deepl.http_client.min_connection_timeout", 60.0)  # the machine may be busy with other tests
        patch.setattr("deepl.translator.time.sleep", lambda seconds: None)  # it asks every 5 seconds
        yield client_of(shared.url)


def client_of(url: str) -> deepl.DeepLClient:
    client = deepl.DeepLClient("any key", server_url=url)
    client._client._session.trust_env = False  # no proxy of this machine
    return client


def test_a_list_of_texts_is_one_document(client: deepl.DeepLClient) -> None:
    results = client.translate_text(["One.", "Two."], target_lang="DE")
    assert [result.text for result in results] == ["oNE.", "tWO. nach 1"]
    one = client.translate_text("The committee has decided that it will meet.", target_lang="DE")
    assert (one.detected_source_lang, one.billed_characters) == ("EN", 44)
    assert client.translate_text("One.", source_lang="EN", target_lang="DE-AT").text == "oNE."


def test_context_is_read_but_not_translated(client: deepl.DeepLClient) -> None:
    found = client.translate_text("Two.", source_lang="EN", target_lang="DE", context="One. And a half.")
    assert found.text == "tWO. nach 2"


def test_unrelated_texts_are_no_context(client: deepl.DeepLClient, shared: Running) -> None:
    texts = ["One.", "Two."]
    asked = {"source_lang": "EN", "target_lang": "DE"}
    for each in (
        client.translate_text(texts, **asked, extra_body_parameters={"unrelated": True}),
        client_of(f"{shared.url}/unrelated/").translate_text(texts, **asked),
    ):
        assert [result.text for result in each] == ["oNE.", "tWO."]


def test_a_session_is_an_address(shared: Running) -> None:
    client = client_of(f"{shared.url}/s/chat-1/")
    asked = {"source_lang": "EN", "target_lang": "DE"}
    assert [client.translate_text(text, **asked).text for text in ("One.", "Two.", "Three.")] == [
        "oNE.",
        "tWO. nach 1",
        "tHREE. nach 2",
    ]
    assert client_of(f"{shared.url}/s/chat-2/").translate_text("One.", **asked).text == "oNE."


@pytest.mark.parametrize(
    ("options", "text", "translation"),
    [
        ({}, "One.\nTwo. Three", "oNE.\ntWO. nach 1 tHREE nach 2"),
        ({"split_sentences": "0"}, "One. Two.", "oNE. tWO."),
        ({"split_sentences": "nonewlines"}, "One\ntwo.", "oNE TWO."),
        ({"tag_handling": "html"}, "<p>One <b>word</b>.</p>", "<p>oNE <b>WORD</b>.</p>"),
        ({"tag_handling": "xml"}, "Press <x id='1'>it</x> &amp; go", "pRESS <x id='1'>IT</x> &amp; GO"),
        (
            {"tag_handling": "xml"},
            "<d><t>One</t>\n<p>Two</p></d>",
            "<d><t>oNE</t>\n<p>tWO nach 1</p></d>",
        ),
        (
            {"tag_handling": "xml", "splitting_tags": ["br"], "outline_detection": False},
            "<d>One<br/>Two</d>",
            "<d>oNE<br/>tWO nach 1</d>",
        ),
        ({"tag_handling": "xml", "ignore_tags": "code"}, "Press <code>42</code> now", "pRESS <code>42</code> NOW"),
        ({"formality": "prefer_more", "preserve_formatting": True, "model_type": "quality_optimized"}, "One", "oNE"),
    ],
)
def test_options(client: deepl.DeepLClient, options: dict[str, object], text: str, translation: str) -> None:
    assert client.translate_text(text, source_lang="EN", target_lang="DE", **options).text == translation


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"formality": "less"}, "formality=less"),
        ({"style_rule": "abc"}, "style_id"),
        ({"custom_instructions": ["Be brief"]}, "custom_instructions"),
        ({"target_lang": "FR"}, "en-de"),
        ({"source_lang": "ZH"}, "en-de"),
        ({"tag_handling": "xml", "text": "<b>open"}, "tags"),
        ({"tag_handling": "markdown"}, "html, xml"),
        ({"text": ["x"] * 51}, "51 texts"),
    ],
)
def test_what_is_not_there_is_refused(client: deepl.DeepLClient, options: dict[str, object], words: str) -> None:
    asked = {"text": "One.", "source_lang": "EN", "target_lang": "DE", **options}
    with pytest.raises(deepl.DeepLException, match=words):
        client.translate_text(**asked)


def test_documents_go_up_and_come_down(client: deepl.DeepLClient, tmp_path: Path) -> None:
    source, out = tmp_path / "notes.txt", tmp_path / "notes.de.txt"
    source.write_text("One. Two.")
    status = client.translate_document_from_filepath(source, out, source_lang="EN", target_lang="DE")
    assert (status.done, status.billed_characters) == (True, 8)
    assert out.read_text() == "oNE. tWO. nach 1"


def test_a_document_that_cannot_be_translated(client: deepl.DeepLClient) -> None:
    with pytest.raises(deepl.DocumentTranslationException, match=r"notes\.docx"):
        client.translate_document(b"PK", io.BytesIO(), target_lang="DE", filename="notes.docx")
    with pytest.raises(deepl.DeepLException, match="exe"):
        client.translate_document(b"x", io.BytesIO(), target_lang="DE", filename="a.exe")


def test_a_pdf_becomes_a_docx(client: deepl.DeepLClient) -> None:
    pytest.importorskip("pypdfium2")
    from fuzz.seeds import PDF

    out = io.BytesIO()
    client.translate_document(PDF.encode(), out, target_lang="DE", filename="notes.pdf", output_format="docx")
    found = docx.Document(io.BytesIO(out.getvalue()))
    assert found.paragraphs[0].text.startswith("a HEADING")


def test_a_document_that_is_not_ready_and_one_of_another(client: deepl.DeepLClient) -> None:
    handle = client.translate_document_upload(b"sleep 100", target_lang="DE", filename="a.txt")
    with pytest.raises(deepl.DocumentNotReadyException):
        client.translate_document_download(handle)
    with pytest.raises(deepl.DeepLException, match="no such job"):
        client.translate_document_get_status(deepl.DocumentHandle(handle.document_id, "0" * 64))
    with pytest.raises(deepl.DeepLException, match="output_format"):
        client.translate_document_upload(b"One", target_lang="DE", filename="a.txt", output_format="pdf")
    assert client.translate_document_wait_until_done(handle).done


def test_glossaries(client: deepl.DeepLClient) -> None:
    entries = {"cat": "Kater", "dog": "Hund"}
    glossary = client.create_glossary("animals", "EN", "DE", entries)
    assert (glossary.entry_count, glossary.ready, glossary.source_lang) == (2, True, "EN")
    assert client.get_glossary_entries(glossary) == entries
    assert glossary.glossary_id in {each.glossary_id for each in client.list_glossaries()}
    assert client.get_glossary(glossary.glossary_id).name == "animals"
    # The stub repeats what it reads, so what a glossary put into a sentence is in its translation.
    numbers = client.create_glossary("numbers", "EN", "DE", {"cat": "42"})
    assert client.translate_text("A cat.", source_lang="EN", target_lang="DE", glossary=numbers).text == "a 42."
    client.delete_glossary(glossary)
    for call in (client.get_glossary, client.delete_glossary):
        with pytest.raises(deepl.GlossaryNotFoundException):
            call(glossary.glossary_id)
    with pytest.raises(deepl.DeepLException, match="no such glossary"):
        client.translate_text("A cat.", source_lang="EN", target_lang="DE", glossary=glossary.glossary_id)
    csv = client.create_glossary_from_csv("animals", "EN", "DE", '"cat","die ""Katze""",EN,DE\n')
    assert client.get_glossary_entries(csv) == {"cat": 'die "Katze"'}


def test_multilingual_glossaries(client: deepl.DeepLClient) -> None:
    entries = MultilingualGlossaryDictionaryEntries
    glossary = client.create_multilingual_glossary("animals", [entries("EN", "DE", {"cat": "Katze"})])
    id = glossary.glossary_id
    client.update_multilingual_glossary_dictionary(id, entries("EN", "DE", {"dog": "Hund"}))
    assert client.update_multilingual_glossary_name(id, "pets").name == "pets"
    found = client.get_multilingual_glossary_entries(id, "EN", "DE")
    assert found.dictionaries[0].entries == "cat\tKatze\ndog\tHund"
    client.replace_multilingual_glossary_dictionary(id, entries("EN", "DE", {"cow": "Kuh"}))
    assert client.get_multilingual_glossary(id).dictionaries[0].entry_count == 1
    assert id in {each.glossary_id for each in client.list_multilingual_glossaries()}
    client.delete_multilingual_glossary_dictionary(id, source_lang="EN", target_lang="DE")
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_multilingual_glossary_entries(id, "EN", "DE")
    client.delete_multilingual_glossary(id)
    with pytest.raises(deepl.DeepLException, match="en-de"):
        client.create_multilingual_glossary("no such pair", [entries("DE", "FR", {"a": "b"})])


def test_a_glossary_in_a_form_as_deepls_client_for_node_writes_it(shared: Running) -> None:
    part = {"source_lang": "en", "target_lang": "de", "entries": "cat\tKatze", "entries_format": "tsv"}
    form = {"name": "pets", **{f"dictionaries[0].{name}": value for name, value in part.items()}}
    answer = shared.client.post("/v3/glossaries", data=form)
    assert answer.status_code == 201
    assert answer.json()["dictionaries"] == [{"source_lang": "en", "target_lang": "de", "entry_count": 1}]


def test_languages_and_usage(client: deepl.DeepLClient) -> None:
    assert [language.code for language in client.get_source_languages()] == ["EN"]
    assert [(language.code, language.supports_formality) for language in client.get_target_languages()] == [
        ("DE", False)
    ]
    pairs = [(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()]
    assert pairs == [("EN", "DE")] or pairs == [("en", "de")]
    before = client.get_usage()
    client.translate_text("Twelve chars", source_lang="EN", target_lang="DE")
    assert client.get_usage().character.count == before.character.count + 12
    assert not before.any_limit_reached
    with pytest.raises(deepl.DeepLException, match="rephrase is not supported"):
        client.rephrase_text("One.", target_lang="DE")


def test_usage_and_glossaries_outlive_the_server(start: Start) -> None:
    with start() as service:
        client = client_of(service.url)
        client.translate_text("One.", source_lang="EN", target_lang="DE")
        id = client.create_glossary("animals", "EN", "DE", {"cat": "Katze"}).glossary_id
    with start() as service:
        assert client_of(service.url).get_usage().character.count == 4
        assert client_of(service.url).get_glossary_entries(id) == {"cat": "Katze"}
