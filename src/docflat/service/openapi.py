"""A description of every call, for programs: /openapi.json. A test holds this table to that of the routes."""

from __future__ import annotations

from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat import __version__

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"oneOf": [TEXT, {"type": "array", "items": TEXT}]}
SOURCE: Schema = {"type": "string", "example": "en"}
TARGET: Schema = {"type": "string", "example": "de"}
SOME_TEXTS: Schema = {**TEXTS, "example": ["The lamp is new.", "It is bright."]}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
LIST: Schema = {"type": "array", "items": OBJECT}
FILE: Schema = {"type": "string", "format": "binary"}
ENTRIES: Schema = {"oneOf": [TEXT, {"type": "object", "additionalProperties": TEXT}]}

_ASKED: Schema = {"q": SOME_TEXTS, "source": SOURCE, "target": TARGET}
_LIBRETRANSLATE: Schema = {
    **_ASKED,
    "format": {"type": "string", "enum": ["text", "html"]},
    "alternatives": {"type": "integer", "minimum": 0, "maximum": 10},
    "unrelated": FLAG,
    "api_key": TEXT,
}
_DEEPL: Schema = {
    "text": SOME_TEXTS,
    "source_lang": SOURCE,
    "target_lang": TARGET,
    "context": TEXT,
    "split_sentences": {"type": "string", "enum": ["0", "1", "nonewlines"]},
    "preserve_formatting": FLAG,
    "formality": {"type": "string", "enum": ["default", "prefer_more", "prefer_less"]},
    "glossary_id": TEXT,
    "glossary_ids": {"type": "array", "items": TEXT, "maxItems": 5},
    "tag_handling": {"type": "string", "enum": ["html", "xml"]},
    "outline_detection": FLAG,
    "splitting_tags": TEXTS,
    "non_splitting_tags": TEXTS,
    "ignore_tags": TEXTS,
    "show_billed_characters": FLAG,
    "unrelated": FLAG,
}
_DOCUMENT: Schema = {
    "text": SOME_TEXTS,
    "source": SOURCE,
    "target": TARGET,
    "format": {"type": "string", "enum": ["text", "html", "xml"]},
    "context": TEXTS,
    "terms": TEXTS,
    "glossary": ENTRIES,
    "compare": FLAG,
    "unrelated": FLAG,
}
_DICTIONARY: Schema = {
    "source_lang": SOURCE,
    "target_lang": TARGET,
    "entries": TEXT,
    "entries_format": {"type": "string", "enum": ["tsv", "csv"]},
}
_DICTIONARIES: Schema = {"type": "array", "items": {"type": "object", "properties": _DICTIONARY}}
_FORM: Schema = {"text": TEXT, "pair": TEXT, "glossary": TEXT, "terms": TEXT, "compare": TEXT}
_ORDER: Schema = {
    "files": {"type": "array", "items": FILE},
    "source": SOURCE,
    "target": TARGET,
    "terms": TEXT,
    "glossary": TEXT,
    "keys": TEXT,
    "compare": FLAG,
}
_JSON = "application/json"
_FORM_KINDS = ("application/x-www-form-urlencoded", "multipart/form-data")
_PARTS = ("multipart/form-data",)
_ALL = (_JSON, *_FORM_KINDS)


def _call(
    summary: str,
    body: Schema | None = None,
    required: tuple[str, ...] = (),
    kinds: tuple[str, ...] = _ALL,
    query: Schema | None = None,
    answer: str = _JSON,
    status: int = 200,
    schema: Schema | None = None,
) -> Schema:
    made: Schema = {"summary": summary, "responses": {str(status): {"description": "as asked"}}}
    if status not in (204, 303):
        made["responses"][str(status)]["content"] = {answer: {"schema": schema or {}}}
    made["responses"]["default"] = {
        "description": "what is wrong, and what to do about it",
        "content": {_JSON: {"schema": OBJECT}, "text/html": {}},
    }
    if query:
        made["parameters"] = [{"name": name, "in": "query", "schema": each} for name, each in query.items()]
    if body is not None:
        content = {"type": "object", "properties": body, **({"required": list(required)} if required else {})}
        made["requestBody"] = {"content": {kind: {"schema": content} for kind in kinds}, "required": bool(required)}
    return made


