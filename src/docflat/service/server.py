"""The web process: its socket, its connections, from start to end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from docflat.service.app import make_app
from docflat.service.service import Service
from docflat.service.settings import Settings
from docflat.support.atomic import alone
from docflat.support.errors import InputError

log = logging.getLogger("docflat.service")

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"
    b'Content-Length: 43\r\nConnection: close\r\n\r\n{"error":"The server has no connection free"}'
)


_NO_HTTP = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
    b'Content-Length: 34\r\nConnection: close\r\n\r\n{"error":"The request is no HTTP"}'
)


def connections_of(settings: Settings) -> type[H11Protocol]:
    """Connections that are counted, and closed when they bring no request in time."""

    class Connection(H11Protocol):
        refused = False
        waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            if len(self.connections) >= settings.most_connections:
                self.refused = True
                transport.write(_FULL)
                transport.close()
                return
            super().connection_made(transport)
            self.waiting = self.loop.call_later(settings.client_seconds, self.close_if_silent)

        def close_if_silent(self) -> None:
            """No whole head of a request has come."""
            cycle = cast("object | None", self.cycle)
            if cycle is None and not self.transport.is_closing():
                self.transport.close()

        def send_400_response(self, msg: str) -> None:
            """What is no HTTP: uvicorn's own words are no JSON."""
            self.transport.write(_NO_HTTP)
            self.transport.close()

        def data_received(self, data: bytes) -> None:
            if not self.refused:
                super().data_received(data)

        def connection_lost(self, exc: Exception | None) -> None:
            if self.waiting is not None:
                self.waiting.cancel()
            if not self.refused:
                super().connection_lost(exc)

    return Connection


def listen(settings: Settings) -> socket.socket:
    """The socket: taken before the models are loaded, so that a port in use is told at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        raise InputError(f"cannot listen on {settings.host}:{settings.port}: {reason}; --port takes another") from None
    return listening


def url_of(settings: Settings, taken: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{taken.getsockname()[1]}{settings.root_path}"


def raise_file_limit() -> None:
    """Each connection is a file; systems start with few and allow more."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 65_536)), hard))


def make_server(service: Service) -> uvicorn.Server:
    settings = service.settings

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            service.jobs.close()  # or streams of events would hold it up
            await super().shutdown(sockets)

    config = uvicorn.Config(
        make_app(service),
        http=cast(Any, connections_of(settings)),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.proxy,
        forwarded_allow_ips="*" if settings.proxy else None,
        root_path=settings.root_path,
        timeout_graceful_shutdown=10,
        timeout_keep_alive=75,  # longer than clients keep one: we must not close it while a request is on its way
        backlog=2048,
    )
    return Server(config)


async def run(settings: Settings, taken: socket.socket, on_start: Any = lambda: None) -> None:
    """Serve until the process is told to end. on_start: called when the models are loaded."""
    with alone(settings.folder, "docflat serve", instead="another folder with --data"):
        service = Service(settings)
        raise_file_limit()
        await service.start()
        try:
            on_start()
            await make_server(service).serve(sockets=[taken])
        finally:
            await service.stop()
