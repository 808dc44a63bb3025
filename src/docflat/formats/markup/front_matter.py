"""The front matter of a Markdown file, YAML or TOML: the values that a reader sees, such as the title of the page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from docflat.formats.segments import Segment

KEYS = "title|subtitle|description|summary|abstract|excerpt|headline|lead|caption|linkTitle|sidebar_label"
# Of one line, at the top level. A string in quotes is taken if it needs no escapes; of TOML only these are strings.
_QUOTED = r"\"([^\"\\\r\n]+)\"|'([^'\r\n]+)'"
_END = r"(?=[ \t]*\r?$)"
_YAML = re.compile(rf"^(?:{KEYS})[ \t]*:[ \t]+(?:{_QUOTED}|([^\W\d_][^\r\n]*?)){_END}", re.MULTILINE)
_TOML = re.compile(rf"^(?:{KEYS})[ \t]*=[ \t]*(?:{_QUOTED}){_END}", re.MULTILINE)
_PLAIN = re.compile(r"[^\W\d_](?:(?!: | #)[^\r\n])*[^\s:]")  # what YAML reads as a string without quotes
_WORDS = re.compile("(?i:y|n|yes|no|true|false|on|off|null)")  # but for these


class FrontMatter:
    def __init__(self, text: str) -> None:
        self.text = text
        found = (_TOML if text.startswith("+") else _YAML).finditer(text)
        self.places = [match.span(match.lastindex or 0) for match in found if _is_string(match)]
        self.segments = [
            *(Segment(text[start:end]) for start, end in self.places),
            Segment(text, kept="front matter"),
        ]

    def render(self, segments: Sequence[Segment]) -> bytes:
        parts, end = [], 0
        for (start, stop), own, new in zip(self.places, self.segments, segments, strict=False):
            quote = self.text[start - 1]
            if new.text == own.text:
                written = own.text
            elif quote in "\"'":
                start, stop = start - 1, stop + 1
                single = quote == "'" and "'" not in new.text
                written = f"'{new.text}'" if single else json.dumps(new.text, ensure_ascii=False)
            else:
                plain = _PLAIN.fullmatch(new.text) and not _WORDS.fullmatch(new.text)
                written = new.text if plain else json.dumps(new.text, ensure_ascii=False)
            parts += [self.text[end:start], written]
            end = stop
        return "".join([*parts, self.text[end:]]).encode()


def _is_string(match: re.Match[str]) -> bool:
    """Not a plain value that YAML reads as something else, or that a comment follows."""
    value = match[match.lastindex or 0]
    in_quotes = match[1] or match[2]
    return bool(in_quotes or (": " not in value and " #" not in value and not _WORDS.fullmatch(value)))
