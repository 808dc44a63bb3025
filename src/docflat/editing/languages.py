"""The language pairs that can be edited, and which phenomena of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from docflat.editing import address_german, german
from docflat.editing.address import AddressTable
from docflat.editing.pronouns import PronounTable
from docflat.support.errors import InputError


@dataclass(frozen=True)
class Language:
    """A pair of languages: the tables of its phenomena."""

    pronouns: PronounTable
    address: AddressTable
    genitive: str  # what stands behind a name


LANGUAGES: Mapping[tuple[str, str], Language] = {
    ("en", "de"): Language(german.PRONOUNS, address_german.TABLE, genitive="s"),
}


def find_language(languages: tuple[str, str]) -> Language:
    if languages not in LANGUAGES:
        known = ", ".join(" to ".join(pair) for pair in LANGUAGES)
        raise InputError(f"drafts from {languages[0]} to {languages[1]} cannot be edited; there is {known}")
    return LANGUAGES[languages]
