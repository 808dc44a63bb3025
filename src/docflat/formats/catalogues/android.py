"""Android's string resources: strings.xml with `<string>`, `<plurals>` and `<string-array>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docflat.formats.catalogues.surrogates import has_half, join_halves
from docflat.formats.catalogues.xml_strings import XmlString, XmlStrings
from docflat.formats.positioned_xml import Element, Xml
from docflat.support.errors import InputError

NAMESPACES = {"urn:oasis:names:tc:xliff:document:1.2": "xliff"}
_PART = re.compile(r"\\u([0-9A-Fa-f]{4})|\\([\s\S])|(\")|(\s+)|([^\\\"\s]+)|(\\)")
_LETTERS = {"n": "\n", "t": "\t"}
_WRITTEN = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_REFERENCE = re.compile(r"\s*[@?][\w.:+/]+\s*")  # to another resource


class Android:
    name = "Android strings"

    def read(self, data: bytes, file: str) -> XmlStrings:
        xml = Xml(data, file, NAMESPACES)
        if xml.root.tag != "resources":
            raise InputError(
                "is XML, but no Android resources: nothing says which of its text is to be translated "
                "(--lines takes each line for a sentence, tags and all)",
                file,
            )
        strings = [
            XmlString(element, _skip_reason(element, frozen), ("c-format",)) for element, frozen in _find(xml.root)
        ]
        if not strings:
            raise InputError("has no <string>, <plurals> or <string-array>", file)
        return XmlStrings(xml, data, strings, said, written)


def _find(root: Element) -> Iterator[tuple[Element, bool]]:
    """Elements that hold a string, and whether they are said not to be translated."""
    for entry in root:
        frozen = entry.attributes.get("translatable") == "false"
        if entry.tag == "string":
            yield entry, frozen
        elif entry.tag in ("plurals", "string-array"):
            yield from ((item, frozen) for item in entry if item.tag == "item")


def _skip_reason(element: Element, frozen: bool) -> str:
    if frozen:
        return "not translatable"
    if has_half(said(element.text())):
        return "half a character"
    return "a reference" if _REFERENCE.fullmatch(element.text()) else ""


def said(raw: str) -> str:
    """Blanks are one blank, but in quotes; escapes are what they stand for."""
    parts, quoted = [], False
    for part in _PART.finditer(raw):
        if part[1]:
            parts.append(chr(int(part[1], 16)))
        elif part[2]:
            parts.append(_LETTERS.get(part[2], part[2]))
        elif part[3]:
            quoted = not quoted
        elif part[4]:
            parts.append(part[4] if quoted else " ")
        else:
            parts.append(part[5] or part[6])
    return join_halves("".join(parts))


def written(text: str) -> str:
    escaped = "".join(_WRITTEN.get(letter, letter) for letter in text)
    return "\\" + escaped if escaped[:1] in ("@", "?") else escaped
