"""Catalogues that are XML: elements that each hold a string; every other byte stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from docflat.formats.catalogues.messages import Message, read_message, write_message
from docflat.formats.inline_codes import Token, read_tokens, restore_codes, skip_reason, write_codes
from docflat.formats.positioned_xml import Element, Xml, write_text
from docflat.formats.segments import Segment


@dataclass(frozen=True)
class XmlString:
    element: Element
    skip_reason: str = ""  # why it is not to be translated
    flags: tuple[str, ...] = ()  # what its placeholders are: "java-format"


class XmlStrings:
    """A file that was read. A string without elements inside is a message; with them it is a segment with codes."""

    def __init__(
        self,
        xml: Xml,
        data: bytes,
        strings: Sequence[XmlString],
        said: Callable[[str], str],
        written: Callable[[str], str],
    ) -> None:
        """said, written: from the text of an element to what it says, and back."""
        self.xml, self.data, self.strings, self.said, self.written = xml, data, strings, said, written
        self.contents: list[Message | Segment] = [self._read(string) for string in strings]
        self.segments: list[Segment] = [one for content in self.contents for one in _segments(content)]

    def render(self, segments: Sequence[Segment]) -> bytes:
        self.xml.reset()
        first, changed = 0, False
        for string, content in zip(self.strings, self.contents, strict=True):
            sources = _segments(content)
            new = segments[first : first + len(sources)]
            first += len(sources)
            if any(a != b for a, b in zip(sources, new, strict=True)):
                changed = True
                self.xml.change(string.element.inner, string.element.inner_end, self._write(content, new))
        return self.xml.render() if changed else self.data

    def _read(self, string: XmlString) -> Message | Segment:
        element = string.element
        if string.skip_reason:
            return Segment(element.text(), skip_reason=string.skip_reason)
        if not list(element):
            return read_message(self.said(element.text()), string.flags)
        text, spans = read_tokens(self._tokens(element))
        return Segment(text, tuple(spans), skip_reason(text))

    def _tokens(self, element: Element) -> Iterator[Token]:
        for child in element.children:
            if isinstance(child, str):
                for number, line in enumerate(self.said(child).split("\n")):
                    if number:
                        yield Token(self.written("\n"), "point")
                    yield Token(line, "text")
            elif child.inner_end > child.inner:
                key = f"<{child.start}"
                opaque = child.tag.endswith(":g") or child.attributes.get("translate") == "no"
                yield Token(self._raw(child.start, child.inner), "open", key, opaque, firm=True)
                yield from self._tokens(child)
                yield Token(self._raw(child.inner_end, child.end), "close", key)
            else:
                yield Token(self._raw(child.start, child.end), "point")

    def _raw(self, start: int, end: int) -> str:
        return self.xml.data[start:end].decode()

    def _write(self, content: Message | Segment, new: Sequence[Segment]) -> bytes:
        if isinstance(content, Message):
            return write_text(self.written(write_message(content, new)))
        restored = restore_codes(content, new[0], pairs=True)
        return write_codes(restored, lambda text: write_text(self.written(text)).decode()).encode()


def _segments(content: Message | Segment) -> Sequence[Segment]:
    return content.segments if isinstance(content, Message) else (content,)
