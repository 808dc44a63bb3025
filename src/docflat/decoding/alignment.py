"""Word alignment: which words of a translation stand for which of the source.

The decoder's attention to the source tells, in a pass over the given translation. Which layer does, and whether when a
word has been read or when it is about to be said, differs from model to model (Chen et al., "Accurate Word Alignment
Induction from Neural Machine Translation", EMNLP 2020). A model's config.json says it, or it is found out with a few
made-up sentences, by leaving out their words (Li et al., "On the Word Alignment from Neural Machine Translation", ACL
2019), which is slower and sees less. Sentences of a document would do too, but then a document's links would depend on
those that came before it.
Words that are the same on both sides need no model.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, pairwise

import numpy as np
import numpy.typing as npt

from docflat.data.flat_layout import flatten_side
from docflat.data.rows import Rows, SentenceList
from docflat.data.subwords import SideName, Subwords
from docflat.decoding.passes import Passes
from docflat.decoding.scoring import Scorer
from docflat.decoding.settings import DecodingSettings
from docflat.engines.loading import LoadedModel
from docflat.support.punctuation import WIDE
from docflat.support.text_ranges import Range
from docflat.weights.config import AlignmentView

Weights = npt.NDArray[np.float64]  # (target words, source words)
Links = list[tuple[int, int]]  # (source word, target word)

# A character of a script without blanks is a word; so is a punctuation mark.
_WORD = re.compile(rf"[{WIDE}]|[^\W{WIDE}]+|[^\w\s]")
BUDGET = 4096  # tokens of a batch
SAMPLE, MADE_UP_WORDS = 16, 8  # made-up sentences that show where in the model to look, and words of each
FREQUENT = 2000  # words that they are made of: the more frequent ones come first
DIAGONAL = 0.05  # how much the place in the sentence counts where the attention leaves it open
# Of the weight that another word has which chose the same source word: with less, a word stands for nothing in the
# source, as "Sie" in "Klicken Sie hier", and its weight is only what is left over.
WEAKEST = 0.45


def find_words(text: str) -> list[Range]:
    return [match.span() for match in _WORD.finditer(text)]


def diagonal(source: int, target: int) -> Weights:
    """Weights of so many words, if nothing is known but their places."""
    places = [(np.arange(count) + 0.5) / count for count in (target, source)]
    near: Weights = 1 - np.abs(places[0][:, None] - places[1])
    return near


def find_links(source: str, target: str, weights: Weights | None = None) -> Links:
    """Links of the words of a sentence and its translation; weights: of an `Aligner`."""
    source_words, target_words = find_words(source), find_words(target)
    if not source_words or not target_words:
        return []
    same = _same_words([source[a:b] for a, b in source_words], [target[a:b] for a, b in target_words])
    if weights is None:  # perhaps because there are too many words for a table of all pairs
        return sorted([*same, *_links_by_place(len(source_words), len(target_words), same)])
    score = weights + DIAGONAL * diagonal(len(source_words), len(target_words))
    score[:, [s for s, _ in same]] = -1
    score[[t for _, t in same]] = -1
    links = set(same)
    chosen = [(int(s), t) for t, s in enumerate(score.argmax(1)) if score[t, s] >= 0]
    least = np.zeros(len(source_words))
    for s, t in chosen:
        if target[target_words[t][0]].isalnum():  # a comma often reads of the verb that follows it
            least[s] = max(least[s], WEAKEST * score[t, s])
    links |= {(s, t) for s, t in chosen if score[t, s] >= least[s]}
    # A source word that no other word looked at still has a place in the translation.
    missed = set(range(len(source_words))) - {s for s, _ in links}
    best = score.argmax(0)
    links |= {(s, int(best[s])) for s in missed if score[best[s], s] >= 0}
    return sorted(links)


def _links_by_place(source: int, target: int, same: Links) -> Links:
    """Links of the other words of a sentence to those that are as far in it, as far as there are any."""
    free = np.setdiff1d(np.arange(source), [s for s, _ in same]), np.setdiff1d(np.arange(target), [t for _, t in same])
    if not all(map(len, free)):
        return []
    places = (free[0] + 0.5) / source, (free[1] + 0.5) / target
    links = set(zip(free[0][_nearest(*places)].tolist(), free[1].tolist(), strict=True))
    linked = {s for s, _ in links}
    back = zip(free[0].tolist(), free[1][_nearest(*reversed(places))].tolist(), strict=True)
    return [*links, *((s, t) for s, t in back if s not in linked)]


def _nearest(places: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Which of these places, in order, is nearest to each of the wanted ones; of two the first."""
    after = np.searchsorted(places, wanted).clip(1, max(1, len(places) - 1))
    after = np.minimum(after, len(places) - 1)
    before = np.maximum(after - 1, 0)
    near = [1 - np.abs(places[one] - wanted) for one in (before, after)]  # as `diagonal`, to the last bit
    nearer: npt.NDArray[np.int64] = np.where(near[0] >= near[1], before, after)
    return nearer


