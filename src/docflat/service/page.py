"""The page: a form that works without JavaScript, and what its script and style need."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docflat.formats import FORMATS
from docflat.service.bodies import Parameters, parameters_of
from docflat.service.jobs import Job
from docflat.service.jobs_api import add_files, describe, job_of, read_glossary, read_order, read_terms
from docflat.service.languages import find_model, name_of
from docflat.service.libretranslate import service_of
from docflat.service.problems import Problem, language_of
from docflat.service.settings import Model
from docflat.service.texts import TextRequest
from docflat.service.wording import WORDING, say

_STATIC = {
    "style.css": "text/css",
    "page.js": "text/javascript",
    "jobs.js": "text/javascript",
    "glossary.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_MOST_SHOWN = 20_000  # sentences of a file side by side; a browser is slow at more
COOKIE = "docflat-key"


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("docflat.service", "page"),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    language = language_of(request)
    page = _templates().get_template(template)
    return HTMLResponse(
        page.render(
            language=language,
            say=lambda code, **parts: say(code, language, **parts),
            root=request.scope.get("root_path", ""),
            **values,
        ),
        status,
        headers={"Vary": "Accept-Language, Cookie"},
    )


async def show(request: Request) -> Response:
    return _index(request)


def _index(request: Request, status: int = 200, **values: Any) -> Response:
    service = service_of(request)
    known = service.keys is None or service.keys.owner(request.cookies.get(COOKIE, "")) is not None
    language = language_of(request)
    words = {code[5:]: WORDING[code][language == "de"] for code in WORDING if code.startswith("page_")}
    models = service.settings.models
    pairs = [(model.name, name_of(model.source, language), name_of(model.target, language)) for model in models]
    fields: dict[str, Any] = {"text": "", "glossary": "", "terms": "", "compare": True, "pair": pairs[0][0], **values}
    return render(
        request,
        "index.html",
        status,
        settings=service.settings,
        known=known,
        pairs=pairs,
        kinds=" ".join(FORMATS),
        words=words,
        **fields,
    )


def _model_of(request: Request, parameters: Parameters) -> Model:
    settings = service_of(request).settings
    source, _, target = parameters.text("pair", settings.models[0].name).partition("-")
    return find_model(settings, source, target)


async def translate(request: Request) -> Response:
    """The form of one text, without JavaScript."""
    service = service_of(request)
    filled: dict[str, Any] = {}
    try:
        parameters = await parameters_of(request)
        filled = {name: parameters.text(name, "") for name in ("text", "glossary", "terms")}
        filled["compare"] = parameters.flag("compare", False)
        model = _model_of(request, parameters)
        filled["pair"] = model.name
        asked = TextRequest(
            model,
            (filled["text"].replace("\r\n", "\n"),),
            terms=read_terms(parameters),
            glossary=tuple((await read_glossary(parameters)).items()),
            compare=filled["compare"],
        )
        answer = await service.translate(request, asked)
        parts = answer.get("parts") or [[answer["texts"][0], None]]
        return _index(request, parts=parts, changed=answer.get("changed", 0), **filled)
    except Problem as problem:
        return with_problem(request, problem, **filled)


def wants_page(request: Request) -> bool:
    """Whether a person reads the answer: browsers ask so for what they show, and scripts of theirs do not."""
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


def with_problem(request: Request, problem: Problem, **values: Any) -> Response:
    answer = _index(request, problem.status, problem=problem.text(language_of(request)), **values)
    answer.headers.update(problem.headers)
    return answer


async def send_files(request: Request) -> Response:
    """The form of files, without JavaScript: a job, and a page that follows it."""
    service = service_of(request)
    try:
        parameters = await parameters_of(request)
        files = [(file, file.filename or "") for name, file in parameters.files if file.filename or file.size]
        order = await read_order(request, parameters, _model_of(request, parameters))
        job, _ = await add_files(service, files, order)
    except Problem as problem:
        return with_problem(request, problem)
    return RedirectResponse(_address(request, job), 303)


def _address(request: Request, job: Job) -> str:
    return f"{request.scope.get('root_path', '')}/jobs/{job.id}?lang={language_of(request)}"


async def show_job(request: Request) -> Response:
    service = service_of(request)
    try:
        job = job_of(request)
    except Problem as problem:
        return with_problem(request, problem)
    return render(request, "job.html", job=describe(service, job, language_of(request)))


async def delete_job(request: Request) -> Response:
    try:
        await service_of(request).jobs.delete(job_of(request))
    except Problem as problem:
        return with_problem(request, problem)
    return RedirectResponse(f"{request.scope.get('root_path', '')}/?lang={language_of(request)}", 303)


async def side_by_side(request: Request) -> Response:
    """Sentences and translations beside each other; what context changed is marked."""
    service, job = service_of(request), job_of(request)
    if not job.order.compare:
        raise Problem(409, "no_comparison")
    if job.ended is None:
        raise Problem(409, "job_running", 2)
    files = []
    for file in job.files:
        if file.state == "done":
            try:
                rows = json.loads(service.jobs.spool.sentences(job.id, file.number).read_bytes())
            except OSError:  # deleted since
                raise Problem(404, "no_job") from None
            changed = (file.report or {}).get("changed", 0)
            files.append({"name": file.name, "rows": rows[:_MOST_SHOWN], "changed": changed, "total": len(rows)})
    return render(request, "side_by_side.html", files=files, job=job)


async def set_key(request: Request) -> Response:
    """The key of whoever uses the page, as a cookie that only this server gets."""
    parameters = await parameters_of(request)
    service = service_of(request)
    key = parameters.text("key", "").strip()
    if service.keys is None or service.keys.owner(key) is None:
        return with_problem(request, Problem(401, "key"))
    answer = RedirectResponse(f"{request.scope.get('root_path', '')}/?lang={language_of(request)}", 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, key, max_age=31_536_000, httponly=True, samesite="strict", secure=secure)
    return answer


async def static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise Problem(404, "not_found")
    content = (resources.files("docflat.service") / "page" / name).read_bytes()
    return Response(content, media_type=_STATIC[name], headers={"Cache-Control": "max-age=300"})
