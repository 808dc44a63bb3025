"""Files as readers that nobody here made see them: each as a count of what a translation must not change.

For markup that is every element with the one it is in; for catalogues the keys; for subtitles the times.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lxml import etree, html

Structure = Counter[Any]


class Unreadable(Exception):
    """The reader says that a file is broken."""


# Text and its looks, which a translation may divide otherwise, and what a program makes anew.
_LOOKS = {
    "r", "t", "rPr", "tab", "br", "cr", "noBreakHyphen", "proofErr", "lastRenderedPageBreak", "smartTag", "ruby",
    "span", "s", "line-break", "rPh", "phoneticPr", "softHyphen",
}  # fmt: skip
_OF_LOOKS = {"rPr", "ruby", "smartTagPr"}  # all in them too
_XML = (".xml", ".rels", ".vml")


def structure_of(data: bytes, path: Path) -> Structure:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        return Counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reader(data)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"{type(error).__name__}: {str(error)[:150]}") from None


def _office(program: Callable[[io.BytesIO], Any]) -> Callable[[bytes], Structure]:
    def read(data: bytes) -> Structure:
        found: Structure = Counter(_said(program(io.BytesIO(data))))
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                content = archive.read(name)
                if name.lower().endswith(_XML) and content.strip():
                    _count(etree.fromstring(content, _parser()), name, found)
                else:
                    found[name, hash(content)] += 1
        return found

    return read


def _parser() -> Any:
    return etree.XMLParser(resolve_entities=False, huge_tree=True, recover=False)


def _count(root: Any, name: str, found: Structure) -> None:
    for element in root.iter(etree.Element):
        tag = etree.QName(element).localname
        if tag in _LOOKS:
            continue
        parents = list(element.iterancestors())
        inner = [etree.QName(parent).localname for parent in parents]
        if not _OF_LOOKS & set(inner):
            found[name, next((tag for tag in inner if tag not in _LOOKS), ""), tag] += 1


def _said(structure: Any) -> Any:
    return structure or ()


def _word(stream: io.BytesIO) -> None:
    import docx

    docx.Document(stream)


def _powerpoint(stream: io.BytesIO) -> None:
    import pptx

    pptx.Presentation(stream)


def _excel(stream: io.BytesIO) -> list[Any]:
    """Everything in cells that is no text, formulas too."""
    import openpyxl

    workbook = openpyxl.load_workbook(stream)
    return [
        (sheet.title, cell.coordinate, str(getattr(cell.value, "text", None) or getattr(cell.value, "ref", cell.value)))
        for sheet in workbook.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None and (cell.data_type == "f" or not isinstance(cell.value, str))
    ]


def _open_document(stream: io.BytesIO) -> None:
    from odf.opendocument import load

    load(stream)


def _html(data: bytes) -> Structure:
    found: Structure = Counter()
    _count_html(html.document_fromstring(data), found)
    return found


_TEXTS = {"alt", "title", "placeholder", "aria-label", "aria-description", "summary", "content", "value", "label"}
_LANGUAGES = {"lang", "{http://www.w3.org/XML/1998/namespace}lang", "xml:lang"}


def _count_html(root: Any, found: Structure) -> None:
    def name(element: Any) -> tuple[Any, ...]:
        if element is None or not isinstance(element.tag, str):
            return ()
        kept = {key: value for key, value in element.attrib.items() if key not in _TEXTS | _LANGUAGES}
        return element.tag, tuple(sorted(kept.items()))

    for element in root.iter(etree.Element):
        found[name(element.getparent()), name(element)] += 1


def _markdown(data: bytes) -> Structure:
    from markdown_it import MarkdownIt

    found: Structure = Counter()
    source = data.decode("utf-8-sig").replace("[^", "\\[^")  # a footnote of one word is no definition of a link
    text = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(source)
    page = html.document_fromstring(f"<html><body>{text}</body></html>")
    for mark in page.xpath("//em | //strong | //s"):  # looks, which are none where no word is left
        if (mark.text_content() or "").strip():
            found["look", mark.tag] += 1
        mark.drop_tag()
    _count_html(page, found)
    return found


def _po(data: bytes) -> Structure:
    import polib

    entries = polib.pofile(data.decode("utf-8", "replace"))
    return Counter((entry.msgctxt, entry.msgid, entry.msgid_plural, entry.obsolete) for entry in entries)


def _xml(ignored: set[str]) -> Callable[[bytes], Structure]:
    """Elements with their parents, but for those that a translation adds, and all in them."""

    def read(data: bytes) -> Structure:
        found: Structure = Counter()
        for element in etree.fromstring(data, _parser()).iter(etree.Element):
            names = [etree.QName(one).localname for one in (element, *element.iterancestors())]
            if not ignored & set(names):
                found[tuple(names[:2])] += 1
        return found

    return read


def _codes(data: bytes) -> Structure:
    """XLIFF: every code of a target, with its parent; and all outside of targets."""
    found: Structure = Counter()
    for element in etree.fromstring(data, _parser()).iter(etree.Element):
        names = [etree.QName(one).localname for one in (element, *element.iterancestors())]
        if "target" not in names:
            found[tuple(names[:2])] += 1
    return found


def _shape(value: Any, path: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Keys, and all values but texts."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _shape(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _shape(inner, (*path, number))
    else:
        yield path, type(value).__name__, "" if isinstance(value, str) else str(value)


def _json(data: bytes) -> Structure:
    return Counter(_shape(json.loads(data.decode("utf-8-sig"))))


def _yaml(data: bytes) -> Structure:
    from ruamel.yaml import YAML

    reader = YAML(typ="safe", pure=True)
    reader.allow_duplicate_keys = True
    return Counter(str(one) for document in reader.load_all(data) for one in _shape(document))


def _stringsdict(data: bytes) -> Structure:
    import plistlib

    return Counter(_shape(plistlib.loads(data)))


def _csv(data: bytes) -> Structure:
    text = data.decode("utf-8-sig")
    dialect = csv.Sniffer().sniff(text[:20_000], delimiters=",;\t|")  # what it says of quotes is a guess
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter))
    return Counter((number, len(row)) for number, row in enumerate(rows))


def _tsv(data: bytes) -> Structure:
    rows = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter="\t")
    return Counter((number, len(row)) for number, row in enumerate(rows))


def _subtitles(kind: str) -> Callable[[bytes], Structure]:
    def read(data: bytes) -> Structure:
        import pysubs2

        events = pysubs2.SSAFile.from_string(data.decode("utf-8-sig"), format_=kind)
        return Counter((event.start, event.end, event.style, event.type) for event in events)

    return read


def _epub(data: bytes) -> Structure:
    from ebooklib import epub

    epub.read_epub(io.BytesIO(data))
    found: Structure = Counter()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            if content.lstrip(b"\xef\xbb\xbf \r\n").startswith((b"<?xml", b"<!DOCTYPE", b"<html")):
                root = etree.fromstring(content, etree.XMLParser(recover=True, huge_tree=True))
                if root is not None:
                    _count_html(root, found)
            else:
                found[name, hash(content)] += 1
    return found


def _properties(data: bytes) -> Structure:
    from translate.storage import properties

    store = properties.javautf8file() if _is_utf8(data) else properties.javafile()
    store.parse(data)
    return Counter(unit.name for unit in store.units if unit.name)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


READERS: dict[str, Callable[[bytes], Structure]] = {
    **dict.fromkeys((".docx", ".docm", ".dotx"), _office(_word)),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".potx"), _office(_powerpoint)),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm"), _office(_excel)),
    **dict.fromkeys((".odt", ".ott", ".ods", ".ots", ".odp", ".otp"), _office(_open_document)),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    **dict.fromkeys((".md", ".markdown", ".mdx"), _markdown),
    **dict.fromkeys((".po", ".pot"), _po),
    **dict.fromkeys((".xliff", ".xlf", ".sdlxliff", ".mqxliff"), _codes),
    **dict.fromkeys((".json", ".arb"), _json),
    **dict.fromkeys((".yaml", ".yml"), _yaml),
    ".csv": _csv,
    ".tsv": _tsv,
    ".stringsdict": _stringsdict,
    ".properties": _properties,
    ".resx": _xml(set()),
    ".xml": _xml(set()),
    ".ts": _xml({"translation"}),
    ".tmx": _xml({"tuv"}),
    ".srt": _subtitles("srt"),
    ".vtt": _subtitles("vtt"),
    ".ass": _subtitles("ass"),
    ".ssa": _subtitles("ssa"),
    ".epub": _epub,
}
