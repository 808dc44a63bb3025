"""Fields of Word: page numbers, references, links. A field is written as marks around its code and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from docflat.formats.office.paragraph_pieces import Item, Raw, Wrap, items_text

# Their results are words of the text. Others are made by Word, such as page numbers and dates, or are data.
_TRANSLATED = {"HYPERLINK", "TOC", "INDEX", "REF", "STYLEREF", "TITLE", "SUBJECT", "FORMTEXT", "QUOTE", "IF"}

DEEPEST_FIELD = 20  # fields in each other; an index in a table of contents has three


@dataclass(frozen=True, slots=True)
class FieldMark(Raw):
    """One of the marks of a field, or a part of its code."""

    role: str = ""  # begin, code, separate, end
    code: str = ""


def is_translated(code: str, result: Sequence[Item]) -> bool:
    return "".join(code.split()[:1]).upper() in _TRANSLATED and any(map(str.isalpha, items_text(result)))


def fold_fields(items: Sequence[Item]) -> list[Item]:
    """Whole fields as one item each. One that goes on in another paragraph stays a number of marks.

    So do those that are in more than DEEPEST_FIELD others: the rest of the way walks down into items.
    """
    folded: list[Item] = []
    begins: list[int] = []
    for item in items:
        role = item.role if isinstance(item, FieldMark) else ""
        if role == "begin":
            begins.append(len(folded))
        folded.append(item)
        if role == "end" and begins:
            begin = begins.pop()
            if len(begins) < DEEPEST_FIELD:
                folded[begin:] = [_fold(folded[begin:])]
    return folded


def _fold(items: Sequence[Item]) -> Item:
    roles = [item.role if isinstance(item, FieldMark) else "" for item in items]
    separate = roles.index("separate") if "separate" in roles else len(items) - 1
    code = "".join(item.code for item in items[:separate] if isinstance(item, FieldMark))
    result = tuple(items[separate + 1 : -1])
    if is_translated(code, result):
        return Wrap(tuple(items[: separate + 1]), result, tuple(items[-1:]))
    return Raw(tuple(items), "object", items_text(result))
