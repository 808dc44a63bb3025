"""What every request passes: checks of the name it was sent to, its origin, its size and pace; headers of its answer.

Plain ASGI. An error that nobody foresaw ends here: it is logged by its place in the code, without a client's text.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docflat.service.metrics import Metrics
from docflat.service.problems import Problem, answer
from docflat.service.settings import Settings

log = logging.getLogger("docflat.service")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Docflat-Unrelated",
    "Access-Control-Max-Age": "600",
}
_CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_UPLOADS = ("/api/jobs", "/translate_file", "/v2/document", "/files")
_MOST_BODY = 4 << 20  # bytes of a request without files


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics, routes: Mapping[Any, str]) -> None:
        """routes: the path of each endpoint, as the table has it."""
        self.app, self.settings, self.metrics, self.routes = app, settings, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        http = HTTPConnection(scope)
        started = time.monotonic()
        status = 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                names = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *self._cross_origin(http),
                    *((k.encode(), v.encode()) for k, v in HEADERS.items() if k.lower().encode() not in names),
                ]
            # A client that reads nothing must not keep the answer, and its connection, for ever.
            await asyncio.wait_for(send(message), self.settings.client_seconds)

        try:
            self._check_host(http)
            self._check_origin(http)
            if http.scope["method"] == "OPTIONS" and self._cross_origin(http):
                await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, send_guarded)
                return
            await self.app(scope, self._limited(http, receive), send_guarded)
        except Problem as problem:
            if not status:
                await answer(problem, http)(scope, receive, send_guarded)
        except asyncio.TimeoutError:
            log.info("a client read its answer too slowly")
            raise ConnectionResetError("the client reads too slowly") from None
        except Exception as error:
            log.error("fault in %s %s: %s", http.scope["method"], self._route(scope), _describe(error))
            if not status:
                await answer(Problem(500, "fault"), http)(scope, receive, send_guarded)
        finally:
            route = self._route(scope)
            self.metrics.requests.labels(_method(scope), route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.monotonic() - started)

    def _route(self, scope: Scope) -> str:
        """The path as the table has it: what a client wrote would be a label for each client."""
        return self.routes.get(scope.get("endpoint"), "other")

    def _check_host(self, http: HTTPConnection) -> None:
        """A page elsewhere can let its own name point here: then a browser would take us for a part of that page.

        It cannot do so with an address, as that is no name.
        """
        named = http.headers.get("host", "")
        host = _hostname(named)
        known = {"localhost", self.settings.host.lower(), *(name.lower() for name in self.settings.allowed_hosts)}
        if not named:
            raise Problem(400, "no_host")
        if host not in known and not _is_address(host):
            raise Problem(421, "host", host=(host or named)[:100])

    def _check_origin(self, http: HTTPConnection) -> None:
        """A form on a page elsewhere may not make jobs here."""
        origin = http.headers.get("origin", "")
        scheme, _, name = origin.lower().partition("://")
        if http.scope["method"] not in _CHANGES or scheme not in ("http", "https"):
            return
        if name != http.headers.get("host", "").lower() and origin not in self.settings.origins:
            raise Problem(403, "origin")

    def _cross_origin(self, http: HTTPConnection) -> list[tuple[bytes, bytes]]:
        """Headers for pages of those sites that may use the API: no cookies, so a page must have a key of its own."""
        origin = http.headers.get("origin", "")
        if origin not in self.settings.origins:
            return []
        return [(b"Access-Control-Allow-Origin", origin.encode()), (b"Vary", b"Origin")]

    def _limited(self, http: HTTPConnection, receive: Receive) -> Receive:
        """Counts bytes as they come, and does not wait for ever for the next."""
        path = http.url.path
        uploads = any(part in path for part in _UPLOADS)
        most = self.settings.most_upload * (self.settings.most_files if "/api/jobs" in path or "/files" in path else 1)
        most = most + _MOST_BODY if uploads else _MOST_BODY
        declared = http.headers.get("content-length", "0")
        too_large = Problem(413, "too_large", most=most >> 20)
        if declared.isdecimal() and int(declared) > most:
            raise too_large
        read = 0
        more = True
        deadline = time.monotonic() + 10 * self.settings.client_seconds

        async def receive_limited() -> Message:
            nonlocal read, more
            if not more:  # what comes now is that the client leaves
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), self.settings.client_seconds)
            except asyncio.TimeoutError:
                raise Problem(408, "too_slow") from None
            read += len(message.get("body", b""))
            more = bool(message.get("more_body", False))
            if read > most:
                raise too_large
            if more and not uploads and time.monotonic() > deadline:  # a byte now and then is too slow as well
                raise Problem(408, "too_slow")
            return message

        return receive_limited


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in ("GET", "HEAD", "OPTIONS", *_CHANGES) else "other"


def _hostname(host: str) -> str:
    if "@" in host or "/" in host:
        return ""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:  # [::1, without its end
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _describe(error: BaseException) -> str:
    """The kind of an error and its places in the code; its words may have a client's text in them."""
    places, trace = [], error.__traceback__
    while trace is not None:
        places.append(f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__} at {' > '.join(places[-6:])}"
