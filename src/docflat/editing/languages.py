"""The language pairs that can be edited."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from docflat.editing import german
from docflat.editing.evidence import Weights
from docflat.editing.variants import OpenForms, Variant
from docflat.support.errors import InputError


@dataclass(frozen=True)
class Language:
    """A pair of languages: its words whose form is open, and when they are changed."""

    forms: OpenForms
    fixed: re.Pattern[str]  # stretches of a draft whose words are never changed
    doubts: re.Pattern[str]  # sources in which a word that seems open often stands for nothing
    kind: Callable[[Variant], str]
    weights: Weights


LANGUAGES: Mapping[tuple[str, str], Language] = {
    ("en", "de"): Language(german.FORMS, german.FIXED, german.DOUBTS, german.kind, german.WEIGHTS),
}


def find_language(languages: tuple[str, str]) -> Language:
    if languages not in LANGUAGES:
        known = ", ".join(" to ".join(pair) for pair in LANGUAGES)
        raise InputError(f"drafts from {languages[0]} to {languages[1]} cannot be edited; there is {known}")
    return LANGUAGES[languages]
