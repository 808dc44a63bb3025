"""The switches of the systems, as recipes and model folders name them. No torch here: recipes are read without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from docflat.model.sizes import ModelSizes

MOST_SENTENCES = 20  # of a group, in the system hybrid


@dataclass(frozen=True)
class Options:
    """Of a system without switches; those of others have more fields."""

    def check(self, sizes: ModelSizes) -> None:
        """Raises ValueError, "KEY: why", for an option that does not go with these sizes."""


@dataclass(frozen=True)
class DocFlatOptions(Options):
    """The switches of the paper's ablations."""

    gate: Literal["continuous", "discrete", "identity"] = "continuous"  # docflat-c, -d, -i
    gamma: float = 0.5  # the discrete gate is open where the continuous one reaches this
    gate_bias: float | None = None  # where the gate starts: 0 half open, negative more closed; None: by the kind
    encoder: bool = True  # flat-batch attention on the source side
    decoder: bool = True  # and on the target side
    scope: Literal["current", "all"] = "current"  # all: the local context is in the flat sequence too

    def __post_init__(self) -> None:
        if not 0 < self.gamma < 1:
            raise ValueError("gamma: must be between 0 and 1")
        if not (self.encoder or self.decoder):
            raise ValueError("encoder: flat-batch attention is off on both sides; that is the system doc2doc")


@dataclass(frozen=True)
class ABDOptions(Options):
    """On which sides there is attention between rows."""

    encoder: bool = True  # attention between rows on the source side
    decoder: bool = False  # and on the target side, where it sees later tokens

    def __post_init__(self) -> None:
        if not (self.encoder or self.decoder):
            raise ValueError("encoder: attention between rows is off on both sides; that is the system doc2doc")


@dataclass(frozen=True)
class FlatTransOptions(Options):
    """Where the encoder stops seeing the context."""

    top_layers: int = 1  # encoder layers that see the current sentence only

    def __post_init__(self) -> None:
        if self.top_layers < 0:
            raise ValueError("top_layers: must not be negative")

    def check(self, sizes: ModelSizes) -> None:
        if 1 < sizes.encoder_layers <= self.top_layers:
            layers = f"{self.top_layers} of {sizes.encoder_layers} encoder layers"
            raise ValueError(f"top_layers: {layers} leave none that sees the context; that is the system sent2sent")


@dataclass(frozen=True)
class HANOptions(Options):
    """On which sides there is hierarchical attention."""

    encoder: bool = True  # hierarchical attention on the source side
    decoder: bool = True  # and on the target side
    # A second norm of the query, one of what was read of each sentence, one before the feed-forward part and a
    # residual around it, as in the original; false: as models had it before they were there.
    inner_norms: bool = True

    def __post_init__(self) -> None:
        if not (self.encoder or self.decoder):
            raise ValueError("encoder: hierarchical attention is off on both sides; that is the system sent2sent")


@dataclass(frozen=True)
class SelectiveOptions(Options):
    """Which sentences it chooses from."""

    context: Literal["offline", "online"] = "offline"  # all other sentences, or earlier ones only
