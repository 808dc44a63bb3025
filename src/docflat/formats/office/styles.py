"""Which styles of an office file are code, and which hide their text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

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


class _Resolved(NamedTuple):
    """What a style is, with what it has of those it is based on."""

    code: bool = False
    hidden: bool | None = None
    typed: bool | None = None


class Styles(dict[str, Style]):
    """Styles by key. They are asked when all are there."""

    def __init__(self) -> None:
        super().__init__()
        self._resolved: dict[str, _Resolved] = {}

    def is_code(self, key: str) -> bool:
        return self._resolve(key).code

    def is_hidden(self, key: str) -> bool:
        return bool(self._resolve(key).hidden)

    def is_typed(self, key: str) -> bool | None:
        return self._resolve(key).typed

    def _resolve(self, key: str) -> _Resolved:
        """Each style once, however many are based on it; a circle is walked once."""
        path: dict[str, None] = {}
        while key in self and key not in path and key not in self._resolved:
            path[key] = None
            key = self[key].parent
        resolved = self._resolved.get(key, _Resolved())
        for key in reversed(path):
            style = self[key]
            resolved = _Resolved(
                resolved.code or bool(_CODE.fullmatch(style.name)),
                resolved.hidden if style.hidden is None else style.hidden,
                resolved.typed if style.typed is None else style.typed,
            )
            self._resolved[key] = resolved
        return resolved
