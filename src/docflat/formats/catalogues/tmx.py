"""TMX, as a file to fill: units without the target language get a variant in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from docflat.formats.catalogues.po import Redo
from docflat.formats.inline_codes import Token, read_tokens, restore_codes, skip_reason, write_codes
from docflat.formats.positioned_xml import Element, Xml, write_text, write_value
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

_XML = {"http://www.w3.org/XML/1998/namespace": "xml"}


@dataclass(frozen=True)
class _Unit:
    variant: Element  # of the source language
    source: Element
    target: Element | None  # the text of a variant in the target language


class ParsedTmx:
    def __init__(self, data: bytes, file: str, redo: Redo, target_language: str) -> None:
        self.data, self.language = data, target_language
        self.xml = Xml(data, file, _XML, doctype=True)
        header = self.xml.root.find("header")
        if self.xml.root.tag != "tmx" or header is None:
            raise InputError("is no TMX: it has no <tmx> with a <header>", file)
        if not target_language:
            raise InputError("nothing says into which language: --target-language does", file)
        self.units: list[_Unit] = []
        self.segments: list[Segment] = []
        source = header.attributes.get("srclang", "*all*")
        for unit in self.xml.root.find("body") or ():
            self._add(unit, unit.attributes.get("srclang", source), redo)
        if not self.units:
            raise InputError("has no unit with a text in its source language", file)

    def _add(self, unit: Element, language: str, redo: Redo) -> None:
        variants = [(variant, text) for variant in unit if variant.tag == "tuv" and (text := variant.find("seg"))]
        targets = [text for variant, text in variants if _speaks(variant, self.language)]
        sources = [one for one in variants if not _speaks(one[0], self.language)]
        spoken = [one for one in sources if _speaks(one[0], language)] or (sources if language == "*all*" else [])
        if spoken:
            variant, text = spoken[0]
            target = targets[0] if targets else None
            words, spans = read_tokens(self._tokens(text))
            done = target is not None and target.text().strip() != "" and redo != "all"
            self.units.append(_Unit(variant, text, target))
            self.segments.append(Segment(words, tuple(spans), "already translated" if done else skip_reason(words)))

    def _tokens(self, element: Element) -> Iterator[Token]:
        for child in element.children:
            if isinstance(child, str):
                yield Token(child, "text")
                continue
            raw = self._raw(child.start, child.end)
            if child.tag == "hi" and child.inner_end > child.inner:
                key = f"<{child.start}"
                yield Token(self._raw(child.start, child.inner), "open", key, firm=True)
                yield from self._tokens(child)
                yield Token(self._raw(child.inner_end, child.end), "close", key)
            elif child.tag in ("bpt", "ept"):
                yield Token(raw, "open" if child.tag == "bpt" else "close", child.attributes.get("i", ""))
            else:
                yield Token(raw, "point")

    def _raw(self, start: int, end: int) -> str:
        return self.xml.data[start:end].decode()

    def render(self, segments: Sequence[Segment]) -> bytes:
        edits: list[tuple[int, int, bytes]] = []
        for unit, source, new in zip(self.units, self.segments, segments, strict=True):
            if source.skip_reason or source == new:
                continue
            text = write_codes(restore_codes(source, new, pairs=True), lambda one: write_text(one).decode()).encode()
            if unit.target is not None:
                edits.append((unit.target.start, unit.target.end, b"<seg>" + text + b"</seg>"))
            else:
                start = unit.variant.start
                blanks = self.xml.data[max(0, start - 100) : start]
                indent = blanks[len(blanks.rstrip()) :]
                tag = b'<tuv xml:lang="' + write_value(self.language) + b'"><seg>'
                edits.append((unit.variant.end, unit.variant.end, indent + tag + text + b"</seg></tuv>"))
        if not edits:
            return self.data
        self.xml.reset()
        for start, end, content in sorted(edits, key=lambda edit: edit[1]):
            self.xml.change(start, end, content)
        return self.xml.render()


def _speaks(variant: Element, language: str) -> bool:
    """Whether a variant is in this language: en and en-US are one."""
    said = variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")
    return said.partition("-")[0].lower() == language.partition("-")[0].lower()


class Tmx:
    """`target_language`: of the variants that are added."""

    name = "TMX"

    def __init__(self, redo: Redo = "untranslated", target_language: str = "") -> None:
        self.redo, self.target_language = redo, target_language

    def read(self, data: bytes, file: str) -> ParsedTmx:
        return ParsedTmx(data, file, self.redo, self.target_language)
