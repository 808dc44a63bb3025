"""P-CXMI: how much more likely a model finds each token of a translation with its context than without.

Point-wise cross-mutual information (Fernandes et al., 2021 and 2023): log p(token | context) - log p(token). It shows
which words needed the context, and whether a model used it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from docflat.decoding.scoring import Scorer
from docflat.translation.translator import Translator

END = "</s>"


@dataclass(frozen=True)
class SentenceCXMI:
    """A scored sentence; all lists are as long as each other, the end of the sentence comes last."""

    pieces: list[str]  # what the tokens spell, with the blank before a word
    with_context: list[float]  # log-probabilities
    without: list[float]

    @property
    def values(self) -> list[float]:
        return [a - b for a, b in zip(self.with_context, self.without, strict=True)]

    def words(self) -> list[tuple[str, float]]:
        """Each word with the sum of its tokens; without the end."""
        values = self.values
        return [
            ("".join(self.pieces[n] for n in tokens).strip(), sum(values[n] for n in tokens))
            for tokens in group_words(self.pieces[:-1])
        ]


def cxmi(
    translator: Translator,
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    done: Callable[[int], None] = lambda sentences: None,
) -> list[list[SentenceCXMI]]:
    """Of every sentence of documents. `done` hears of each sentence twice: with context and without."""
    subwords, scorer = translator.model.subwords, Scorer(translator.model)
    source = [subwords.encode_batch(document, "source") for document in sources]
    target = [subwords.encode_batch(document, "target") for document in references]
    both = [scorer.documents(source, target, context, done) for context in (True, False)]
    return [
        [
            SentenceCXMI([*subwords.pieces(a.tokens), END], a.log_probabilities, b.log_probabilities)
            for a, b in zip(*document, strict=True)
        ]
        for document in zip(*both, strict=True)
    ]


def group_words(pieces: Sequence[str]) -> list[list[int]]:
    """The numbers of the pieces of each word; a mark of punctuation is a word of its own."""
    words: list[list[int]] = []
    waiting: list[int] = []  # the first bytes of a character spell nothing yet: they are of the word it is in
    kind: bool | None = None  # of the last word: a mark or not
    for number, piece in enumerate(pieces):
        waiting.append(number)
        if not piece:
            continue
        text = piece.strip()
        now = unicodedata.category(text[0])[0] in "PS" if text else None
        if not words or piece[0].isspace() or (now is not None and kind is not None and now != kind):
            words.append([])
            kind = None
        words[-1] += waiting
        waiting = []
        kind = kind if now is None else now
    if waiting:
        words = [*words[:-1], [*words[-1], *waiting]] if words else [waiting]
    return words
