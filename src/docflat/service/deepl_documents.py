"""DeepL's API for documents: jobs of one file, whose `document_key` only their sender knows."""

from __future__ import annotations

import hmac
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat.formats import output_suffix
from docflat.service.bodies import parameters_of
from docflat.service.deepl import glossary_of, refuse_unsupported
from docflat.service.downloads import result_of
from docflat.service.jobs import Job, Order, hash_of, suffix_of
from docflat.service.jobs_api import add_files, model_of
from docflat.service.languages import base
from docflat.service.libretranslate import service_of
from docflat.service.problems import Problem
from docflat.service.wording import say

_STATES = {"queued": "queued", "running": "translating", "done": "done", "failed": "error"}


async def upload(request: Request) -> Response:
    service, parameters = service_of(request), await parameters_of(request)
    refuse_unsupported(parameters)
    source, target = base(parameters.text("source_lang", "")), base(parameters.text("target_lang"))
    model = model_of(service, source, target)
    files = [file for _, file in parameters.files]
    if len(files) != 1:
        raise Problem(400, "no_file")
    name = parameters.text("filename", "") or files[0].filename or ""
    wanted = parameters.text("output_format", "").lower().lstrip(".")
    if wanted and f".{wanted}" != output_suffix(f"x{suffix_of(name)}"):
        raise Problem(
            400,
            "unsupported",
            name=f"output_format={wanted}",
            hint="; a file stays of its kind, but a PDF becomes a docx",
        )
    order = Order(model, request.state.owner, glossary=glossary_of(request, service, parameters, model))
    job, secret = await add_files(service, [(files[0], name)], order)
    return JSONResponse({"document_id": job.id, "document_key": secret})


async def _job(request: Request) -> Job:
    """Whoever has another key is told that there is no such document."""
    parameters = await parameters_of(request)
    job = service_of(request).jobs.get(request.path_params["id"], request.state.owner)
    if not hmac.compare_digest(hash_of(parameters.text("document_key")), job.secret):
        raise Problem(404, "no_job")
    return job


async def status(request: Request) -> Response:
    service, job = service_of(request), await _job(request)
    (file, *_) = job.files
    answer: dict[str, Any] = {"document_id": job.id, "status": _STATES[file.state]}
    if file.state == "running":
        progress = service.jobs.running.get((job.id, file.number))
        left = progress.seconds_left if progress is not None else None
        answer["seconds_remaining"] = round(service.jobs.waiting_seconds if left is None else left)
    elif file.state == "queued":
        answer["seconds_remaining"] = round(service.jobs.waiting_seconds)
    elif file.report is not None:
        answer |= {"seconds_remaining": 0, "billed_characters": file.report["characters"]}
    elif file.fault is not None:
        values = {name: value for name, value in file.fault.items() if name != "code"}
        answer["error_message"] = answer["message"] = say(file.fault["code"], "en", **values)
    return JSONResponse(answer)


async def result(request: Request) -> Response:
    job = await _job(request)
    if job.state in ("queued", "running"):
        raise Problem(503, "job_running", 2)  # what its clients take for "not yet"
    return result_of(service_of(request).jobs.spool, job, 1)
