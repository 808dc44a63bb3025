"""A draft, what was changed in it, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from docflat.editing.variants import Change, apply_changes

SentenceAndDraft = tuple[str, str]  # a sentence and its draft
Place = tuple[int, int]  # of a sentence: the number of its document, and its own there


@dataclass(frozen=True)
class Edit:
    """Changes of a draft that belong together, and why they were made."""

    phenomenon: str  # of those of docflat.editing.languages
    changes: tuple[Change, ...]  # in their order
    why: str
    evidence: Mapping[str, float]
    probability: float | None = None  # that the new words are right and the old ones are not, where it was learned


@dataclass(frozen=True)
class Revision:
    """A draft and what became of it."""

    source: str
    draft: str
    edits: tuple[Edit, ...] = ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """Of all edits, in the order of the draft."""
        return tuple(sorted((change for edit in self.edits for change in edit.changes), key=lambda each: each.place))

    @property
    def text(self) -> str:
        return apply_changes(self.draft, self.changes)

    @property
    def reason(self) -> str:
        """Why it was changed, in a line."""
        return "; ".join(
            f"{', '.join(f'{change.old} -> {change.new}' for change in edit.changes)} {edit.why}" for edit in self.edits
        )

    def with_edit(self, edit: Edit) -> Revision:
        """With one more; as it was, if words of it were changed already."""
        ends = [change.place for change in self.changes]
        clash = any(a < end and start < b for start, end in ends for a, b in (each.place for each in edit.changes))
        return self if clash else Revision(self.source, self.draft, (*self.edits, edit))

    def without(self, phenomenon: str) -> Revision:
        return Revision(self.source, self.draft, tuple(edit for edit in self.edits if edit.phenomenon != phenomenon))

    def report(self) -> dict[str, object]:
        """The same as a record; empty, if nothing was changed."""
        if not self.edits:
            return {}
        return {
            "source": self.source,
            "draft": self.draft,
            "text": self.text,
            "edits": [asdict(edit) for edit in self.edits],
        }


Revisions = Sequence[Sequence[Revision]]  # by document
