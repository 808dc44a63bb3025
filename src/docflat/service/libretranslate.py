"""LibreTranslate's API, key by key."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat.formats import FORMATS
from docflat.service.bodies import Parameters, parameters_of
from docflat.service.languages import name_of
from docflat.service.problems import Problem
from docflat.service.service import Detected, Service
from docflat.service.texts import TextRequest

_MOST_ALTERNATIVES = 10


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def languages(request: Request) -> Response:
    settings = service_of(request).settings
    codes = dict.fromkeys([*settings.sources, *settings.targets()])
    # A language is its own target too, as there: a text that is in it already comes back as it is.
    return JSONResponse(
        [{"code": code, "name": name_of(code), "targets": [*settings.targets(code), code]} for code in codes]
    )


async def frontend_settings(request: Request) -> Response:
    service = service_of(request)
    first = service.settings.models[0]
    return JSONResponse(
        {
            "apiKeys": service.keys is not None,
            "keyRequired": service.keys is not None,
            "charLimit": service.settings.most_characters,
            "filesTranslation": True,
            "frontendTimeout": 500,
            "language": {
                "source": {"code": "auto", "name": "Auto Detect"},
                "target": {"code": first.target, "name": name_of(first.target)},
            },
            "suggestions": False,
            "supportedFilesFormat": list(FORMATS),
        }
    )


def is_unrelated(request: Request, parameters: Parameters) -> bool:
    """Whether the texts have nothing to do with each other: each is then a document of its own.

    For clients that can be told a parameter, a header, or nothing but the address of the server.
    """
    if request.state.unrelated:  # by the address
        return True
    if header := request.headers.get("x-docflat-unrelated"):
        return header.strip().lower() not in ("0", "false", "off")
    return parameters.flag("unrelated", False)


def _detected(detected: Detected) -> dict[str, object]:
    return {"language": detected.language, "confidence": round(100 * detected.confidence, 1)}


async def translate(request: Request) -> Response:
    service, parameters = service_of(request), await parameters_of(request)
    texts = parameters.texts("q")
    if not texts:
        raise Problem(400, "missing", name="q")
    if not request.headers.get("content-type", "").lower().startswith("application/json"):
        texts = [text.replace("\r\n", "\n") for text in texts]  # as forms send lines
    source, target = parameters.text("source"), parameters.text("target")
    format_ = parameters.choice("format", ("text", "html"), "text")
    alternatives = parameters.number("alternatives", 0, _MOST_ALTERNATIVES)
    listed = isinstance(parameters.values["q"], list)
    model, detected = await service.choose(source, target, texts)
    others: list[list[str]] = [[] for _ in texts]
    translated = texts
    if model is not None:
        unrelated = is_unrelated(request, parameters)
        context = () if unrelated else service.context_of(request, model)
        asked = TextRequest(model, tuple(texts), format_, context=context, related=not unrelated)
        translated = (await service.translate(request, asked))["texts"]
        service.remember(request, model, texts)
        if alternatives and not unrelated:
            # What can be offered beside it is how each text reads without its context, where that differs.
            alone = await service.translate(request, TextRequest(model, tuple(texts), format_, context_used=False))
            others = [
                [text] if text != original else [] for text, original in zip(alone["texts"], translated, strict=True)
            ]
    answer: dict[str, object] = {"translatedText": translated if listed else translated[0]}
    if detected is not None:
        answer["detectedLanguage"] = [_detected(detected) for _ in texts] if listed else _detected(detected)
    if alternatives:
        answer["alternatives"] = others if listed else others[0]
    return JSONResponse(answer)


async def detect(request: Request) -> Response:
    parameters = await parameters_of(request)
    ranked = await service_of(request).detect(parameters.texts("q"))
    return JSONResponse(
        [{"confidence": round(100 * sure, 1), "language": code} for code, sure in ranked[:3] if sure >= 0.05]
        or [{"confidence": 0.0, "language": ranked[0][0]}]
    )


async def suggest(request: Request) -> Response:
    raise Problem(403, "suggest_off")
