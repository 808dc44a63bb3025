"""Settings of rows. One field, one sentence. No torch here: the command line reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

_MOST = {"context": 10_000, "window": 1_000_000, "max_tokens": 1_000_000}


@dataclass(frozen=True)
class RowSettings:
    """What a row holds and which rows see each other."""

    context: int | None = None  # previous sentences put before the current one (the paper's c); none: the system's own
    target_context: bool | None = None  # whether the target side has them too; none: the system's own
    local_context: Literal["gold", "irrelevant"] = "gold"  # irrelevant: another row's context (ablation)
    global_context: Literal["gold", "irrelevant"] = "gold"  # irrelevant: rows of a batch are mixed (ablation)
    document_mask: bool = True  # rows of different documents never see each other; false: the paper to the letter
    window: int | None = None  # most rows of a document that see each other; 0: no limit; none: the system's own
    mixed: float | None = None  # share of groups put together from several documents; none: the system's own
    max_tokens: int = 512  # a longer row loses its oldest context; a sentence longer than that is left out
    context_free: float = 0.0  # share of documents trained as lone sentences, so one model can do both passes
    index_shift: float = 0.1  # share of documents whose count starts anywhere, so that all indices are learned
    source_starts: bool = True  # start symbols on the source side too; false: instead </s> ends every sentence there

    def __post_init__(self) -> None:
        for name in ("context", "window"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name}: must not be negative")
        for name, most in _MOST.items():
            if (getattr(self, name) or 0) > most:
                raise ValueError(f"{name}: must be at most {most}")
        if self.max_tokens < 8:
            raise ValueError("max_tokens: must be at least 8")
        for name in ("context_free", "index_shift", "mixed"):
            if not 0 <= (getattr(self, name) or 0.0) <= 1:
                raise ValueError(f"{name}: must be between 0 and 1")
        if self.window and not self.document_mask:
            raise ValueError("window: counts rows of one document, so it needs document_mask: true")
        if self.mixed and not self.document_mask:
            raise ValueError("mixed: is told apart by documents, so it needs document_mask: true")
        if self.global_context == "irrelevant" and self.document_mask:
            raise ValueError(
                "global_context: 'irrelevant' needs document_mask: false (the mask would hide every other row)"
            )

    def filled(self, **defaults: Any) -> RowSettings:
        """With what is left open filled in: by a system's own values, or else by what most systems have."""
        usual = {"context": 3, "target_context": True, "window": 0, "mixed": 0.0}
        if not self.document_mask:
            defaults = {**defaults, "window": 0}  # a window counts rows of one document
        return replace(
            self, **{name: defaults.get(name, value) for name, value in usual.items() if getattr(self, name) is None}
        )
