"""Which styles of an office file are code, and which hide their text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Names that Word, LibreOffice, pandoc and their users give to styles of code.
_CODE = re.compile(
    r"((source|program|inline|html|macro|block)[ _-]*)?code([ _-]*(block|char|inline|snippet|text|listing|box))*"
    r"|html (preformatted|keyboard|sample|typewriter|variable)( char)?|preformatted text|source text|teletype"
    r"|macro text( char)?|verbatim( char)?|listing|program listing",
    re.IGNORECASE,
)
_TYPED = re.compile(
    r"\b(mono|monospaced?|monaco|menlo|consolas|courier|inconsolata|typewriter|cascadia|andale|fixedsys|hack)\d*\b"
    r"|lucida console|\bcode\b|console",
    re.IGNORECASE,
)


def is_typed(*fonts: str) -> bool | None:
    """Whether the first font that is named is one of typewriters; None: none is named."""
    return next((bool(_TYPED.search(font)) for font in fonts if font), None)


@dataclass(frozen=True)
class Style:
    name: str  # as a user sees it
    parent: str = ""  # the key of the style it is based on
    hidden: bool | None = None  # None: as its parent
    typed: bool | None = None  # in a font of typewriters; None: as its parent
    look: tuple[object, ...] = ()  # what tells it from others; of OpenDocument only, where spans have styles


class Styles(dict[str, Style]):
    """Styles by key."""

    def is_code(self, key: str) -> bool:
        return any(_CODE.fullmatch(style.name) for style in self._line(key))

    def is_hidden(self, key: str) -> bool:
        return next((style.hidden for style in self._line(key) if style.hidden is not None), False)

    def is_typed(self, key: str) -> bool | None:
        return next((style.typed for style in self._line(key) if style.typed is not None), None)

    def _line(self, key: str) -> Iterable[Style]:
        """A style, the one it is based on, and so on; a circle is walked once."""
        seen = set()
        while key in self and key not in seen:
            seen.add(key)
            yield self[key]
            key = self[key].parent
