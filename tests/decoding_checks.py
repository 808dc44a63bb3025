"""Beam search as slow loops, and what tests of decoding share.

The slow versions never cache: they ask the model for the logits of a whole batch (as in training, which the tests
in oracle/ hold to the paper) and, where rows grow together, write out what sees what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from conftest import (
    BOS,
    EOS,
    MASK,
    PAD,
    SIZES,
    TEXT_SIZE,
    Ids,
    layout_for,
    random_documents,
    rows_for,
    slow_attention,
    slow_gate,
    slow_norm,
)
from docflat.data.row_settings import RowSettings
from docflat.data.subwords import Subwords
from docflat.decoding.passes import Passes
from docflat.decoding.settings import DecodingSettings
from docflat.engines.torch.engine import TorchEngine, on_torch
from docflat.model.batch import Batch, Side
from docflat.model.layers import Attention
from docflat.model.segments import Segments
from docflat.model.transformer import Transformer
from docflat.systems import SYSTEMS
from docflat.systems.docflat import DocFlat
from docflat.translation.translator import Translator
from docflat.weights.config import ModelConfig, vocabulary_of
from docflat.weights.folders import ModelFolder

NEVER = (PAD, BOS, MASK)


def limit_of(source_tokens: int) -> int:
    return source_tokens + 3


def allowed(step: int, limit: int, text_size: int) -> list[int]:
    """No empty translation, the end where the limit is, and never a symbol that is not text."""
    if step >= limit:
        return [EOS]
    return [word for word in range(text_size) if word not in NEVER and (word != EOS or step > 0)]


class SlowBeam:
    """The beam of one row, hypotheses as (log-probability, tokens, whatever belongs to them)."""

    def __init__(self, limit: int, beam: int, penalty: float, text_size: int = TEXT_SIZE) -> None:
        self.limit, self.beam, self.penalty, self.text_size = limit, beam, penalty, text_size
        self.live: list[tuple[float, Ids, Any]] = [(0.0, [], None)]
        self.finished: list[tuple[float, Ids]] = []  # by score

    def step(self, logits: Sequence[Tensor]) -> None:
        """logits: one vector for each live hypothesis."""
        candidates = []
        for (score, tokens, extra), row in zip(self.live, logits, strict=True):
            log_probabilities = row.log_softmax(0).tolist()
            for word in allowed(len(tokens), self.limit, self.text_size):
                candidates.append((score + log_probabilities[word], [*tokens, word], extra))
        candidates.sort(key=lambda candidate: -candidate[0])
        for score, tokens, _ in candidates[: self.beam]:
            if tokens[-1] == EOS:
                self.finished.append((score / len(tokens) ** self.penalty, tokens[:-1]))
        going = [candidate for candidate in candidates[: 2 * self.beam] if candidate[1][-1] != EOS]
        self.live = going[: self.beam]

    @property
    def best(self) -> tuple[float, Ids]:
        return max(self.finished, key=lambda hypothesis: hypothesis[0])

    @property
    def done(self) -> bool:
        if not self.live:
            return True
        # As many as the beam is wide are enough only if the best of them leads over what is still growing.
        score, tokens, _ = self.live[0]
        if len(self.finished) >= self.beam and self.best[0] >= score / len(tokens) ** self.penalty:
            return True
        reachable = self.live[0][0] / (self.limit + 1) ** self.penalty
        return bool(self.finished) and self.best[0] >= reachable


class Plain:
    """One row attends to itself and to its source."""

    def __init__(self, memory: Tensor) -> None:
        self.memory = memory

    def self_attention(self, attention: Attention, x: Tensor, reach: str) -> Tensor:
        return attention.over(x, Segments.of_lengths(np.array([len(x)])), causal=True)

    def cross_attention(self, attention: Attention, x: Tensor, reach: str) -> Tensor:
        here, there = (Segments.of_lengths(np.array([len(part)])) for part in (x, self.memory))
        return attention.across(x, self.memory, here, there)


class SlowPartial:
    """Rows of one document that are searched together, without any cache.

    A hypothesis carries what came out of flat-batch attention and gate for each of its tokens, since that was
    settled when the token came; all else is computed anew at every step.
    """

    def __init__(self, model: DocFlat, batch: Batch, prefix: Side, limits: Sequence[int], beam: int, penalty: float):
        self.model, self.flat = model, model.target_flat
        self.whole = self.flat.options.scope == "all"
        self.memories = model.encode(batch.source).states.split(batch.source.rows.lengths.tolist())
        self.prefix_lengths = prefix.rows.lengths.tolist()
        tokens = prefix.tokens.split(self.prefix_lengths)
        self.forced = [self.embed(row.tolist(), 0) for row in tokens]  # (prefix, dim) each
        self.mixed = self.mix_prefixes()
        self.beams = [SlowBeam(limit, beam, penalty) for limit in limits]
        self.shown: list[Ids] = [[] for _ in limits]  # what the others see of a row

    def embed(self, tokens: Ids, first: int) -> Tensor:
        return self.model.embedding(torch.tensor(tokens, dtype=torch.long), first + torch.arange(len(tokens)))

    def in_flat(self, row: int) -> Tensor:
        """The forced tokens of a row that are in the flat sequence."""
        return self.forced[row] if self.whole else self.forced[row][-1:]

    def mix(self, x: Tensor, seen: Tensor) -> Tensor:
        (a,) = slow_attention(self.flat.attention, x[None], seen, [range(len(seen))])
        return slow_norm(self.model.target_norm, slow_gate(self.flat, x, a))

    def mix_prefixes(self) -> list[Tensor]:
        mixed = []
        for row, forced in enumerate(self.forced):
            mixed.append([])
            for t, x in enumerate(forced):
                if not self.whole and t < len(forced) - 1:
                    mixed[-1].append(slow_norm(self.model.target_norm, x))
                    continue
                own = forced[: t + 1] if self.whole else x[None]
                mixed[-1].append(self.mix(x, torch.cat([*(self.in_flat(j) for j in range(row)), own])))
        return [torch.stack(row) for row in mixed]

    def newest(self, row: int, tokens: Ids) -> Tensor:
        """What flat-batch attention makes of a hypothesis's last token, now."""
        own = self.embed(tokens, self.prefix_lengths[row])
        others = [self.embed(self.shown[j], self.prefix_lengths[j]) for j in range(row)]
        return self.mix(own[-1], torch.cat([*(self.in_flat(j) for j in range(row + 1)), *others, own]))

    def logits(self, row: int, grown: Sequence[Tensor]) -> Tensor:
        x = torch.cat([self.mixed[row], *(vector[None] for vector in grown)])
        for layer in self.model.decoder:
            x = layer(x, Plain(self.memories[row]))
        return self.model.embedding.logits(x[-1])

    def search(self) -> list[tuple[float, Ids]]:
        active = list(range(len(self.beams)))
        while active:
            for row in active:
                live = self.beams[row].live
                self.beams[row].step([self.logits(row, grown or []) for _, _, grown in live])
            for row in active:
                beam = self.beams[row]
                self.shown[row] = beam.best[1] if beam.done else beam.live[0][1]
            active = [row for row in active if not self.beams[row].done]
            for row in active:
                beam = self.beams[row]
                beam.live = [
                    (score, tokens, [*(grown or []), self.newest(row, tokens)]) for score, tokens, grown in beam.live
                ]
        return [beam.best for beam in self.beams]


