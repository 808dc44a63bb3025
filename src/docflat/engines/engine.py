"""What an engine does: encode sources, search translations, score given ones. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from docflat.data.flat_layout import FlatSide
from docflat.data.rows import Array, Ids
from docflat.model.sizes import Vocabulary

Shown = Any  # what other rows see of a row; only the engine that made it can read it


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation."""

    tokens: Ids  # without </s>
    score: float  # log-probability, that of </s> included, by length ** penalty
    log_probabilities: list[float]  # of each token, and of </s>
    alternatives: Sequence[Hypothesis] = ()  # what else the search finished, the next best first; if it was asked for


NOTHING = Hypothesis([], 0.0, [])  # of an empty sentence, which nobody searches


def with_alternatives(finished: Sequence[Hypothesis], n_best: int) -> list[Hypothesis]:
    """The best of each row, of n_best of every row, the best first; places that no hypothesis took are left out."""
    rows = [finished[start : start + n_best] for start in range(0, len(finished), n_best)]
    return [replace(row[0], alternatives=[one for one in row[1:] if one.tokens]) for row in rows]


@dataclass(frozen=True)
class TargetContext:
    """Target text of other sentences that a search may see: full translations, in document order."""

    side: FlatSide  # rows as in training, with these translations as current sentences
    row: Array  # (rows,) where each row that is decoded stands among them: it sees its group's rows before that


@dataclass(frozen=True)
class ShownContext:
    """In the place of a target context: what finished rows have shown."""

    rows: Sequence[Sequence[Shown]]  # for each row that is decoded, of the rows it sees


class Encoded(Protocol):
    """Encoded source rows; only the engine that made them can read them."""

    def take(self, rows: Array, sentences: Array) -> Encoded:
        """Of some rows only. sentences (rows,): how many of each are told apart, the older ones count as one."""


class Engine(Protocol):
    """A model on its hardware. Rows of a side that are in one group see each other, as far as the model lets them."""

    @property
    def name(self) -> str:
        """onnx or torch."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def precision(self) -> str:
        """fp32, bf16 or int8."""

    @property
    def search_rows(self) -> int:
        """Of how many rows a search is fastest."""

    @property
    def scoring_budget(self) -> int:
        """Of how many tokens a batch of given text is best made."""

    @property
    def sees_growing(self) -> bool:
        """Whether target rows that are translated at the same time see each other."""

    @property
    def searches_together(self) -> bool:
        """Whether rows of one search can see each other's unfinished translations: the global context `partial`."""

    @property
    def looks_ahead(self) -> bool:
        """Whether the state of a target token depends on later ones."""

    @property
    def keeps_rows(self) -> bool:
        """Whether what others see of a row depends on that row alone, so that it can be kept: `show_source`."""

    @property
    def alignment_layers(self) -> int:
        """Of how many layers `source_weights` can be asked."""

    def longest(self, source_tokens: int) -> int:
        """Of how many tokens a translation may be."""

    def encode(self, source: FlatSide) -> Encoded: ...

    def search(
        self,
        encoded: Encoded,
        prefix: FlatSide,
        limits: Sequence[int],
        beam: int,
        length_penalty: float,
        context: TargetContext | ShownContext | None = None,
        shortlist: bool = False,
        n_best: int = 1,
    ) -> list[Hypothesis]:
        """The best translation of each row, with the n_best - 1 after it as its alternatives.

        prefix: target rows up to the start symbol of their current sentence; limits: most tokens of each. shortlist:
        weigh only words that the source's can become, where the engine knows them. n_best: at most the beam; what is
        best does not depend on it.
        """

    def score(self, encoded: Encoded, target: FlatSide, labels: Array) -> Array:
        """Log-probabilities of what follows each token of the target's current sentences: (current,).

        encoded: the source rows of the target's, all of them.
        """

    def score_candidates(self, source: FlatSide, target: FlatSide, counts: Array, labels: Array) -> Callable[[], Array]:
        """Several target rows to each source row, which is computed once; so is what target rows begin alike.

        counts (source rows,): target rows of each. labels (current,): what follows each token of the target's current
        sentences. Returns what waits for their log-probabilities, (current,).
        """

    def source_weights(self, source: FlatSide, target: FlatSide, layer: int) -> list[Array]:
        """How much the tokens of each target row read of each of the source row, the mean of the heads of a layer.

        (target tokens, source tokens) of each row; nothing where this layer reads no source.
        """

    def show_source(self, side: FlatSide) -> list[Shown]:
        """What others see of each row; where rows can be kept."""

    def show_target(self, side: FlatSide) -> list[Shown]: ...

    def encode_among(self, source: FlatSide, shown: Sequence[Sequence[Shown]]) -> Encoded:
        """Encode rows each of which sees what these rows have shown, itself among them, and not those beside it."""
