"""Apple's .stringsdict: a property list of texts by number, whose keys say which of its strings are text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docflat.formats.catalogues.xml_strings import XmlString, XmlStrings
from docflat.formats.positioned_xml import Element, Xml
from docflat.support.errors import InputError

_RULES = {"zero", "one", "two", "few", "many", "other"}
_FORMAT_KEY = "NSStringLocalizedFormatKey"
_WIDTHS = "NSStringVariableWidthRuleType"
_VARIABLE = re.compile(r"%(?:\d{1,2}\$)?#@\w{1,80}@")
_FLAGS = ("objc-format", "stringsdict-format")


class StringsDict:
    name = "stringsdict"

    def read(self, data: bytes, file: str) -> XmlStrings:
        xml = Xml(data, file, {}, doctype=True)
        top = xml.root.find("dict")
        if xml.root.tag != "plist" or top is None:
            raise InputError("is no property list with a <dict>", file)
        strings = [
            XmlString(element, "" if _VARIABLE.sub("", element.text()).strip() else "only a variable", _FLAGS)
            for element in sorted(_find(top), key=lambda element: element.start)
            if element.inner_end > element.inner
        ]
        if not strings:
            raise InputError("has no texts by number", file)
        return XmlStrings(xml, data, strings, str, str)


def _find(top: Element) -> Iterator[Element]:
    left = [(top, False)]
    while left:
        element, widths = left.pop()
        key = ""
        inner = []
        for child in element:
            if child.tag == "key":
                key = child.text()
            elif child.tag == "dict":
                inner.append((child, key == _WIDTHS))
            elif child.tag == "string" and (key in _RULES or key == _FORMAT_KEY or (widths and key.isdigit())):
                yield child
        left += reversed(inner)