def _texts(prefix: str) -> dict[tuple[str, str], Schema]:
    asked, deepl = ("q", "source", "target"), ("text", "target_lang")
    return {
        ("GET", f"{prefix}/languages"): _call("LibreTranslate: languages and their targets", schema=LIST),
        ("GET", f"{prefix}/frontend/settings"): _call("LibreTranslate: settings of its page", schema=OBJECT),
        ("GET", f"{prefix}/translate"): _call("LibreTranslate: translate", query=_LIBRETRANSLATE, schema=OBJECT),
        ("POST", f"{prefix}/translate"): _call("LibreTranslate: translate", _LIBRETRANSLATE, asked, schema=OBJECT),
        ("POST", f"{prefix}/detect"): _call("LibreTranslate: which language", {"q": TEXTS}, ("q",), schema=LIST),
        ("POST", f"{prefix}/suggest"): _call("LibreTranslate: suggestions, which are not taken", OBJECT),
        ("POST", f"{prefix}/v2/translate"): _call("DeepL: translate texts", _DEEPL, deepl, schema=OBJECT),
        ("GET", f"{prefix}/v2/languages"): _call("DeepL: languages", query={"type": TEXT}, schema=LIST),
        ("POST", f"{prefix}/v2/languages"): _call("DeepL: languages", {"type": TEXT}, schema=LIST),
        ("GET", f"{prefix}/v2/usage"): _call("DeepL: characters so far", schema=OBJECT),
        ("POST", f"{prefix}/v2/usage"): _call("DeepL: characters so far", {}, schema=OBJECT),
    }


def _document(method: str) -> dict[tuple[str, str], Schema]:
    key: Schema = {"document_key": TEXT}
    way: dict[str, Any] = {"query": key} if method == "GET" else {"body": key, "required": ("document_key",)}
    return {
        (method, "/v2/document/{id}"): _call("DeepL: state of a document", **way, schema=OBJECT),
        (method, "/v2/document/{id}/result"): _call("DeepL: a translation", **way, answer="application/octet-stream"),
    }


