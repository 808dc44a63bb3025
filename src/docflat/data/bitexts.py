"""Bitexts: aligned documents out of translation memories (TMX), catalogues (PO) and XLIFF.

A pair without one of its sides is left out, and so is what its file calls unfinished. Codes are left out of the text,
and line breaks become blanks. A TMX file is a stream; the others, which are smaller, are read whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from docflat.data.documents import Document
from docflat.data.tmx import Languages, TranslationUnit, clean, matches, read_units
from docflat.formats.catalogues.po_entries import Entry, decode_po, read_entries
from docflat.formats.catalogues.xliff import NAMESPACES, Place, find_places, local, state_of
from docflat.formats.positioned_xml import Element, Xml
from docflat.formats.safe_reading import MOST_BYTES
from docflat.support.errors import InputError

_CODES = {"bpt", "ept", "it", "ph", "x", "bx", "ex"}  # what they hold is no text


def read_bitext(
    kind: str, chunks: Iterable[bytes], file: Path, languages: Languages | None, undivided: bool
) -> Iterator[Document]:
    """The documents of a file of this kind, whose bytes come in chunks; `undivided`: it is one document."""
    if kind == ".tmx":
        units = read_units(chunks, file, languages)
    else:
        units = (_po_units if kind == ".po" else _xliff_units)(_whole(chunks, file), file, languages)
    return _documents(units, undivided)


def _documents(units: Iterator[TranslationUnit], undivided: bool) -> Iterator[Document]:
    first = next(units, None)
    if first is None:
        return
    name, line = first.document, first.line
    undivided = undivided or not name
    source: list[str] = []
    target: list[str] = []
    for unit in chain([first], units):
        if not undivided and unit.document not in ("", name):
            yield Document(source, target, name, line)
            source, target, name, line = [], [], unit.document, unit.line
        source.append(unit.source)
        target.append(unit.target)
    yield Document(source, target, "" if undivided else name, line)


def _whole(chunks: Iterable[bytes], file: Path) -> bytes:
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > MOST_BYTES:
            raise InputError(f"is larger than {MOST_BYTES >> 20} MiB, the most of one file", file)
    return bytes(data)


def _is_reversed(source: str, target: str, languages: Languages | None, file: Path, line: int) -> bool:
    """Whether a file of these languages, which may be unknown, must be turned around."""
    if languages is None:
        return False
    if all(
        not language or matches(wanted, language) for wanted, language in zip(languages, (source, target), strict=True)
    ):
        return False
    if all(
        not language or matches(wanted, language) for wanted, language in zip(languages, (target, source), strict=True)
    ):
        return True
    message = f"is from {source or '?'} to {target or '?'}, and not of {languages[0]} and {languages[1]}"
    raise InputError(message, file, line)


def _po_units(data: bytes, file: Path, languages: Languages | None) -> Iterator[TranslationUnit]:
    text, _ = decode_po(data, str(file))
    turned = False
    for entry in read_entries(text, str(file)):
        if entry.is_header:
            header = re.search(r"^Language: *([\w@.-]+)", entry.translations[0], re.MULTILINE)
            turned = _is_reversed("", header[1] if header else "", languages, file, entry.line)
        elif not entry.is_fuzzy:
            for pair in _po_pairs(entry):
                yield from _unit(*pair, turned, "", entry.line)


def _po_pairs(entry: Entry) -> list[tuple[str, str]]:
    forms = entry.translations
    if entry.plural is None:
        return [(entry.source, forms[0])]
    # One form serves all numbers. Of several the last is that of many.
    last = (entry.plural, forms[-1])
    return [last] if len(forms) == 1 else [(entry.source, forms[0]), last]


def _xliff_units(data: bytes, file: Path, languages: Languages | None) -> Iterator[TranslationUnit]:
    xml = Xml(data, str(file), NAMESPACES)
    part, name, line, turned, number = None, "", 0, False, 0
    for place in find_places(xml, str(file)):
        if place.file is not part:
            part, number = place.file, number + 1
            name = f"{number} {part.attributes.get('original') or part.attributes.get('id', '')}".strip()
            line = xml.data.count(b"\n", 0, part.start) + 1
            source = part.attributes.get("source-language") or xml.root.attributes.get("srcLang", "")
            target = part.attributes.get("target-language") or xml.root.attributes.get("trgLang", "")
            turned = _is_reversed(source, target, languages, file, line)
        if state_of(place) == "done":
            for source_element, target_element in xliff_pairs(place):
                yield from _unit(_text(source_element), _text(target_element), turned, name, line)


def _unit(source: str, target: str, turned: bool, document: str, line: int) -> Iterator[TranslationUnit]:
    source, target = clean(source), clean(target)
    if source and target:
        yield TranslationUnit(*((target, source) if turned else (source, target)), document, line)


def xliff_pairs(place: Place) -> list[tuple[Element, Element]]:
    """The parts of a source with those of its target, or both whole."""
    assert place.target is not None  # its state says so
    parts = {piece.attributes.get("mid"): piece for piece in place.pieces if local(piece) == "mrk"}
    targets = {
        each.attributes.get("mid"): each
        for each in place.target.walk()
        if local(each) == "mrk" and each.attributes.get("mtype") == "seg"
    }
    if parts and len(parts) == len(place.pieces) and parts.keys() == targets.keys():
        return [(piece, targets[mid]) for mid, piece in parts.items()]
    return [(place.source, place.target)]


def _text(element: Element) -> str:
    """All text but that of codes."""
    parts = []
    for child in element.children:
        if isinstance(child, str):
            parts.append(child)
        elif local(child) not in _CODES:
            parts.append(_text(child))
    return "".join(parts)
