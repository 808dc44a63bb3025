"""Caches: how decoding attends token by token, and what it keeps for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from docflat.attending import Memory, TargetAttending
from docflat.batches import Side
from docflat.given import Change, Given, Padding, attend_few, attend_masked, attend_part, hide, upright, whole
from docflat.layers import Attention, Reach, has_kernel, has_step_kernel, step_kernels

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
        kept = int(used.sum(1).max())
        if 4 * kept > 3 * self.total:
            return None
        index = used.argsort(dim=1, descending=True, stable=True)[:, :kept]
        place = torch.zeros_like(used).scatter(1, index, torch.arange(kept, device=used.device).expand_as(index))
        self.slots = place.gather(1, self.slots.flatten(1)).view_as(self.slots)
        self.total = kept
        return index

    def keep(self, rows: Tensor) -> None:
        self.slots, self.bias = self.slots[rows], self.bias[rows]

    def each(self, change: Change) -> None:
        self.bias, self.newest = change(self.bias), change(self.newest)


class Grown:
    """Keys or values of all hypotheses so far, in slots."""

    def __init__(self, given: Tensor, is_keys: bool = False, room: int = 0) -> None:
        """given (rows, heads, given + room, size): what stands before the slots, if anything, and slots of zeros."""
        self.given = self.used = given.shape[2] - room
        self.is_keys, self.first_room = is_keys, room
        self.part = given if room else self._with_room(given, 64)

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
        if self.used == self.given and slots == self.first_room:  # they are there
            self.used += slots
            return
        rows, heads, _, size = self.part.shape
        roomy = self.part.new_zeros(rows, heads, self.used + slots, size)
        roomy[:, :, : self.used] = self.part[:, :, : self.used]
        self.part, self.used = self._lay(roomy), self.used + slots

    def append(self, new: Tensor, place: Tensor | None = None) -> Tensor:
        """Of the newest tokens, (rows, beam, heads, size). Returns all so far, (rows, heads, given + slots, size).

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
        slots = self.part[:, :, self.given :]
        if self.is_keys:  # in the order of memory, either way
            where = index[:, None, None].expand(-1, slots.shape[1], slots.shape[3], -1)
            kept = slots.mT.gather(3, where).mT
        else:
            row = torch.arange(len(index), device=index.device)[:, None]
            kept = slots[row, :, index].transpose(1, 2)
        self.used = self.given + index.shape[1]
        self.part[:, :, self.given : self.used] = kept

    def along(self, slots: Tensor) -> Tensor:
        """Those of one hypothesis a row: slots (rows, steps) -> (rows, heads, steps, size)."""
        index = slots[:, None, :, None].expand(-1, self.part.shape[1], -1, self.part.shape[3])
        return self.part.gather(2, index)

    def keep(self, rows: Tensor) -> None:
        self.part = self._lay(self.part[rows])


Newest = tuple[Tensor, Tensor, Tensor]  # queries, keys and values of the newest tokens, (rows, beam, heads, size) each


def append_and_attend(
    newest: Newest,
    keys: Grown,
    values: Grown,
    paths: Paths,
    appended: bool = False,
    hidden: Tensor | None = None,
    parts: Any = None,
) -> Tensor:
    """All in one kernel: (rows, beam, heads, size). Tokens that are in the caches already are written once more.

    hidden (rows, 1, given): what to add to the scores of what stands before the slots; parts: softmaxes to go on with.
    """
    if not (appended or paths.stays):
        keys.extend(paths.beam)
        values.extend(paths.beam)
    mixed: Tensor = step_kernels.attend_own(*newest, keys.part, values.part, hidden, paths.bias, paths.newest, parts)
    return mixed