_BYTES = "application/octet-stream"
_PAIR_QUERY: Schema = {"source_lang": SOURCE, "target_lang": TARGET}
OPERATIONS: dict[tuple[str, str], Schema] = {
    ("GET", "/"): _call("The page", answer="text/html"),
    ("POST", "/"): _call("The page's form of a text", _FORM, kinds=_FORM_KINDS, answer="text/html"),
    ("POST", "/files"): _call("The page's form of files", {**_FORM, "files": FILE}, (), _PARTS, status=303),
    ("POST", "/key"): _call("The page's form of a key", {"key": TEXT}, ("key",), _FORM_KINDS, status=303),
    ("GET", "/jobs/{id}"): _call("A job as a page", answer="text/html"),
    ("POST", "/jobs/{id}/delete"): _call("Delete a job, from its page", {}, kinds=_FORM_KINDS, status=303),
    ("GET", "/static/{name}"): _call("The page's style and scripts", answer="text/css"),
    ("GET", "/openapi.json"): _call("This description", schema=OBJECT),
    ("GET", "/spec"): _call("LibreTranslate: the same", schema=OBJECT),
    ("GET", "/health"): _call("The server answers", schema=OBJECT),
    ("GET", "/ready"): _call("The models answer", schema=OBJECT),
    ("GET", "/metrics"): _call("What Prometheus counts", answer="text/plain"),
    **_texts(""),
    **_texts("/unrelated"),
    **_texts("/s/{session}"),
    ("POST", "/translate_file"): _call(
        "LibreTranslate: translate a file",
        {"file": FILE, "source": SOURCE, "target": TARGET},
        ("file", "source", "target"),
        _PARTS,
        schema=OBJECT,
    ),
    ("GET", "/download_file/{id}/{name}"): _call("LibreTranslate: a translated file", answer=_BYTES),
    ("POST", "/api/translate"): _call("A document, and what its context changed", _DOCUMENT, ("text",), schema=OBJECT),
    ("POST", "/api/jobs"): _call("Send files", _ORDER, ("files",), _PARTS, status=201, schema=OBJECT),
    ("GET", "/api/jobs/{id}"): _call("A job", schema=OBJECT),
    ("DELETE", "/api/jobs/{id}"): _call("Stop a job, and forget its files", status=204),
    ("GET", "/api/jobs/{id}/events"): _call("A job as it goes on", answer="text/event-stream"),
    ("GET", "/api/jobs/{id}/result"): _call("The translation; of several files, a zip", answer=_BYTES),
    ("GET", "/api/jobs/{id}/files/{number}/result"): _call("The translation of a file", answer=_BYTES),
    ("GET", "/api/jobs/{id}/report"): _call("What became of each file", schema=OBJECT),
    ("GET", "/api/jobs/{id}/side-by-side"): _call("Source and translation as a page", answer="text/html"),
    ("POST", "/v2/document"): _call(
        "DeepL: send a document",
        {**{name: _DEEPL[name] for name in ("source_lang", "target_lang", "formality", "glossary_id")}, "file": FILE},
        ("file", "target_lang"),
        _PARTS,
        schema=OBJECT,
    ),
    **_document("GET"),
    **_document("POST"),
    ("GET", "/v2/glossary-language-pairs"): _call("DeepL: pairs that glossaries are for", schema=OBJECT),
    ("GET", "/v2/glossaries"): _call("DeepL: glossaries", schema=OBJECT),
    ("POST", "/v2/glossaries"): _call(
        "DeepL: a new glossary",
        {"name": TEXT, **_DICTIONARY},
        ("name", "source_lang", "target_lang", "entries"),
        status=201,
        schema=OBJECT,
    ),
    ("GET", "/v2/glossaries/{id}"): _call("DeepL: a glossary", schema=OBJECT),
    ("DELETE", "/v2/glossaries/{id}"): _call("DeepL: delete a glossary", status=204),
    ("GET", "/v2/glossaries/{id}/entries"): _call("DeepL: its entries", answer="text/tab-separated-values"),
    ("GET", "/v3/glossaries"): _call("DeepL: glossaries of several pairs", schema=OBJECT),
    ("POST", "/v3/glossaries"): _call(
        "DeepL: a new one",
        {"name": TEXT, "dictionaries": _DICTIONARIES},
        ("name", "dictionaries"),
        (_JSON,),
        status=201,
        schema=OBJECT,
    ),
    ("GET", "/v3/glossaries/{id}"): _call("DeepL: one of them", schema=OBJECT),
    ("PATCH", "/v3/glossaries/{id}"): _call(
        "DeepL: another name, more entries", {"name": TEXT, "dictionaries": _DICTIONARIES}, (), (_JSON,), schema=OBJECT
    ),
    ("DELETE", "/v3/glossaries/{id}"): _call("DeepL: delete one of them", status=204),
    ("GET", "/v3/glossaries/{id}/entries"): _call("DeepL: entries of a pair", query=_PAIR_QUERY, schema=OBJECT),
    ("PUT", "/v3/glossaries/{id}/dictionaries"): _call(
        "DeepL: other entries for a pair",
        _DICTIONARY,
        ("source_lang", "target_lang", "entries"),
        (_JSON,),
        schema=OBJECT,
    ),
    ("DELETE", "/v3/glossaries/{id}/dictionaries"): _call("DeepL: a pair less", query=_PAIR_QUERY, status=204),
    ("POST", "/v2/write/rephrase"): _call("DeepL: refused", OBJECT),
    ("POST", "/v2/write/correct"): _call("DeepL: refused", OBJECT),
    ("GET", "/v3/style_rules"): _call("DeepL: refused"),
    ("GET", "/v3/translation_memories"): _call("DeepL: refused"),
}


@cache
def description() -> Schema:
    paths: dict[str, Schema] = {}
    for (method, path), call in OPERATIONS.items():
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        in_path = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
        described = {**call, "parameters": [*in_path, *call.get("parameters", [])]}
        described["operationId"] = f"{method} {path}"
        paths.setdefault(path, {})[method.lower()] = described
    return {
        "openapi": "3.0.3",
        "info": {"title": "docflat", "version": __version__, "description": "Translation that reads the context"},
        "paths": paths,
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"key": []}],
    }


async def show(request: Request) -> Response:
    return JSONResponse({**description(), "servers": [{"url": request.scope.get("root_path", "") or "/"}]})
