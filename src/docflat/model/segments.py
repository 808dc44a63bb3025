"""Segments as tensors: to pad them, to select some, to take their means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from docflat.data.flat_layout import FlatSegments
from docflat.data.rows import Array


@dataclass(frozen=True)
class Segments:
    """Consecutive stretches of a flat sequence: segment n is starts[n]:starts[n + 1]."""

    starts: Tensor  # (segments + 1,) int32
    longest: int

    @classmethod
    def of_flat(cls, flat: FlatSegments) -> Segments:
        return cls(torch.from_numpy(flat.starts), flat.longest)

    @classmethod
    def of_lengths(cls, lengths: Array) -> Segments:
        return cls.of_flat(FlatSegments.of_lengths(lengths))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Tensor:
        # Not cached: before Python 3.12 that takes a lock, at which torch.compile breaks the graph.
        return self.starts.diff().long()  # (segments,)

    @property
    def mask(self) -> Tensor:
        """True where the padded layout holds a token: (segments, longest)."""
        return torch.arange(self.longest, device=self.starts.device) < self.lengths[:, None]

    def padded_places(self, tokens: int) -> Tensor:
        """Where each token goes in the padded layout (segments * longest,): (tokens,)."""
        segment = self.number(tokens)
        place = torch.arange(tokens, device=self.starts.device)
        return segment * self.longest + place - self.starts[:-1].long()[segment]

    def number(self, tokens: int) -> Tensor:
        """Which segment each token is in: (tokens,). How many there are is known without asking a GPU."""
        place = torch.arange(tokens, device=self.starts.device, dtype=torch.int32)
        # All starts, and one less: compiled, a search in starts[1:] forgets where that begins.
        return torch.searchsorted(self.starts, place, right=True) - 1

    def mean(self, flat: Tensor) -> Tensor:
        """The mean of each segment: (tokens, dim) -> (segments, dim); zero for one without tokens."""
        total = flat.new_zeros(len(self), flat.shape[1], dtype=torch.promote_types(flat.dtype, torch.float32))
        total = total.index_add(0, self.number(len(flat)), flat.to(total.dtype))
        return (total / self.lengths.clamp_min(1)[:, None]).to(flat.dtype)

    def times(self, number: int, tokens: int) -> Segments:
        """The same segments several times, one after the other; tokens: how many they have."""
        shifts = torch.arange(number, device=self.starts.device, dtype=torch.int32) * tokens
        starts = self.starts + shifts[:, None]
        # Its end by slicing: padded with a number, it would be compiled for that number alone.
        return Segments(torch.cat([starts[:, :-1].flatten(), starts[-1, -1:]]), self.longest)

    def pad(self, flat: Tensor) -> Tensor:
        """(tokens, ...) -> (segments, longest, ...), zeros at the end of the shorter ones."""
        padded = flat.new_zeros(len(self) * self.longest, *flat.shape[1:])
        return padded.index_copy_(0, self.padded_places(len(flat)), flat).unflatten(0, (len(self), self.longest))

    def unpad(self, padded: Tensor, tokens: int) -> Tensor:
        """(segments, longest, ...) -> (tokens, ...)."""
        return padded.flatten(0, 1)[self.padded_places(tokens)]

    def take(self, which: Tensor) -> tuple[Tensor, Segments]:
        """Where the tokens of some segments are, and those segments by themselves."""
        lengths = self.lengths[which]
        starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        shift = self.starts.long()[which] - starts[:-1]
        index = torch.arange(int(starts[-1]), device=lengths.device) + torch.repeat_interleave(shift, lengths)
        return index, Segments(starts.int(), int(lengths.max()))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Segments:
        """The same with every tensor changed: moved, or pinned."""
        return Segments(change(self.starts), self.longest)
