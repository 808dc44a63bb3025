"""The table of routes, and the application that it makes."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from docflat.service import (
    deepl,
    deepl_documents,
    deepl_glossaries,
    documents_api,
    jobs_api,
    libretranslate,
    libretranslate_files,
    openapi,
    operations,
    page,
)
from docflat.service.bodies import parameters_of
from docflat.service.guard import Guard
from docflat.service.problems import Problem, answer
from docflat.service.service import ClientGone, Service

log = logging.getLogger("docflat.service")

Handler = Callable[[Request], Awaitable[Response]]

_CLIENT_GONE = 499  # what nginx has for it; nobody reads it but the metrics


@dataclass(frozen=True)
class Entry:
    """One line of the table."""

    method: str
    path: str
    handler: Handler
    open: bool = False  # whether it answers without a key where keys are asked for


# Calls of clients that can be told nothing but a server's address: under /unrelated no text is another's context, under
# /s/NAME what was translated before under this name is.
_TEXTS: tuple[Entry, ...] = (
    Entry("GET", "/languages", libretranslate.languages, open=True),
    Entry("GET", "/frontend/settings", libretranslate.frontend_settings, open=True),
    Entry("GET", "/translate", libretranslate.translate),
    Entry("POST", "/translate", libretranslate.translate),
    Entry("POST", "/detect", libretranslate.detect),
    Entry("POST", "/suggest", libretranslate.suggest, open=True),
    Entry("POST", "/v2/translate", deepl.translate),
    Entry("GET", "/v2/languages", deepl.languages),
    Entry("POST", "/v2/languages", deepl.languages),
    Entry("GET", "/v2/usage", deepl.usage),
    Entry("POST", "/v2/usage", deepl.usage),
)

TABLE: tuple[Entry, ...] = (
    Entry("GET", "/", page.show, open=True),
    Entry("POST", "/", page.translate),
    Entry("POST", "/files", page.send_files),
    Entry("POST", "/key", page.set_key, open=True),
    Entry("GET", "/jobs/{id}", page.show_job),
    Entry("POST", "/jobs/{id}/delete", page.delete_job),
    Entry("GET", "/static/{name}", page.static, open=True),
    Entry("GET", "/openapi.json", openapi.show, open=True),
    Entry("GET", "/spec", openapi.show, open=True),  # where LibreTranslate has its own
    Entry("GET", "/health", operations.health, open=True),
    Entry("GET", "/ready", operations.ready, open=True),
    Entry("GET", "/metrics", operations.metrics, open=True),
    *_TEXTS,
    *(replace(entry, path=f"/unrelated{entry.path}") for entry in _TEXTS),
    *(replace(entry, path=f"/s/{{session}}{entry.path}") for entry in _TEXTS),
    Entry("POST", "/translate_file", libretranslate_files.translate_file),
    Entry("GET", "/download_file/{id}/{name}", libretranslate_files.download_file, open=True),
    Entry("POST", "/api/translate", documents_api.translate),
    Entry("POST", "/api/jobs", jobs_api.create),
    Entry("GET", "/api/jobs/{id}", jobs_api.show),
    Entry("DELETE", "/api/jobs/{id}", jobs_api.delete),
    Entry("GET", "/api/jobs/{id}/events", jobs_api.events),
    Entry("GET", "/api/jobs/{id}/result", jobs_api.result),
    Entry("GET", "/api/jobs/{id}/files/{number}/result", jobs_api.result),
    Entry("GET", "/api/jobs/{id}/report", jobs_api.report),
    Entry("GET", "/api/jobs/{id}/side-by-side", page.side_by_side),
    Entry("POST", "/v2/document", deepl_documents.upload),
    Entry("GET", "/v2/document/{id}", deepl_documents.status),
    Entry("POST", "/v2/document/{id}", deepl_documents.status),
    Entry("GET", "/v2/document/{id}/result", deepl_documents.result),
    Entry("POST", "/v2/document/{id}/result", deepl_documents.result),
    Entry("GET", "/v2/glossary-language-pairs", deepl_glossaries.pairs),
    Entry("GET", "/v2/glossaries", deepl_glossaries.list_ones),
    Entry("POST", "/v2/glossaries", deepl_glossaries.create_one),
    Entry("GET", "/v2/glossaries/{id}", deepl_glossaries.show_one),
    Entry("DELETE", "/v2/glossaries/{id}", deepl_glossaries.delete),
    Entry("GET", "/v2/glossaries/{id}/entries", deepl_glossaries.entries_of_one),
    Entry("GET", "/v3/glossaries", deepl_glossaries.list_all),
    Entry("POST", "/v3/glossaries", deepl_glossaries.create),
    Entry("GET", "/v3/glossaries/{id}", deepl_glossaries.show),
    Entry("PATCH", "/v3/glossaries/{id}", deepl_glossaries.change),
    Entry("DELETE", "/v3/glossaries/{id}", deepl_glossaries.delete),
    Entry("GET", "/v3/glossaries/{id}/entries", deepl_glossaries.entries),
    Entry("PUT", "/v3/glossaries/{id}/dictionaries", deepl_glossaries.replace_dictionary),
    Entry("DELETE", "/v3/glossaries/{id}/dictionaries", deepl_glossaries.delete_dictionary),
    Entry("POST", "/v2/write/rephrase", deepl.refuse),
    Entry("POST", "/v2/write/correct", deepl.refuse),
    Entry("GET", "/v3/style_rules", deepl.refuse),
    Entry("GET", "/v3/translation_memories", deepl.refuse),
)


def make_app(service: Service) -> ASGIApp:
    async def problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return page.with_problem(request, error) if page.wants_page(request) else answer(error, request)

    async def http_problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            refusal = answer(Problem(405, "method", method=request.method), request)
            refusal.headers.update(error.headers or {})
            return refusal
        return await problem(request, Problem(404, "not_found"))

    async def fault(request: Request, error: Exception) -> Response:
        return answer(Problem(500, "fault"), request)  # and the guard, which gets the error too, logs it

    async def full(request: Request, error: Exception) -> Response:
        log.error("the database cannot be written: %s", error)
        return answer(Problem(507, "disk_full", 60), request)

    async def gone(request: Request, error: Exception) -> Response:
        return Response(status_code=_CLIENT_GONE)

    by_path: dict[str, dict[str, Handler]] = {}
    for entry in TABLE:
        by_path.setdefault(entry.path, {})[entry.method] = _checked(entry, service)
    routes = [Route(path, _by_method(handlers), methods=list(handlers)) for path, handlers in by_path.items()]
    on_error: dict[Any, Any] = {Problem: problem, HTTPException: http_problem, sqlite3.OperationalError: full}
    on_error |= {ClientGone: gone, ClientDisconnect: gone, Exception: fault}
    app = Starlette(routes=routes, exception_handlers=on_error)
    app.state.service = service
    return Guard(app, service.settings, service.metrics, {route.endpoint: route.path for route in routes})


def _by_method(handlers: Mapping[str, Handler]) -> Handler:
    """One route a path: so an answer to another method can say which ones there are."""

    async def endpoint(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return endpoint


def _checked(entry: Entry, service: Service) -> Handler:
    """The handler, for those who may use it and not more often than they may."""

    @wraps(entry.handler)
    async def endpoint(request: Request) -> Response:
        client = request.client.host if request.client else "unknown"
        if not entry.open:
            if service.keys is not None:
                owner = service.keys.owner(await _key(request))
                if owner is None:
                    if wait := service.rates.take(f"address {client}"):
                        raise Problem(429, "rate", wait)
                    raise Problem(401, "key")
                client = f"key {owner}"
            if wait := service.rates.take(client):
                raise Problem(429, "rate", wait)
        request.state.owner = client if client.startswith("key ") else ""
        request.state.unrelated = entry.path.startswith("/unrelated/")
        return await entry.handler(request)

    return endpoint


async def _key(request: Request) -> str:
    """The key, wherever the client of this API puts it."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("bearer", "deepl-auth-key"):
        return key.strip()
    if cookie := request.cookies.get(page.COOKIE):
        return cookie
    parameters = await parameters_of(request)
    for name in ("api_key", "auth_key"):
        if name in parameters:
            return parameters.text(name)
    return ""
