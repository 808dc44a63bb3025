"""Files on their way to clients: always as downloads, never as pages of ours."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

from starlette.responses import FileResponse, Response

from docflat.formats import output_suffix
from docflat.service.jobs import Job, JobFile
from docflat.service.problems import Problem
from docflat.service.spool import Spool

# An SVG or HTML file of a client must not run as if it were a page of this server.
HEADERS = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]|^\.+')


def result_name(job: Job, file: JobFile) -> str:
    """report.docx -> report.de.docx"""
    name = file.name.replace("\\", "/").rpartition("/")[2].strip()
    end = len(name) - len(file.suffix)  # which the name has, in small letters or capitals
    stem = _NOT_IN_NAMES.sub("_", name[:end]) or "document"
    return f"{stem}.{job.order.model.target}{output_suffix(stem + name[end:])}"


def attachment(path: Path, name: str) -> Response:
    try:
        stat = os.stat(path)
    except OSError:
        raise Problem(404, "no_job") from None
    return FileResponse(path, headers=HEADERS, media_type="application/octet-stream", filename=name, stat_result=stat)


def result_of(spool: Spool, job: Job, number: int | None) -> Response:
    """The translation of a file; of a job with several that is named no number, all that there are in a zip."""
    files = [file for file in job.files if number in (None, file.number)]
    if not files:
        raise Problem(404, "no_job")
    if len(files) == 1:
        (file,) = files
        if file.state == "failed":
            raise Problem(409, "job_failed", name=file.name)
        if file.state != "done":
            raise Problem(409, "job_running", 2)
        return attachment(spool.result(job.id, file.number, file.suffix), result_name(job, file))
    if job.ended is None:
        raise Problem(409, "job_running", 2)
    done = [file for file in files if file.state == "done"]
    if not done:
        raise Problem(409, "job_failed", name=files[0].name)
    path = spool.of(job.id) / "all.zip"
    if not path.exists():
        _write_zip(path, spool, job, done)
    return attachment(path, f"translations.{job.order.model.target}.zip")


def _write_zip(path: Path, spool: Spool, job: Job, files: list[JobFile]) -> None:
    partial = path.with_name("all.zip.partial")
    names: set[str] = set()
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            name = result_name(job, file)
            name = name if name not in names else f"{file.number}-{name}"
            names.add(name)
            archive.write(spool.result(job.id, file.number, file.suffix), name)
    partial.replace(path)
