"""Candidates: translations of a sentence with what the model thinks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from docflat.data.rows import Ids
from docflat.engines.engine import Hypothesis
from docflat.translation.repairing import repair


@dataclass(frozen=True)
class Candidate:
    """A translation of a sentence, as a search finished it."""

    text: str
    log_probability: float | None = None  # of all its tokens and their end; None: no search wrote it
    score: float | None = None  # what the search ranks by: log_probability / number of tokens ** length_penalty
    repairs: tuple[str, ...] = ()  # names of those that changed the text after it was scored
    changed_by_context: bool = False  # of the mode edit

    def repaired(self, source: str, languages: tuple[str, str] | None) -> Candidate:
        """languages: None: those of the model are not known, or no repair is wanted."""
        done = repair(source, self.text, languages)
        return replace(self, text=done.text, repairs=done.repairs, changed_by_context=done.changed_by_context)


def candidates_of(
    pieces: Sequence[Hypothesis], join: Callable[[Sequence[Ids]], str], length_penalty: float
) -> Iterator[Candidate]:
    """Of a sentence that was translated in pieces, the best first; of several pieces there is only one.

    join: makes a text of a translation of each piece.
    """
    whole = [*pieces[:1], *pieces[0].alternatives] if len(pieces) == 1 else []
    for parts in [[one] for one in whole] or [list(pieces)]:
        text = join([one.tokens for one in parts])
        scored = [one.log_probabilities for one in parts if one.tokens]
        total, length = sum(map(sum, scored)), sum(map(len, scored))
        yield Candidate(text, total, total / length**length_penalty) if scored else Candidate(text)
