"""Items: what a paragraph of an office file is made of."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Look:
    """How text looks: the XML around it. Looks of one key are the same to a reader."""

    key: Hashable
    opening: bytes
    closing: bytes
    link: bool = False
    typed: bool = False  # in a font of typewriters, as code is


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes start:end of a part, inside the XML of a look if they need one."""

    look: Look | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    look: Look


@dataclass(frozen=True, slots=True)
class Raw:
    """XML that is kept as it is."""

    pieces: tuple[Item | Piece, ...]
    kind: str  # mark: nothing to see; object: an image, a reference; break: of a line; split: between two segments
    text: str = ""  # what a reader sees there: kept, but part of the sentence
    spaced: bool = False  # a space stands for it in the text


@dataclass(frozen=True, slots=True)
class Wrap:
    """XML around other items: a link, an insertion."""

    opening: tuple[Item | Piece, ...]
    items: tuple[Item, ...]
    closing: tuple[Item | Piece, ...]


Item = Text | Raw | Wrap


def clean(text: str) -> str:
    """Text of a part, without the places where its words might be hyphenated: a translation has other words."""
    return text.replace("\u00ad", "")


def items_text(items: Iterable[Item]) -> str:
    """What a reader sees of them."""
    return "".join(items_text(item.items) if isinstance(item, Wrap) else item.text for item in items)


def has_text(item: Item) -> bool:
    """Whether it has words to be translated."""
    if isinstance(item, Text):
        return item.text.strip() != ""
    return isinstance(item, Wrap) and any(map(has_text, item.items))


def walk_text(items: Iterable[Item]) -> Iterator[Text]:
    """Text that may be translated."""
    for item in items:
        if isinstance(item, Text):
            yield item
        elif isinstance(item, Wrap):
            yield from walk_text(item.items)


def join_code(items: Iterable[Item], typed: bool) -> list[Item]:
    """Runs of code that follow each other are one; if `typed`, text in a font of typewriters is code too."""
    split: list[Item] = []
    for item in items:
        if isinstance(item, Wrap):
            split.append(replace(item, items=tuple(join_code(item.items, typed))))
        elif isinstance(item, Text) and typed and item.look.typed and (inside := item.text.strip()):
            before, _, after = item.text.partition(inside)
            code = Raw((Text(inside, item.look),), "code", inside)
            split += [one for one in (Text(before, item.look), code, Text(after, item.look)) if one.text]
        else:
            split.append(item)
    joined: list[Item] = []
    for alike, group in groupby(split, lambda item: isinstance(item, Raw) and item.kind == "code"):
        runs = list(group)
        joined += [Raw(tuple(runs), "code", items_text(runs))] if alike else runs
    return joined
