"""Drafts in files of both languages: PO, XLIFF and TMX, edited in place."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path

from docflat.data.bitexts import xliff_pairs
from docflat.data.tmx import DOCUMENT_PROPS, matches
from docflat.editing.revisions import Revision
from docflat.formats.catalogues.po_entries import WIDTH, Text, decode_po, read_entries, write_string
from docflat.formats.catalogues.xliff import NAMESPACES, find_places, local, state_of
from docflat.formats.positioned_xml import Element, Xml, write_text
from docflat.formats.safe_reading import read_file
from docflat.support.errors import InputError
from docflat.support.text_ranges import Range
from docflat.translation.draft_files import DraftDocument, DraftFile, TextPair, TextPairs

_CODES = {"bpt", "ept", "ph", "x", "bx", "ex", "it", "ut"}  # what they hold is no text
_TEXT = re.compile(
    rb"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(.*?)\]\]>|(&[^;&]*;|[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*)", re.DOTALL
)
_NAMES = {"http://www.w3.org/XML/1998/namespace": "xml"}


def read_bilingual(file: Path, languages: tuple[str, str]) -> DraftFile:
    if file.suffix.lower() == ".po":
        return PoDrafts(file, languages)
    return XmlDrafts(file, languages)


class PoDrafts:
    """Each msgid with its msgstr; fuzzy ones are nobody's translation yet."""

    def __init__(self, file: Path, languages: tuple[str, str]) -> None:
        data = read_file(file)
        self.text, self.charset = decode_po(data, str(file))
        self.strings: list[tuple[str, Text]] = []  # the keyword and the string of each draft
        texts = []
        for entry in read_entries(self.text, str(file)):
            if entry.is_header or entry.is_fuzzy:
                continue
            drafts = {key: text for key, text in entry.texts.items() if key.startswith("msgstr") and text.value}
            for key, text in drafts.items():
                # The first of several forms is that of the singular.
                is_plural = entry.plural is not None and key != "msgstr[0]"
                source = entry.plural if is_plural and entry.plural is not None else entry.source
                self.strings.append((key, text))
                texts.append(TextPair(source, text.value, f"{file}:{entry.line}"))
        self.texts = TextPairs([texts], languages)

    @property
    def documents(self) -> Sequence[DraftDocument]:
        return self.texts.documents

    def render(self, revisions: Sequence[Sequence[Revision]]) -> bytes:
        newline = "\r\n" if "\r\n" in self.text else "\n"
        parts, end = [], 0
        for (key, text), changes in zip(self.strings, self.texts.changes(revisions), strict=True):
            if not changes:
                continue
            value = text.value
            for change in reversed(changes):
                value = value[: change.place[0]] + change.new + value[change.place[1] :]
            parts += [self.text[end : text.start], write_string(key, value, newline, text.widest <= WIDTH)]
            end = text.end
        return "".join([*parts, self.text[end:]]).encode(self.charset)


class XmlDrafts:
    """The targets of an XLIFF file, or the units of a TMX file: words are changed in the bytes, codes stay."""

    def __init__(self, file: Path, languages: tuple[str, str]) -> None:
        is_tmx = file.suffix.lower() == ".tmx"
        self.data = read_file(file)
        self.xml = Xml(self.data, str(file), _NAMES if is_tmx else NAMESPACES, doctype=is_tmx)
        self.letters: list[list[Range]] = []  # of each draft: the bytes of each letter
        lines = [match.start() for match in re.finditer(b"\n", self.xml.data)]
        documents: list[list[TextPair]] = []
        units = _tmx_units(self.xml, file, languages) if is_tmx else _xliff_units(self.xml, file)
        name = None
        for document, source, target in units:
            if document != name or not documents:
                name = document
                documents.append([])
            text, letters = read_letters(self.xml, target)
            documents[-1].append(
                TextPair(read_letters(self.xml, source)[0], text, f"{file}:{bisect_left(lines, target.start) + 1}")
            )
            self.letters.append(letters)
        if not documents:
            raise InputError(f"has no translations from {languages[0]} to {languages[1]}", file)
        self.texts = TextPairs(documents, languages)

    @property
    def documents(self) -> Sequence[DraftDocument]:
        return self.texts.documents

    def render(self, revisions: Sequence[Sequence[Revision]]) -> bytes:
        self.xml.reset()
        edits: list[tuple[int, int, bytes]] = []
        for letters, changes in zip(self.letters, self.texts.changes(revisions), strict=True):
            for change in changes:
                # A code may stand within the word: the new word takes the place of its first letter, the others go.
                places = letters[slice(*change.place)]
                edits += [(*place, b"" if n else write_text(change.new)) for n, place in enumerate(places)]
        for start, end, data in sorted(edits):
            self.xml.change(start, end, data)
        return self.xml.render() if edits else self.data


def read_letters(xml: Xml, element: Element) -> tuple[str, list[Range]]:
    """The text of an element without its codes, and where in the bytes each letter is."""
    letters: list[tuple[str, Range]] = []
    at = element.inner
    for child in element:
        letters += _letters_between(xml, at, child.start)
        if local(child) not in _CODES:
            letters += zip(*read_letters(xml, child), strict=True)
        at = child.end
    letters += _letters_between(xml, at, element.inner_end)
    return "".join(letter for letter, _ in letters), [place for _, place in letters]


def _letters_between(xml: Xml, start: int, end: int) -> Iterator[tuple[str, Range]]:
    """Of bytes without elements."""
    for match in _TEXT.finditer(xml.data, start, end):
        if match[1] is not None:  # CDATA holds letters as they are
            at = match.start(1)
            for letter in match[1].decode():
                yield letter, (at, at + len(letter.encode()))
                at += len(letter.encode())
        elif match[2] is not None:
            yield unescape(match[2].decode()), match.span()


def _xliff_units(xml: Xml, file: Path) -> Iterator[tuple[object, Element, Element]]:
    for place in find_places(xml, str(file)):
        if state_of(place):
            for source, target in xliff_pairs(place):
                yield place.file, source, target


def _tmx_units(xml: Xml, file: Path, languages: tuple[str, str]) -> Iterator[tuple[object, Element, Element]]:
    """Units that have both languages, with the name of their document."""
    if xml.root.tag != "tmx":
        raise InputError("is not TMX", file)
    for unit in (element for element in xml.root.walk() if element.tag == "tu"):
        sides: dict[str, Element] = {}
        name = ""
        for child in unit:
            if child.tag == "prop" and child.attributes.get("type", "").lower() in DOCUMENT_PROPS:
                name = child.text().strip()
            segment = child.find("seg") if child.tag == "tuv" else None
            language = child.attributes.get("xml:lang") or child.attributes.get("lang", "")
            wanted = next((each for each in languages if matches(each, language)), None)
            if segment is not None and wanted is not None:
                sides.setdefault(wanted, segment)
        if len(sides) == 2:
            yield name, sides[languages[0]], sides[languages[1]]