def source_documents(seed: int = 0) -> list[list[Ids]]:
    """Documents to translate: of several sentences, of one, of none, with empty sentences, all of them empty."""
    rng = np.random.default_rng(seed)
    documents = [[x for x, _ in document] for document in random_documents(rng, [5, 1, 3], longest=4)]
    documents[0][2] = []
    return [*documents, [], [[], []]]


def decoder_for(name: str, model: Transformer, context: int = 2, max_tokens: int = 512, **settings: Any) -> Passes:
    rows = replace(rows_for(name, context), max_tokens=max_tokens)
    return Passes(TorchEngine(model), layout_for(name), rows, DecodingSettings(**settings))


def quiet(sentences: int) -> None:
    pass


def modes(decoder: Passes, documents: list[list[Ids]]) -> dict[str, list[list[Ids]]]:
    """Translations in every mode there is."""
    first = decoder.sentence_by_sentence(documents, quiet)
    results = {"sentence": first, "sequential": decoder.sequential(documents, quiet), "stream": [[] for _ in documents]}
    for number, ids in decoder.stream(documents):
        results["stream"][number].append(ids)
    for kind in ("first-pass", "partial"):
        decoder.settings = replace(decoder.settings, global_context=kind)
        results[f"two-pass, {kind}"] = decoder.second_pass(documents, first, quiet)
    return results


CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def window_around(place: int, window: int, sentences: int) -> range:
    """Half before and half after; at either end of the document so many that the window is whole."""
    places = range(sentences)
    starts = [start for start in places if start == 0 or start + window <= sentences]
    nearest = min(starts, key=lambda start: abs(start - (place - window // 2)))
    return places[nearest : nearest + window]


def translator_for(name: str, subwords: Subwords, max_tokens: int = 24) -> Translator:
    torch.manual_seed(0)
    config = ModelConfig(name, SIZES, {}, RowSettings(max_tokens=max_tokens, context_free=0.2))
    system = SYSTEMS[name]
    model = system.build(SIZES, vocabulary_of(subwords), system.read_options({})).eval()
    return Translator(on_torch(ModelFolder(config, subwords, model)))
