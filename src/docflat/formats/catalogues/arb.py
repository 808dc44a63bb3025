"""Flutter's .arb: JSON whose members are messages; those that begin with @ tell of them."""

from __future__ import annotations

import json

from docflat.formats.catalogues.json import ParsedJson, check_json, find_strings
from docflat.formats.safe_reading import read_text
from docflat.support.errors import InputError


class Arb:
    name = "arb"

    def read(self, data: bytes, file: str) -> ParsedJson:
        text, encoding = read_text(data, file)
        check_json(text, file, None)
        content = json.loads(text, parse_int=str)
        if not isinstance(content, dict):
            raise InputError("expected a JSON object of messages", file)
        places = find_strings(text, [key for key in content if not key.startswith("@")], file, deepest=1)
        if not places:
            raise InputError("has no message", file)
        return ParsedJson(text, encoding, places)
