"""PowerPoint: the slides of a .pptx file in their order, each with its notes, comments, charts and diagrams.

Of layouts and masters only what slides show of them is translated: not the placeholders, which slides fill.
"""

from __future__ import annotations

from collections.abc import Iterator

from docflat.formats.office.ooxml import Package, drawing_paragraph
from docflat.formats.positioned_xml import Element
from docflat.formats.segments import ParsedFile

_MAKERS = {"a:p": drawing_paragraph}


class Pptx:
    name = "PowerPoint"

    def read(self, data: bytes, file: str) -> ParsedFile:
        package = Package(data, file, "p:presentation", self.name)
        package.add_title()
        slides = list(_slides(package))
        for slide in slides:
            _add_slide(package, slide)
        for name in _backgrounds(package, slides):
            package.add_part(name, _MAKERS, _is_placeholder)
        package.keep_code()
        return package


def _slides(package: Package) -> Iterator[str]:
    numbers = package.part(package.main).root.find("p:sldIdLst")
    for number in numbers or ():
        name = package.relation(package.main, number.attributes.get("r:id", ""))
        if name:
            yield name


def _add_slide(package: Package, slide: str) -> None:
    package.add_part(slide, _MAKERS)
    for kind, name in package.related(slide):
        if kind in ("notesSlide", "comments"):
            package.add_part(name, _MAKERS)


def _backgrounds(package: Package, slides: list[str]) -> Iterator[str]:
    """The layouts of the slides, and the masters of these."""
    layouts = dict.fromkeys(name for slide in slides for kind, name in package.related(slide) if kind == "slideLayout")
    yield from layouts
    yield from dict.fromkeys(
        name for layout in layouts for kind, name in package.related(layout) if kind == "slideMaster"
    )


def _is_placeholder(element: Element) -> bool:
    return any(child.find("p:nvPr", "p:ph") for child in element if child.tag in ("p:nvSpPr", "p:nvPicPr"))
