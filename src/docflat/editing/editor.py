"""Drafts in their context: one phenomenon after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from docflat.data.subwords import Subwords
from docflat.decoding.scoring import Scorer
from docflat.editing.address import ADDRESS, FORMALITIES, MAJORITY, Address
from docflat.editing.context import Align, ContextScorer
from docflat.editing.languages import Language
from docflat.editing.names import NAMES, Names
from docflat.editing.pronouns import PRONOUNS, Pronouns
from docflat.editing.revisions import Revision, SentenceAndDraft
from docflat.support.errors import InputError

PHENOMENA = (PRONOUNS, ADDRESS, NAMES)


@dataclass(frozen=True)
class EditorSettings:
    """What is edited, and how boldly."""

    certainty: float | None = None  # how probable it must be that a change of a pronoun is right; None: by the drafts
    phenomena: Collection[str] = PHENOMENA  # pronouns, address (how you is said), names
    formality: str = MAJORITY  # how you is said: formal, informal, or as in most sentences of each document

    def __post_init__(self) -> None:
        if self.certainty is not None and not 0 <= self.certainty <= 1:
            raise InputError(f"certainty {self.certainty}: must be from 0 to 1")
        if unknown := [name for name in self.phenomena if name not in PHENOMENA]:
            raise InputError(f"phenomenon {unknown[0]!r}: there are {', '.join(PHENOMENA)}")
        if self.formality not in FORMALITIES:
            raise InputError(f"formality {self.formality!r}: there are {', '.join(FORMALITIES)}")


class Phenomenon(Protocol):
    def edit(self, revisions: list[list[Revision]]) -> None:
        """Add edits to the revisions of documents."""


class Editor:
    """Edits drafts with a model that was trained with context and without."""

    def __init__(
        self,
        scorer: Scorer,
        subwords: Subwords,
        align: Align,
        language: Language,
        settings: EditorSettings = EditorSettings(),
    ) -> None:
        self.scorer = ContextScorer(scorer, subwords, align)
        makers: dict[str, Callable[[], Phenomenon]] = {
            PRONOUNS: lambda: Pronouns(self.scorer, language.pronouns, settings.certainty),
            ADDRESS: lambda: Address(self.scorer, language.address, settings.formality),
            NAMES: lambda: Names(self.scorer, language.genitive),
        }
        self.phenomena = [make() for name, make in makers.items() if name in settings.phenomena]

    def edit(
        self, documents: Sequence[Sequence[SentenceAndDraft]], done: Callable[[int], None] = lambda sentences: None
    ) -> list[list[Revision]]:
        """Documents of sentences with their drafts; a draft's context is what became of those before it."""
        revisions = [[Revision(*pair) for pair in document] for document in documents]
        for phenomenon in self.phenomena:
            phenomenon.edit(revisions)
        done(sum(map(len, documents)))
        return revisions
