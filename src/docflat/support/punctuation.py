"""Signs of writing that several rooms must agree on: what ends a sentence, scripts without blanks, wide ones."""

from __future__ import annotations

import re
from itertools import accumulate

SENTENCE_ENDS = ".!?…。！？؟۔।॥։።။។"
CLAUSE_ENDS = ",;:—–、，；：،"
CLOSING_QUOTES = "\"'”’»"
CLOSING = CLOSING_QUOTES + ")]"  # what may stand between the end of a sentence and the blank after it

# Scripts that put no blanks between words, and break anywhere: kana, Han. In the form of a regular expression's set.
# Thai would need a dictionary.
WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WIDE_SIGNS = "\u3000-\u303f\uff00-\uff60"  # their punctuation


def ends_sentence(text: str, also: str = "") -> bool:
    """Whether a text ends where a sentence does, perhaps in quotes or brackets. also: further signs that end one."""
    last = text.rstrip(CLOSING)[-1:]
    return bool(last) and last in SENTENCE_ENDS + also


_WIDE = re.compile(f"[{WIDE}{WIDE_SIGNS}]")


def are_wide(left: str, right: str) -> bool:
    """Whether no blank belongs between two texts: Chinese or Japanese on both sides."""
    return bool(_WIDE.fullmatch(left[-1:]) and _WIDE.fullmatch(right[:1]))


def columns(text: str) -> int:
    """How wide a text is in a line: Chinese, Japanese and Korean signs take two columns, marks on letters none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # takes as long as a short translation

    return cell_len(text)


def columns_before(text: str) -> list[int]:
    """Of each place of a text, its end too: how wide what stands before it is."""
    if text.isascii():
        return list(range(len(text) + 1))
    from rich.cells import get_character_cell_size

    return [0, *accumulate(map(get_character_cell_size, text))]


def between_sentences(gap: str, before: tuple[str, str], now: tuple[str, str]) -> str:
    """What belongs between two translated sentences.

    gap: what stood between their sources; before, now: the texts to its left and right, as far as
    the last and the first character, and their translations.
    """
    if gap == " " and are_wide(*now) and not are_wide(*before):
        return ""
    if not gap and are_wide(*before) and not are_wide(*now):
        return " "
    return gap
