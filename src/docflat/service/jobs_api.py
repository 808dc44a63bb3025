"""Our own API of jobs: files up, progress, translations, reports and comparisons down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from docflat.service.bodies import Parameters, parameters_of
from docflat.service.downloads import result_of
from docflat.service.entries import read_entries
from docflat.service.jobs import Job, JobFile, Order
from docflat.service.languages import base, find_model
from docflat.service.libretranslate import service_of
from docflat.service.problems import Problem, language_of
from docflat.service.service import Service
from docflat.service.settings import Model
from docflat.service.wording import say

_MOST_WATCHED = 50  # jobs of one stream of events
_HEARTBEAT = 15.0  # seconds: proxies close what is silent for longer
_PAUSE = 0.2  # seconds between events: a quick model finishes many sentences a second, which no eye can follow
_MOST_TERMS = 10_000


def describe(service: Service, job: Job, language: str = "en") -> dict[str, Any]:
    retention = service.settings.retention
    return {
        "id": job.id,
        "state": job.state,
        "source": job.order.model.source,
        "target": job.order.model.target,
        "compare": job.order.compare,
        "created": job.created,
        "ended": job.ended,
        "expires": None if job.ended is None else job.ended + retention,
        "files": [_describe_file(service, job, file, language) for file in job.files],
    }


def _describe_file(service: Service, job: Job, file: JobFile, language: str) -> dict[str, Any]:
    described: dict[str, Any] = {"number": file.number, "name": file.name, "size": file.size, "state": file.state}
    progress = service.jobs.running.get((job.id, file.number))
    if file.report is not None:
        sentences = file.report["sentences"]
        described |= {"done": sentences, "total": sentences, "changed": file.report.get("changed")}
    elif progress is not None and progress.total:
        left = progress.seconds_left
        described |= {"done": progress.done, "total": progress.total}
        described |= {"seconds_left": None if left is None else round(left)}
    if file.fault is not None:
        values = {name: value for name, value in file.fault.items() if name != "code"}
        described |= {"code": file.fault["code"], "error": say(file.fault["code"], language, **values)}
    return described


def job_of(request: Request) -> Job:
    return service_of(request).jobs.get(request.path_params["id"], request.state.owner)


async def read_order(request: Request, parameters: Parameters, model: Model) -> Order:
    return Order(
        model,
        request.state.owner,
        parameters.flag("compare", False),
        read_terms(parameters),
        await read_glossary(parameters),
        tuple(key for text in parameters.texts("keys") for key in text.split(",")) if "keys" in parameters else (),
    )


async def read_glossary(parameters: Parameters) -> Mapping[str, str]:
    """An object, or text of a term, a tab and its translation a line; as a field or as a file."""
    glossary = parameters.values.get("glossary") or {}
    for name, file in parameters.files:
        if name == "glossary":
            try:
                glossary = (await file.read()).decode()
            except UnicodeDecodeError:
                raise Problem(400, "bad_glossary", reason="it is not UTF-8") from None
    return read_entries(glossary)


def read_terms(parameters: Parameters) -> tuple[str, ...]:
    """Names that stay as they are: a list, or one a line."""
    terms = (
        [term.strip() for text in parameters.texts("terms") for term in text.splitlines()]
        if ("terms" in parameters)
        else []
    )
    if len(terms) > _MOST_TERMS:
        raise Problem(400, "too_many_texts", count=len(terms), most=_MOST_TERMS)
    return tuple(term for term in terms if term)


async def add_files(service: Service, files: Sequence[tuple[UploadFile, str]], order: Order) -> tuple[Job, str]:
    """A job of files and their names, and its secret."""
    if not files:
        raise Problem(400, "no_file")
    if len(files) > service.settings.most_files:
        raise Problem(413, "too_many_files", count=len(files), most=service.settings.most_files)
    try:
        return await service.jobs.add(order, [(file.file, name, file.size or 0) for file, name in files])
    finally:
        for file, _ in files:
            await file.close()


def model_of(service: Service, source: str, target: str) -> Model:
    """As named; of a file nobody asks which language it is in."""
    first = service.settings.models[0]
    target = target or first.target
    if source in ("", "auto"):
        source = next((model.source for model in service.settings.models if model.target == base(target)), first.source)
    return find_model(service.settings, source, target)


async def create(request: Request) -> Response:
    service, parameters = service_of(request), await parameters_of(request)
    model = model_of(service, parameters.text("source", ""), parameters.text("target", ""))
    order = await read_order(request, parameters, model)
    # A browser sends a field for files that is empty as a file without name and content.
    files = [(file, file.filename or "") for name, file in parameters.files if name != "glossary"]
    job, _ = await add_files(service, [(file, name) for file, name in files if name or file.size], order)
    location = f"{request.scope.get('root_path', '')}/api/jobs/{job.id}"
    return JSONResponse(describe(service, job, language_of(request)), 201, {"Location": location})


async def show(request: Request) -> Response:
    return JSONResponse(describe(service_of(request), job_of(request), language_of(request)))


async def delete(request: Request) -> Response:
    await service_of(request).jobs.delete(job_of(request))
    return Response(status_code=204)


async def result(request: Request) -> Response:
    jobs, job = service_of(request).jobs, job_of(request)
    text = request.path_params.get("number")
    if text is not None and not (text.isascii() and text.isdecimal() and len(text) < 5):
        raise Problem(404, "no_job")
    return await asyncio.to_thread(result_of, jobs.spool, job, None if text is None else int(text))


async def report(request: Request) -> Response:
    """What became of each file, as `docflat translate` says it: sentences, what was kept, numbers that differ."""
    job = job_of(request)
    files = [
        {"number": file.number, "name": file.name, "state": file.state, "report": file.report} for file in job.files
    ]
    return JSONResponse({"id": job.id, "state": job.state, "files": files})


def _describe_if_there(service: Service, id: str, owner: str, language: str) -> dict[str, Any]:
    try:
        return describe(service, service.jobs.get(id, owner), language)
    except Problem as problem:
        return {"id": id, "state": "gone", "ended": 0.0, "error": problem.text(language), "files": []}


async def events(request: Request) -> Response:
    """Server-sent events: a job as it is now, and again whenever something about it changes, until it has ended.

    Several jobs with commas between them: browsers open six connections to a server at most.
    """
    service, language = service_of(request), language_of(request)
    ids = list(dict.fromkeys(request.path_params["id"].split(",")))
    if len(ids) > _MOST_WATCHED:
        raise Problem(400, "too_many_texts", count=len(ids), most=_MOST_WATCHED)
    if len(ids) == 1:
        job_of(request)
    owner = request.state.owner

    async def stream() -> AsyncIterator[str]:
        sent: dict[str, str] = {}
        yield "retry: 2000\n\n"
        with service.jobs.watch(ids) as changed:
            while not service.jobs.closed:
                changed.clear()
                described = [_describe_if_there(service, id, owner, language) for id in ids]
                for one in described:
                    data = json.dumps(one)
                    if sent.get(one["id"]) != data:
                        sent[one["id"]] = data
                        yield f"data: {data}\n\n"
                if all(one["ended"] is not None for one in described):
                    yield "event: end\ndata: {}\n\n"
                    return
                try:
                    await asyncio.wait_for(changed.wait(), _HEARTBEAT)
                    await asyncio.sleep(_PAUSE)
                except asyncio.TimeoutError:
                    yield ": still here\n\n"

    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(stream(), media_type="text/event-stream", headers=headers)
