"""Fixed keys and values: those that do not depend on a hypothesis, and how a few queries attend to them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from docflat.model.layers import has_kernel, has_step_kernel, step_kernels
from docflat.model.segments import Segments

Change = Callable[[Tensor], Tensor]


def upright(keys: Tensor) -> Tensor:
    """The same keys, (..., keys, size); on a CPU each is a column in memory, which makes products a third faster.

    On a GPU the fused kernel wants them as rows.
    """
    return keys.contiguous() if keys.is_cuda else keys.mT.contiguous().mT


def whole(number: int) -> int:
    """Up to a multiple of 8: other masks are copied before the fused kernels read them."""
    return -(-number // 8) * 8


@dataclass
class FixedKeys:
    """Keys and values that do not depend on the hypothesis: they belong to a row, or to a group of rows."""

    keys: Tensor  # (groups, heads, fixed, size)
    values: Tensor  # (groups, heads, fixed, size)
    visible: Tensor  # (groups, per_group, fixed) True where a row of the group may attend to a key
    # (rows,) group * per_group + place in the group of each row, in order; None: row n is group n, by itself
    place: Tensor | None = None
    expanded: dict[int, list[Tensor]] = field(default_factory=dict, init=False)  # `biases` by beam: made once

    @cached_property
    def bias(self) -> Tensor:
        """What to add to scores: (groups, per_group, fixed). Made once, not at every step of every layer."""
        return hide_unless_all(self.visible, self.keys)

    def select_rows(self, rows: Tensor) -> FixedKeys:
        if self.place is None:
            selected = FixedKeys(upright(self.keys[rows]), self.values[rows], self.visible[rows])
            selected.bias = self.bias[rows]
            return selected
        places, per_group = self.place[rows], self.visible.shape[1]
        return fixed_by_group(self.keys, self.values, self.visible.flatten(0, 1)[places], places // per_group)

    @property
    def group_rows(self) -> Tensor:
        """The rows of group n are those from the n-th of these to the next: (groups + 1,).

        Made anew by every step: a recorded one must not read what `map_tensors` does not name, which may be gone.
        """
        groups, per_group, _ = self.visible.shape
        bounds = torch.arange(groups + 1, device=self.visible.device)
        return bounds if self.place is None else torch.searchsorted(self.place, bounds * per_group)

    @property
    def full(self) -> bool:
        """Whether every place has its row: rows are in the order of their places, so there is nothing to move."""
        return self.place is None or len(self.place) == self.visible.shape[0] * self.visible.shape[1]

    def map_tensors(self, change: Change) -> FixedKeys:
        """The same with another tensor in the place of every one that attention reads."""
        place = None if self.place is None else change(self.place)
        changed = FixedKeys(change(self.keys), change(self.values), self.visible, place)
        changed.bias = change(self.bias)
        changed.expanded = {beam: [change(part) for part in parts] for beam, parts in self.expanded.items()}
        return changed

    def gather(self, x: Tensor) -> Tensor:
        """By row -> by group: (rows, beam, heads, n) -> (groups, heads, per_group * beam, n)."""
        groups, per_group, _ = self.visible.shape
        if not self.full:
            assert self.place is not None
            x = x.new_zeros(groups * per_group, *x.shape[1:]).index_copy_(0, self.place, x)
        return x.reshape(groups, per_group * x.shape[1], *x.shape[2:]).transpose(1, 2)

    def scatter(self, x: Tensor) -> Tensor:
        """By group -> by row, the inverse of `gather`."""
        by_row = x.transpose(1, 2).unflatten(1, (self.visible.shape[1], -1)).flatten(0, 1)
        return by_row if self.full else by_row[self.place]

    def biases(self, beam: int) -> list[Tensor]:
        """`bias` of some rows at a time, up to the last key that they see: (groups, 1, some rows * beam, some keys).

        Rows of a document see what comes before them: asked all at once, they would make twice the scores they need.
        """
        if beam not in self.expanded:
            per_group = self.visible.shape[1]
            # A few: the products are to be large ones. On a GPU, which would also have to be waited for, one.
            some = per_group if self.keys.is_cuda else max(8, -(-per_group // 4))
            parts = self.bias.split(some, dim=1)
            if len(parts) > 1:
                # By what is seen, not by the bias: that of a place without a row hides nothing.
                ends = [
                    int(some_rows.flatten(0, 1).any(0).nonzero().max()) + 1
                    for some_rows in self.visible.split(some, dim=1)
                ]
                parts = tuple(part[:, :, :end] for part, end in zip(parts, ends, strict=True))
            by_hypothesis = (part[:, None, :, None].expand(-1, -1, -1, beam, -1) for part in parts)
            self.expanded[beam] = [part.flatten(2, 3).contiguous() for part in by_hypothesis]
        return self.expanded[beam]

    def attend(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """`attend_part` of (rows, beam, heads, size): (rows, beam, heads, size), (rows, beam, heads, 1)."""
        biases = self.biases(query.shape[1])
        queries = self.gather(query).split([bias.shape[2] for bias in biases], dim=2)
        reads = [
            attend_part(some, self.keys[:, :, : bias.shape[3]], self.values[:, :, : bias.shape[3]], bias)
            for some, bias in zip(queries, biases, strict=True)
        ]
        read, total = (torch.cat(part, dim=2) for part in zip(*reads, strict=True))
        return self.scatter(read), self.scatter(total)

    def read(self, query: Tensor) -> Tensor:
        """`attend` of one query a row, (rows, heads, size), without the totals.

        In one launch instead of ten: it is done once, and a GPU waits for the host meanwhile.
        """
        queries = self.gather(query[:, None])
        read = nn.functional.scaled_dot_product_attention(queries, self.keys, self.values, attn_mask=self.bias[:, None])
        return self.scatter(read)[:, 0]


class FlatFixedKeys:
    """Fixed keys and values as they lie in a flat sequence, for kernels: nothing is padded, and nothing masked.

    A row sees those of its group up to a place of its own.
    """

    def __init__(self, keys: Tensor, values: Tensor, groups: Segments, ends: Tensor, per_group: int) -> None:
        """keys and values (tokens, heads, size); ends (rows,), in order: where what a row sees ends.

        per_group: how many rows a group has, about.
        """
        self.keys, self.values, self.starts, self.ends = keys, values, groups.starts, ends
        self.longest, self.per_group = groups.longest, per_group
        self.group_rows = torch.searchsorted(ends, self.starts, right=True)  # (groups + 1,): see `FixedKeys`

    def select_rows(self, rows: Tensor) -> FlatFixedKeys:
        return FlatFixedKeys(
            self.keys, self.values, Segments(self.starts, self.longest), self.ends[rows], self.per_group
        )

    def map_tensors(self, change: Change) -> FlatFixedKeys:
        """The same with another tensor in the place of every one that attention reads."""
        changed = copy(self)
        changed.keys, changed.values, changed.starts = change(self.keys), change(self.values), change(self.starts)
        changed.ends, changed.group_rows = change(self.ends), change(self.group_rows)
        return changed


def fixed_by_group(
    keys: Tensor, values: Tensor, visible: Tensor, group: Tensor, per_group: int | None = None
) -> FixedKeys:
    """What rows see of their groups' keys: visible (rows, fixed), group (rows,) in order.

    per_group: the most rows of a group, if that is known; a GPU has to be waited for to count them.
    """
    place_in_group = torch.arange(len(group), device=group.device) - torch.searchsorted(group, group)
    per_group = int(place_in_group.max()) + 1 if per_group is None else per_group
    place = group * per_group + place_in_group
    padded = visible.new_zeros(len(keys) * per_group, visible.shape[1])
    return FixedKeys(keys, values, padded.index_copy(0, place, visible).unflatten(0, (-1, per_group)), place)


@dataclass(frozen=True)
class Padding:
    """Where the tokens of segments go in the padded layout, and which of it is seen: worked out once for all layers."""

    padded_places: Tensor  # (tokens,)
    visible: Tensor  # (segments, 1, longest)
    index: Tensor | None  # which tokens of a longer sequence they are; None: all
    biases: dict[torch.dtype, Tensor] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, segments: Segments, tokens: int, index: Tensor | None = None) -> Padding:
        if segments.starts.is_cuda:
            segments = replace(segments, longest=whole(segments.longest))
        return cls(segments.padded_places(tokens), segments.mask[:, None], index)

    def bias(self, dtype: torch.dtype) -> Tensor:
        """What to add to scores, as `hide_unless_all` says."""
        if dtype not in self.biases:
            hidden = torch.where(self.visible | ~self.visible.any(-1, keepdim=True), 0.0, float("-inf"))
            self.biases[dtype] = hidden.to(dtype)
        return self.biases[dtype]

    @cached_property
    def where(self) -> tuple[Tensor, Tensor]:
        """Segment and place in it, (tokens,) each."""
        longest = self.visible.shape[2]
        return self.padded_places // longest, self.padded_places % longest

    def lay(self, key: Tensor, value: Tensor, room: int = 0) -> tuple[Tensor, Tensor]:
        """`fixed` for a GPU, in as few launches as can be, with so much room behind: two times
        (segments, heads, longest + room, size), zeros where nothing is written.
        """
        segments, _, longest = self.visible.shape
        both = key.new_zeros(2, segments, key.shape[1], longest + room, key.shape[2])
        for part, flat in zip(both, (key, value), strict=True):
            part.transpose(1, 2).index_put_(self.where, flat if self.index is None else flat[self.index])
        return both[0], both[1]

    def fixed(self, key: Tensor, value: Tensor) -> FixedKeys:
        """Flat keys and values (tokens, heads, size) as one group a segment."""
        segments, _, longest = self.visible.shape
        if has_kernel(key):
            fixed = FixedKeys(*self.lay(key, value), self.visible)
            fixed.bias = self.bias(key.dtype)
            return fixed
        both = []
        for flat in (key, value):
            some = flat if self.index is None else flat[self.index]
            padded = flat.new_zeros(segments * longest, *flat.shape[1:]).index_copy_(0, self.padded_places, some)
            both.append(padded.unflatten(0, (segments, longest)).transpose(1, 2))
        fixed = FixedKeys(upright(both[0]), both[1].contiguous(), self.visible)
        fixed.bias = self.bias(key.dtype)
        return fixed


def fixed_by_segment(key: Tensor, value: Tensor, segments: Segments) -> FixedKeys:
    """Flat keys and values (tokens, heads, size) as one group a segment."""
    return Padding.of(segments, len(key)).fixed(key, value)


def attend_part(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Attention to a part of the keys: (..., queries, size), and the logarithm of its total: (..., queries, 1)."""
    scores = scores_of(query, keys, bias)
    # The largest score and its weight tell the total; `logsumexp` would take all exponentials again.
    # In float32 at least: what half precision rounds here would weigh all of one part against the other.
    wide = torch.promote_types(scores.dtype, torch.float32)
    largest = scores.amax(-1, keepdim=True).to(wide)
    weights = softmax_in_place(scores)
    return weights @ values, largest - weights.amax(-1, keepdim=True).to(wide).log()


