"""Which language a text is in."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

from docflat.service.languages import NAMES


class Detector:
    """py3langid, among the languages that have a name here; it is loaded when it is first asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # it keeps what it counts in itself

    @cached_property
    def _identifier(self) -> Any:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        identifier.set_languages(sorted(set(identifier.nb_classes) & set(NAMES)))
        return identifier

    def rank(self, text: str) -> list[tuple[str, float]]:
        """All languages with their probabilities. Where there are no letters nothing is known of any."""
        with self._lock:
            ranked = [(str(language), float(sure)) for language, sure in self._identifier.rank(text)]
        return ranked if any(map(str.isalpha, text)) else [(language, 0.0) for language, _ in ranked]
