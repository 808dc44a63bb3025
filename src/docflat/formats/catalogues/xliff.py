"""XLIFF 1.2 and 2.x (.xliff, .xlf): each source is translated into its target.

The bytes are edited in place, target by target. translate-toolkit writes the whole tree anew: other quotes, other
blanks, other prefixes, and a diff of all the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from docflat.formats.catalogues.po import Redo
from docflat.formats.inline_codes import Token, read_tokens, restore_codes, skip_reason, write_codes
from docflat.formats.positioned_xml import Element, Xml, write_text, write_value
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

_VERSIONS = ("1.0", "1.1", "1.2", "2.0", "2.1", "2.2")
NAMESPACES = {f"urn:oasis:names:tc:xliff:document:{version}": "x" for version in _VERSIONS}
_MOST_NAMED = 5  # units in a remark
_PAIRS = {"g", "mrk", "pc"}
_OPENING = {"bx", "bpt", "sc", "sm"}
_CLOSING = {"ex", "ept", "ec", "em"}
_FILLED = {"ph", "x"}  # what a program fills in stands for words
_NO_WORDS = {"lb", "x-br", "pb", "image", "xlf:lb", "xlf:pb", "fmt", "bold", "italic", "underlined"}
_BEFORE = "(\"'“„‘[«"
_UNTRANSLATED = {"new", "needs-translation", "initial"}  # whatever the target holds
_REVIEW = re.compile("needs-.*")
_NUMBERED = re.compile(r"\{[0-9]{1,9}\}")


class Xliff:
    """`redo`: which units are translated; "fuzzy" takes those too whose state says that they need a human's look.

    `target_language` is put into a file that names none.
    """

    name = "xliff"

    def __init__(self, redo: Redo = "untranslated", target_language: str = "") -> None:
        self.redo, self.target_language = redo, target_language

    def read(self, data: bytes, file: str) -> Translations:
        return Translations(data, file, self.redo, self.target_language)


class Place(NamedTuple):
    """Where a source is, and where its target is or goes."""

    file: Element  # a document in the file that is read
    holder: Element  # trans-unit; in XLIFF 2, segment
    source: Element
    pieces: list[Element]  # each one segment: the source, or the parts into which it was divided
    target: Element | None
    last: Element  # after which a new target goes
    skip_reason: str  # why it is not to be translated


@dataclass
class _Unit:
    place: Place
    first: int  # of its segments


class Translations:
    """A file that was read."""

    def __init__(self, data: bytes, file: str, redo: Redo = "untranslated", target_language: str = "") -> None:
        self.data, self.redo, self.target_language = data, redo, target_language
        self.xml = Xml(data, file, NAMESPACES)
        self.is_new = is_version_2(self.xml.root, file)
        self.segments: list[Segment] = []
        self.units: list[_Unit] = []
        for place in find_places(self.xml, file):
            reason = place.skip_reason or self._skip_reason(place)
            self.units.append(_Unit(place, len(self.segments)))
            for piece in place.pieces:
                text, spans = read_tokens(_find_words(list(self._tokens(piece))))
                self.segments.append(Segment(text, tuple(spans), reason or skip_reason(text)))

    def _skip_reason(self, place: Place) -> str:
        state = state_of(place)
        if self.redo == "all" or not state:
            return ""
        if state == "review":
            return "" if self.redo == "fuzzy" else "to be reviewed"
        return "already translated"

    def _tokens(self, element: Element) -> Iterator[Token]:
        for child in element.children:
            if isinstance(child, str):
                yield Token(child, "text")
                continue
            raw = self._raw(child.start, child.end)
            name, attributes = local(child), child.attributes
            if name in _PAIRS and child.inner_end > child.inner:
                opaque = attributes.get("mtype") == "protected" or attributes.get("translate") == "no"
                key = f"<{child.start}"
                yield Token(self._raw(child.start, child.inner), "open", key, opaque, firm=True)
                yield from self._tokens(child)
                yield Token(self._raw(child.inner_end, child.end), "close", key)
            elif name in _OPENING:
                yield Token(raw, "open", attributes.get("rid") or attributes.get("id", ""))
            elif name in _CLOSING:
                key = attributes.get("startRef") or attributes.get("rid") or attributes.get("id", "")
                yield Token(raw, "close", key)
            else:
                kinds = {attributes.get(kind, "") for kind in ("ctype", "type", "subType")}
                yield Token(raw, "point" if kinds & _NO_WORDS or name not in _FILLED else "word")

    def _raw(self, start: int, end: int) -> str:
        return self.xml.data[start:end].decode()

    def render(self, segments: Sequence[Segment]) -> bytes:
        edits: dict[tuple[int, int], bytes] = {}
        for unit in self.units:
            places = range(unit.first, unit.first + len(unit.place.pieces))
            if any(segments[i] is not self.segments[i] for i in places):
                edits |= self._edit(unit.place, [(self.segments[i], segments[i]) for i in places])
        if not edits:
            return self.data
        self.xml.reset()
        for (start, end), data in sorted(edits.items(), key=lambda edit: edit[0][::-1]):
            self.xml.change(start, end, data)
        return self.xml.render()

    def review(self, segments: Sequence[Segment]) -> list[str]:
        """Which translations are longer than the file allows."""
        long = []
        for unit in self.units:
            places = range(unit.first, unit.first + len(unit.place.pieces))
            if any(segments[i] is not self.segments[i] for i in places):
                text = "".join(segments[i].text for i in places)
                for length, most in _limits(unit.place.holder, text):
                    if length > most:
                        long.append(f"{unit.place.holder.attributes.get('id', '?')} ({length} of {most})")
        if not long:
            return []
        names = ", ".join(long[:_MOST_NAMED]) + ", ..." * (len(long) > _MOST_NAMED)
        return [f"translations that are longer than their maxwidth or maxbytes: {len(long)}: {names}"]

    def _edit(self, place: Place, pairs: Sequence[tuple[Segment, Segment]]) -> dict[tuple[int, int], bytes]:
        source, target = place.source, place.target
        content, at = [], source.inner
        for piece, (original, new) in zip(place.pieces, pairs, strict=True):
            inside = self.xml.data[piece.inner : piece.inner_end] if new is original else _write(original, new)
            content += [self.xml.data[at : piece.inner], inside]
            at = piece.inner_end
        content.append(self.xml.data[at : source.inner_end])
        name = self.xml.name(source).replace(b"seg-", b"").replace(b"source", b"target")
        tag = b"<" + name + b">" if target is None else _opened(self.xml.data[target.start : target.inner])
        edits = self._language(self.xml.root if self.is_new else place.file)
        if self.is_new:
            holder = place.holder
            edits[holder.start, holder.inner] = _set(self._tag(holder), b"state", "translated")
        else:
            tag = _set(_set(tag, b"state", "needs-review-translation"), b"state-qualifier", "mt-suggestion")
        whole = b"".join([tag, *content, b"</", name, b">"])
        if target is None:
            before = self.xml.data[max(0, source.start - 200) : source.start]
            edits[place.last.end, place.last.end] = before[len(before.rstrip()) :] + whole
        else:
            edits[target.start, target.end] = whole
        return edits

    def _language(self, element: Element) -> dict[tuple[int, int], bytes]:
        name = "trgLang" if self.is_new else "target-language"
        if not self.target_language or element.attributes.get(name):
            return {}
        return {(element.start, element.inner): _set(self._tag(element), name.encode(), self.target_language)}

    def _tag(self, element: Element) -> bytes:
        return self.xml.data[element.start : element.inner]


def _find_words(tokens: list[Token]) -> Iterator[Token]:
    """Which points stand among the words as one of them: the model sees it as a placeholder.

    Without it the model would read a sentence that lacks a word, and the blanks around it would become one.
    """
    text = "".join(token.raw for token in tokens if token.kind == "text")
    taken = set(_NUMBERED.findall(text))
    names = (name for n in count(1) if (name := f"{{{n}}}") not in taken)
    for number, token in enumerate(tokens):
        if token.kind == "word":
            before = tokens[number - 1].raw[-1:] if number and tokens[number - 1].kind == "text" else ""
            after = tokens[number + 1].raw[:1] if tokens[number + 1 :] and tokens[number + 1].kind == "text" else ""
            apart = (not before or before.isspace() or before in _BEFORE) and not after.isalnum()
            is_word = apart and (before + after).strip() != before + after
            token = token._replace(key=next(names)) if is_word else token._replace(kind="point")
        yield token


def local(element: Element) -> str:
    """The name of an element of XLIFF; one of another namespace has no such name."""
    return element.tag.removeprefix("x:")


def is_version_2(root: Element, file: str) -> bool:
    version = root.attributes.get("version", "")
    if local(root) != "xliff" or version[:2] not in ("1.", "2."):
        raise InputError("is not XLIFF 1.x or 2.x", file)
    return version.startswith("2.")


def find_places(xml: Xml, file: str) -> Iterator[Place]:
    """All sources in order, those not to be translated too."""
    is_new = is_version_2(xml.root, file)
    left = [(xml.root, xml.root, True)]
    while left:
        element, part, is_open = left.pop()
        name = local(element)
        is_open = {"yes": True, "no": False}.get(element.attributes.get("translate", ""), is_open)
        part = element if name == "file" else part
        if name in ("trans-unit", "unit"):
            reason = "" if is_open else 'translate="no"'
            for holder in [each for each in element if local(each) == "segment"] if is_new else [element]:
                yield _place(xml, file, part, holder, reason)
        elif name in ("xliff", "file", "body", "group"):
            left += [(child, part, is_open) for child in reversed(list(element))]


def _place(xml: Xml, file: str, part: Element, holder: Element, reason: str) -> Place:
    children = {local(child): child for child in reversed(list(holder))}
    source = children.get("source")
    if source is None:
        line = xml.data.count(b"\n", 0, holder.start) + 1
        raise InputError(f"a {local(holder)} without a source", file, line)
    divided = children.get("seg-source")
    pieces: list[Element] = []
    for each in divided.walk() if divided is not None else ():
        if _is_part(each) and (not pieces or each.start >= pieces[-1].end):  # not one in another
            pieces.append(each)
    content = divided if divided is not None and pieces else source
    return Place(part, holder, content, pieces or [source], children.get("target"), divided or source, reason)


def _limits(holder: Element, text: str) -> Iterator[tuple[int, int]]:
    """How long a text is and may be; pixels cannot be counted without a font."""
    most = {name: holder.attributes.get(name, "") for name in ("maxwidth", "maxbytes")}
    if most["maxwidth"].isdecimal() and holder.attributes.get("size-unit") in ("char", "byte"):
        unit = holder.attributes["size-unit"]
        yield len(text) if unit == "char" else len(text.encode()), int(most["maxwidth"][:9])
    if most["maxbytes"].isdecimal():
        yield len(text.encode()), int(most["maxbytes"][:9])


def _is_part(element: Element) -> bool:
    """Whether it is one of the parts into which a source or a target was divided."""
    return local(element) == "mrk" and element.attributes.get("mtype") == "seg"


def state_of(place: Place) -> str:
    """Of the target: "" if there is none, "review" if somebody should look at it, "done"."""
    target, holder = place.target, place.holder
    if target is None or not (
        target.text().strip() or any(not _is_part(inner) for child in target for inner in child.walk())
    ):
        return ""
    state = target.attributes.get("state") or (holder.attributes.get("state", "") if local(holder) == "segment" else "")
    if holder.attributes.get("approved") == "yes":
        return "done"
    return "" if state in _UNTRANSLATED else "review" if _REVIEW.fullmatch(state) else "done"


def _write(source: Segment, new: Segment) -> bytes:
    # Every code must be in the target: tools refuse a file in which one is missing.
    return write_codes(restore_codes(source, new, pairs=True), lambda text: write_text(text).decode()).encode()


def _opened(tag: bytes) -> bytes:
    """A start tag that is not an end tag too."""
    return tag[:-2].rstrip() + b">" if tag.endswith(b"/>") else tag


def _set(tag: bytes, name: bytes, value: str) -> bytes:
    """A start tag with this attribute."""
    text = name + b'="' + write_value(value) + b'"'
    match = re.search(rb"(?<=\s)" + name + rb"""\s*=\s*("[^"]*"|'[^']*')""", tag)
    if match:
        return tag[: match.start()] + text + tag[match.end() :]
    end = len(tag) - (2 if tag.endswith(b"/>") else 1)
    return tag[:end].rstrip() + b" " + text + tag[end:]
