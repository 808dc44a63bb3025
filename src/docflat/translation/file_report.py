"""The report of a file: counts over its plan and over what became of its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from docflat.translation.numbers import numbers_differ
from docflat.translation.outcomes import Outcome
from docflat.translation.repairs.table import is_misread
from docflat.translation.segment_plan import PROTECTED, TOO_LONG, SegmentPlan


@dataclass(frozen=True)
class FileReport:
    """What became of a file."""

    file: str
    plans: Sequence[SegmentPlan] = ()  # of its segments
    outcomes: Sequence[Outcome] = ()  # of its sentences
    numbers: int = 0  # segments without words, left as they are, whose numbers readers of the translation may misread
    left_out: str = ""  # what the format passed over, in words
    remarks: Sequence[str] = ()  # of its format: what is hard to read now
    languages: tuple[str, str] | None = None  # of the model

    @property
    def segments(self) -> int:
        """Segments of the file."""
        return len(self.plans)

    @property
    def translated(self) -> int:
        """Segments with a sentence that was translated."""
        return sum(bool(plan.sentences) for plan in self.plans)

    @property
    def skipped(self) -> Counter[str]:
        """Segments that stayed as they were, by reason."""
        return Counter(plan.skip_reason for plan in self.plans if plan.skip_reason)

    @property
    def sentences(self) -> int:
        """Sentences that were translated."""
        return len(self.outcomes)

    @property
    def too_long(self) -> int:
        """Sentences of translated segments that were left as they are."""
        return sum(plan.too_long for plan in self.plans if plan.sentences)

    @property
    def unchanged(self) -> int:
        """Sentences that came back as they were."""
        return sum(one.is_unchanged for one in self.outcomes)

    @property
    def in_parts(self) -> int:
        """Sentences translated around what must not change."""
        return sum(one.way == "parts" for one in self.outcomes)

    @property
    def stood_in(self) -> int:
        """Sentences translated with stand-ins for what must not change."""
        return sum(one.way == "stand-ins" for one in self.outcomes)

    @property
    def with_glossary(self) -> int:
        """Sentences that have terms of the glossary."""
        return sum(bool(one.sentence.wanted) for one in self.outcomes)

    @property
    def put_in(self) -> int:
        """Of these, those that were translated again to get its translations."""
        return sum(one.way == "glossary" and one.has_wanted for one in self.outcomes)

    @property
    def other_terms(self) -> list[tuple[str, str]]:
        """Of these, those that lack some, and their translations."""
        return [(one.sentence.line, one.text) for one in self.outcomes if not one.has_wanted]

    @property
    def rows(self) -> list[tuple[str, str, bool]]:
        """Each sentence, its translation, and whether this is what the model made of the sentence alone."""
        return [(one.sentence.line, one.text, one.way == "whole") for one in self.outcomes]

    @cached_property
    def other_numbers(self) -> list[tuple[str, str]]:
        """Sentences and their translations whose numbers differ, or do to who reads them."""
        return find_other_numbers(self.rows, self.languages)

    @property
    def changed_by_context(self) -> int:
        """Sentences whose translation is not what the model makes of them alone; only the mode edit knows."""
        return sum(one.changed_by_context for one in self.outcomes)

    @property
    def repairs(self) -> Counter[str]:
        """Sentences that a repair changed, by its name."""
        return Counter(name for one in self.outcomes for name in set(one.repairs))

    def __str__(self) -> str:
        parts = [f"{self.translated} of {self.segments} segments translated"]
        parts += [f"{count} kept: {reason}" for reason, count in sorted(self.skipped.items())]
        if self.numbers:
            parts.append(f"{self.numbers} only numbers, written as in the source: readers may misread them")
        if self.unchanged:
            parts.append(f"{self.unchanged} of {self.sentences} sentences came back unchanged")
        if self.too_long:
            parts.append(f"{self.too_long} sentences kept: {TOO_LONG}")
        for count, how in ((self.in_parts, "in parts"), (self.stood_in, "with stand-ins")):
            if count:
                parts.append(f"{count} of {self.sentences} sentences {how}, to keep {PROTECTED}")
        if self.with_glossary:
            as_is = self.with_glossary - self.put_in - len(self.other_terms)
            counts = (
                f"{as_is} as the model has them, {self.put_in} put in, {len(self.other_terms)} translated otherwise"
            )
            parts.append(f"{self.with_glossary} of {self.sentences} sentences with terms of the glossary: {counts}")
        parts += [*count_repairs(self.repairs), *count_changes(self.changed_by_context, self.sentences)]
        if self.left_out:
            parts.append(self.left_out)
        if other := len(self.other_numbers):
            parts.append(f"{other} of {self.sentences} sentences have other numbers than the source")
        return f"{self.file}: {'; '.join([*parts, *self.remarks])}"


def find_other_numbers(
    rows: Iterable[tuple[str, str, bool]], languages: tuple[str, str] | None
) -> list[tuple[str, str]]:
    """Sentences and their translations whose numbers differ; languages: of the model, if it is known."""
    return [
        (source, target)
        for source, target, _ in rows
        if numbers_differ(source, target) or is_misread(source, target, languages)
    ]


def count_repairs(repairs: Mapping[str, int]) -> list[str]:
    """What a report says of repairs: nothing where there were none."""
    counts = ", ".join(f"{name} {count}" for name, count in sorted(repairs.items()))
    return [f"sentences repaired: {counts}"] if counts else []


def count_changes(changed: int, sentences: int) -> list[str]:
    """What a report says of sentences that context changed: nothing where there were none."""
    return [f"context changed {changed} of {sentences} sentences"] if changed else []
