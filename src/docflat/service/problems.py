"""What can be wrong with a request, and what the client is told: in its API's own form, with what to do about it."""

from __future__ import annotations

import math
import re
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from docflat.service.wording import say

_DEEPL = re.compile(r"(?:/unrelated|/s/[^/]+)?/v[23]/")


class Problem(Exception):
    """Bad input, or a limit that was met. `code` is an entry of the wording."""

    def __init__(self, status: int, code: str, retry_after: float | None = None, **values: Any) -> None:
        self.status, self.code, self.values = status, code, values
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))
        super().__init__(code)

    def text(self, language: str = "en") -> str:
        return say(self.code, language, **self.values)

    @property
    def headers(self) -> dict[str, str]:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return headers


def language_of(request: HTTPConnection) -> str:
    """English or German: as the address says, or as the browser prefers."""
    if (chosen := request.query_params.get("lang")) in ("en", "de"):
        return str(chosen)
    for part in request.headers.get("accept-language", "").lower().split(","):
        if part.strip()[:2] in ("en", "de"):
            return part.strip()[:2]
    return "en"


def _as_libretranslate(problem: Problem) -> str:
    """In its words, where it has words for it: programs look for them."""
    if problem.code == "missing":
        return f"Invalid request: missing {problem.values['name']} parameter"
    if problem.code in ("language", "target"):
        return f"{problem.values['unknown']} is not supported"
    return problem.text()


def answer(problem: Problem, request: HTTPConnection) -> JSONResponse:
    """DeepL's clients look for `message`, LibreTranslate's for `error`; ours has a code beside it."""
    path = request.url.path.removeprefix(request.scope.get("root_path", ""))
    if _DEEPL.match(path):
        body = {"message": problem.text()}
        status = 403 if problem.status == 401 else problem.status  # DeepL's own for a key that it does not know
    elif path.startswith("/api/"):
        body = {"error": problem.text(language_of(request)), "code": problem.code}
        status = problem.status
    else:
        body = {"error": _as_libretranslate(problem)}
        if "pairs" in problem.values:  # what a person can do about it
            body["pairs"] = problem.values["pairs"]
        status = 403 if problem.status == 401 else problem.status
    return JSONResponse(body, status, problem.headers)
