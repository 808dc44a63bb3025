"""Cleaning: sentence pairs that are no use to learn from, each told by a rule that needs no model and no language.

A pair is left out by itself. Its neighbours then stand beside each other: a gap of one sentence does less harm to a
context than a document cut in two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from docflat.support.text_files import lines_of

MOST_WORDS = 250
LARGEST_RATIO = 3.0  # of characters, where a side has more than SHORT of them
SHORT = 20
EXCLUDED_FROM = 6  # words; a shorter sentence is in a test set by chance

_MARKUP = re.compile(
    r"</?[a-zA-Z][^<>@]*>"  # tags; with an @ it is an address
    r"|&#?\w+;"  # entities
    r"|\{\{|\}\}|\[\[|\]\]|\]\(|``|:\w+:`"  # wiki, Markdown, reStructuredText
    r"|\\f[BIRP]|\\\w+\{"  # troff, TeX
    r"|[\u2500-\u257f]"  # frames
)
_MOJIBAKE = re.compile("\ufffd|[\x80-\x9f]|[\xc2\xc3][\x80-\xbf]|\xe2\u20ac")
_SIGNS = re.compile(r"[^\w\s]|_")


class Cleaning:
    """Which sentence pairs to leave out, and why."""

    def __init__(self, rules: bool = True, exclude: Sequence[Path] = ()) -> None:
        """exclude: text files, such as test sets, whose sentences must not be a source to learn from."""
        self.rules = rules
        self.excluded = {
            plain
            for file in exclude
            for line in lines_of(file, file)
            if len((plain := _plain(line)).split()) >= EXCLUDED_FROM
        }

    def fault(self, source: str, target: str) -> str:
        """What is wrong with a pair, in a word or two; nothing: it is kept."""
        if self.excluded and _plain(source) in self.excluded:
            return "excluded"
        return _fault(source, target) if self.rules else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _fault(source: str, target: str) -> str:
    words = source.split(), target.split()
    if max(map(len, words)) > MOST_WORDS:
        return "long"
    shorter, longer = sorted((len(source), len(target)))
    if longer > SHORT and longer > LARGEST_RATIO * shorter:
        return "lengths"
    if _is_copied(*words):
        return "copied"
    for text in (source, target):
        if _MOJIBAKE.search(text):
            return "mojibake"
        if _MARKUP.search(text):
            return "markup"
        if 2 * len(_SIGNS.findall(text)) > len(text) - text.count(" "):
            return "signs"
    return ""


def _is_copied(source: list[str], target: list[str]) -> bool:
    """Whether it was not translated: the same on both sides, or most words that are no names."""
    if len(source) > 3 and source == target:
        return True
    common = [word for word in target if word.islower() and word.isalpha()]
    return len(common) > 3 and 2 * len(set(common) & set(source)) > len(set(common))
