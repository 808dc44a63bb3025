"""OpenDocument texts, presentations and tables: the parts of a file, and their paragraphs.

Body, slides with their notes, headers, footers, footnotes, comments, text boxes, charts, descriptions of images, title.
Of tables of numbers the cells of text are translated, but for the results of formulas and what formulas look for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from docflat.formats.office.compared import find_compared
from docflat.formats.office.inline import Paragraph, Write
from docflat.formats.office.packages import FirstPlaces, Office, Place, mark_copies, plain_attribute, plain_element
from docflat.formats.office.paragraph_pieces import Item, Look, Piece, Raw, Text, Wrap, clean, has_text, items_text
from docflat.formats.office.styles import Style, Styles, is_typed
from docflat.formats.positioned_xml import Element, Xml, write_text
from docflat.formats.segments import ParsedFile, Segment
from docflat.support.errors import InputError

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
PREFIXES = {
    **{f"{_OASIS}{name}:1.0": name for name in ("office", "text", "style", "manifest", "table", "presentation")},
    f"{_OASIS}svg-compatible:1.0": "svg",
    f"{_OASIS}xsl-fo-compatible:1.0": "fo",
    f"{_OASIS}drawing:1.0": "draw",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_MEDIA = "application/vnd.oasis.opendocument."
_PARAGRAPHS = {"text:p", "text:h"}
_PLAIN_TEXTS = {"svg:title", "svg:desc", "presentation:header-decl", "presentation:footer-decl"}
_CELLS = {"table:table-cell", "table:covered-table-cell"}
# Fields whose results are words of the text; others are numbers and dates, or data.
_TRANSLATED = {"bookmark-ref", "reference-ref", "title", "subject", "chapter", "text-input", "placeholder"}
_MARKS = re.compile(
    r"text:(bookmark|reference-mark|change|toc-mark|alphabetical-index-mark|user-index-mark|number)(-start|-end)?"
    r"|office:annotation(-end)?|text:hidden-.*|text:soft-page-break"
)
# Of an automatic style these say nothing of how text looks.
_UNSEEN = re.compile(r"rsid|language|country|script|rfc-")
_BLANKS = re.compile(r"[ \t\r\n]+")
_COUNT = re.compile("[0-9]{1,9}")  # Python refuses numbers of thousands of digits
_MOST_SPACES = 100  # of one element; a number in a file is no reason to make a text of any length
_LONGEST_LOOK = 1000  # bytes of the spans around a text
_PLAIN = Look((), b"", b"")


class Odt:
    name = "OpenDocument text"
    kind = "text"  # what its media type says

    def read(self, data: bytes, file: str) -> ParsedFile:
        office = Office(data, file, PREFIXES)
        charts = _check(office, file, self.name, self.kind)
        if "meta.xml" in office.members:
            xml = office.part("meta.xml")
            office.add(
                [plain_element(xml, field) for field in xml.root.walk() if field.tag in ("dc:title", "dc:subject")]
            )
        named = office.part("styles.xml").root if "styles.xml" in office.members else None
        for name in ("content.xml", "styles.xml", *charts):
            if name in office.members:
                xml = office.part(name)
                compared = find_compared(xml.root) if self.kind == "spreadsheet" else None
                office.add(_Finder(xml, _read_styles([*([named] if named else []), xml.root]), compared).places)
        office.keep_code()
        return office


class Odp(Odt):
    name = "OpenDocument presentation"
    kind = "presentation"


class Ods(Odt):
    name = "OpenDocument table"
    kind = "spreadsheet"


def _check(office: Office, file: str, name: str, kind: str) -> list[str]:
    """That it is a file of this kind that can be read; and the names of its charts."""
    media = office.members.get("mimetype", b"").decode("ascii", "replace").strip()
    if media and not media.startswith(_MEDIA + kind):
        raise InputError(f"is not an {name}: it says it is {media[:80]!r}", file)
    if "content.xml" not in office.members:
        raise InputError(f"is not an {name}, or is broken: it has no content.xml", file)
    charts = []
    if "META-INF/manifest.xml" in office.members:
        for entry in office.part("META-INF/manifest.xml").root.walk():
            if entry.tag == "manifest:encryption-data":
                raise InputError("is encrypted; save it anew, without a password", file)
            if entry.attributes.get("manifest:media-type", "").startswith(f"{_MEDIA}chart"):
                charts.append(entry.attributes.get("manifest:full-path", "").rstrip("/") + "/content.xml")
    return charts


def _read_styles(roots: Iterable[Element]) -> Styles:
    """Styles by family and name. The automatic ones of a part, which say how it was formatted by hand, come last."""
    styles = Styles()
    for root in roots:
        for group in root:
            if group.tag in ("office:styles", "office:automatic-styles"):
                for element in group:
                    _read_style(element, styles, automatic=group.tag == "office:automatic-styles")
    return styles


def _read_style(element: Element, styles: Styles, automatic: bool) -> None:
    get = element.attributes.get
    family, name = get("style:family", ""), get("style:name", "")
    looks: list[object] = []
    hidden = typed = None
    for properties in element:
        if properties.tag == "style:text-properties":
            hidden = {"none": True, "true": False}.get(properties.attributes.get("text:display", ""))
            typed = is_typed(*(properties.attributes.get(name, "") for name in ("style:font-name", "fo:font-family")))
            looks += sorted(item for item in properties.attributes.items() if not _UNSEEN.search(item[0]))
    parent = get("style:parent-style-name", "")
    shown = get("style:display-name", name.replace("_20_", " "))
    look = (parent, *looks) if automatic and (parent or looks) else () if automatic else (name,)
    styles[f"{family}:{name}"] = Style("" if automatic else shown, f"{family}:{parent}", hidden, typed, look)


class _Finder:
    """The places of a part that hold text, in the order of reading."""

    def __init__(self, xml: Xml, styles: Styles, compared: Collection[str] | None) -> None:
        """compared: texts of cells that stay; None: the file is no table of numbers."""
        self._xml, self._styles, self._compared = xml, styles, compared
        self._in_cells: set[int] = set()  # numbers of places
        self.places: list[Place] = []
        for group in xml.root:
            if group.tag in ("office:body", "office:master-styles"):
                self._find(group, "")
        cells: FirstPlaces = {}
        for number in sorted(self._in_cells):  # now, in the order of reading: a cell may hold a table
            mark_copies(cells, [self.places[number]])

    def _find(self, element: Element, skip_reason: str) -> None:
        if element.tag in ("text:tracked-changes", "table:tracked-changes"):  # what was deleted
            return
        if element.tag == "text:section" and element.attributes.get("text:display") == "none":
            skip_reason = "hidden"
        if self._compared is not None and element.tag in _CELLS:
            self._cell(element, skip_reason, self._compared)
            return
        if element.tag in _PARAGRAPHS and element.children:
            paragraph = self._paragraph(element, skip_reason)
            self.places += [paragraph] if paragraph.segments else []
        elif element.tag in _PLAIN_TEXTS:
            self.places.append(plain_element(self._xml, element))
        for child in element:
            self._find(child, skip_reason)

    def _cell(self, cell: Element, skip_reason: str, compared: Collection[str]) -> None:
        """A cell of a table of numbers: what shows of a number or a formula is made from it; notes are texts."""
        first = len(self.places)
        number = cell.attributes.get("office:value-type", "string") != "string" or "table:formula" in cell.attributes
        shown = [child for child in cell if child.tag in _PARAGRAPHS]
        text = "\n".join(child.text() for child in shown)
        letters = any(map(str.isalpha, text))
        why = "used by a formula" if text.strip().casefold() in compared else skip_reason if letters else "no letters"
        value = plain_attribute(self._xml, cell, "office:string-value")
        if value and (len(shown) > 1 or value[0].segments != [Segment(text)]):
            why = "a value besides its text"
        for child in cell:
            if child.tag in _PARAGRAPHS:
                paragraph = None if number else self._paragraph(child, why)
                self.places += [paragraph] if paragraph and paragraph.segments else []
            else:
                self._find(child, skip_reason)
        self.places += value if not number and not why else []
        self._in_cells.update(range(first, len(self.places)))

    def _paragraph(self, element: Element, skip_reason: str) -> Paragraph:
        style = f"paragraph:{element.attributes.get('text:style-name', '')}"
        if self._styles.is_hidden(style):
            skip_reason = "hidden"
        elif self._styles.is_code(style):
            skip_reason = "code"
        plain = replace(_PLAIN, typed=bool(self._styles.is_typed(style)))
        items = _Inline(self._xml, self._styles, show=bool(skip_reason)).items(element, plain)
        if not skip_reason and not any(map(has_text, items)):  # Hidden text is listed, unless there is other text.
            revealed = _Inline(self._xml, self._styles, show=True).items(element, plain)
            if any(map(has_text, revealed)):
                items, skip_reason = revealed, "hidden"
        return Paragraph(
            self._xml,
            element.inner,
            element.inner_end,
            items,
            plain,
            _writing(self._xml.name(element)[:-1]),
            skip_reason,
        )


@lru_cache(maxsize=16)
def _writing(prefix: bytes) -> Write:
    """How text is written where elements have this prefix."""

    def write(look: Look, text: str) -> bytes:
        return look.opening + _write_blanks(text, b"<%bs/>" % prefix, b"<%btab/>" % prefix) + look.closing

    return write


def _write_blanks(text: str, space: bytes, tab: bytes) -> bytes:
    """Text as OpenDocument has it, where blanks that follow each other are one."""

    def blanks(match: re.Match[bytes]) -> bytes:
        alone = match.start() == 0 and match.end() == len(match.string)
        return (b"" if alone else b" ") + space * (len(match[0]) - (not alone))

    return re.sub(rb" {2,}|^ +$", blanks, write_text(text.replace("\n", " "))).replace(b"\t", tab)


class _Inline:
    """From the mixed content of a paragraph to items."""

    def __init__(self, xml: Xml, styles: Styles, show: bool) -> None:
        self._xml, self._styles, self._show = xml, styles, show
        self._after_blank = True  # where another one counts for nothing

    def items(self, element: Element, look: Look) -> list[Item]:
        return [item for child in element.children for item in self._one(child, look)]

    def _one(self, child: Element | str, look: Look) -> Iterator[Item]:
        if isinstance(child, str):
            text = _BLANKS.sub(" ", clean(child))
            text = text[1:] if self._after_blank and text.startswith(" ") else text
            if text:
                self._after_blank = text.endswith(" ")
                yield Text(text, look)
            return
        whole = (Piece(None, child.start, child.end),)
        if child.tag == "text:span":
            yield from self._span(child, look)
        elif child.tag == "text:s":
            count = _COUNT.fullmatch(child.attributes.get("text:c", ""))
            yield Text(" " * (min(int(count[0]), _MOST_SPACES) if count else 1), look)
        elif child.tag == "text:ruby":  # a translation needs no pronunciation
            base = child.find("text:ruby-base")
            yield from self.items(base, look) if base else ()
        elif child.tag in ("text:a", "text:meta"):
            yield self._wrap(child, look)
        elif child.tag in ("text:tab", "text:line-break"):
            yield Raw(whole, "split" if child.tag == "text:tab" else "break")
        elif _MARKS.fullmatch(child.tag):
            yield Raw(whole, "mark")
        elif child.tag.startswith("text:") and child.tag != "text:note":
            text = _BLANKS.sub(" ", child.text())
            translated = child.tag.removeprefix("text:") in _TRANSLATED and any(map(str.isalpha, text))
            # A field holds text only, no spans.
            yield self._wrap(child, look) if translated and not look.opening else Raw(whole, "object", text)
        else:
            yield Raw(whole, "object")
        self._after_blank = False

    def _span(self, span: Element, look: Look) -> Iterator[Item]:
        style = f"text:{span.attributes.get('text:style-name', '')}"
        hidden, code = self._styles.is_hidden(style), self._styles.is_code(style)
        visible = self._styles[style].look if style in self._styles else (style,)
        inner = look  # of a style that only notes when a text was typed; of formatting that nobody would nest so
        if visible and len(look.opening) < _LONGEST_LOOK:
            opening, closing = self._xml.data[span.start : span.inner], b"</%b>" % self._xml.name(span)
            typed = self._styles.is_typed(style)
            typed = look.typed if typed is None else typed
            inner = Look((look.key, visible), look.opening + opening, closing + look.closing, typed=typed)
        items = self.items(span, inner)
        if (hidden and not self._show) or code:
            text = "" if hidden else items_text(items)
            yield Raw((Piece(None, span.start, span.end),), "mark" if hidden else "code", text)
        else:
            yield from items

    def _wrap(self, element: Element, look: Look) -> Item:
        items = tuple(self.items(element, look))
        if self._xml.declares(element.start, element.inner):  # nothing inside can be moved out of it
            return Raw((Piece(None, element.start, element.end),), "object", items_text(items))
        opening, closing = Piece(None, element.start, element.inner), Piece(None, element.inner_end, element.end)
        return Wrap((opening,), items, (closing,))
