"""DeepL's API for texts, languages and usage. A list of texts is one document: each is the context of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat.service.bodies import Parameters, parameters_of
from docflat.service.languages import base, name_of
from docflat.service.libretranslate import is_unrelated, service_of
from docflat.service.problems import Problem
from docflat.service.service import Service
from docflat.service.settings import Model, Settings
from docflat.service.texts import TextRequest

NO_LIMIT = 1_000_000_000_000  # characters: clients want a number
_MOST_TEXTS = 50
_MOST_GLOSSARIES = 5
_SPLITS = {"0": "none", "1": "sentences", "nonewlines": "nonewlines"}
_MODELS = ("quality_optimized", "prefer_quality_optimized", "latency_optimized")
_REFUSED = ("style_id", "custom_instructions", "translation_memory_id", "enable_beta_languages")


async def translate(request: Request) -> Response:
    service, parameters = service_of(request), await parameters_of(request)
    texts = parameters.texts("text")
    if len(texts) > _MOST_TEXTS:
        raise Problem(400, "too_many_texts", count=len(texts), most=_MOST_TEXTS)
    refuse_unsupported(parameters)
    tags = parameters.choice("tag_handling", ("", "html", "xml"), "")
    split = _split(parameters, tags)
    parameters.flag("preserve_formatting", False)  # what it asks for is what always happens
    kind = parameters.choice("model_type", _MODELS, _MODELS[0])
    source, target = parameters.text("source_lang", ""), parameters.text("target_lang")
    model, detected = await service.choose(source, target, texts)
    translated, language = texts, base(target)
    if model is not None:
        unrelated = is_unrelated(request, parameters)
        context = parameters.text("context", "")
        asked = TextRequest(
            model,
            tuple(texts),
            tags or "text",
            split,
            () if unrelated else (*service.context_of(request, model), *([context] if context.strip() else [])),
            related=not unrelated,
            glossary=tuple(glossary_of(request, service, parameters, model).items()),
            tags=_tag_rules(parameters),
        )
        if asked.glossary and split == "none":
            raise Problem(400, "unsupported", name="glossary_id", hint=" together with split_sentences=0")
        translated, language = (await service.translate(request, asked))["texts"], model.source
        service.remember(request, model, texts)
    language = detected.language if detected is not None else language
    billed, named = parameters.flag("show_billed_characters", False), "model_type" in parameters
    return JSONResponse(
        {
            "translations": [
                {
                    "detected_source_language": language.upper(),
                    "text": new,
                    **({"billed_characters": len(text)} if billed else {}),
                    **({"model_type_used": kind.removeprefix("prefer_")} if named else {}),
                }
                for text, new in zip(texts, translated, strict=True)
            ]
        }
    )


def _split(parameters: Parameters, tags: str) -> str:
    value = parameters.values.get("split_sentences")
    if isinstance(value, bool | int):
        parameters = Parameters({"split_sentences": str(int(value))})
    return _SPLITS[parameters.choice("split_sentences", tuple(_SPLITS), "nonewlines" if tags == "html" else "1")]


def _tag_rules(parameters: Parameters) -> tuple[tuple[str, Any], ...]:
    """As `TagRules` is told."""

    def names(name: str) -> tuple[str, ...]:
        texts = parameters.texts(name) if name in parameters else []
        return tuple(tag.strip() for text in texts for tag in text.split(",") if tag.strip())

    return (
        ("splitting", names("splitting_tags")),
        ("non_splitting", names("non_splitting_tags")),
        ("ignored", names("ignore_tags")),
        ("outline", parameters.flag("outline_detection", True)),
    )


def glossary_of(request: Request, service: Service, parameters: Parameters, model: Model) -> Mapping[str, str]:
    """Entries of the glossaries that a request names."""
    ids = [parameters.text("glossary_id")] if parameters.values.get("glossary_id") else []
    if parameters.values.get("glossary_ids"):
        if ids:
            raise Problem(400, "unsupported", name="glossary_ids", hint=" together with glossary_id")
        ids = [id.strip() for text in parameters.texts("glossary_ids") for id in text.split(",") if id.strip()]
    if len(ids) > _MOST_GLOSSARIES:
        raise Problem(400, "too_many_texts", count=len(ids), most=_MOST_GLOSSARIES)
    if ids and not parameters.text("source_lang", ""):
        raise Problem(400, "missing", name="source_lang")
    return service.glossaries.entries_of(ids, request.state.owner, (model.source, model.target))


def refuse_unsupported(parameters: Parameters) -> None:
    """What would change a translation and is not there is refused: silence would be taken for a yes."""
    formality = parameters.text("formality", "default") or "default"
    if formality not in ("default", "prefer_more", "prefer_less"):
        raise Problem(400, "unsupported", name=f"formality={formality}", hint="; leave it out, or use prefer_more")
    for name in _REFUSED:
        if parameters.values.get(name) not in (None, "", [], False, "false", "0"):
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


async def usage(request: Request) -> Response:
    """Since the folder of the service is there; there is no limit."""
    characters = service_of(request).usage.of(request.state.owner)
    return JSONResponse({"character_count": characters, "character_limit": NO_LIMIT})


async def refuse(request: Request) -> Response:
    """Calls of DeepL's that no model here can answer."""
    raise Problem(400, "unsupported", name=request.url.path.rpartition("/")[2], hint=" by this server")