def attend_masked(query: Tensor, keys: Tensor, values: Tensor, visible: Tensor) -> Tensor:
    """Attention (..., queries, size) to padded keys; where none is seen the result is zero, as the padding is."""
    return attend_few(query, keys, values, hide_unless_all(visible, query))


def attend_few(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """Attention of a few queries, (..., queries, size); bias is added to their scores. Without keys it is zero."""
    if not keys.shape[-2]:
        return torch.zeros_like(query)
    shaped = query.dim() == 4 and bias.shape[1] == 1
    if shaped and has_step_kernel(query, query.shape[2]):  # not where HAN trains through here
        few: Tensor = step_kernels.attend_few(query, keys, values, bias)
        return few
    if query.is_cuda:
        return nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=bias.to(query.dtype))
    # On a CPU plain products are twice as fast as the fused kernel, which is made for long queries.
    return softmax_in_place(scores_of(query, keys, bias)) @ values


def scores_of(query: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
    """(..., queries, size) and (..., keys, size) -> (..., queries, keys); bias is added."""
    products = query @ keys.mT
    # In place, here and below, but in training: with so many numbers, new memory takes longer than the sums.
    out = None if torch.is_grad_enabled() else products
    return torch.add(bias, products, alpha=query.shape[-1] ** -0.5, out=out)


def softmax_in_place(scores: Tensor) -> Tensor:
    """Over the last dimension; on a CPU written over the scores. On a GPU nobody has tried whether that may be."""
    if scores.is_cuda or torch.is_grad_enabled():
        return scores.softmax(-1)
    return torch.softmax(scores, -1, out=scores)


def hide(visible: Tensor, like: Tensor) -> Tensor:
    """What to add to scores, of the same type as `like`: minus infinity where a key is not seen."""
    return torch.where(visible, 0.0, float("-inf")).to(like.dtype)


def hide_unless_all(visible: Tensor, like: Tensor) -> Tensor:
    """The same; where no key is seen, all are: they are padding, and a softmax over nothing is no number."""
    return hide(visible | ~visible.any(-1, keepdim=True), like)
