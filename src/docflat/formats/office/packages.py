"""Office files: a zip of XML parts, of which only what was translated is written anew."""

from __future__ import annotations

import copy
import re
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Protocol

from docflat.formats.positioned_xml import Element, Xml, write_text, write_value
from docflat.formats.safe_reading import read_zip
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

_FILE_NAME = re.compile(r"\S+\.[A-Za-z0-9]{2,5}")


class Place(Protocol):
    """Bytes start:end of a part that hold segments."""

    xml: Xml
    start: int
    end: int
    segments: list[Segment]
    copy_of: Place | None  # another that holds the same segments
    typed: bool  # all of it is in a font of typewriters

    def render(self, segments: Sequence[Segment]) -> bytes: ...


class Plain:
    """Text without formatting: the whole content of an element, or the value of an attribute."""

    def __init__(self, xml: Xml, start: int, end: int, text: str, write: Callable[[str], bytes]) -> None:
        self.xml, self.start, self.end, self._write = xml, start, end, write
        self.segments = [Segment(text, skip_reason=_skip_reason(text))] if text.strip() else []
        self.copy_of: Place | None = None
        self.typed = False

    def render(self, segments: Sequence[Segment]) -> bytes:
        return self._write(segments[0].text)


def plain_element(xml: Xml, element: Element) -> Plain:
    return Plain(xml, element.inner, element.inner_end, element.text(), write_text)


def plain_attribute(xml: Xml, element: Element, name: str) -> list[Plain]:
    place = xml.attribute(element, name.encode())
    return [Plain(xml, *place, element.attributes[name], write_value)] if place and element.attributes.get(name) else []


def _skip_reason(text: str) -> str:
    if _FILE_NAME.fullmatch(text.strip()):  # what programs put where a description of an image belongs
        return "file name"
    return "" if any(map(str.isalpha, text)) else "no letters"


class Office:
    """A zip that was read, and the places in its parts that hold text."""

    def __init__(self, data: bytes, file: str, prefixes: Mapping[str, str]) -> None:
        self._data, self._file, self._prefixes = data, file, prefixes
        self.members = read_members(data, file)
        self._parts: dict[str, Xml] = {}
        self._places: list[Place] = []
        self._held: dict[int, range] = {}  # which segments a place holds
        self._segments: list[Segment] = []
        self.segments: Sequence[Segment] = self._segments

    def part(self, name: str) -> Xml:
        """A part that there is."""
        if name not in self._parts:
            old = name == "META-INF/manifest.xml"  # OpenOffice named a DTD there, which nobody needs to read
            self._parts[name] = Xml(self.members[name], f"{self._file} ({name})", self._prefixes, doctype=old)
        return self._parts[name]

    def add(self, places: Sequence[Place]) -> None:
        """The next places in the order of reading."""
        for place in places:
            if not place.segments:
                continue
            if place.copy_of is not None:
                self._held[id(place)] = self._held[id(place.copy_of)]
            else:
                first = len(self._segments)
                self._segments += place.segments
                self._held[id(place)] = range(first, len(self._segments))
            self._places.append(place)

    def keep_code(self) -> None:
        """What is all in a font of typewriters, or in a style of code, is code, unless most of the file is."""
        styled = [i for i, segment in enumerate(self._segments) if segment.skip_reason == "code"]
        if 2 * sum(len(self._segments[i].text) for i in styled) > sum(len(one.text) for one in self._segments):
            for i in styled:
                self._segments[i] = replace(self._segments[i], skip_reason="")
        typed = {i for place in self._places if place.typed for i in self._held[id(place)]}
        length = sum(len(self._segments[i].text) for i in typed)
        if 2 * length < sum(len(segment.text) for segment in self._segments):
            for i in typed:
                self._segments[i] = replace(self._segments[i], skip_reason=self._segments[i].skip_reason or "code")

    def render(self, segments: Sequence[Segment]) -> bytes:
        if len(segments) != len(self.segments):
            raise ValueError(f"{len(segments)} segments for the {len(self.segments)} of the file")
        written = [source if source.skip_reason else new for source, new in zip(self.segments, segments, strict=True)]
        changed = set()
        for xml in self._parts.values():
            xml.reset()
        for place in sorted(self._places, key=lambda place: (place.end, -place.start)):
            held = self._held[id(place)]
            if any(_differs(self.segments[i], written[i]) for i in held):
                place.xml.change(place.start, place.end, place.render([written[i] for i in held]))
                changed.add(id(place.xml))
        parts = {name: xml.render() for name, xml in self._parts.items() if id(xml) in changed}
        return write_members(self._data, self.members, parts)


def read_members(data: bytes, file: str) -> dict[str, bytes]:
    """The members of a zip, in its order."""
    try:
        return read_zip(data, file)
    except (IndexError, RuntimeError, struct.error) as error:
        # What zipfile raises besides its own: a member without a name.
        raise InputError(f"is broken: {error}", file) from None


def write_members(data: bytes, members: Mapping[str, bytes], changed: Mapping[str, bytes]) -> bytes:
    """A zip with other content in some members: order, times and kinds of compression stay."""
    if not changed:
        return data
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.infolist():
            content = changed.get(member.filename, members.get(member.filename, b""))  # folders hold nothing
            new.writestr(copy.copy(member), content)
        new.comment = old.comment
    return out.getvalue()


FirstPlaces = dict[tuple[Segment, ...], "Place"]


def mark_copies(first_places: FirstPlaces, places: Sequence[Place]) -> None:
    """Those that show again, for other programs or in another way, what was seen before share its segments."""
    for place in places:
        if place.copy_of is None and place.segments and (first := first_places.get(tuple(place.segments))) is not place:
            place.copy_of = first
    for place in places:
        first_places.setdefault(tuple(place.segments), place)


def mark_repeats(places: Sequence[Place]) -> None:
    """What is the same as something before it shares its segments."""
    first_places: FirstPlaces = {}
    for place in places:
        mark_copies(first_places, [place])


def _differs(source: Segment, new: Segment) -> bool:
    return source.text != new.text or source.spans != new.spans
