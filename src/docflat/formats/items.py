"""Items: what a paragraph of an office file is made of."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True)
class Look:
    """How text looks: the XML around it. Looks of one key are the same to a reader."""

    key: Hashable
    opening: bytes
    closing: bytes
    link: bool = False


@dataclass(frozen=True)
class Piece:
    """Bytes start:end of a part, inside the XML of a look if they need one."""

    look: Look | None
    start: int
    end: int


@dataclass(frozen=True)
class Text:
    text: str
    look: Look


@dataclass(frozen=True)
class Raw:
    """XML that is kept as it is."""

    pieces: tuple[Item | Piece, ...]
    kind: str  # mark: nothing to see; object: an image, a reference; break: of a line; split: between two segments
    text: str = ""  # what a reader sees there: kept, but part of the sentence
    spaced: bool = False  # a space stands for it in the text


@dataclass(frozen=True)
class Wrap:
    """XML around other items: a link, an insertion."""

    opening: tuple[Item | Piece, ...]
    items: tuple[Item, ...]
    closing: tuple[Item | Piece, ...]


Item = Text | Raw | Wrap


def items_text(items: Iterable[Item]) -> str:
    """What a reader sees of them."""
    return "".join(items_text(item.items) if isinstance(item, Wrap) else item.text for item in items)


def has_text(item: Item) -> bool:
    """Whether it has words to be translated."""
    if isinstance(item, Text):
        return item.text.strip() != ""
    return isinstance(item, Wrap) and any(map(has_text, item.items))


def join_code(items: Iterable[Item]) -> list[Item]:
    """Runs of code that follow each other are one."""
    joined: list[Item] = []
    for code, group in groupby(items, lambda item: isinstance(item, Raw) and item.kind == "code"):
        inside = list(group)
        joined += [Raw(tuple(inside), "code", items_text(inside))] if code else inside
    return joined
