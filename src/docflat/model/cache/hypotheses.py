"""Slots: where a search keeps the keys and values of its hypotheses, and which of them each is made of."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from docflat.model.cache.fixed_keys import Change, upright, whole

FIRST_ROOM = 32  # steps that tensors have room for at first, where they stay; then for as many again as there were


class Paths:
    """Which slots of a cache each hypothesis is made of.

    Every step writes its tokens' keys and values to slots of their own, `beam` a row, where they stay: a hypothesis
    that goes on from another one only takes over its path. Nothing is copied when hypotheses overtake each other.
    """

    def __init__(self, rows: int, beam: int, like: Tensor) -> None:
        """like: where scores are and of which type."""
        self.beam, self.total = beam, 0
        self.slots = torch.zeros(rows, beam, 0, dtype=torch.long, device=like.device)  # (rows, beam, steps)
        self.bias = like.new_zeros(rows, beam, 0)  # (rows, beam, total): what to add to scores
        self.newest = torch.arange(-beam, 0, device=like.device)  # (beam,) slots of the newest tokens
        self.stays = False  # whether tensors stay in their place

    @property
    def place(self) -> Tensor | None:
        """`newest`, where there is room for more slots than there are."""
        return self.newest if self.stays else None

    def make_room(self, steps: int) -> int:
        """From now on tensors stay in their place, with room for so many more steps. Returns the slots that they get.

        Nothing is given up then, and `slots` are not kept: `bias` says what is on a path.
        """
        slots = whole(steps * self.beam)
        self.newest = torch.arange(self.beam, device=self.bias.device) + (self.bias.shape[2] - self.beam)
        self.stays = True
        self.bias = nn.functional.pad(self.bias, (0, slots), value=float("-inf"))
        return slots

    def extend(self) -> None:
        """A step: the newest token of hypothesis k is in the k-th of the new slots."""
        rows, beam, _ = self.slots.shape
        if self.stays:
            self.newest += beam
            self.bias.scatter_(2, self.newest.expand(rows, beam)[..., None], 0.0)
            return
        self.newest = torch.arange(self.total, self.total + beam, device=self.slots.device)
        self.total += beam
        self.slots = torch.cat([self.slots, self.newest.expand(rows, beam)[..., None]], dim=2)
        self.bias = self.bias.new_full((rows, beam, self.total), float("-inf")).scatter_(2, self.slots, 0.0)

    def reorder(self, parents: Tensor) -> None:
        if self.stays:
            self.bias.copy_(self.bias.gather(1, parents[:, :, None].expand_as(self.bias)))
            return
        self.slots = self.slots.gather(1, parents[:, :, None].expand_as(self.slots))

    def compact(self) -> Tensor | None:
        """Give up slots that are on no path. Returns which are kept, (rows, kept), where enough are free to pay.

        Hypotheses of a row mostly begin alike, so of the older steps one or two slots are left.
        """
        used = self.slots.new_zeros(len(self.slots), self.total).scatter(1, self.slots.flatten(1), 1)
        most = int(used.sum(1).max())
        if 4 * most > 3 * self.total:
            return None
        index = used.argsort(dim=1, descending=True, stable=True)[:, :most]
        place = torch.zeros_like(used).scatter(1, index, torch.arange(most, device=used.device).expand_as(index))
        self.slots = place.gather(1, self.slots.flatten(1)).view_as(self.slots)
        self.total = most
        return index

    def select_rows(self, rows: Tensor) -> None:
        self.slots, self.bias = self.slots[rows], self.bias[rows]

    def map_tensors(self, change: Change) -> None:
        self.bias, self.newest = change(self.bias), change(self.newest)


class HypothesisSlots:
    """Keys or values of all hypotheses so far, in slots."""

    def __init__(self, fixed: Tensor, is_keys: bool = False, room: int = 0) -> None:
        """fixed (rows, heads, fixed + room, size): what stands before the slots, if anything, and slots of zeros."""
        self.fixed = self.used = fixed.shape[2] - room
        self.is_keys, self.first_room = is_keys, room
        self.part = fixed if room else self._with_room(fixed, 64)

    def _with_room(self, part: Tensor, slots: int) -> Tensor:
        """The same with so many more slots, of which nothing is read before it is written."""
        rows, heads, used, size = part.shape
        if self.is_keys and not part.is_cuda:  # as columns: see `upright`
            roomy = part.new_empty(rows, heads, size, used + slots).mT
        else:
            roomy = part.new_empty(rows, heads, used + slots, size)
        roomy[:, :, :used] = part
        return roomy

    def _lay(self, part: Tensor) -> Tensor:
        return upright(part) if self.is_keys else part.contiguous()

    def make_room(self, slots: int) -> None:
        """For so many more slots, which are zeros: what is not seen must still be a number."""
        if self.used == self.fixed and slots == self.first_room:  # they are there
            self.used += slots
            return
        rows, heads, _, size = self.part.shape
        roomy = self.part.new_zeros(rows, heads, self.used + slots, size)
        roomy[:, :, : self.used] = self.part[:, :, : self.used]
        self.part, self.used = self._lay(roomy), self.used + slots

    def append(self, new: Tensor, place: Tensor | None = None) -> Tensor:
        """Of the newest tokens, (rows, beam, heads, size). Returns all so far, (rows, heads, fixed + slots, size).

        place (beam,): where among all of them, if there is room for more than there are.
        """
        new = new.transpose(1, 2)
        if place is not None:
            return self.part.index_copy_(2, place, new)
        start = self.used
        self.extend(new.shape[2])
        self.part[:, :, start : self.used] = new
        return self.all

    @property
    def all(self) -> Tensor:
        return self.part[:, :, : self.used]

    def extend(self, slots: int) -> None:
        """By so many, to which nothing is written yet."""
        end = self.used + slots
        if end > self.part.shape[2]:
            self.part = self._with_room(self.part[:, :, : self.used], self.part.shape[2] + slots)
        self.used = end

    def compact(self, index: Tensor) -> None:
        """Keep these slots of each row, (rows, kept)."""
        slots = self.part[:, :, self.fixed :]
        if self.is_keys:  # in the order of memory, either way
            where = index[:, None, None].expand(-1, slots.shape[1], slots.shape[3], -1)
            compacted = slots.mT.gather(3, where).mT
        else:
            row = torch.arange(len(index), device=index.device)[:, None]
            compacted = slots[row, :, index].transpose(1, 2)
        self.used = self.fixed + index.shape[1]
        self.part[:, :, self.fixed : self.used] = compacted

    def along(self, slots: Tensor) -> Tensor:
        """Those of one hypothesis a row: slots (rows, steps) -> (rows, heads, steps, size)."""
        index = slots[:, None, :, None].expand(-1, self.part.shape[1], -1, self.part.shape[3])
        return self.part.gather(2, index)

    def select_rows(self, rows: Tensor) -> None:
        self.part = self._lay(self.part[rows])
