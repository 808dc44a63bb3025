"""Excel: the cells of text of a .xlsx file sheet by sheet, its comments, text boxes, charts and hints to cells.

A text that several cells share is one. Formulas, numbers, names of sheets and ranges stay as they are, and so does text
that a formula, a list of choices or a filter compares cells with: `=IF(A1="Yes", ...)` must still find it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from docflat.formats.office.compared import literals
from docflat.formats.office.ooxml import Package, drawing_paragraph
from docflat.formats.office.packages import FirstPlaces, Place, mark_copies, plain_attribute, plain_element
from docflat.formats.office.xlsx_text import cell_text
from docflat.formats.positioned_xml import Element, Xml
from docflat.formats.segments import ParsedFile, Segment

_HINTS = ("promptTitle", "prompt", "errorTitle", "error")  # to whoever fills in a cell
_FORMULAS = {"s:f", "s:formula", "s:formula1", "s:formula2", "s:definedName", "s:calculatedColumnFormula"}
_LONGEST_HEADER = 255  # characters of a column's name
_DRAWN = {"a:p": drawing_paragraph}


class Xlsx:
    name = "Excel"

    def read(self, data: bytes, file: str) -> ParsedFile:
        workbook = Workbook(data, file)
        workbook.add_title()
        sheets = list(workbook.sheets())
        workbook.find_compared([name for name, _ in sheets])
        for name, hidden in sorted(sheets, key=lambda sheet: sheet[1]):  # what a hidden one shares is seen elsewhere
            workbook.add_sheet(name, hidden)
        return workbook


class Workbook(Package):
    """A workbook that was read."""

    def __init__(self, data: bytes, file: str) -> None:
        super().__init__(data, file, "s:workbook", Xlsx.name)
        self._shared = self._read_shared()
        self._listed: set[int] = set()  # shared strings that were added
        self._compared: set[str] = set()  # texts that stay, in small letters
        self._headers: list[list[Place]] = []  # the names of the columns of each table
        self._cells: FirstPlaces = {}

    def _read_shared(self) -> tuple[Xml, list[Element]] | None:
        for kind, name in self.related(self.main):
            if kind == "sharedStrings":
                xml = self.part(name)
                return xml, [element for element in xml.root if element.tag == "s:si"]
        return None

    def sheets(self) -> Iterator[tuple[str, bool]]:
        """The parts of the sheets in their order, and whether each is hidden."""
        for sheet in self.part(self.main).root.find("s:sheets") or ():
            name = self.relation(self.main, sheet.attributes.get("r:id", ""))
            if name:
                yield name, sheet.attributes.get("state", "visible") != "visible"

    def find_compared(self, sheets: Sequence[str]) -> None:
        """Texts that formulas, choices and filters look for, and names of columns that formulas use."""
        tables = [self.part(table) for sheet in sheets for kind, table in self.related(sheet) if kind == "table"]
        names_used = False
        parts = [self.part(self.main), *map(self.part, sheets), *tables]
        for element in chain.from_iterable(part.root.walk() for part in parts):
            if element.tag in _FORMULAS:
                formula = element.text()
                names_used = names_used or "[" in formula
                self._compared |= literals(formula)
            elif element.tag == "s:filter":
                self._compared.add(element.attributes.get("val", "").casefold())
        for column in chain.from_iterable(table.root.find("s:tableColumns") or () for table in tables):
            header = column.attributes.get("name", "")
            if names_used or "_x" in header:  # Sales[Region]; or an escape
                self._compared.add(re.sub("_x000[aA]_", "\n", header).casefold())

    def add_sheet(self, name: str, hidden: bool) -> None:
        xml = self.part(name)
        data = xml.root.find("s:sheetData")
        for row in data or ():
            for cell in row:
                self._add_cell(xml, cell, "hidden" if hidden else "")
        for element in xml.root.find("s:dataValidations") or ():
            self.add([place for hint in _HINTS for place in plain_attribute(xml, element, hint)])
        related = self.related(name)
        for kind, part in related:
            if kind == "table":
                self._add_headers(self.part(part))
        for kind, part in related:
            if kind in ("comments", "threadedComment"):
                self.add(list(_comments(self.part(part))))
        for kind, part in related:
            if kind == "drawing":
                self.add_part(part, _DRAWN, first_places=self._cells)

    def _add_cell(self, xml: Xml, cell: Element, skip_reason: str) -> None:
        kind = cell.attributes.get("t", "n")
        value = cell.find("s:v")
        if kind not in ("s", "str", "inlineStr") or cell.find("s:f"):
            return
        if kind == "s" and value and self._shared:
            text = value.text().strip()
            shared, strings = self._shared
            number = int(text) if len(text) < 10 and text.isascii() and text.isdigit() else -1
            if 0 <= number < len(strings) and number not in self._listed:
                self._listed.add(number)
                self._add_text(cell_text(shared, strings[number], self._skip_reason(strings[number], skip_reason)))
        elif kind == "str" and value:
            self._add_text(cell_text(xml, value, self._skip_reason(value, skip_reason)))
        elif kind == "inlineStr" and (inline := cell.find("s:is")):
            self._add_text(cell_text(xml, inline, self._skip_reason(inline, skip_reason)))

    def _add_text(self, place: Place) -> None:
        shown = tuple(replace(one, skip_reason="") if one.skip_reason == "hidden" else one for one in place.segments)
        place.copy_of = self._cells.get(shown)
        mark_copies(self._cells, [place])
        self.add([place])

    def _skip_reason(self, element: Element, skip_reason: str) -> str:
        return "used by a formula or filter" if element.text().strip().casefold() in self._compared else skip_reason

    def _add_headers(self, table: Xml) -> None:
        """The names of a table's columns are those in its first row, to the letter, or Excel calls the file broken."""
        linked: list[Place] = []
        for column in table.root.find("s:tableColumns") or ():
            for place in plain_attribute(table, column, "name"):
                place.copy_of = self._cells.get(tuple(place.segments))
                linked += [place] if place.copy_of is not None else []
        self.add(linked)
        self._headers.append(linked)

    def render(self, segments: Sequence[Segment]) -> bytes:
        new = list(segments)
        for places in self._headers:
            taken: set[str] = set()
            for number in chain.from_iterable(self._held[id(place)] for place in places):
                name = new[number].text.casefold()
                if name in taken or not 0 < len(name) <= _LONGEST_HEADER:  # no two columns have one name
                    new[number] = self.segments[number]
                taken.add(new[number].text.casefold())
        return super().render(new)


def _comments(xml: Xml) -> Iterator[Place]:
    """Notes, and comments with answers, of which an old program is given a copy as a note."""
    authors = [author.text() for author in xml.root.find("s:authors") or ()]
    for element in xml.root.find("s:commentList") or xml.root:
        if element.tag == "thread:threadedComment" and (said := element.find("thread:text")):
            yield plain_element(xml, said)
        elif element.tag == "s:comment" and (text := element.find("s:text")):
            number = element.attributes.get("authorId", "")
            author = (
                authors[int(number)] if len(number) < 10 and number.isdecimal() and int(number) < len(authors) else ""
            )
            if not author.startswith("tc="):
                yield cell_text(xml, text)
