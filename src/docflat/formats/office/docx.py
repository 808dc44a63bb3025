"""Word: the parts of a .docx file, and their paragraphs.

All that a reader sees is translated: the body with its tables, text boxes and content controls, headers, footers,
notes, comments, charts, diagrams, descriptions of images, and the title of the file. Of tracked changes, insertions
are; deletions stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from docflat.formats.office.fields import FieldMark, fold_fields, is_translated
from docflat.formats.office.inline import Paragraph, Write
from docflat.formats.office.ooxml import Package, drawing_paragraph
from docflat.formats.office.packages import FirstPlaces
from docflat.formats.office.paragraph_pieces import Item, Look, Piece, Raw, Text, Wrap, clean, has_text, items_text
from docflat.formats.office.styles import Style, Styles, is_typed
from docflat.formats.positioned_xml import Element, Xml, write_text
from docflat.formats.segments import ParsedFile

_WRAPS = {"w:hyperlink", "w:ins", "w:moveTo", "w:customXml", "w:dir", "w:bdo"}
_DELETED = {"w:del", "w:moveFrom"}
# Of no use any more in a text that was translated; Word makes them anew.
_STALE = {"w:proofErr", "w:lastRenderedPageBreak", "w:softHyphen"}
_PROPERTIES = {"w:pPr", "w:rPr", "w:smartTagPr", "w:customXmlPr"}
# Properties of a run that do not change its look, apart from what a style says.
_UNSEEN = {"w:lang", "w:noProof", "w:rPrChange"}
_OFF = {"0", "false", "off"}
_SPLITS = {"w:tab", "w:ptab"}
_HYPHEN = "\u2011"  # that does not break; Word has an element for it


class Docx:
    name = "Word"

    def read(self, data: bytes, file: str) -> ParsedFile:
        package = Package(data, file, "w:document", self.name)
        paragraphs = _Paragraphs(_read_styles(package))
        makers = {"w:p": paragraphs.make, "a:p": drawing_paragraph}
        package.add_title()
        first_places: FirstPlaces = {}
        for kind, name in _parts(package):
            repeats = first_places if kind in ("header", "footer") else None  # of every section
            package.add_part(name, makers, lambda element: element.tag in _DELETED, repeats)
        package.keep_code()
        return package


def _parts(package: Package) -> Iterator[tuple[str, str]]:
    """The parts with text, each with its kind, in the order of reading."""
    related = sorted([("body", package.main), *package.related(package.main)])
    for kind in ("header", "body", "footer", "footnotes", "endnotes", "comments"):
        yield from (part for part in related if part[0] == kind)


def _read_styles(package: Package) -> Styles:
    styles = Styles()
    for kind, name in package.related(package.main):
        if kind == "styles":
            for element in package.part(name).root:
                if element.tag == "w:style":
                    hidden = _switch(element.find("w:rPr", "w:vanish"))
                    styles[element.attributes.get("w:styleId", "")] = Style(
                        _value(element.find("w:name")), _value(element.find("w:basedOn")), hidden, _typed(element)
                    )
    return styles


def _value(element: Element | None) -> str:
    return element.attributes.get("w:val", "") if element else ""


def _typed(element: Element) -> bool | None:
    """Whether a run or a style asks for a font of typewriters; None: nothing is said."""
    fonts = element.find("w:rPr", "w:rFonts")
    return is_typed(fonts.attributes.get("w:ascii", ""), fonts.attributes.get("w:hAnsi", "")) if fonts else None


def _switch(element: Element | None) -> bool | None:
    """Whether a property is on; None: nothing is said."""
    return _value(element) not in _OFF if element else None


class _Paragraphs:
    """From paragraphs of WordprocessingML to items."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles

    def make(self, xml: Xml, element: Element) -> Paragraph:
        properties = element.find("w:pPr")
        style = _value(element.find("w:pPr", "w:pStyle"))
        items = _Runs(xml, self._styles, style, show=False).items(element)
        skip_reason = "code" if self._styles.is_code(style) else ""
        if not any(map(has_text, items)):  # Hidden text is listed, though it is kept, unless there is other text.
            revealed = _Runs(xml, self._styles, style, show=True).items(element)
            if any(map(has_text, revealed)):
                items, skip_reason = revealed, "hidden"

        start = properties.end if properties else element.inner
        return Paragraph(xml, start, element.inner_end, items, *_writing(xml.name(element)[:-1]), skip_reason)


@lru_cache(maxsize=16)
def _writing(prefix: bytes) -> tuple[Look, Write]:
    """How runs are written with this prefix: one without properties, and text in any."""

    def write(look: Look, text: str) -> bytes:
        said = (
            b'<%bt xml:space="preserve">%b</%bt>' % (prefix, write_text(part), prefix) if part else b""
            for part in text.split(_HYPHEN)
        )
        return look.opening + (b"<%bnoBreakHyphen/>" % prefix).join(said) + look.closing

    return Look((), b"<%br>" % prefix, b"</%br>" % prefix), write


