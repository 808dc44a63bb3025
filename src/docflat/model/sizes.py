"""How large a model is, and its vocabulary. One field, one sentence. No torch here: the command line reads it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

# Ten times what anybody trains; a folder that says more is damaged, and would take all memory before that shows.
_MOST = {"dim": 1 << 16, "heads": 1 << 10, "feed_forward": 1 << 18, "encoder_layers": 256, "decoder_layers": 256}


@dataclass(frozen=True)
class Architecture:
    """In what Transformers differ beside their sizes; the defaults are what we train, the rest what others trained."""

    activation: Literal["relu", "swish"] = "relu"  # inside the feed-forward sublayers
    embedding_norm: bool = True  # a layer norm between embedding and first layer
    scaled_embedding: bool = True  # embeddings are multiplied by the root of their width
    # Exponents of the positions' frequencies end at 1 (tensor2tensor, Marian), or one step before it (the paper).
    frequencies: Literal["tensor2tensor", "paper"] = "tensor2tensor"
    logits_bias: bool = False  # a number for each word is added to its logit
    separate_embeddings: bool = False  # the target side has a table of its own
    recurrent_decoder: bool = False  # an SSRU in the place of the decoder's self-attention
    # The norm after the embedding came when the model had been trained without: a share is normed, 0 at first.
    shared_norm: bool = False


@dataclass(frozen=True)
class ModelSizes:
    """How large the Transformer is; the defaults are Transformer-base."""

    dim: int = 512  # width of the embeddings and of every layer
    heads: int = 8  # attention heads; divides dim
    feed_forward: int = 2048  # width inside the feed-forward sublayers
    encoder_layers: int = 6
    decoder_layers: int = 6
    architecture: Architecture = field(default_factory=Architecture)  # what else its layers are

    def can_start_from(self, other: ModelSizes) -> bool:
        """Whether weights of these sizes fit; a norm after the embedding that the other has not can be put in."""
        kind = self.architecture
        if kind.shared_norm and not other.architecture.embedding_norm:
            kind = replace(kind, embedding_norm=False, shared_norm=False)
        return replace(self, architecture=kind) == other

    def __post_init__(self) -> None:
        for name, most in _MOST.items():
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: must be at least 1")
            if getattr(self, name) > most:
                raise ValueError(f"{name}: must be at most {most}")
        if self.dim % (2 * self.heads):
            raise ValueError("dim: must be a multiple of twice the heads")


@dataclass(frozen=True)
class Vocabulary:
    """Sizes of the embedding table and the ids the model itself must know."""

    size: int  # all ids
    text_size: int  # ids that can be predicted; index tokens come after them
    bos: int
    eos: int
    mask: int
