"""Translations of a model with the repairs run on them: the one place where they run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from docflat.decoding.alignment import Weights
from docflat.translation.repairs.table import repairs_for


class Translates(Protocol):
    """What the translation of files asks of a `Translator`."""

    languages: tuple[str, str] | None

    def translate_documents(
        self, documents: Iterable[Sequence[str]], chunk: int = ..., done: Callable[[int], None] = ..., **settings: Any
    ) -> Iterator[list[str]]: ...

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Weights | None]: ...


class Edited(str):
    """A translation that context changed: text like any other on its way, which knows its draft."""

    draft: str

    @classmethod
    def of(cls, text: str, draft: str) -> str:
        if text == draft:
            return text
        edited = cls(text)
        edited.draft = draft
        return edited


@dataclass(frozen=True)
class Repaired:
    """A translation, and the names of the repairs that changed it."""

    text: str
    repairs: tuple[str, ...] = ()
    changed_by_context: bool = False  # of the mode edit: its draft, repaired as well, was another text


def repair(source: str, target: str, languages: tuple[str, str] | None) -> Repaired:
    """Run the repairs of a language pair on the translation of a sentence; None: it is not known, so none runs."""
    changed_by = []
    draft = target.draft if isinstance(target, Edited) else None
    for one in repairs_for(languages):
        new = one.run(source, target)
        if new != target:
            changed_by.append(one.name)
            target = new
    return Repaired(target, tuple(changed_by), draft is not None and repair(source, draft, languages).text != target)


def translate_and_repair(
    translator: Translates, documents: Iterable[Sequence[str]], repairs: bool = True, **settings: Any
) -> Iterator[list[Repaired]]:
    """Translate documents as they come, and repair every sentence. settings: of `Translator.translate_documents`."""
    waiting: deque[Sequence[str]] = deque()

    def passing() -> Iterator[Sequence[str]]:
        for document in documents:
            waiting.append(document)
            yield document

    languages = translator.languages if repairs else None
    for translations in translator.translate_documents(passing(), repairs=False, **settings):
        document = waiting.popleft()
        if len(document) != len(translations):  # not an assert statement: this holds under python -O too
            raise AssertionError(f"{len(document)} sentences in, {len(translations)} out")
        yield [repair(*pair, languages) for pair in zip(document, translations, strict=True)]