class _Runs:
    """The runs of a paragraph and what stands between them."""

    def __init__(self, xml: Xml, styles: Styles, style: str, show: bool) -> None:
        self._xml, self._styles = xml, styles
        self._style = style  # of the paragraph
        self._show = show  # hidden text too

    def items(self, element: Element) -> list[Item]:
        return fold_fields([item for child in element for item in self._between(child)])

    def _between(self, element: Element) -> Iterable[Item]:
        """What an element of the paragraph, or of a wrap, is."""
        if element.tag == "w:r":
            return self._run(element)
        if element.tag == "w:smartTag":  # Word 2003's guesses at names and dates
            return self.items(element)
        if element.tag in _STALE or element.tag in _PROPERTIES:
            return ()
        whole = Piece(None, element.start, element.end)
        if element.tag == "w:fldSimple":
            items = self.items(element)
            if not is_translated(element.attributes.get("w:instr", ""), items):
                return (Raw((whole,), "object", items_text(items)),)
            return (self._wrap(element, element, items),)
        if element.tag in _WRAPS:
            return (self._wrap(element, element, self.items(element)),)
        content = element.find("w:sdtContent") if element.tag == "w:sdt" else None
        if content:
            return (self._wrap(element, content, self.items(content)),)
        visible = element.tag == "w:sdt" or not element.tag.startswith("w:")
        formula = element.text() if element.tag == "m:oMath" else ""
        return (Raw((whole,), "object" if visible else "mark", formula),)

    def _wrap(self, element: Element, content: Element, items: list[Item]) -> Item:
        properties = content.find("w:customXmlPr")
        inner = properties.end if properties else content.inner
        if self._xml.declares(element.start, inner):  # nothing inside can be moved out of it
            return Raw((Piece(None, element.start, element.end),), "object", items_text(items))
        opening, closing = Piece(None, element.start, inner), Piece(None, content.inner_end, element.end)
        return Wrap((opening,), tuple(items), (closing,))

    def _run(self, run: Element) -> Iterator[Item]:
        look, code, hidden = self._look(run)
        for child in run:
            if child.tag in _STALE or child.tag in _PROPERTIES:
                continue
            piece = Piece(look, child.start, child.end)
            text = _text(child)
            if text is None:
                yield _raw(child, piece)
            elif text and hidden:
                yield Raw((piece,), "mark")
            elif text and code:
                yield Raw((piece,), "code", text)
            elif text:
                yield Text(text, look)

    def _look(self, run: Element) -> tuple[Look, bool, bool]:
        """How a run looks; whether it is code; whether it is hidden."""
        properties = run.find("w:rPr")
        opening = self._xml.data[run.start : properties.end if properties else run.inner]
        style = _value(run.find("w:rPr", "w:rStyle"))
        hidden = _switch(run.find("w:rPr", "w:vanish"))
        if hidden is None:
            hidden = self._styles.is_hidden(style) or self._styles.is_hidden(self._style)
        said = (_typed(run), self._styles.is_typed(style), self._styles.is_typed(self._style))
        typed = next((one for one in said if one is not None), False)
        visible = [key for child in properties or () if (key := self._visible(child))]
        look = Look(tuple(sorted(visible)), opening, b"</%b>" % self._xml.name(run), typed=typed)
        return look, self._styles.is_code(style), hidden and not self._show

    def _visible(self, element: Element) -> tuple[object, ...] | None:
        """What a reader sees of a property."""
        values = sorted((name, value) for name, value in element.attributes.items() if name != "w:hint")
        if element.tag in _UNSEEN or (element.tag == "w:rFonts" and not values):
            return None
        return element.tag, tuple(values), self._xml.data[element.inner : element.inner_end]


def _text(element: Element) -> str | None:
    """The text that an element of a run stands for; None: it is something else."""
    if element.tag == "w:t":
        text = clean(element.text()).replace("\n", " ")
        return text if element.attributes.get("xml:space") == "preserve" else text.strip(" ")
    if element.tag == "w:noBreakHyphen":
        return _HYPHEN
    base = element.find("w:rubyBase") if element.tag == "w:ruby" else None  # a translation needs no pronunciation
    return "".join(inner.text() for inner in base.walk() if inner.tag == "w:t") if base else None


def _raw(element: Element, piece: Piece) -> Raw:
    if element.tag == "w:fldChar":
        return FieldMark((piece,), "mark", role=element.attributes.get("w:fldCharType", ""))
    if element.tag == "w:instrText":
        return FieldMark((piece,), "mark", role="code", code=element.text())
    if element.tag in ("w:br", "w:cr"):
        line = element.attributes.get("w:type", "textWrapping") == "textWrapping"
        return Raw((piece,), "break" if line else "split")  # of a line; of a page or a column
    deleted = element.tag in ("w:delText", "w:delInstrText")
    return Raw((piece,), "split" if element.tag in _SPLITS else "mark" if deleted else "object")
