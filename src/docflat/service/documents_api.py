"""Our own API of texts: a document, and what each of its sentences reads without its context."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat.service.bodies import parameters_of
from docflat.service.jobs_api import read_glossary, read_terms
from docflat.service.libretranslate import is_unrelated, service_of
from docflat.service.texts import TextRequest


async def translate(request: Request) -> Response:
    service, parameters = service_of(request), await parameters_of(request)
    texts = parameters.texts("text")
    format_ = parameters.choice("format", ("text", "html", "xml"), "text")
    target = parameters.text("target", service.settings.models[0].target)
    model, detected = await service.choose(parameters.text("source", "auto"), target, texts)
    answer: dict[str, Any] = {"texts": texts, "source": target, "target": target, "sentences": [], "changed": 0}
    if model is not None:
        unrelated = is_unrelated(request, parameters)
        context = parameters.texts("context") if "context" in parameters and not unrelated else []
        asked = TextRequest(
            model,
            tuple(texts),
            format_,
            context=tuple(context),
            related=not unrelated,
            terms=read_terms(parameters),
            glossary=tuple((await read_glossary(parameters)).items()),
            compare=parameters.flag("compare", True) and not unrelated,
        )
        result = await service.translate(request, asked)
        answer |= {"texts": result["texts"], "source": model.source, "target": model.target}
        answer |= {"sentences": result.get("rows", []), "changed": result.get("changed", 0)}
        if "parts" in result:
            answer["parts"] = result["parts"]
    if detected is not None:
        answer["detected"] = {"language": detected.language, "confidence": round(detected.confidence, 3)}
    return JSONResponse(answer)
