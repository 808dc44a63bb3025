"""Sentences as a model takes them: letters as it learned them, and no longer than it learned."""

from __future__ import annotations

import re
from unicodedata import normalize

from docflat.data.rows import Ids
from docflat.data.subwords import Subwords
from docflat.support.punctuation import SENTENCE_ENDS

_BLANKS = re.compile(r"\s+")


def composed(text: str, subwords: Subwords) -> str:
    """Letters and their accents in one, unless the model learned them apart, as macOS writes them."""
    whole = normalize("NFC", text)
    return whole if whole != text and len(subwords.encode(whole)) <= len(subwords.encode(text)) else text


def split_long(text: str, subwords: Subwords, limit: int) -> list[Ids]:
    """The ids of a sentence; of one with more than `limit`, in pieces, cut after punctuation where possible."""
    ids = subwords.encode(text)
    if len(ids) <= limit:
        return [ids]
    text = text.strip()
    blanks = list(_BLANKS.finditer(text))
    if not blanks:  # one endless word
        return [ids[start : start + limit] for start in range(0, len(ids), limit)]

    def badness(blank: re.Match[str]) -> float:
        before = text[blank.start() - 1]
        penalty = 0.0 if before in SENTENCE_ENDS + ";:" else 0.3 if before == "," else 0.6
        return penalty + abs(blank.start() / len(text) - 0.5)

    cut = min(blanks, key=badness)
    return split_long(text[: cut.start()], subwords, limit) + split_long(text[cut.end() :], subwords, limit)
