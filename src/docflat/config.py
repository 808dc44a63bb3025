"""Settings of the model and of its rows. One field, one sentence. No torch here: the command line reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ModelSizes:
    """How large the Transformer is; the defaults are Transformer-base."""

    dim: int = 512  # width of the embeddings and of every layer
    heads: int = 8  # attention heads; divides dim
    feed_forward: int = 2048  # width inside the feed-forward sublayers
    encoder_layers: int = 6
    decoder_layers: int = 6

    def __post_init__(self) -> None:
        for name in ("dim", "heads", "feed_forward", "encoder_layers", "decoder_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: must be at least 1")
        if self.dim % (2 * self.heads):
            raise ValueError("dim: must be a multiple of twice the heads")


@dataclass(frozen=True)
class RowSettings:
    """What a row holds and which rows see each other."""

    context: int = 3  # previous sentences of the document put before the current one (the paper's c)
    local_context: Literal["gold", "irrelevant"] = "gold"  # irrelevant: another row's context (ablation)
    global_context: Literal["gold", "irrelevant"] = "gold"  # irrelevant: rows of a batch are mixed (ablation)
    document_mask: bool = True  # rows of different documents never see each other; false: the paper to the letter
    window: int = 0  # at most this many rows of a document see each other; 0: as many as the batch holds
    max_tokens: int = 512  # a longer row loses its oldest context; a sentence longer than that is left out
    context_free: float = 0.0  # share of documents trained as lone sentences, so one model can do both passes
    index_shift: float = 0.1  # share of documents whose count starts anywhere, so that all indices are learned

    def __post_init__(self) -> None:
        if self.context < 0:
            raise ValueError("context: must not be negative")
        if self.window < 0:
            raise ValueError("window: must not be negative")
        if self.max_tokens < 8:
            raise ValueError("max_tokens: must be at least 8")
        for name in ("context_free", "index_shift"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: must be between 0 and 1")
        if self.window and not self.document_mask:
            raise ValueError("window: counts rows of one document, so it needs document_mask: true")
        if self.global_context == "irrelevant" and self.document_mask:
            raise ValueError(
                "global_context: 'irrelevant' needs document_mask: false (the mask would hide every other row)"
            )
