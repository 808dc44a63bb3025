"""DeepL's API for texts and languages. A list of texts is one document: each is read with the others around it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat.service.bodies import Parameters, parameters_of
from docflat.service.languages import base, name_of
from docflat.service.libretranslate import is_unrelated, service_of
from docflat.service.problems import Problem
from docflat.service.settings import Settings
from docflat.service.texts import TextRequest

_MOST_TEXTS = 50
_SPLITS = {"0": "none", "1": "sentences", "nonewlines": "nonewlines"}
_XML = ("outline_detection", "splitting_tags", "non_splitting_tags", "ignore_tags")


async def translate(request: Request) -> Response:
    service, parameters = service_of(request), await parameters_of(request)
    texts = parameters.texts("text")
    if len(texts) > _MOST_TEXTS:
        raise Problem(400, "too_many_texts", count=len(texts), most=_MOST_TEXTS)
    _refuse_unsupported(parameters)
    tags = parameters.choice("tag_handling", ("", "html", "xml"), "")
    split = _SPLITS[
        parameters.choice("split_sentences", tuple(_SPLITS), "nonewlines" if tags == "html" else "1")
        if not isinstance(parameters.values.get("split_sentences"), bool | int)
        else str(int(parameters.values["split_sentences"]))
    ]
    parameters.flag("preserve_formatting", False)  # what it asks for is what always happens
    source, target = parameters.text("source_lang", ""), parameters.text("target_lang")
    model, found = await service.choose(source, target, texts)
    translated, language = texts, base(target)
    if model is not None:
        unrelated = is_unrelated(request, parameters)
        context = parameters.text("context", "")
        asked = TextRequest(
            model,
            tuple(texts),
            tags or "text",
            split,
            (context,) if context.strip() and not unrelated else (),
            context_used=not unrelated,
        )
        translated, language = (await service.translate(request, asked))["texts"], model.source
    language = found.language if found is not None else language
    billed = parameters.flag("show_billed_characters", False)
    return JSONResponse(
        {
            "translations": [
                {
                    "detected_source_language": language.upper(),
                    "text": text,
                    **({"billed_characters": len(given)} if billed else {}),
                }
                for given, text in zip(texts, translated, strict=True)
            ]
        }
    )


def _refuse_unsupported(parameters: Parameters) -> None:
    """What would change a translation and is not there is refused: silence would be taken for a yes."""
    if (formality := parameters.text("formality", "default")) not in ("default", "prefer_more", "prefer_less"):
        raise Problem(400, "unsupported", name=f"formality={formality}", hint="; leave it out, or use prefer_more")
    for name in ("style_id", "custom_instructions", "translation_memory_id", "tag_handling_version"):
        if name in parameters and parameters.values[name] not in ("", []):
            raise Problem(400, "unsupported", name=name, hint="")


def languages_of(settings: Settings, kind: str) -> list[dict[str, object]]:
    if kind == "source":
        return [{"language": code.upper(), "name": name_of(code)} for code in settings.sources]
    return [
        {"language": code.upper(), "name": name_of(code), "supports_formality": False} for code in settings.targets()
    ]


async def languages(request: Request) -> Response:
    parameters = await parameters_of(request)
    kind = parameters.choice("type", ("source", "target"), "source")
    return JSONResponse(languages_of(service_of(request).settings, kind))
