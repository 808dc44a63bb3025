"""DeepL's APIs of glossaries: v2, of one language pair each, and v3, of several."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from docflat.service.bodies import Parameters, parameters_of
from docflat.service.entries import read_entries, write_tsv
from docflat.service.glossaries import Glossaries, LanguagePair, StoredGlossary
from docflat.service.languages import base, find_model
from docflat.service.libretranslate import service_of
from docflat.service.problems import Problem

_TSV = "text/tab-separated-values"


def _glossaries(request: Request) -> Glossaries:
    return service_of(request).glossaries


def _created(glossary: StoredGlossary) -> str:
    moment = datetime.fromtimestamp(glossary.created, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"


def _pair(request: Request, parameters: Parameters) -> LanguagePair:
    model = find_model(service_of(request).settings, parameters.text("source_lang"), parameters.text("target_lang"))
    return model.source, model.target


def _entries(parameters: Parameters) -> dict[str, str]:
    kind = parameters.choice("entries_format", ("tsv", "csv"), "tsv")
    entries = read_entries(parameters.text("entries"), kind)
    if not entries:
        raise Problem(400, "bad_glossary", reason="it has no entries")
    return entries


def _describe_dictionary(pair: LanguagePair, count: int) -> dict[str, Any]:
    return {"source_lang": pair[0], "target_lang": pair[1], "entry_count": count}


# v2: a glossary is of one pair. One of several, made by v3, is not seen here, as at DeepL.


def _one(request: Request) -> tuple[StoredGlossary, LanguagePair]:
    glossary = _glossaries(request).get(request.path_params["id"], request.state.owner)
    if len(glossary.dictionaries) != 1:
        raise Problem(404, "no_glossary")
    (pair,) = glossary.dictionaries
    return glossary, pair


def _describe_one(glossary: StoredGlossary) -> dict[str, Any]:
    ((pair, entries),) = glossary.dictionaries.items()
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        **_describe_dictionary(pair, len(entries)),
        "creation_time": _created(glossary),
    }


async def pairs(request: Request) -> Response:
    models = service_of(request).settings.models
    supported = [{"source_lang": model.source, "target_lang": model.target} for model in models]
    return JSONResponse({"supported_languages": supported})


async def create_one(request: Request) -> Response:
    parameters = await parameters_of(request)
    dictionaries = {_pair(request, parameters): _entries(parameters)}
    glossary = _glossaries(request).create(request.state.owner, parameters.text("name"), dictionaries)
    return JSONResponse(_describe_one(glossary), 201)


async def list_ones(request: Request) -> Response:
    glossaries = [each for each in _glossaries(request).all_of(request.state.owner) if len(each.dictionaries) == 1]
    return JSONResponse({"glossaries": [_describe_one(glossary) for glossary in glossaries]})


async def show_one(request: Request) -> Response:
    return JSONResponse(_describe_one(_one(request)[0]))


async def entries_of_one(request: Request) -> Response:
    glossary, pair = _one(request)
    return Response(write_tsv(glossary.dictionaries[pair]), media_type=_TSV)


async def delete(request: Request) -> Response:
    """Of v2 and v3 alike."""
    _glossaries(request).delete(request.path_params["id"], request.state.owner)
    return Response(status_code=204)


# v3


def _describe(glossary: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": [_describe_dictionary(pair, len(each)) for pair, each in glossary.dictionaries.items()],
        "creation_time": _created(glossary),
    }


_IN_FORM = re.compile(r"dictionaries\[(\d{1,3})\]\.(\w+)")  # as DeepL's client for Node writes a form


def _dictionaries(request: Request, parameters: Parameters) -> dict[LanguagePair, dict[str, str]]:
    listed = parameters.values.get("dictionaries", [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise Problem(400, "not_dictionaries")
    in_form: dict[str, dict[str, Any]] = {}
    for name, value in parameters.values.items():
        if match := _IN_FORM.fullmatch(name):
            in_form.setdefault(match[1], {})[match[2]] = value
    each = map(Parameters, [*listed, *in_form.values()])
    return {_pair(request, dictionary): _entries(dictionary) for dictionary in each}


async def create(request: Request) -> Response:
    parameters = await parameters_of(request)
    dictionaries = _dictionaries(request, parameters)
    if not dictionaries:
        raise Problem(400, "missing", name="dictionaries")
    glossary = _glossaries(request).create(request.state.owner, parameters.text("name"), dictionaries)
    return JSONResponse(_describe(glossary), 201)


async def list_all(request: Request) -> Response:
    glossaries = _glossaries(request).all_of(request.state.owner)
    return JSONResponse({"glossaries": [_describe(glossary) for glossary in glossaries]})


async def show(request: Request) -> Response:
    return JSONResponse(_describe(_glossaries(request).get(request.path_params["id"], request.state.owner)))


async def change(request: Request) -> Response:
    """Another name; entries that are added to those that there are."""
    parameters, glossaries = await parameters_of(request), _glossaries(request)
    id, owner = request.path_params["id"], request.state.owner
    glossary = glossaries.get(id, owner)
    new = _dictionaries(request, parameters)
    if "name" in parameters:
        glossaries.rename(id, owner, parameters.text("name"))
    for pair, entries in new.items():
        glossaries.put(id, owner, pair, {**glossary.dictionaries.get(pair, {}), **entries})
    return JSONResponse(_describe(glossaries.get(id, owner)))


async def entries(request: Request) -> Response:
    parameters = await parameters_of(request)
    glossary = _glossaries(request).get(request.path_params["id"], request.state.owner)
    pair = base(parameters.text("source_lang")), base(parameters.text("target_lang"))
    if pair not in glossary.dictionaries:
        raise Problem(404, "no_glossary")
    terms = glossary.dictionaries[pair]
    described = {"source_lang": pair[0], "target_lang": pair[1], "entries": write_tsv(terms), "entries_format": "tsv"}
    return JSONResponse({"dictionaries": [described]})


async def replace_dictionary(request: Request) -> Response:
    parameters = await parameters_of(request)
    pair, new = _pair(request, parameters), _entries(parameters)
    _glossaries(request).put(request.path_params["id"], request.state.owner, pair, new)
    return JSONResponse(_describe_dictionary(pair, len(new)))


async def delete_dictionary(request: Request) -> Response:
    parameters = await parameters_of(request)
    pair = base(parameters.text("source_lang")), base(parameters.text("target_lang"))
    _glossaries(request).delete_dictionary(request.path_params["id"], request.state.owner, pair)
    return Response(status_code=204)
