"""XML whose elements know their place in the bytes, so that a change of one leaves all others as they were written."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from xml.parsers import expat
from xml.sax.saxutils import escape

from docflat.formats.safe_reading import DEEPEST
from docflat.support.errors import InputError

MOST_ELEMENTS = 1_000_000  # of one part: half a gigabyte, one with text in all of them. A novel in Word has 100,000
_TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")
_NAME = re.compile(rb"[^\s/>]+")
_ATTRIBUTE = re.compile(rb"""([^\s=<>/"']+)\s*=\s*("[^"]*"|'[^']*')""")
_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_DECLARATION = re.compile(rb"""\sxmlns(?::[^\s=]+)?\s*=\s*(?:"[^"]*"|'[^']*')""")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0
# Those that office files may have, and the plainest others. UTF-16 is known by its byte order mark.
_ENCODINGS = {"utf-8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "iso-8859-1": "iso-8859-1"}


class Element:
    """An element: its tag, and its bytes start:end, of which inner:inner_end are the content."""

    __slots__ = ("attributes", "children", "end", "inner", "inner_end", "start", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], start: int, inner: int) -> None:
        self.tag, self.attributes, self.start, self.inner = tag, attributes, start, inner
        self.inner_end = self.end = inner
        self.children: list[Element | str] | tuple[()] = ()  # a million empty lists would be large

    def add(self, child: Element | str) -> None:
        if isinstance(self.children, tuple):
            self.children = []
        self.children.append(child)

    def __iter__(self) -> Iterator[Element]:
        return (child for child in self.children if isinstance(child, Element))

    def find(self, *path: str) -> Element | None:
        """The first child of this tag, its first child of the next tag, and so on along the path."""
        match: Element | None = self
        for tag in path:
            match = None if match is None else next((child for child in match if child.tag == tag), None)
        return match

    def walk(self) -> Iterator[Element]:
        """This element and all inside it, in the order they start."""
        left = [self]
        while left:
            element = left.pop()
            yield element
            left += reversed(list(element))

    def text(self) -> str:
        """All text inside."""
        return "".join(child for element in self.walk() for child in element.children if isinstance(child, str))


class Xml:
    """A parsed document, and the changes to be made to it.

    Tags and attributes are named with the prefixes given here for their namespaces, whatever the file's own are.
    """

    def __init__(self, data: bytes, file: str, prefixes: Mapping[str, str], doctype: bool = False) -> None:
        """doctype: whether it may name a DTD, which is never read."""
        self.encoding = _encoding(data, file)
        try:
            self.data = data if self.encoding == "utf-8" else data.decode(self.encoding).encode()
        except UnicodeError:
            raise InputError(f"is not XML: not {self.encoding}", file) from None
        if b"\0" in self.data:  # never in XML; expat would take it for UTF-16, whatever it is told
            raise InputError("is not XML: it has a zero byte", file)
        self.root = _parse(self.data, file, _Names(prefixes), doctype)
        self.reset()

    def reset(self) -> None:
        self._ends: list[int] = []
        self._changes: list[tuple[int, bytes]] = []  # where it starts, what stands there now; in the order of ends

    def name(self, element: Element) -> bytes:
        """The name in the bytes, with the file's own prefix."""
        match = _NAME.match(self.data, element.start + 1)
        assert match is not None
        return match.group()

    def attribute(self, element: Element, name: bytes) -> tuple[int, int] | None:
        """Where the value of an attribute stands, between its quotes; `name` is that in the bytes."""
        tag = _end_of_tag(self.data, element.start)
        for match in _ATTRIBUTE.finditer(self.data, element.start + 1 + len(self.name(element)), tag):
            if match[1] == name:
                return match.start(2) + 1, match.end(2) - 1
        return None

    def declares(self, start: int, end: int) -> bool:
        """Whether tags in these bytes declare a namespace that the root does not: what is inside may need them."""
        root = self.data[self.root.start : self.root.inner]
        return any(match not in root for match in _DECLARATION.findall(self.data, start, end))

    def change(self, start: int, end: int, data: bytes) -> None:
        """Put these bytes in that place. Inner places are changed before outer ones, earlier before later."""
        assert not self._ends or end >= self._ends[-1]
        self._ends.append(end)
        self._changes.append((start, data))

    def now(self, start: int, end: int) -> bytes:
        """These bytes with all changes inside them; of changes in each other the outer counts."""
        parts, at = [], end
        for i in range(bisect_right(self._ends, end) - 1, -1, -1):
            if self._ends[i] < start or at <= start:
                break
            if self._changes[i][0] >= start and self._ends[i] <= at:
                parts += [self.data[self._ends[i] : at], self._changes[i][1]]
                at = self._changes[i][0]
        return b"".join(reversed([*parts, self.data[start:at]]))

    def render(self) -> bytes:
        whole = self.now(0, len(self.data))
        return whole if self.encoding == "utf-8" else whole.decode().encode(self.encoding, "xmlcharrefreplace")


def write_text(text: str) -> bytes:
    """Text as XML. What XML cannot hold is left out."""
    return escape(_ILLEGAL.sub("", text), {"\r": "&#13;"}).encode()


def write_value(text: str) -> bytes:
    """Text as the value of an attribute, in either kind of quotes."""
    marks = {'"': "&quot;", "'": "&apos;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
    return escape(_ILLEGAL.sub("", text), marks).encode()


class _Names(dict[str, str]):
    """From `namespace}name`, as expat says it, to `prefix:name`."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        super().__init__()
        self.prefixes = prefixes

    def __missing__(self, long: str) -> str:
        namespace, _, name = long.rpartition("}")
        prefix = self.prefixes.get(namespace)
        self[long] = name if not namespace else f"{prefix}:{name}" if prefix else long
        return self[long]


def _encoding(data: bytes, file: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    match = _ENCODING.match(data.removeprefix(b"\xef\xbb\xbf"))
    name = match[1].decode().lower() if match else "utf-8"
    if name not in _ENCODINGS:
        raise InputError(f"is XML in {name}, which is not read", file)
    return _ENCODINGS[name]


def _end_of_tag(data: bytes, start: int) -> int:
    match = _TAG.match(data, start)
    assert match is not None  # expat has seen it
    return match.end()


def _parse(data: bytes, file: str, names: _Names, allows_doctype: bool) -> Element:
    parser = expat.ParserCreate("utf-8", "}")
    parser.buffer_text = True
    top = Element("", {}, 0, 0)
    path = [top]
    none: dict[str, str] = {}
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(path) > DEEPEST:
            raise InputError(f"has more than {DEEPEST} elements in each other", file)
        if count > MOST_ELEMENTS:
            raise InputError(f"has more than {MOST_ELEMENTS} elements in one part", file)
        at = parser.CurrentByteIndex
        named = {names[name]: value for name, value in attributes.items()} if attributes else none
        element = Element(names[tag], named, at, _end_of_tag(data, at))
        path[-1].add(element)
        path.append(element)

    def end(_: str) -> None:
        element = path.pop()
        if data[element.inner - 2 : element.inner] != b"/>":
            element.inner_end = parser.CurrentByteIndex
            element.end = data.index(b">", element.inner_end) + 1

    def doctype(_: str, __: str | None, ___: str | None, has_declarations: int) -> None:
        if has_declarations or not allows_doctype:
            raise InputError("has a document type declaration, which is not read", file)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: path[-1].add(text)
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(f"is not XML: {error}", file) from None
    return next(iter(top))
