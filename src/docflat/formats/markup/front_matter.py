"""The front matter of a Markdown file, YAML or TOML: the values that a reader sees, such as the title of the page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from docflat.formats.segments import Segment, Span

KEYS = "title|subtitle|description|summary|abstract|excerpt|headline|lead|caption|linkTitle|sidebar_label"
# Of one line, at the top level. A string in quotes is taken if it needs no escapes; of TOML only these are strings.
_YAML = re.compile(rf"^(?:{KEYS})[ \t]*:[ \t]+([^\r\n]*)", re.MULTILINE)
_TOML = re.compile(rf"^(?:{KEYS})[ \t]*=[ \t]*([^\r\n]*)", re.MULTILINE)
_QUOTED = re.compile(r"\"[^\"\\]+\"|'[^']+'")
_PLAIN = re.compile(r"[^\W\d_](?:(?!: | #)[^\r\n])*[^\s:]")  # what YAML reads as a string without quotes
_CODE = re.compile(r"`[^`]{1,200}`")
_WORDS = re.compile("(?i:y|n|yes|no|true|false|on|off|null)")  # but for these


class FrontMatter:
    def __init__(self, text: str) -> None:
        self.text = text
        is_toml = text.startswith("+")
        places = (_place(match, is_toml) for match in (_TOML if is_toml else _YAML).finditer(text))
        self.places = [place for place in places if place is not None]
        self.segments = [
            *(_with_code(text[start:end]) for start, end in self.places),
            Segment(text, skip_reason="front matter"),
        ]

    def render(self, segments: Sequence[Segment]) -> bytes:
        parts, end = [], 0
        for (start, stop), source, new in zip(self.places, self.segments, segments, strict=False):
            quote = self.text[start - 1]
            if new.text == source.text:
                written = source.text
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


def _with_code(text: str) -> Segment:
    """A title; code in it, as Markdown marks it, stays."""
    return Segment(text, tuple(Span(*match.span(), None, opaque=True) for match in _CODE.finditer(text)))


def _place(match: re.Match[str], is_toml: bool) -> tuple[int, int] | None:
    """Where the text of a value is; None: it is something else to YAML, or a comment follows."""
    value, start = match[1].rstrip(), match.start(1)
    if _QUOTED.fullmatch(value):
        return start + 1, start + len(value) - 1
    if is_toml or not value[:1].isalpha() or ": " in value or " #" in value or _WORDS.fullmatch(value):
        return None
    return start, start + len(value)
