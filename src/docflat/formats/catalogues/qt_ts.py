"""Qt Linguist's .ts: messages without a translation get one, which stays marked as unfinished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from docflat.formats.catalogues.messages import Message, read_message, write_message
from docflat.formats.catalogues.po import Redo
from docflat.formats.positioned_xml import Element, Xml, write_text, write_value
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

_GONE = {"vanished", "obsolete"}


@dataclass(frozen=True)
class _Entry:
    content: Message
    skip_reason: str
    targets: tuple[Element, ...]  # each gets the translation: several where it depends on a number


class ParsedTs:
    def __init__(self, data: bytes, file: str, redo: Redo, target_language: str) -> None:
        self.data, self.redo, self.language = data, redo, target_language
        self.xml = Xml(data, file, {}, doctype=True)
        if self.xml.root.tag != "TS":
            raise InputError("is not Qt's .ts: its first element is no <TS> (--lines takes each line as text)", file)
        self.entries = list(self._entries())
        if not self.entries:
            raise InputError("has no <message> with a <source> and a <translation>", file)
        self.segments: list[Segment] = [one for entry in self.entries for one in _segments(entry)]

    def _entries(self) -> Iterator[_Entry]:
        for message in self.xml.root.walk():
            source, target = message.find("source"), message.find("translation")
            if message.tag != "message" or source is None or target is None or not source.text().strip():
                continue
            forms = tuple(child for child in target if child.tag == "numerusform")
            kind = target.attributes.get("type", "")
            plural = message.attributes.get("numerus") == "yes"
            reason = "no longer used" if kind in _GONE else "a byte that is no letter" if list(source) else ""
            done = target.text().strip() != ""
            if not reason and done and self.redo != "all":
                reason = "already translated" if not kind else "" if self.redo == "fuzzy" else "to be reviewed"
            flags = ("qt-plural-format",) if plural else ("qt-format",)
            yield _Entry(read_message(source.text(), flags), reason, forms or (target,))

    def render(self, segments: Sequence[Segment]) -> bytes:
        self.xml.reset()
        edits: list[tuple[int, int, bytes]] = []
        first = 0
        for entry in self.entries:
            sources = _segments(entry)
            new = segments[first : first + len(sources)]
            first += len(sources)
            if not entry.skip_reason and any(a != b for a, b in zip(sources, new, strict=True)):
                text = write_text(write_message(entry.content, new))
                edits += [edit for element in entry.targets for edit in self._edit(element, text)]
        if not edits:
            return self.data
        root = self.xml.root
        if self.language and "language" not in root.attributes:
            edits.append((root.inner - 1, root.inner - 1, b' language="' + write_value(self.language) + b'"'))
        for start, end, content in sorted(edits, key=lambda edit: (edit[1], edit[0])):
            self.xml.change(start, end, content)
        return self.xml.render()

    def _edit(self, element: Element, text: bytes) -> Iterator[tuple[int, int, bytes]]:
        """The content of an element, which may be written as an empty one; a translation is unfinished."""
        tag = self.xml.data[element.start : element.inner]
        opening = tag[:-2].rstrip() + b">" if tag.endswith(b"/>") else tag
        if element.tag == "translation" and "type" not in element.attributes:
            opening = opening[:-1] + b' type="unfinished">'
        yield element.start, element.end, opening + text + b"</" + self.xml.name(element) + b">"


def _segments(entry: _Entry) -> tuple[Segment, ...]:
    if not entry.skip_reason:
        return entry.content.segments
    return tuple(Segment(one.text, one.spans, entry.skip_reason) for one in entry.content.segments)


class QtTs:
    """`redo`: which messages are translated; `target_language` is put into a file that names none."""

    name = "Qt messages"

    def __init__(self, redo: Redo = "untranslated", target_language: str = "") -> None:
        self.redo, self.target_language = redo, target_language

    def read(self, data: bytes, file: str) -> ParsedTs:
        return ParsedTs(data, file, self.redo, self.target_language)
