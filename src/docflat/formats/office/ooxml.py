"""What files of Word, PowerPoint and Excel share: related parts; the text of drawings, charts and diagrams."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from docflat.formats.office.index_entries import IndexEntry
from docflat.formats.office.inline import Paragraph, Write
from docflat.formats.office.packages import (
    FirstPlaces,
    Office,
    Place,
    mark_copies,
    mark_repeats,
    plain_attribute,
    plain_element,
)
from docflat.formats.office.paragraph_pieces import Item, Look, Piece, Raw, Text, clean
from docflat.formats.office.styles import is_typed
from docflat.formats.positioned_xml import Element, Xml, write_text
from docflat.support.errors import InputError

_OLD, _STRICT = "http://schemas.openxmlformats.org/", "http://purl.oclc.org/ooxml/"
_WORD_SHAPES = "http://schemas.microsoft.com/office/word/2010/wordprocessing"
PREFIXES = {
    **{
        namespace: prefix
        for prefix, old, strict in (
            ("w", "wordprocessingml/2006/main", "wordprocessingml/main"),
            ("p", "presentationml/2006/main", "presentationml/main"),
            ("a", "drawingml/2006/main", "drawingml/main"),
            ("c", "drawingml/2006/chart", "drawingml/chart"),
            ("pic", "drawingml/2006/picture", "drawingml/picture"),
            ("wp", "drawingml/2006/wordprocessingDrawing", "drawingml/wordprocessingDrawing"),
            ("s", "spreadsheetml/2006/main", "spreadsheetml/main"),
            ("xdr", "drawingml/2006/spreadsheetDrawing", "drawingml/spreadsheetDrawing"),
            ("m", "officeDocument/2006/math", "officeDocument/math"),
            ("r", "officeDocument/2006/relationships", "officeDocument/relationships"),
            ("mc", "markup-compatibility/2006", "markup-compatibility/2006"),
            ("rel", "package/2006/relationships", "package/2006/relationships"),
        )
        for namespace in (_OLD + old, _STRICT + strict)
    },
    _WORD_SHAPES + "Shape": "wps",
    _WORD_SHAPES + "Group": "wpg",
    "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments": "thread",
    "urn:schemas-microsoft-com:vml": "v",
    "http://www.w3.org/XML/1998/namespace": "xml",
    "http://purl.org/dc/elements/1.1/": "dc",
}
# Descriptions of images and shapes for those who cannot see them; the words of a watermark.
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("wp:docPr", "pic:cNvPr", "p:cNvPr", "wps:cNvPr", "wpg:cNvPr", "xdr:cNvPr"), ("title", "descr")),
    **dict.fromkeys(("a:hlinkClick", "a:hlinkHover"), ("tooltip",)),
    "w:hyperlink": ("w:tooltip",),
    "w:listItem": ("w:displayText",),  # a choice of a form; in old forms:
    "w:listEntry": ("w:val",),
    **dict.fromkeys(("w:helpText", "w:statusText", "w:tblCaption", "w:tblDescription"), ("w:val",)),
    "v:shape": ("alt",),
    "v:textpath": ("string",),
}
# Of a run's attributes these say nothing of how it looks: its language, and what a spelling checker made of it.
_UNSEEN = {"lang", "altLang", "dirty", "err", "smtClean", "smtId", "noProof", "bmk"}
_GRAPHICS = ("chart", "diagramData", "diagramDrawing")

Maker = Callable[[Xml, Element], Paragraph]
Skip = Callable[[Element], bool]


class Package(Office):
    """A zip of parts that name each other in their relationships."""

    def __init__(self, data: bytes, file: str, root: str, program: str) -> None:
        super().__init__(data, file, PREFIXES)
        self._added: set[str] = set()
        self._named: dict[str, dict[str, tuple[str, str]]] = {}
        mains = [target for kind, target in self.related("") if kind == "officeDocument"]
        if not mains:
            raise InputError(f"is no {program} file, or is broken: it has no main part", file)
        self.main = mains[0]
        if self.part(self.main).root.tag != root:
            raise InputError(f"is no {program} file: its main part, {self.main}, is something else", file)

    def related(self, name: str) -> list[tuple[str, str]]:
        """The parts that a part names, each with its kind; those that are missing are left out."""
        return list(self._relations(name).values())

    def relation(self, name: str, number: str) -> str:
        """The part that a part names by this number; empty: there is none."""
        return self._relations(name).get(number, ("", ""))[1]

    def _relations(self, name: str) -> dict[str, tuple[str, str]]:
        if name not in self._named:
            self._named[name] = self._read_relations(name)
        return self._named[name]

    def _read_relations(self, name: str) -> dict[str, tuple[str, str]]:
        folder, base = posixpath.split(name)
        relations = posixpath.join(folder, "_rels", f"{base}.rels")
        targets = {}
        for entry in self.part(relations).root if relations in self.members else ():
            get = entry.attributes.get
            target = posixpath.normpath(posixpath.join("/", folder, get("Target", ""))).lstrip("/")
            if get("TargetMode") != "External" and target in self.members:
                targets[get("Id", "")] = get("Type", "").rpartition("/")[2], target
        return targets

    def add_title(self) -> None:
        for kind, name in self.related(""):
            if kind == "core-properties":
                xml = self.part(name)
                fields = [element for element in xml.root if element.tag in ("dc:title", "dc:subject")]
                self.add([plain_element(xml, field) for field in fields])

    def add_part(
        self,
        name: str,
        makers: Mapping[str, Maker],
        skip: Skip = lambda element: False,
        first_places: FirstPlaces | None = None,
    ) -> None:
        """All text of a part, then that of its charts and diagrams; a part that was added before is left out.

        Parts with the same `first_places` repeat each other: what is alike in them is translated once.
        """
        if name not in self._added:
            self._added.add(name)
            places = find_places(self.part(name), makers, skip)
            if first_places is not None:
                mark_copies(first_places, places)
            self.add(places)
            self._add_graphics(name, first_places)

    def _add_graphics(self, name: str, first_places: FirstPlaces | None) -> None:
        """A diagram is there twice: as data, and as it was drawn from them last."""
        related = [(kind, target) for kind, target in self.related(name) if kind in _GRAPHICS]
        related = sorted({(kind, target) for kind, target in related if target not in self._added})
        places = {target: find_places(self.part(target), {"a:p": drawing_paragraph}) for _, target in related}
        diagrams: FirstPlaces = {}
        mark_copies(diagrams, [place for kind, target in related if kind == "diagramData" for place in places[target]])
        for kind, target in related:
            if kind == "diagramDrawing":
                mark_copies(diagrams, places[target])
            elif kind == "chart":
                mark_repeats(places[target])  # every series names the categories again
                if first_places is not None:
                    mark_copies(first_places, places[target])
            self.add(places[target] if target not in self._added else ())
            self._added.add(target)


def find_places(xml: Xml, makers: Mapping[str, Maker], skip: Skip = lambda element: False) -> list[Place]:
    """All places of a part that hold text, in its order, without those inside elements to be skipped."""
    places: list[Place] = []
    _find(xml, xml.root, makers, skip, places)
    return places


def _find(xml: Xml, element: Element, makers: Mapping[str, Maker], skip: Skip, places: list[Place]) -> None:
    if skip(element):
        return
    if element.tag == "p:text":  # of a comment
        places.append(plain_element(xml, element))
    if element.tag in makers and element.children:
        paragraph = makers[element.tag](xml, element)
        places += [paragraph] if paragraph.segments else []  # a million empty ones would be large
    if element.tag == "w:instrText" and (entry := IndexEntry(xml, element)).segments:
        places.append(entry)
    elsewhere = element.attributes.get("w:type") == "autoText"  # help that names a text of the program
    for name in () if elsewhere else _ATTRIBUTES.get(element.tag, ()):
        places += plain_attribute(xml, element, name)
    if element.tag in ("c:strCache", "c:multiLvlStrCache"):
        places += [plain_element(xml, value) for value in element.walk() if value.tag == "c:v"]
        return
    first = len(places)
    first_places: FirstPlaces = {}
    for child in element:
        before = len(places)
        _find(xml, child, makers, skip, places)
        if child.tag in ("mc:Choice", "mc:Fallback"):
            mark_copies(first_places, places[before:])
    if element.tag == "w:drawing":
        mark_repeats([place for place in places[first:] if not isinstance(place, Paragraph)])


def drawing_paragraph(xml: Xml, element: Element) -> Paragraph:
    """A paragraph of DrawingML: in shapes, tables of slides, charts and diagrams."""
    items: list[Item] = []
    start, end = element.inner, element.inner_end
    for child in element:
        if child.tag == "a:pPr":
            start = child.end
        elif child.tag == "a:endParaRPr":
            end = child.start
        elif child.tag == "a:r":
            items += _run(xml, child)
        elif child.tag == "a:fld":
            text = child.find("a:t")
            items.append(Raw((Piece(None, child.start, child.end),), "object", text.text() if text else ""))
        else:
            kind = "break" if child.tag == "a:br" else "object"
            items.append(Raw((Piece(None, child.start, child.end),), kind))
    return Paragraph(xml, start, end, items, *_writing(xml.name(element)[:-1]))


@lru_cache(maxsize=16)
def _writing(prefix: bytes) -> tuple[Look, Write]:
    """How runs are written with this prefix: one without properties, and text in any."""

    def write(look: Look, text: str) -> bytes:
        return b"%b<%bt>%b</%bt>%b" % (look.opening, prefix, write_text(text), prefix, look.closing)

    return Look(None, b"<%br>" % prefix, b"</%br>" % prefix), write


def _run(xml: Xml, run: Element) -> list[Item]:
    properties = run.find("a:rPr")
    look = Look(
        _look_key(xml, properties) if properties else None,
        xml.data[run.start : properties.end if properties else run.inner],
        b"</%b>" % xml.name(run),
        link=any(child.tag.startswith("a:hlink") for child in properties or ()),
        typed=any(
            child.tag == "a:latin" and is_typed(child.attributes.get("typeface", "")) for child in properties or ()
        ),
    )
    text = run.find("a:t")
    items: list[Item] = []
    for i, piece in enumerate(clean(text.text() if text else "").split("\t")):
        if i:
            items.append(Raw((Text("\t", look),), "split"))
        if piece:
            items.append(Text(piece, look))
    return items


def _look_key(xml: Xml, properties: Element) -> tuple[object, ...] | None:
    """What a reader sees of a run's properties; None: nothing."""
    visible: Sequence[tuple[str, str]] = sorted(
        (name, value) for name, value in properties.attributes.items() if name not in _UNSEEN
    )
    inside = xml.data[properties.inner : properties.inner_end].strip()
    return (*visible, inside) if visible or inside else None