def _same_words(source: Sequence[str], target: Sequence[str]) -> Links:
    """Names, numbers and marks that both sides have equally often, in their order."""
    places: tuple[dict[str, list[int]], dict[str, list[int]]] = (defaultdict(list), defaultdict(list))
    for side, words in zip(places, (source, target), strict=True):
        for place, word in enumerate(words):
            # Short words that look the same may be different ones: "in", "die", "am".
            if len(word) > 3 or not word.isalpha() or not word.islower():
                side[word].append(place)
    common = [word for word, its_places in places[0].items() if len(its_places) == len(places[1].get(word, ()))]
    return [link for word in common for link in zip(places[0][word], places[1][word], strict=True)]


class Aligner:
    """Asks a model; every sentence by itself."""

    def __init__(self, model: LoadedModel) -> None:
        self.model = model

    @cached_property
    def view(self) -> AlignmentView:
        """Where to look: the same whatever is translated."""
        known, layers = self.model.config.alignment, self.model.engine.alignment_layers
        if known is not None and known.layer < layers:
            return known
        made_up = self._made_up()
        views = [AlignmentView(layer, reading) for layer in range(layers) for reading in (True, False)]
        agreed = self.agreements(made_up, views)
        return max(agreed, key=agreed.__getitem__)

    def _made_up(self) -> list[_AlignedPair]:
        """Sentences of words that the model has whole, and its translations of them."""
        subwords, rng = self.model.subwords, np.random.default_rng(0)
        pieces = (subwords.pieces([number], "source")[0] for number in range(subwords.mask + 1, subwords.text_size))
        whole = (piece.strip() for piece in pieces if len(piece) > 3 and piece[0].isspace() and piece.strip().isalpha())
        words = list(islice(whole, FREQUENT))
        if not words:
            return []
        texts = [" ".join(rng.choice(words, MADE_UP_WORDS)) for _ in range(SAMPLE)]
        settings = DecodingSettings("sentence", beam=1)
        passes = Passes(self.model.engine, self.model.layout, self.model.config.rows, settings)
        (translated,) = passes.sentence_by_sentence([subwords.encode_batch(texts)], lambda sentences: None)
        pairs = (
            _AlignedPair.of_texts(subwords, *both) for both in zip(texts, map(subwords.decode, translated), strict=True)
        )
        return [pair for pair in pairs if pair is not None]

    def weights(self, pairs: Sequence[tuple[str, str]]) -> list[Weights | None]:
        """Of each (sentence, translation); None where the model cannot tell."""
        texts = [_AlignedPair.of_texts(self.model.subwords, *pair) for pair in pairs]
        most = self.model.config.rows.max_tokens - 3
        known = [number for number, pair in enumerate(texts) if pair is not None and pair.longest <= most]
        chosen = [pair for pair in (texts[number] for number in known) if pair is not None]
        by_pair: list[Weights | None] = [None] * len(pairs)
        made = (self._word_weights(batch, self.view) for batch in _batches(chosen))
        for number, weights in zip(known, chain.from_iterable(made), strict=False):
            by_pair[number] = weights
        return by_pair

    def agreements(self, sample: Sequence[_AlignedPair], views: Sequence[AlignmentView]) -> dict[AlignmentView, int]:
        """How many words each view agrees about with what leaving out source words does to their probability."""
        erased = [self._erase(pair).argmax(1) for pair in sample]
        agreed = {}
        for view in views:
            made = self._word_weights(sample, view) if sample else ()  # of a system with other layers, nothing
            agreed[view] = sum(int((w.argmax(1) == e).sum()) for w, e in zip(made, erased, strict=False))
        return agreed

    def _erase(self, pair: _AlignedPair) -> Weights:
        """How much less likely each target word is without each source word: (target words, source words)."""
        shares = pair.source.shares()
        without = [
            [token for token, share in zip(pair.source.ids, column, strict=True) if not share] for column in shares.T
        ]
        sources = [pair.source.ids, *without]
        scored = Scorer(self.model).documents([[ids] for ids in sources], [[pair.target.ids]] * len(sources), False)
        scores = np.array([sentence[0].log_probabilities[:-1] for sentence in scored])  # (variants, target subwords)
        lost: Weights = (scores[0] - scores[1:]) @ pair.target.shares()
        return lost.T

    def _word_weights(self, pairs: Sequence[_AlignedPair], view: AlignmentView) -> Iterator[Weights]:
        number, layout = np.arange(len(pairs)), self.model.layout
        rows = Rows(number, 0 * number, number, 0 * number, number)
        source = flatten_side(SentenceList([pair.source.ids for pair in pairs]), rows, layout, close=True)
        target = flatten_side(SentenceList([pair.target.ids for pair in pairs]), rows, layout, close=False)
        weights = self.model.engine.source_weights(source, target, view.layer)
        for attention, pair in zip(weights, pairs, strict=False):
            # Of the source: a start symbol before, in most models, the end and perhaps a place for a vector after.
            first = len(attention) - len(pair.target.ids) - (not view.reading)
            start = int(layout.source_starts)
            attention = attention[first : first + len(pair.target.ids), start : start + len(pair.source.ids)]
            said = pair.target.shares()
            yield said.T @ attention @ pair.source.shares() / np.maximum(1, said.sum(0))[:, None]


