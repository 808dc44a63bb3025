"""Parameters of a request, in whichever way they came: JSON, a form, several parts, or the query."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from docflat.service.problems import Problem

_MOST_FIELDS = 1000
_MOST_PART = 8 << 20  # bytes of a field of several parts that is no file


@dataclass
class Parameters:
    """Values by name. Those of a form are texts; those of JSON are whatever the client wrote."""

    values: Mapping[str, Any]
    files: Sequence[tuple[str, UploadFile]] = field(default_factory=list)  # with the names of their fields

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        value = self.values.get(name, default)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None:
            raise Problem(400, "missing", name=name)
        if not isinstance(value, str):
            raise Problem(400, "not_text", name=name)
        return value

    def texts(self, name: str) -> list[str]:
        """A text or a list of texts."""
        value = self.values.get(name)
        if value is None:
            raise Problem(400, "missing", name=name)
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            raise Problem(400, "not_texts", name=name)
        return list(texts)

    def number(self, name: str, default: int, most: int) -> int:
        value = self.values.get(name, default)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value in (None, ""):
            return default
        problem = Problem(400, "not_number", name=name, most=most)
        try:
            number = int(value)
        except (ValueError, TypeError, OverflowError):  # JSON can write numbers beyond all bounds
            raise problem from None
        if isinstance(value, bool) or (isinstance(value, float) and value != number) or not 0 <= number <= most:
            raise problem
        return number

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None or value == "":
            return default
        known = {"1": True, "0": False, "true": True, "false": False, "on": True, "off": False}
        word = str(value).lower()
        if word not in known:
            raise Problem(400, "not_flag", name=name)
        return known[word]

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        value = self.text(name, default) or default
        if value not in choices:
            raise Problem(400, "not_choice", name=name, choices=", ".join(choices))
        return value


async def read_parameters(request: Request) -> Parameters:
    """Of the query and of the body, whose win: clients of LibreTranslate's POST a query, DeepL's sends GET a form."""
    values = _lists(_pairs(request.scope["query_string"]))
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    files: list[tuple[str, UploadFile]] = []
    if kind == "application/json":
        values.update(await read_json(request))
    elif kind == "application/x-www-form-urlencoded":
        values.update(_lists(_pairs(await request.body())))
    elif kind == "multipart/form-data":
        form = await _form(request)
        files = [(name, value) for name, value in form.multi_items() if isinstance(value, UploadFile)]
        values.update(_lists((name, value) for name, value in form.multi_items() if isinstance(value, str)))
    elif await request.body():
        raise Problem(415, "media_type")
    _check_unicode(values)
    return Parameters(values, files)


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    """Of a query or a form. Starlette's reading puts U+FFFD in the place of what is not UTF-8, and says nothing."""
    try:
        return parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except UnicodeDecodeError:
        raise Problem(400, "not_utf8") from None
    except ValueError:
        raise Problem(400, "too_many_fields", most=_MOST_FIELDS) from None


def _lists(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Names that come once have a value, those that come again a list."""
    values: dict[str, Any] = {}
    for name, value in items:
        name = name.removesuffix("[]")
        if name not in values:
            values[name] = value
        elif isinstance(values[name], list):
            values[name].append(value)
        else:
            values[name] = [values[name], value]
    return values


async def read_json(request: Request) -> dict[str, Any]:
    try:
        body = await request.body()
        value = json.loads(body, parse_constant=_refuse_constant) if body or request.method == "POST" else {}
    except (ValueError, RecursionError):  # of which a wrong encoding is one
        raise Problem(400, "not_json") from None
    if not isinstance(value, dict):
        raise Problem(400, "not_object")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class _Parts(MultiPartParser):
    """Counts the bytes of each part while it comes: the library limits only those that are no files."""

    most_file = 0
    _read = 0

    def on_part_begin(self) -> None:
        super().on_part_begin()
        self._read = 0

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._read += end - start
        if self._read > self.most_file:
            raise Problem(413, "too_large", most=self.most_file >> 20)
        super().on_part_data(data, start, end)


async def _form(request: Request) -> FormData:
    settings = request.app.state.service.settings
    try:
        most_files = settings.most_files + 1  # a glossary too
        parts = _Parts(
            request.headers,
            request.stream(),
            max_files=max(100, most_files),
            max_fields=_MOST_FIELDS,
            max_part_size=_MOST_PART,
        )
        parts.most_file = settings.most_upload
        return await parts.parse()
    except MultiPartException as error:
        raise Problem(400, "not_form", reason=error.message) from None


def _check_unicode(value: Any) -> None:
    """JSON can write half a character (\\ud800), which no text is made of."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Problem(400, "not_unicode") from None


async def parameters_of(request: Request) -> Parameters:
    """As `read_parameters`, read once: the check of keys looks into them too."""
    if not hasattr(request.state, "parameters"):
        request.state.parameters = await read_parameters(request)
    parameters: Parameters = request.state.parameters
    return parameters
