"""Texts that formulas, choices and filters compare cells with: translated, a cell would not be found any more."""

from __future__ import annotations

import re

from docflat.formats.positioned_xml import Element

_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
_FORMULAS = ("table:formula", "table:condition", "table:expression", "style:condition")


def literals(formula: str) -> set[str]:
    """The texts in a formula, in small letters; those of a list of choices, "Yes,No", by themselves too."""
    texts = set()
    for literal in _LITERAL.findall(formula):
        text = literal.replace('""', '"').casefold()
        texts |= {text, *(part.strip() for part in text.split(","))}
    return texts


def find_compared(root: Element) -> set[str]:
    """Those of an OpenDocument table."""
    texts: set[str] = set()
    for element in root.walk():
        for name in _FORMULAS:
            if name in element.attributes:
                texts |= literals(element.attributes[name])
        if element.tag == "table:filter-condition" or element.tag == "table:filter-set-item":
            texts.add(element.attributes.get("table:value", "").casefold())
    return texts - {""}
