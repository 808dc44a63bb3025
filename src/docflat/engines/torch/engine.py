"""The torch engine: any model of `docflat.systems`, on the device and in the precision that it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from docflat.data.flat_layout import FlatSide
from docflat.data.rows import Array
from docflat.engines.engine import Encoded, Hypothesis, Shown, ShownContext, TargetContext
from docflat.engines.loading import LoadedModel
from docflat.engines.torch.int8_products import Int8Embedding
from docflat.engines.torch.scoring import score_candidates, token_scores
from docflat.engines.torch.search import beam_search
from docflat.engines.torch.source_weights import source_attentions, source_weights
from docflat.model.batch import Side
from docflat.model.batch_attention import Memory
from docflat.model.cache.decoding_state import CachedContext, CachingModel, GlobalContext
from docflat.model.sizes import Vocabulary
from docflat.model.transformer import Transformer
from docflat.weights.folders import ModelFolder


def on_torch(folder: ModelFolder) -> LoadedModel:
    """A model folder with this engine."""
    return LoadedModel(folder.config, folder.subwords, TorchEngine(folder.model))


@dataclass(frozen=True)
class EncodedMemory:
    """Source rows as the torch models encode them."""

    memory: Memory

    def take(self, rows: Array, sentences: Array) -> EncodedMemory:
        device = self.memory.states.device
        with torch.inference_mode():
            return EncodedMemory(self.memory.take(moved(rows, device), moved(sentences, device)))


def moved(array: Array, device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


class TorchEngine:
    """As `Engine`. What it is asked of its model's device and type holds for the model as it is then."""

    name = "torch"
    searches_together = True

    def __init__(self, model: Transformer) -> None:
        self.model = model

    @property
    def device(self) -> torch.device:
        return self.model.embedding.weight.device

    @property
    def vocabulary(self) -> Vocabulary:
        return self.model.vocabulary

    @property
    def precision(self) -> str:
        if isinstance(self.model.embedding, Int8Embedding):
            return "int8"
        return "bf16" if self.model.embedding.weight.dtype == torch.bfloat16 else "fp32"

    search_rows = 64

    @property
    def scoring_budget(self) -> int:
        return 16384 if self.device.type == "cuda" else 2048

    @property
    def sees_growing(self) -> bool:
        return self.model.sees_growing

    @property
    def looks_ahead(self) -> bool:
        return self.model.looks_ahead

    @property
    def keeps_rows(self) -> bool:
        return isinstance(self.model, CachingModel)

    @property
    def alignment_layers(self) -> int:
        return len(source_attentions(self.model))

    def longest(self, source_tokens: int) -> int:
        return self.model.longest(source_tokens)

    @torch.inference_mode()
    def encode(self, source: FlatSide) -> EncodedMemory:
        return EncodedMemory(self.model.encode(self._side(source)))

    @torch.inference_mode()
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
        assert isinstance(encoded, EncodedMemory)
        others: GlobalContext | CachedContext | None = None
        if isinstance(context, TargetContext):
            others = GlobalContext(self._side(context.side), moved(context.row, self.device))
        elif context is not None:
            others = CachedContext(context.rows)
        side = self._side(prefix)
        return beam_search(self.model, encoded.memory, side, limits, beam, length_penalty, others, n_best)

    @torch.inference_mode()
    def score(self, encoded: Encoded, target: FlatSide, labels: Array) -> Array:
        assert isinstance(encoded, EncodedMemory)
        logits = self.model.target_embedding.logits(self.model.decode(self._side(target), encoded.memory))
        return token_scores(logits, moved(labels, self.device)).cpu().numpy()

    def score_candidates(self, source: FlatSide, target: FlatSide, counts: Array, labels: Array) -> Callable[[], Array]:
        return score_candidates(self.model, source, target, counts, labels)

    def source_weights(self, source: FlatSide, target: FlatSide, layer: int) -> list[Array]:
        return source_weights(self.model, source, target, layer)

    @torch.inference_mode()
    def show_source(self, side: FlatSide) -> list[Shown]:
        return list(self._caching_model().show_source(self._side(side)))

    @torch.inference_mode()
    def show_target(self, side: FlatSide) -> list[Shown]:
        return list(self._caching_model().show_target(self._side(side)))

    @torch.inference_mode()
    def encode_among(self, source: FlatSide, shown: Sequence[Sequence[Shown]]) -> EncodedMemory:
        return EncodedMemory(self._caching_model().encode_among(self._side(source), shown))

    def _caching_model(self) -> CachingModel:
        assert isinstance(self.model, CachingModel)
        return self.model

    def _side(self, side: FlatSide) -> Side:
        return Side.of_flat(side).to(self.device)