def read_cache(newest: Newest, given: Given, keys: Grown, values: Grown, paths: Paths, appended: bool) -> Tensor:
    """One softmax over the given keys, which belong to a group, and those of the hypotheses.

    appended: whether the newest tokens are in the caches already; if not, they are from then on.
    Returns (rows, beam, heads, size).
    """
    query, key, value = newest
    if has_step_kernel(query, paths.beam):
        place = torch.arange(len(query), device=query.device) if given.place is None else given.place
        parts = step_kernels.attend_shared(query, given.keys, given.values, given.bias, place)
        return append_and_attend(newest, keys, values, paths, appended, parts=parts)
    if not appended:
        keys.append(key, paths.place)
        values.append(value, paths.place)
    # Apart, and put together by their sums: to lay all scores side by side takes longer than to make them.
    shared, shared_total = given.attend(query)
    own = attend_part(query.transpose(1, 2), keys.all, values.all, paths.bias[:, None])
    read, total = (x.transpose(1, 2) for x in own)
    return torch.lerp(shared, read, (total - shared_total).sigmoid().to(read.dtype))


class Cache(Protocol):
    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only."""

    def compact(self, index: Tensor) -> None:
        """Keep these slots only: (rows, kept)."""

    def make_room(self, slots: int) -> None:
        """For so many more: from now on tensors stay in their place."""

    def each(self, change: Change) -> None:
        """Put another tensor into the place of every one."""


class OwnCache:
    """For attention to the own side: what a row's prefix shows, and the hypotheses so far."""

    def __init__(self, keys: Tensor, values: Tensor, reach: Reach, room: int = 0) -> None:
        """keys and values (rows, heads, given + room, size): of the prefix, with room for slots behind."""
        self.reach = reach  # in `Decoding.hidden` is what of the prefix is not seen
        self.keys, self.values = Grown(keys, is_keys=True, room=room), Grown(values, room=room)

    def keep(self, rows: Tensor) -> None:
        self.keys.keep(rows)
        self.values.keep(rows)

    def compact(self, index: Tensor) -> None:
        self.keys.compact(index)
        self.values.compact(index)

    def make_room(self, slots: int) -> None:
        self.keys.make_room(slots)
        self.values.make_room(slots)

    def each(self, change: Change) -> None:
        self.keys.part, self.values.part = change(self.keys.part), change(self.values.part)


@dataclass
class SourceCache:
    """For attention to the source, the same for all hypotheses of a row."""

    given: Given

    def keep(self, rows: Tensor) -> None:
        self.given = self.given.keep(rows)

    def compact(self, index: Tensor) -> None:
        pass

    def make_room(self, slots: int) -> None:
        pass

    def each(self, change: Change) -> None:
        self.given = self.given.each(change)


@dataclass
class PreviousCache:
    """For attention to each previous sentence by itself."""

    keys: Tensor  # (rows, distances, heads, tokens, size)
    values: Tensor
    seen: Tensor  # (rows, distances, tokens)

    def keep(self, rows: Tensor) -> None:
        self.keys, self.values, self.seen = self.keys[rows], self.values[rows], self.seen[rows]

    def compact(self, index: Tensor) -> None:
        pass

    def make_room(self, slots: int) -> None:
        pass

    def each(self, change: Change) -> None:
        self.keys, self.values, self.seen = change(self.keys), change(self.values), change(self.seen)


@dataclass(frozen=True)
class GlobalContext:
    """Target text of other sentences that decoding may see: full translations, in document order."""

    side: Side  # rows as in training, with these translations as current sentences
    row: Tensor  # (rows,) where each row that is decoded stands among them: it sees its group's rows before that


@dataclass(frozen=True)
class KeysValues:
    """What other rows see of a row."""

    keys: Tensor  # (tokens, heads, size)
    values: Tensor  # (tokens, heads, size)


@dataclass(frozen=True)
class KeptContext:
    """In the place of a global context: what was kept of sentences when they were finished."""

    rows: Sequence[Sequence[KeysValues]]  # for each row that is decoded, of the rows it sees


@runtime_checkable
class Keeper(Protocol):
    """A model of which other rows see keys and values that depend on nothing but their own row: they can be kept."""

    def show_source(self, side: Side) -> list[KeysValues]:
        """Of each row."""

    def show_target(self, side: Side) -> list[KeysValues]:
        """Of each row."""

    def encode_among(self, source: Side, seen: Sequence[Sequence[KeysValues]]) -> Memory:
        """Encode rows each of which sees these rows, itself among them, and not those beside it."""


