"""EPUB: the pages of a book in the order of reading, its title and its table of contents.

A page is a page of HTML, read as such; the tables of contents name again what stands in the pages, and say it as they
do. Pictures, fonts, styles and scripts stay as they are. A book under copy protection is refused.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from docflat.formats.markup.html import Html, ParsedHtml
from docflat.formats.office.packages import Plain, plain_element, read_members, write_members
from docflat.formats.positioned_xml import Element, Xml, write_text
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

_PREFIXES = {
    "urn:oasis:names:tc:opendocument:xmlns:container": "c",
    "http://www.idpf.org/2007/opf": "opf",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.daisy.org/z3986/2005/ncx/": "ncx",
    "http://www.w3.org/2001/04/xmlenc#": "enc",
}
_METADATA = {"dc:title", "dc:description", "dc:subject"}
_PAGES = {"application/xhtml+xml", "text/html", "text/x-oeb1-document"}
_LABELS = {"ncx:navLabel", "ncx:docTitle"}
# Fonts may be masked, so that nobody takes them out of the book: that is no protection of its text.
_MASKS = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}
_LANGUAGE = re.compile(r"[\w-]*")


@dataclass
class _Page:
    """A page, and which segments of the book are its own."""

    name: str
    parsed: ParsedHtml
    numbers: list[int]


@dataclass
class _Label:
    """A text in the metadata or in a table of contents, and which segment of the book it is."""

    place: Plain
    number: int


class ParsedEpub:
    def __init__(self, data: bytes, file: str, target_language: str) -> None:
        self._data, self._file, self._language = data, file, target_language
        self._members = read_members(data, file)
        self._parts: dict[str, Xml] = {}
        self._pages: list[_Page] = []
        self._labels: list[_Label] = []
        self._said: dict[str, int] = {}  # texts without formatting: their segments
        self.segments: list[Segment] = []
        self._check_protection()
        self._package = self._find_package()
        manifest = self._read_manifest()
        metadata = self._part(self._package).root.find("opf:metadata")
        self._add_labels(self._package, [one for one in (metadata or ()) if one.tag in _METADATA])
        contents = [name for name, _, is_contents in manifest.values() if is_contents and name in self._members]
        spine = list(self._spine(manifest))
        for name in dict.fromkeys([*(one for one in spine if one not in contents), *contents]):
            self._add_page(name, repeats=name in contents)
        for name, media, _ in manifest.values():
            if media == "application/x-dtbncx+xml" and name in self._members:
                root = self._part(name).root
                self._add_labels(name, [one for label in root.walk() if label.tag in _LABELS for one in label])

    def _part(self, name: str) -> Xml:
        if name not in self._parts:
            self._parts[name] = Xml(self._members[name], f"{self._file} ({name})", _PREFIXES, doctype=True)
        return self._parts[name]

    def _check_protection(self) -> None:
        if "META-INF/encryption.xml" in self._members:
            for element in self._part("META-INF/encryption.xml").root.walk():
                if element.tag == "enc:EncryptionMethod" and element.attributes.get("Algorithm") not in _MASKS:
                    raise InputError("is under copy protection", self._file)

    def _find_package(self) -> str:
        if "META-INF/container.xml" not in self._members:
            raise InputError("is no EPUB, or is broken: it has no META-INF/container.xml", self._file)
        for element in self._part("META-INF/container.xml").root.walk():
            if element.tag == "c:rootfile" and (name := element.attributes.get("full-path", "")) in self._members:
                return name
        raise InputError("is broken: its META-INF/container.xml names no package that is there", self._file)

    def _read_manifest(self) -> dict[str, tuple[str, str, bool]]:
        """By id: the name of a member, its media type, whether it is the table of contents."""
        folder = posixpath.dirname(self._package)
        items = {}
        for item in self._part(self._package).root.find("opf:manifest") or ():
            get = item.attributes.get
            name = posixpath.normpath(posixpath.join(folder, unquote(get("href", ""))))
            items[get("id", "")] = name, get("media-type", ""), "nav" in get("properties", "").split()
        return items

    def _spine(self, manifest: dict[str, tuple[str, str, bool]]) -> Iterator[str]:
        for entry in self._part(self._package).root.find("opf:spine") or ():
            name, media, _ = manifest.get(entry.attributes.get("idref", ""), ("", "", False))
            if media in _PAGES and name in self._members:
                yield name

    def _add_page(self, name: str, repeats: bool) -> None:
        html = Html(target_language=self._language)
        parsed = html.read(self._members[name], f"{self._file} ({name})")
        numbers = [self._number(segment, repeats) for segment in parsed.segments]
        self._pages.append(_Page(name, parsed, numbers))

    def _add_labels(self, name: str, elements: Sequence[Element]) -> None:
        for element in elements:
            place = plain_element(self._part(name), element)
            if place.segments and not list(element):
                self._labels.append(_Label(place, self._number(place.segments[0], repeats=True)))

    def _number(self, segment: Segment, repeats: bool) -> int:
        """Which segment of the book this is: a new one, unless it repeats the words of another."""
        said = " ".join(segment.text.split())
        if repeats and not segment.skip_reason and said in self._said and _is_plain(segment):
            return self._said[said]
        self.segments.append(segment)
        if not segment.skip_reason:
            self._said.setdefault(said, len(self.segments) - 1)
        return len(self.segments) - 1

    def render(self, segments: Sequence[Segment]) -> bytes:
        changed: dict[str, bytes] = {}
        for page in self._pages:
            pairs = zip(page.parsed.segments, page.numbers, strict=True)
            new = [self._now(source, number, segments) for source, number in pairs]
            if new != list(page.parsed.segments):
                changed[page.name] = page.parsed.render(new)
        for xml in self._parts.values():
            xml.reset()
        edits: list[tuple[Xml, int, int, bytes]] = []
        for label in self._labels:
            source = label.place.segments[0]
            new_one = self._now(source, label.number, segments)
            if new_one.text != source.text:
                edits.append((label.place.xml, label.place.start, label.place.end, write_text(new_one.text)))
        if self._language and (changed or edits):
            edits += self._languages()
        for xml, start, end, content in sorted(edits, key=lambda edit: edit[2]):
            xml.change(start, end, content)
        touched = {id(edit[0]) for edit in edits}
        changed |= {name: xml.render() for name, xml in self._parts.items() if id(xml) in touched}
        return write_members(self._data, self._members, changed)

    def _now(self, source: Segment, number: int, segments: Sequence[Segment]) -> Segment:
        """A segment of a page as it is in the book now."""
        new, first = segments[number], self.segments[number]
        if source is first or source.skip_reason:
            return source if source.skip_reason else new
        if new == first:
            return source
        start, last = _inside(source.text)
        text = source.text[:start] + new.text.strip() + source.text[last:]
        longer = len(text) - len(source.text)
        spans = (replace(one, end=one.end + longer) if one.end > start else one for one in source.spans)
        return replace(source, text=text, spans=tuple(spans))

    def _languages(self) -> Iterator[tuple[Xml, int, int, bytes]]:
        """The language of a book that names one is that of its translation."""
        xml = self._part(self._package)
        for element in xml.root.find("opf:metadata") or ():
            if element.tag == "dc:language" and _LANGUAGE.fullmatch(element.text().strip()):
                yield xml, element.inner, element.inner_end, write_text(self._language)
                return


def _inside(text: str) -> tuple[int, int]:
    """Where the text without the blanks around it is."""
    return len(text) - len(text.lstrip()), len(text.rstrip())


def _is_plain(segment: Segment) -> bool:
    """Whether its formatting is that of all its words: the link of an entry."""
    first, last = _inside(segment.text)
    return all(one.start <= first and (one.end >= last or one.end <= first) and not one.opaque for one in segment.spans)


class Epub:
    """`target_language` is put in the place of the language that the book names."""

    name = "EPUB"

    def __init__(self, target_language: str = "") -> None:
        self.target_language = target_language

    def read(self, data: bytes, file: str) -> ParsedEpub:
        return ParsedEpub(data, file, self.target_language)
