"""A recurrence in the place of the decoder's self-attention: the simpler simple recurrent unit (Kim et al., 2019).

A decoder layer keeps one vector of what was written so far, however long that is. With x what the layer reads:

    f = sigmoid(W_f x + b_f)
    c = f * c_before + (1 - f) * (W x)
    output = relu(c)

The students of Firefox and Bergamot are made of it. What is between the states is elementwise, so the products of a
whole row are made at once, and only the sums go step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from docflat.model.cache.fixed_keys import Change
from docflat.model.layers import Attending, DecoderLayer
from docflat.model.segments import Segments


class SSRU(nn.Module):
    """The products, and the steps of whole rows."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.both = nn.Linear(dim, 2 * dim)  # what is new, and how much of the old stays
        for part in self.both.weight.chunk(2):
            nn.init.xavier_uniform_(part)
        nn.init.zeros_(self.both.bias)

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """How much of the old stays, and what is added; (..., dim) each."""
        new, stays = self.both(x).chunk(2, dim=-1)
        stays = stays.sigmoid()
        return stays, (1 - stays) * new

    def over(self, x: Tensor, rows: Segments) -> Tensor:
        """The state after each token of its row: (tokens, dim) -> (tokens, dim)."""
        stays, added = (rows.pad(part) for part in self.parts(x))
        state, states = torch.zeros_like(added[:, 0]), []
        for old, new in zip(stays.unbind(1), added.unbind(1), strict=True):
            state = old * state + new
            states.append(state)
        return rows.unpad(torch.stack(states, dim=1), len(x))

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """The state after one token more; (..., dim) each."""
        stays, added = self.parts(x)
        return stays * state + added


class SSRUDecoderLayer(DecoderLayer):
    """As `DecoderLayer`; its `attention_norm` is the norm after the recurrence."""

    def __init__(self, dim: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__(dim, heads, feed_forward, dropout)
        del self.attention
        self.recurrence = SSRU(dim)

    def attend(self, x: Tensor, attending: Attending) -> Tensor:
        return attending.recur(self.recurrence, x).relu()

    def compile(self, *_: Any, **__: Any) -> None:
        """Not this: it would be compiled anew for rows of every length."""


@dataclass
class SSRUState:
    """In the place of a cache: the state of each hypothesis."""

    state: Tensor  # (rows, beam, dim)

    def reorder(self, parents: Tensor) -> None:
        """As `Decoding.reorder`."""
        self.state = self.state.gather(1, parents[:, :, None].expand(-1, -1, self.state.shape[2]))

    def select_rows(self, rows: Tensor) -> None:
        self.state = self.state[rows]

    def compact(self, index: Tensor) -> None:
        pass

    def make_room(self, slots: int) -> None:
        pass

    def map_tensors(self, change: Change) -> None:
        self.state = change(self.state)
