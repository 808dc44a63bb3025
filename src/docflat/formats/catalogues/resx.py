""".NET's .resx: the values of `<data>` that are text."""

from __future__ import annotations

from docflat.formats.catalogues.xml_strings import XmlString, XmlStrings
from docflat.formats.positioned_xml import Xml
from docflat.support.errors import InputError


class Resx:
    name = "resx"

    def read(self, data: bytes, file: str) -> XmlStrings:
        xml = Xml(data, file, {})
        if xml.root.tag != "root":
            raise InputError("is not .resx: its first element is no <root>", file)
        strings = []
        for entry in xml.root:
            value = entry.find("value")
            if entry.tag != "data" or value is None or value.inner_end == value.inner:
                continue
            name = entry.attributes.get("name", "")
            is_text = not {"type", "mimetype"} & entry.attributes.keys() and not name.startswith(">>")
            strings.append(XmlString(value, "" if is_text else "no text", ("csharp-format",)))
        if not strings:
            raise InputError("has no <data> with a <value>", file)
        return XmlStrings(xml, data, strings, str, str)
