"""Which language a text is in, and whether that is the one that a model translates from."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Collection, Iterable
from functools import cached_property
from os import PathLike
from typing import Any

from docflat.support.languages import NAMES, language_name

log = logging.getLogger(__name__)

# On test sets of several kinds nothing of fifty characters or more was taken for another language (docs/files.md).
_LEAST = 100  # characters with which a text is judged
_MOST = 4000  # of a text that are looked at
_SURE = 0.99
_ALIKE = ({"da", "nb", "nn", "no"}, {"bs", "hr", "sr"}, {"id", "ms"}, {"gl", "pt"}, {"cs", "sk"})  # hard to tell apart
# Of what is plainly English nobody needs to ask: the languages of the world take half a second to load.
_ENGLISH = frozenset(
    [
        "the",
        "of",
        "and",
        "to",
        "is",
        "that",
        "it",
        "for",
        "with",
        "are",
        "be",
        "this",
        "you",
        "have",
        "not",
        "from",
        "by",
        "as",
        "they",
        "which",
    ]
)
_PLAINLY = 0.1  # of the words are among these; of other languages, a hundredth


class Detector:
    """py3langid, among some languages; it is loaded when it is first asked."""

    def __init__(self, languages: Collection[str] = tuple(NAMES)) -> None:
        self.languages = languages
        self._lock = threading.Lock()  # it keeps what it counts in itself

    @cached_property
    def _identifier(self) -> Any:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        identifier.set_languages(sorted(set(identifier.nb_classes) & set(self.languages)))
        return identifier

    def rank(self, text: str) -> list[tuple[str, float]]:
        """All languages with their probabilities. Where there are no letters nothing is known of any."""
        with self._lock:
            ranked = [(str(language), float(sure)) for language, sure in self._identifier.rank(text)]
        return ranked if any(map(str.isalpha, text)) else [(language, 0.0) for language, _ in ranked]


_detector = Detector()


def other_language(text: str, expected: str) -> str | None:
    """The language of a text if it is surely another than the expected one."""
    if len(text) < _LEAST or expected not in NAMES:
        return None
    words = re.findall(r"\w+", text.lower())
    if expected == "en" and sum(word in _ENGLISH for word in words) >= _PLAINLY * len(words):
        return None
    # What it is need not be sure, only what it is not: Croatian is like Bosnian, but not like English.
    possible = {expected}.union(*(alike for alike in _ALIKE if expected in alike))
    ranked = _detector.rank(text)
    if sum(sure for language, sure in ranked if language not in possible) < _SURE:
        return None
    return ranked[0][0]


class LanguageCheck:
    """Warns once if the text of a file is in another language than its model translates from."""

    def __init__(self, file: str | PathLike[str], languages: tuple[str, str] | None) -> None:
        self.file = file
        self.expected = languages and languages[0]  # None: of this model it is not known
        self._texts: list[str] = []
        self._length = 0
        self._is_done = self.expected is None

    def add(self, texts: Iterable[str]) -> None:
        """Look at these too, until there are enough."""
        for text in texts:
            if self._is_done:
                return
            self._texts.append(text)
            self._length += len(text) + 1
            if self._length >= _MOST:
                self.finish()

    def finish(self) -> None:
        """There is no more text."""
        if self._is_done or self.expected is None:
            return
        self._is_done = True
        language = other_language("\n".join(self._texts)[:_MOST], self.expected)
        if language is not None:
            log.warning(
                "%s: this looks like %s, but the model translates from %s (--from %s asks for another model)",
                *(self.file, language_name(language), language_name(self.expected), language),
            )
