"""The text of a cell or a note of Excel, plain or in runs of their own looks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from docflat.formats.office.inline import Paragraph, Write
from docflat.formats.office.paragraph_pieces import Item, Look, Raw, Text
from docflat.formats.positioned_xml import Element, Xml, write_text

_BREAK = re.compile(r"((?:_x000D_)?\r?\n)")
_PLAIN = Look(None, b"", b"")


def cell_text(xml: Xml, element: Element, skip_reason: str = "") -> Paragraph:
    """element: a string (`si`, `is`), the text of a note, or a value that is text."""
    skip_reason = skip_reason or (
        "" if any(map(str.isalpha, element.text())) else "no letters"
    )  # a number as text may be data
    children = list(element)
    if not children or (len(children) == 1 and children[0].tag == "s:t"):
        inner = children[0] if children else element
        items = list(_items(inner.text(), _PLAIN))
        return Paragraph(xml, inner.inner, inner.inner_end, items, _PLAIN, _write_plain, skip_reason)
    name = xml.name(element)
    prefix = name[: name.rfind(b":") + 1]
    plain, write = _writing(prefix)
    runs: list[Item] = []
    for child in children:  # others are how it is pronounced: a translation needs that no more
        text = child if child.tag == "s:t" else child.find("s:t") if child.tag == "s:r" else None
        if text is not None:
            runs += _items(text.text(), plain if text is child else _look(xml, child))
    return Paragraph(xml, element.inner, element.inner_end, runs, plain, write, skip_reason)


def _items(text: str, look: Look) -> Iterator[Item]:
    for number, piece in enumerate(_BREAK.split(text)):
        if number % 2:
            yield Raw((Text(piece, look),), "break")
        elif piece:
            yield Text(piece, look)


def _look(xml: Xml, run: Element) -> Look:
    properties = run.find("s:rPr")
    if not properties:
        return Look(None, xml.data[run.start : run.inner], b"</%b>" % xml.name(run))
    key = xml.data[properties.inner : properties.inner_end]
    return Look(key, xml.data[run.start : properties.end], b"</%b>" % xml.name(run))


def _write_plain(_: Look, text: str) -> bytes:
    return write_text(text)


@lru_cache(maxsize=16)
def _writing(prefix: bytes) -> tuple[Look, Write]:
    def write(look: Look, text: str) -> bytes:
        said = b'<%bt xml:space="preserve">%b</%bt>' % (prefix, write_text(text), prefix)
        return look.opening + said + look.closing

    return Look(None, b"<%br>" % prefix, b"</%br>" % prefix), write
