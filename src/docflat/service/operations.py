"""For whoever runs the service: is it there, can it translate, and what does it count."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat.service.libretranslate import service_of
from docflat.service.problems import Problem


async def health(request: Request) -> Response:
    """The web process answers. LibreTranslate's words."""
    return JSONResponse({"status": "ok"})


async def ready(request: Request) -> Response:
    """The models answer too. Files are taken while no process for them is there: they wait."""
    service = service_of(request)
    if not service.texts.ready:
        raise Problem(503, "not_ready", 5)
    return JSONResponse({"status": "ready", "documents": service.jobs.ready})


async def metrics(request: Request) -> Response:
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
