"""ABD: attention between data points (Kossen et al., 2021), as appendix of Wu et al., 2023, adapts it.

Each row is averaged into one vector, rows attend to rows, and what a row read is added to each of its tokens:
LN(h + a). It stands where DocFlat has its flat-batch attention. The paper's best has it in the encoder only, which is
the default here.

In the decoder, the mean of a target row holds its later tokens: training sees the future, which may be why the paper's
scores collapse there. When decoding, the first pass's translation of the row stands in for its own one; in modes
without a first pass, what is known of the row does.

Not as in the paper: rows attend to rows of their own document only, at most 32 of them, as in DocFlat here.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory
from docflat.model.cache.decoding_state import CachedContext, GlobalContext, Mixer
from docflat.model.cache.fixed_keys import Change
from docflat.model.cache.hypotheses import Paths
from docflat.model.layers import Attention
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems.options import ABDOptions


class ABD(Transformer):
    def __init__(self, sizes: ModelSizes, vocabulary: Vocabulary, options: ABDOptions, dropout: float = 0.0) -> None:
        super().__init__(sizes, vocabulary, dropout)
        self.source_rows = Attention(sizes.dim, sizes.heads) if options.encoder else None
        self.target_rows = Attention(sizes.dim, sizes.heads) if options.decoder else None
        self.looks_ahead = options.decoder

    def mix_source(self, x: Tensor, side: Side) -> Tensor:
        if self.source_rows is not None:
            x = x + read_rows(self.source_rows, x, side)[side.rows.number(len(x))]
        return self.source_norm(x)

    def mix_target(self, x: Tensor, side: Side, memory: Memory) -> Tensor:
        if self.target_rows is not None:
            x = x + read_rows(self.target_rows, x, side)[side.rows.number(len(x))]
        return self.target_norm(x)

    def start_mix(
        self, x: Tensor, prefix: Side, memory: Memory, paths: Paths, context: GlobalContext | CachedContext | None
    ) -> tuple[Tensor, Mixer | None]:
        if self.target_rows is None:
            return self.target_norm(x), None
        if isinstance(context, GlobalContext):
            read = read_rows(self.target_rows, self.embed_target(context.side), context.side)[context.row]
        else:
            read = read_rows(self.target_rows, x, prefix)
        return self.target_norm(x + read[prefix.rows.number(len(x))]), RowMixer(read)

    def step_mix(self, x: Tensor, mixer: Mixer | None) -> Tensor:
        if isinstance(mixer, RowMixer):
            x = x + mixer.read[:, None]
        return self.target_norm(x)


def read_rows(attention: Attention, x: Tensor, side: Side) -> Tensor:
    """What the mean of each row read of those of its group: x (tokens, dim) -> (rows, dim)."""
    return attention.over(side.rows.mean(x), side.group_rows)


@dataclass
class RowMixer:
    """What is added to every token of a row."""

    read: Tensor  # (rows, dim)
    stays: bool = True

    def select_rows(self, rows: Tensor) -> None:
        self.read = self.read[rows]

    def compact(self, index: Tensor) -> None:
        pass

    def make_room(self, slots: int) -> None:
        pass

    def map_tensors(self, change: Change) -> None:
        self.read = change(self.read)

    def settle(self, row: int, tokens: Tensor) -> None:
        pass
