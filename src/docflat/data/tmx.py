"""TMX: the pairs of a translation memory, read as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from docflat.support.errors import InputError

Languages = tuple[str, str]

# The types of props in which programs say what document or file a unit is from.
DOCUMENT_PROPS = {"document", "x-document", "docid", "x-docid", "file", "x-file", "filename", "x-filename"} | {
    "txt::doc. no."  # DGT-TM
}
LONGEST_SEGMENT = 1 << 20  # characters of a segment
DEEPEST = 100  # elements in each other
LARGEST_TAG = 16 << 20  # bytes of a tag or a comment: expat keeps it until it ends
_CODES = {"bpt", "ept", "it", "ph", "ut"}  # what they hold is no text
_BLANKS = re.compile(r"[ \t\r\n]+")


class TranslationUnit(NamedTuple):
    source: str
    target: str
    document: str  # its name, if it is known
    line: int


def clean(text: str) -> str:
    """In one line."""
    return _BLANKS.sub(" ", text).strip(" ")


@lru_cache(1000)
def matches(wanted: str, language: str) -> bool:
    """en is en-GB too; en-GB is not en-US."""
    wanted, language = (each.lower().replace("_", "-") for each in (wanted, language))
    return language == wanted or language.startswith(f"{wanted}-")


def read_units(chunks: Iterable[bytes], file: Path, languages: Languages | None) -> Iterator[TranslationUnit]:
    reader = _Reader(file, languages)
    fed = 0
    for chunk in chunks:
        reader.feed(chunk, is_end=False)
        fed += len(chunk)
        if fed - reader.parser.CurrentByteIndex > LARGEST_TAG:
            raise InputError(f"a tag of more than {LARGEST_TAG >> 20} MiB", file, reader.parser.CurrentLineNumber)
        yield from reader.units
        reader.units.clear()
    reader.feed(b"", is_end=True)
    yield from reader.units


class _Reader:
    """The handlers of expat."""

    def __init__(self, file: Path, languages: Languages | None) -> None:
        self.file = file
        self.languages = languages
        self.is_guessed = languages is None  # the languages are those of the first unit
        self.main = ""  # the source language, says the header
        self.units: list[TranslationUnit] = []
        self.path: list[str] = []
        self.line = 0  # of the unit
        self.sides: dict[str, str] = {}  # of the unit, by language
        self.document = ""
        self.language = ""
        self.text: list[str] | None = None  # of a segment or a prop that names a document
        self.length = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True  # fewer calls
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add
        self.parser.EntityDeclHandler = self._refuse  # an external DTD is named by many files, and never read
        self.parser.SkippedEntityHandler = self._refuse

    def feed(self, data: bytes, is_end: bool) -> None:
        try:
            self.parser.Parse(data, is_end)
        except expat.ExpatError as error:
            raise InputError(f"is not XML: {expat.ErrorString(error.code)}", self.file, error.lineno) from None
        except (LookupError, ValueError) as error:  # an encoding that expat does not know
            raise InputError(f"is not XML: {error}", self.file, 1) from None

    def _error(self, message: str) -> InputError:
        return InputError(message, self.file, self.parser.CurrentLineNumber)

    def _refuse(self, *_: object) -> None:
        raise self._error("XML entities are not read")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self.path and tag != "tmx":
            raise self._error(f"is not TMX: its root is {tag[:40]!r}")
        if len(self.path) == DEEPEST:
            raise self._error(f"more than {DEEPEST} elements in each other")
        self.path.append(tag)
        if tag == "header":
            self.main = attributes.get("srclang", "")
        elif tag == "tu":
            self.line, self.sides, self.document = self.parser.CurrentLineNumber, {}, ""
        elif tag == "tuv":
            self.language = attributes.get("xml:lang") or attributes.get("lang", "")
            if not self.language:
                raise self._error("a tuv without xml:lang")
        elif tag == "seg" or (tag == "prop" and attributes.get("type", "").lower() in DOCUMENT_PROPS):
            self.text, self.length = [], 0

    def _end(self, tag: str) -> None:
        self.path.pop()
        if tag == "seg" and self.text is not None:
            self.sides.setdefault(self.language, clean("".join(self.text)))
            self.text = None
        elif tag == "prop" and self.text is not None and "seg" not in self.path:
            self.document = self.document or clean("".join(self.text))
            self.text = None
        elif tag == "tu":
            self._end_unit()

    def _add(self, text: str) -> None:
        if self.text is not None and _CODES.isdisjoint(self.path):
            self.text.append(text)
            self.length += len(text)
            if self.length > LONGEST_SEGMENT:
                raise self._error(f"a segment of more than {LONGEST_SEGMENT} characters")

    def _end_unit(self) -> None:
        if self.languages is None:
            if len(self.sides) < 2:
                return  # it is in one language, and so are perhaps others
            self.languages = self._guess()
        others = [each for each in self.sides if not any(matches(wanted, each) for wanted in self.languages)]
        if others and self.is_guessed:
            raise self._ambiguous([*self.languages, *others])
        source, target = (
            next((text for each, text in self.sides.items() if matches(wanted, each)), "") for wanted in self.languages
        )
        if source and target:
            self.units.append(TranslationUnit(source, target, self.document, self.line))

    def _guess(self) -> Languages:
        """From the language of the header to the only other one."""
        source = [each for each in self.sides if self.main and matches(self.main, each)]
        target = [each for each in self.sides if each not in source]
        if len(source) != 1 or len(target) != 1:
            raise self._ambiguous(list(self.sides))
        return source[0], target[0]

    def _ambiguous(self, languages: list[str]) -> InputError:
        names = ", ".join(sorted(languages)[:10])
        return InputError(f"has the languages {names}: say which two, as in --languages en de", self.file, self.line)