def _batches(pairs: Sequence[_AlignedPair]) -> Iterator[list[_AlignedPair]]:
    batch: list[_AlignedPair] = []
    for pair in pairs:
        if batch and (len(batch) + 1) * max(pair.longest, *(one.longest for one in batch)) > BUDGET:
            yield batch
            batch = []
        batch.append(pair)
    if batch:
        yield batch


@dataclass(frozen=True)
class _Subwords:
    """A text in subwords, and where its words and they are."""

    ids: list[int]
    places: list[Range]
    words: list[Range]

    def shares(self) -> Weights:
        """(subwords, words): 1 where they overlap."""
        shares = np.zeros((len(self.ids), len(self.words)))
        for n, (start, end) in enumerate(self.places):
            for w, (first, last) in enumerate(self.words):
                shares[n, w] = start < last and first < end
        return shares


@dataclass(frozen=True)
class _AlignedPair:
    source: _Subwords
    target: _Subwords

    @classmethod
    def of_texts(cls, subwords: Subwords, *texts: str) -> _AlignedPair | None:
        """None: there are no words, or it cannot be said where they are."""
        sides: list[_Subwords] = []
        names: tuple[SideName, SideName] = ("source", "target")
        for text, side in zip(texts, names, strict=True):
            ids = subwords.encode(text, side)
            places = subwords.places(text, side)
            if places is None:
                places = _places(text, subwords.pieces(ids, side))
            sides.append(_Subwords(ids, places, find_words(text)))
        return cls(*sides) if all(side.places and side.words for side in sides) else None

    @property
    def longest(self) -> int:
        return max(len(self.source.ids), len(self.target.ids))


def _places(text: str, pieces: Sequence[str]) -> list[Range]:
    """Where in the text each piece is; none if they are of another text: Moses changes quotes, for one."""
    letters = [place for place, letter in enumerate(text) if not letter.isspace()]
    counts = [sum(not letter.isspace() for letter in piece) for piece in pieces]
    if sum(counts) != len(letters):
        return []
    ends = np.cumsum([0, *counts]).tolist()
    return [(letters[a], letters[b - 1] + 1) if a < b else (0, 0) for a, b in pairwise(ends)]
