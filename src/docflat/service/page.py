"""The page: a form that works without JavaScript, and its style and script."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from docflat.service.bodies import parameters_of
from docflat.service.libretranslate import service_of
from docflat.service.problems import Problem
from docflat.service.texts import TextRequest
from docflat.service.wording import say

_STATIC = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("docflat.service", "page"), autoescape=select_autoescape(default=True), trim_blocks=True
    )


def language_of(request: Request) -> str:
    """English or German: as the address says, or as the browser prefers."""
    if (chosen := request.query_params.get("lang")) in ("en", "de"):
        return str(chosen)
    for part in request.headers.get("accept-language", "").lower().split(","):
        if part.strip()[:2] in ("en", "de"):
            return part.strip()[:2]
    return "en"


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    language = language_of(request)
    page = _templates().get_template(template)
    return HTMLResponse(
        page.render(
            language=language,
            say=lambda code, **given: say(code, language, **given),
            root=request.scope.get("root_path", ""),
            **values,
        ),
        status,
    )


async def show(request: Request) -> Response:
    return _index(request)


def _index(request: Request, status: int = 200, **values: Any) -> Response:
    service = service_of(request)
    return render(request, "index.html", status, settings=service.settings, keys=service.keys is not None, **values)


async def translate(request: Request) -> Response:
    """The form of one text, without JavaScript."""
    service = service_of(request)
    text = ""
    try:
        parameters = await parameters_of(request)
        text = parameters.text("text", "")
        pair = parameters.text("pair", service.settings.models[0].name)
        source, _, target = pair.partition("-")
        model, _ = await service.choose(source, target, [text])
        translation = text
        if model is not None:
            asked = TextRequest(model, (text.replace("\r\n", "\n"),), compare=True)
            answer = await service.translate(request, asked)
            translation = answer["texts"][0]
        return _index(request, text=text, translation=translation)
    except Problem as problem:
        found = _index(request, problem.status, text=text, problem=problem.text(language_of(request)))
        found.headers.update(problem.headers)
        return found


async def static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise Problem(404, "not_found")
    content = (resources.files("docflat.service") / "page" / name).read_bytes()
    return Response(content, media_type=_STATIC[name], headers={"Cache-Control": "max-age=300"})
