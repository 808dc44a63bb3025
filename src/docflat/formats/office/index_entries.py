"""Entries of an index: Word's fields, `XE "Cats:Persian" \\t "see Dogs"`, whose texts stand in their code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docflat.formats.office.packages import Place
from docflat.formats.positioned_xml import Element, Xml, write_text
from docflat.formats.segments import Segment

_ENTRY = re.compile(r"\s{0,20}(?:XE|TC)\s{1,20}\"([^\"\\]{1,500})\"", re.IGNORECASE)
_SEE = re.compile(r"\\t\s{0,20}\"([^\"\\]{1,500})\"")


class IndexEntry:
    """The code of a field; each level of an entry is a text."""

    def __init__(self, xml: Xml, element: Element) -> None:
        self.xml, self.start, self.end = xml, element.inner, element.inner_end
        self.copy_of: Place | None = None
        self.typed = False
        self._code = element.text()
        self._places: list[tuple[int, int]] = []
        entry = _ENTRY.match(self._code)
        for match in (entry, _SEE.search(self._code)) if entry else ():
            place = match.start(1) if match else 0
            for level in match[1].split(":") if match else ():
                self._places.append((place, place + len(level)))
                place += len(level) + 1
        self.segments = [
            Segment(text, skip_reason="" if any(map(str.isalpha, text)) else "no letters")
            for text in (self._code[a:b] for a, b in self._places)
        ]

    def render(self, segments: Sequence[Segment]) -> bytes:
        parts, end = [], 0
        for (start, stop), segment in zip(self._places, segments, strict=True):
            text = re.sub(r"\s*:", ",", segment.text).replace('"', "'").replace("\\", "")  # they mean something there
            parts += [self._code[end:start], text]
            end = stop
        return write_text("".join([*parts, self._code[end:]]))
