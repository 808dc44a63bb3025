"""Inspection: what flat-batch attention reads of a document, sentence by sentence, and how far its gates open.

The weights are computed again from the projections of the model's own module: training and decoding use kernels
that never hold them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from docflat.data.rows import Ids, Rows, SentenceList, trim
from docflat.data.subwords import SideName, Subwords
from docflat.engines.loading import LoadedModel
from docflat.engines.torch.engine import TorchEngine
from docflat.model.batch import Side, make_side
from docflat.model.layers import Attention
from docflat.model.segments import Segments
from docflat.support.errors import InputError
from docflat.systems.docflat import DocFlat, FlatBatchAttention
from docflat.translation.translator import Translator

# More is nothing to look at, and a page grows with the square of its windows.
MOST_SENTENCES = 1000  # of a document
WIDEST = 400  # sentences of a window

Meaning = Literal["mean", "share open", "none"]


@dataclass(frozen=True)
class Map:
    """Sentences of one window, and how they read each other."""

    sentences: list[int]  # their places in the document, from 0
    tokens: list[int]  # how many each has in the flat sequence
    weights: list[list[float]]  # [reading][read], the mean of the heads
    heads: list[list[list[float]]]  # [head][reading][read]

    def shares(self) -> list[list[float]]:
        """How much of all that a sentence reads is from which: rows that sum to 1."""
        return [[weight * size for weight, size in zip(row, self.tokens, strict=True)] for row in self.weights]


@dataclass(frozen=True)
class Token:
    text: str  # with the blank before a word
    symbol: bool  # the start or the end of a sentence, not a word of it
    opening: float | None  # of its gate, between 0 and 1; none: there is no gate


@dataclass(frozen=True)
class Text:
    """One side of the document."""

    sentences: list[str]
    tokens: list[list[Token]]  # of each sentence, with its start symbol; none for one that was left out
    maps: list[Map]  # one a window
    causal: bool  # a token reads no later one

    def openings(self) -> list[float]:
        return [token.opening for sentence in self.tokens for token in sentence if token.opening is not None]

    def elsewhere(self) -> float:
        """How much of what is read is not from the reading sentence itself: the mean over sentences."""
        to_itself = [row[i] for one in self.maps for i, row in enumerate(one.shares())]
        return 1 - sum(to_itself) / len(to_itself)


@dataclass(frozen=True)
class Inspection:
    system: str
    document: str  # which one it is
    window: int  # sentences that see each other; 0: all
    scope: str  # what the flat sequence holds: current sentences, or all of their rows
    gate: Meaning  # what an opening is: the mean over dimensions, the share of those that are open
    source: Text | None  # none: no flat-batch attention on this side
    target: Text | None

    def sides(self) -> dict[SideName, Text]:
        sides: dict[SideName, Text | None] = {"source": self.source, "target": self.target}
        return {name: text for name, text in sides.items() if text is not None}

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self)


def flat_model(loaded: LoadedModel) -> DocFlat:
    if not isinstance(loaded.engine, TorchEngine) or not isinstance(loaded.engine.model, DocFlat):
        raise InputError(f"{loaded.config.system} has no flat-batch attention to look at; the docflat-* systems have")
    return loaded.engine.model


def inspect(
    translator: Translator,
    source: Sequence[str],
    target: Sequence[str] | None = None,
    window: int | None = None,
    document: str = "",
) -> Inspection:
    """The numbers of one document. target: its translation; None: the model's own.

    window: sentences that see each other, as in translation; 0: the whole document; None: the model's own.
    """
    loaded = translator.model
    model = flat_model(loaded)
    if target is not None and len(target) != len(source):
        raise ValueError(f"{len(source)} sentences, but {len(target)} translations")
    width = _width(translator, len(source), window)
    if target is None and model.target_flat is not None:
        target = translator.translate(source, window=width)
    source_ids = _encode(loaded.subwords, source, "source")
    target_ids = None if target is None else _encode(loaded.subwords, target, "target")
    rows = document_rows(loaded, source_ids, target_ids, width)
    if not len(rows):
        raise InputError("there is no sentence in this document with words on both sides")
    texts: dict[SideName, Text] = {}
    if model.source_flat is not None:
        texts["source"] = _inspect_side(loaded, model.source_flat, source, source_ids, rows, causal=False)
    if model.target_flat is not None and target is not None and target_ids is not None:
        texts["target"] = _inspect_side(loaded, model.target_flat, target, target_ids, rows, causal=True)
    options = next(flat for flat in (model.source_flat, model.target_flat) if flat is not None).options
    gates: dict[str, Meaning] = {"continuous": "mean", "discrete": "share open", "identity": "none"}
    return Inspection(
        loaded.config.system,
        document,
        0 if window == 0 else width,
        options.scope,
        gates[options.gate],
        texts.get("source"),
        texts.get("target"),
    )


def _width(translator: Translator, sentences: int, window: int | None) -> int:
    """How many sentences see each other."""
    if sentences > MOST_SENTENCES:
        raise InputError(f"a document of {sentences} sentences; {MOST_SENTENCES} at most can be looked at")
    width = sentences if window == 0 else translator.decoder.settings(window=window).window
    if min(width, sentences) > WIDEST:
        raise InputError(f"a window of {min(width, sentences)} sentences; {WIDEST} at most can be looked at")
    return width


def _encode(subwords: Subwords, texts: Sequence[str], side: SideName) -> list[Ids]:
    return [subwords.encode(text, side) if text.strip() else [] for text in texts]


def document_rows(loaded: LoadedModel, source: list[Ids], target: list[Ids] | None, window: int) -> Rows:
    """A row for each sentence with words, as in translation."""
    settings = loaded.config.rows
    place = np.arange(len(source))
    rows = Rows(place, np.minimum(settings.context or 0, place), place, place, place // window)
    has_words = np.array([bool(x) and (target is None or bool(target[i])) for i, x in enumerate(source)], dtype=bool)
    target_side = SentenceList(target or [[] for _ in source])
    rows = trim(rows, SentenceList(source), target_side, settings.max_tokens, settings.target_context is not False)
    return rows.take(np.flatnonzero(has_words))


@torch.inference_mode()
def _inspect_side(
    loaded: LoadedModel, flat: FlatBatchAttention, sentences: Sequence[str], ids: list[Ids], rows: Rows, causal: bool
) -> Text:
    model, layout = flat_model(loaded), loaded.layout
    laid = layout.target_rows(rows) if causal else rows
    side = make_side(SentenceList(ids), laid, layout, close=not causal).to(model.embedding.weight.device)
    x = model.embed(side)
    heads = side_maps(flat, x, side, causal)
    units = flat_units(flat, side).lengths.tolist()
    maps = []
    for (start, end), weights in zip(pairwise(side.group_rows.starts.tolist()), heads, strict=True):
        places = rows.sentence[start:end].tolist()
        maps.append(Map(places, units[start:end], weights.mean(0).tolist(), weights.tolist()))
    tokens: list[list[Token]] = [[] for _ in sentences]
    openings = gate_openings(flat, x, side, causal)
    current = side.tokens[side.current].tolist()
    for place, (start, end) in zip(rows.sentence.tolist(), pairwise(side.sentences.starts.tolist()), strict=True):
        tokens[place] = _tokens(loaded.subwords, current[start:end], openings and openings[start:end])
    return Text(list(sentences), tokens, maps, causal)


def _tokens(subwords: Subwords, ids: Ids, openings: list[float] | None) -> list[Token]:
    values: Sequence[float | None] = openings or [None] * len(ids)
    symbols = [not subwords.mask < number < subwords.text_size for number in ids]
    return [Token(*each) for each in zip(subwords.pieces(ids), symbols, values, strict=True)]


def flat_units(flat: FlatBatchAttention, side: Side) -> Segments:
    """The sentences of the flat sequence; where local context is in it too, each with its context."""
    return side.sentences if flat.options.scope == "current" else side.rows


def sentence_weights(attention: Attention, x: Tensor, bounds: Sequence[int], causal: bool) -> Iterator[Tensor]:
    """The weights softmax(Q K / sqrt(d)) of each sentence, (heads, its tokens, all tokens), one after the other.

    x (tokens, dim): the flat sequence of one document; bounds (sentences + 1,): where its sentences are. Not all at
    once: the weights of a whole talk would fill the memory.
    """
    query, key, _ = attention.project(x)  # (tokens, heads, size)
    exact = torch.promote_types(x.dtype, torch.float32)
    query, key = query.to(exact), key.to(exact)
    places = torch.arange(len(x), device=x.device)
    for start, end in pairwise(bounds):
        scores = torch.einsum("qhd,khd->hqk", query[start:end], key) / math.sqrt(query.shape[-1])
        if causal:
            scores = scores.masked_fill(places > places[start:end, None], float("-inf"))
        yield scores.softmax(-1)


def sentence_map(attention: Attention, x: Tensor, bounds: Sequence[int], causal: bool) -> Tensor:
    """How sentence i reads sentence j of a document: (heads, sentences, sentences); x and bounds as above.

    The paper's equation `eq:sent_attn` (appendix "Visualization of FBA", figure 7): with A the token-wise attention
    map of the flat sequence and A^p_ij its patch where sentence s_i attends to s_j,

        A_S(i, j) = 1 / |A^p_ij| * sum A^p_ij

    the mean of the patch. The paper shows the source side. On the target side a patch of the diagonal has zeros
    above its own diagonal; they count as the others do, for |A^p_ij| is the size of the patch.
    """
    lengths = torch.tensor([end - start for start, end in pairwise(bounds)], device=x.device)
    sentence = torch.repeat_interleave(lengths)  # (tokens,)
    rows = []
    for weights in sentence_weights(attention, x, bounds, causal):
        by_key = weights.mean(1)  # (heads, tokens): the mean over the tokens that read
        sums = by_key.new_zeros(len(by_key), len(lengths)).index_add(1, sentence, by_key)
        rows.append(sums / lengths)
    return torch.stack(rows, dim=1)


def side_maps(flat: FlatBatchAttention, x: Tensor, side: Side, causal: bool) -> list[Tensor]:
    """`sentence_map` of each group of rows that see each other; x (tokens, dim): the embedded side."""
    where, _ = flat.flat(side)
    x = x[where]
    bounds = flat_units(flat, side).starts.tolist()
    maps = []
    for first, last in pairwise(side.group_rows.starts.tolist()):
        start, end = bounds[first], bounds[last]
        inner = [bound - start for bound in bounds[first : last + 1]]
        maps.append(sentence_map(flat.attention, x[start:end], inner, causal))
    return maps


def gate_openings(flat: FlatBatchAttention, x: Tensor, side: Side, causal: bool) -> list[float] | None:
    """How far the gate opens for each token of the current sentences: (current,); None: there is no gate.

    The mean over its dimensions; of the discrete gate, whose dimensions are open or closed, the share of open ones.
    """
    if flat.options.gate == "identity":
        return None
    where, groups = flat.flat(side)
    opening = flat.openings(flat.attention.over(x[where], groups, causal))
    opening = opening.to(torch.promote_types(x.dtype, torch.float32)).mean(-1)
    everywhere = opening.new_zeros(len(side.tokens)).index_copy(0, where, opening)
    return everywhere[side.current].tolist()
