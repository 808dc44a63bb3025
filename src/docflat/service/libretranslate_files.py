"""LibreTranslate's API for files: an answer when the file is translated, by way of a job that anybody may look at."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat.service.bodies import parameters_of
from docflat.service.downloads import result_name, result_of
from docflat.service.jobs import Order
from docflat.service.jobs_api import add_files, model_of
from docflat.service.libretranslate import service_of
from docflat.service.problems import Problem
from docflat.service.service import ClientGone, while_connected


async def translate_file(request: Request) -> Response:
    service, parameters = service_of(request), await parameters_of(request)
    model = model_of(service, parameters.text("source"), parameters.text("target"))
    files = [(file, file.filename or "") for _, file in parameters.files[:1]]
    job, _ = await add_files(service, files, Order(model, request.state.owner))
    try:
        job = await while_connected(request, service.jobs.wait(job))
    except ClientGone:
        await service.jobs.delete(job)
        raise
    (file,) = job.files
    if file.fault is not None:
        values = {name: value for name, value in file.fault.items() if name != "code"}
        raise Problem(400 if file.fault["code"] == "text_refused" else 503, **values, code=file.fault["code"])
    root = f"{request.url.scheme}://{request.headers['host']}{request.scope.get('root_path', '')}"
    name = quote(result_name(job, file), safe="")
    return JSONResponse({"translatedFileUrl": f"{root}/download_file/{job.id}/{name}"})


async def download_file(request: Request) -> Response:
    """Whoever has the address may have the file: browsers send no key when they follow a link."""
    service = service_of(request)
    return result_of(service.jobs.spool, service.jobs.get(request.path_params["id"], None), 1)