class Mixer(Protocol):
    """What a system that mixes rows keeps while decoding."""

    stays: bool  # its tensors can stay in their place

    def keep(self, rows: Tensor) -> None: ...
    def compact(self, index: Tensor) -> None: ...
    def make_room(self, slots: int) -> None: ...
    def each(self, change: Change) -> None: ...
    def settle(self, row: int, tokens: Tensor) -> None:
        """A row is finished; these are the words of its current sentence."""


@dataclass
class Decoding:
    """The state of a decoding: rows with a beam of hypotheses each. Hypothesis 0 is a row's best."""

    positions: Tensor  # (rows,) position of the next token
    paths: Paths
    caches: dict[Attention, Cache]
    hidden: dict[Reach, Tensor]  # (rows, 1, given) what to add to the scores of a prefix, by how far attention reaches
    mixer: Mixer | None = None

    @property
    def stays(self) -> bool:
        """Whether tensors can stay in their place."""
        return self.mixer is None or self.mixer.stays

    def make_room(self, steps: int) -> None:
        """From now on tensors stay in their place, with room for so many more steps."""
        slots = self.paths.make_room(steps)
        for part in self.parts():
            part.make_room(slots)

    def each(self, change: Change) -> None:
        """Put another tensor into the place of every one that decoding a token reads or writes."""
        self.positions = change(self.positions)
        self.paths.each(change)
        self.hidden = {reach: change(bias) for reach, bias in self.hidden.items()}
        for part in self.parts():
            part.each(change)

    def reorder(self, parents: Tensor) -> None:
        """Let hypothesis k of each row continue its hypothesis parents[row, k]."""
        self.paths.reorder(parents)
        if not self.paths.stays and self.paths.slots.shape[2] % 8 == 7:
            index = self.paths.compact()
            if index is not None:
                for part in self.parts():
                    part.compact(index)

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only."""
        self.positions = self.positions[rows]
        self.paths.keep(rows)
        self.hidden = {reach: bias[rows] for reach, bias in self.hidden.items()}
        for part in self.parts():
            part.keep(rows)

    def parts(self) -> list[Cache]:
        return [*self.caches.values(), *([] if self.mixer is None else [self.mixer])]


class PrefixAttending(TargetAttending):
    """Reads the forced prefixes as a batch, and keeps of them what the tokens to come will see."""

    def __init__(self, prefix: Side, memory: Memory, beam: int) -> None:
        super().__init__(prefix, memory)
        self.first_room = whole(FIRST_ROOM * beam)
        self.caches: dict[Attention, Cache] = {}
        self.hidden: dict[Reach, Tensor] = {}
        self.last_piece = prefix.row_pieces.starts[1:].long() - 1  # (rows,): the start symbol of the current sentence
        self.own_paddings: dict[Reach, Padding] = {}  # of what is seen, the same in all layers
        self.source_paddings: dict[Reach, Padding] = {}

    def note_own(
        self, attention: Attention, reach: Reach, key: Tensor, value: Tensor, old: tuple[Tensor, Tensor] | None
    ) -> None:
        if old is not None:
            index, is_old, _, segments = self.recurrence(len(key))
            which, segments = segments.take(self.last_piece)
            seen_old, where = is_old[which, None, None], index[which]
            key = torch.where(seen_old, old[0][where], key[where])
            value = torch.where(seen_old, old[1][where], value[where])
            self.own_paddings.setdefault(reach, Padding.of(segments, len(key)))
        elif reach not in self.own_paddings:
            if reach == "sentence":
                index, segments = self.side.pieces.take(self.last_piece)
                self.own_paddings[reach] = Padding.of(segments, len(index), index)
            else:
                self.own_paddings[reach] = Padding.of(self.side.rows, len(key))
        padding = self.own_paddings[reach]
        if reach not in self.hidden:
            self.hidden[reach] = hide(padding.seen, key)
        if has_kernel(key):  # on a GPU, where tensors will stay: laid out once and for all
            roomy = padding.lay(key, value, self.first_room)
            self.caches[attention] = OwnCache(*roomy, reach, room=self.first_room)
        else:
            given = padding.given(key, value)
            self.caches[attention] = OwnCache(given.keys, given.values, reach)

    def note_source(self, attention: Attention, reach: Reach, key: Tensor, value: Tensor) -> None:
        memory = self.memory
        if reach not in self.source_paddings:
            if reach == "sentence":
                index, segments = memory.pieces.take(memory.row_pieces.starts[1:].long() - 1)
                self.source_paddings[reach] = Padding.of(segments, len(index), index)
            else:
                segments = memory.rows if memory.context is None or reach == "row" else memory.context[1]
                self.source_paddings[reach] = Padding.of(segments, len(key))
        self.caches[attention] = SourceCache(self.source_paddings[reach].given(key, value))

    def each_previous(self, attention: Attention, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        part, rows = self.side.parts["previous"], len(self.side.rows)
        keys, values = (part.segments.pad(one) for one in attention.keys_values(states[part.index]))
        by_row = [one.unflatten(0, (-1, rows)).transpose(0, 1) for one in (keys, values, part.segments.mask)]
        self.caches[attention] = PreviousCache(by_row[0].transpose(2, 3), by_row[1].transpose(2, 3), by_row[2])
        return super().each_previous(attention, x, states)


class CachedAttending:
    """The newest token of every hypothesis attends: x is (rows, beam, dim)."""

    def __init__(self, state: Decoding) -> None:
        self.caches, self.paths, self.hidden = state.caches, state.paths, state.hidden
        self.biases: dict[Reach, Tensor] = {}  # (rows, 1, beam, given + slots), for all layers alike
        self.places: dict[Reach, Tensor | None] = {}

    def _prepare(self, reach: Reach) -> None:
        hidden, paths = self.hidden[reach], self.paths
        self.biases[reach] = torch.cat([hidden.expand(-1, paths.beam, -1), paths.bias], dim=2)[:, None]
        self.places[reach] = None if paths.place is None else paths.place + hidden.shape[2]

    def own(self, attention: Attention, x: Tensor, reach: Reach, earlier: Tensor | None = None) -> Tensor:
        cache = self.caches[attention]
        assert isinstance(cache, OwnCache)
        query, key, value = attention.project(x)  # (rows, beam, heads, size)
        if has_step_kernel(query, self.paths.beam):
            newest, hidden = (query, key, value), self.hidden[cache.reach]
            return attention.join(append_and_attend(newest, cache.keys, cache.values, self.paths, hidden=hidden))
        if cache.reach not in self.biases:
            self._prepare(cache.reach)
        place = self.places[cache.reach]
        keys, values = cache.keys.append(key, place), cache.values.append(value, place)
        mixed = attend_few(query.transpose(1, 2), keys, values, self.biases[cache.reach])
        return attention.join(mixed.transpose(1, 2))

    def source(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        cache = self.caches[attention]
        assert isinstance(cache, SourceCache)
        given = cache.given
        query = attention.queries(x).transpose(1, 2)  # (rows, heads, beam, size)
        mixed = attend_few(query, given.keys, given.values, given.bias[:, None])
        return attention.join(mixed.transpose(1, 2))

    def each_previous(self, attention: Attention, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        cache = self.caches[attention]
        assert isinstance(cache, PreviousCache)
        query = attention.queries(x).transpose(1, 2)[:, None]  # (rows, 1, heads, beam, size)
        query = query.expand(-1, cache.keys.shape[1], -1, -1, -1)
        mixed = attend_masked(query, cache.keys, cache.values, cache.seen[:, :, None, None])
        there = cache.seen.any(-1)[:, None].expand(-1, x.shape[1], -1)  # (rows, beam, distances)
        return attention.join(mixed.permute(0, 3, 1, 2, 4)), there
