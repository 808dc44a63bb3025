"""Caches: how decoding attends token by token, and what it keeps for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, TargetAttending
from docflat.model.cache.fixed_keys import (
    Change,
    FixedKeys,
    FlatFixedKeys,
    Padding,
    attend_few,
    attend_masked,
    attend_part,
    hide,
    whole,
)
from docflat.model.cache.hypotheses import FIRST_ROOM, HypothesisSlots, Paths
from docflat.model.layers import Attention, Reach, has_kernel, has_step_kernel, step_kernels
from docflat.model.ssru import SSRU, SSRUState

Newest = tuple[Tensor, Tensor, Tensor]  # queries, keys and values of the newest tokens, (rows, beam, heads, size) each


def append_and_attend(
    newest: Newest,
    keys: HypothesisSlots,
    values: HypothesisSlots,
    paths: Paths,
    appended: bool = False,
    hidden: Tensor | None = None,
    parts: Any = None,
) -> Tensor:
    """All in one kernel: (rows, beam, heads, size). Tokens that are in the caches already are written once more.

    hidden (rows, 1, fixed): what to add to the scores of what stands before the slots; parts: softmaxes to go on with.
    """
    if not (appended or paths.stays):
        keys.extend(paths.beam)
        values.extend(paths.beam)
    mixed: Tensor = step_kernels.attend_own(*newest, keys.part, values.part, hidden, paths.bias, paths.newest, parts)
    return mixed


def read_cache(
    newest: Newest,
    fixed: FixedKeys | FlatFixedKeys,
    keys: HypothesisSlots,
    values: HypothesisSlots,
    paths: Paths,
    appended: bool,
) -> Tensor:
    """One softmax over the fixed keys, which belong to a group, and those of the hypotheses.

    appended: whether the newest tokens are in the caches already; if not, they are from then on.
    Returns (rows, beam, heads, size).
    """
    query, key, value = newest
    if isinstance(fixed, FlatFixedKeys):
        both = (fixed.keys, fixed.values)
        where = (fixed.starts, fixed.ends, fixed.group_rows, fixed.longest, fixed.per_group)
        parts = step_kernels.attend_flat(query, *both, *where)
        return append_and_attend(newest, keys, values, paths, appended, parts=parts)
    if has_step_kernel(query, paths.beam):
        group_rows = fixed.group_rows
        place = group_rows if fixed.place is None else fixed.place  # without places row n is group n
        parts = step_kernels.attend_shared(query, fixed.keys, fixed.values, fixed.bias, place, group_rows)
        return append_and_attend(newest, keys, values, paths, appended, parts=parts)
    if not appended:
        keys.append(key, paths.place)
        values.append(value, paths.place)
    # Apart, and put together by their sums: to lay all scores side by side takes longer than to make them.
    shared, shared_total = fixed.attend(query)
    partial = attend_part(query.transpose(1, 2), keys.all, values.all, paths.bias[:, None])
    read, total = (x.transpose(1, 2) for x in partial)
    return torch.lerp(shared, read, (total - shared_total).sigmoid().to(read.dtype))


class Cache(Protocol):
    def select_rows(self, rows: Tensor) -> None:
        """Go on with these rows only."""

    def compact(self, index: Tensor) -> None:
        """Keep these slots only: (rows, kept)."""

    def make_room(self, slots: int) -> None:
        """For so many more: from now on tensors stay in their place."""

    def map_tensors(self, change: Change) -> None:
        """Put another tensor into the place of every one."""


class SelfAttentionCache:
    """For attention to the own side: what a row's prefix shows, and the hypotheses so far."""

    def __init__(self, keys: Tensor, values: Tensor, reach: Reach, room: int = 0) -> None:
        """keys and values (rows, heads, fixed + room, size): of the prefix, with room for slots behind."""
        self.reach = reach  # in `Decoding.hidden` is what of the prefix is not seen
        self.keys, self.values = HypothesisSlots(keys, is_keys=True, room=room), HypothesisSlots(values, room=room)

    def select_rows(self, rows: Tensor) -> None:
        self.keys.select_rows(rows)
        self.values.select_rows(rows)

    def compact(self, index: Tensor) -> None:
        self.keys.compact(index)
        self.values.compact(index)

    def make_room(self, slots: int) -> None:
        self.keys.make_room(slots)
        self.values.make_room(slots)

    def map_tensors(self, change: Change) -> None:
        self.keys.part, self.values.part = change(self.keys.part), change(self.values.part)


@dataclass
class CrossAttentionCache:
    """For attention to the source, the same for all hypotheses of a row."""

    fixed: FixedKeys

    def select_rows(self, rows: Tensor) -> None:
        self.fixed = self.fixed.select_rows(rows)

    def compact(self, index: Tensor) -> None:
        pass

    def make_room(self, slots: int) -> None:
        pass

    def map_tensors(self, change: Change) -> None:
        self.fixed = self.fixed.map_tensors(change)


@dataclass
class PreviousSentenceCache:
    """For attention to each previous sentence by itself."""

    keys: Tensor  # (rows, distances, heads, tokens, size)
    values: Tensor
    visible: Tensor  # (rows, distances, tokens)

    def select_rows(self, rows: Tensor) -> None:
        self.keys, self.values, self.visible = self.keys[rows], self.values[rows], self.visible[rows]

    def compact(self, index: Tensor) -> None:
        pass

    def make_room(self, slots: int) -> None:
        pass

    def map_tensors(self, change: Change) -> None:
        self.keys, self.values, self.visible = change(self.keys), change(self.values), change(self.visible)


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
class CachedContext:
    """In the place of a global context: what was kept of sentences when they were finished."""

    rows: Sequence[Sequence[KeysValues]]  # for each row that is decoded, of the rows it sees


@runtime_checkable
class CachingModel(Protocol):
    """A model of which other rows see keys and values that depend on nothing but their own row: they can be kept."""

    def show_source(self, side: Side) -> list[KeysValues]:
        """Of each row."""

    def show_target(self, side: Side) -> list[KeysValues]:
        """Of each row."""

    def encode_among(self, source: Side, visible: Sequence[Sequence[KeysValues]]) -> Memory:
        """Encode rows each of which sees these rows, itself among them, and not those beside it."""


class Mixer(Protocol):
    """What a system that mixes rows keeps while decoding."""

    stays: bool  # its tensors can stay in their place

    def select_rows(self, rows: Tensor) -> None: ...
    def compact(self, index: Tensor) -> None: ...
    def make_room(self, slots: int) -> None: ...
    def map_tensors(self, change: Change) -> None: ...
    def settle(self, row: int, tokens: Tensor) -> None:
        """A row is finished; these are the words of its current sentence."""


@dataclass
class Decoding:
    """The state of a decoding: rows with a beam of hypotheses each. Hypothesis 0 is a row's best."""

    positions: Tensor  # (rows,) position of the next token
    paths: Paths
    caches: dict[nn.Module, Cache]
    hidden: dict[Reach, Tensor]  # (rows, 1, fixed) what to add to the scores of a prefix, by how far attention reaches
    mixer: Mixer | None = None

    @property
    def recurrent(self) -> list[SSRUState]:
        return [cache for cache in self.caches.values() if isinstance(cache, SSRUState)]

    @property
    def stays(self) -> bool:
        """Whether tensors can stay in their place."""
        return not self.recurrent and (self.mixer is None or self.mixer.stays)

    def make_room(self, steps: int) -> None:
        """From now on tensors stay in their place, with room for so many more steps."""
        slots = self.paths.make_room(steps)
        for part in self.parts():
            part.make_room(slots)

    def map_tensors(self, change: Change) -> None:
        """Put another tensor into the place of every one that decoding a token reads or writes."""
        self.positions = change(self.positions)
        self.paths.map_tensors(change)
        self.hidden = {reach: change(bias) for reach, bias in self.hidden.items()}
        for part in self.parts():
            part.map_tensors(change)

    def reorder(self, parents: Tensor) -> None:
        """Let hypothesis k of each row continue its hypothesis parents[row, k]."""
        self.paths.reorder(parents)
        for state in self.recurrent:
            state.reorder(parents)
        if not self.paths.stays and self.paths.slots.shape[2] % 8 == 7:
            index = self.paths.compact()
            if index is not None:
                for part in self.parts():
                    part.compact(index)

    def select_rows(self, rows: Tensor) -> None:
        """Go on with these rows only."""
        self.positions = self.positions[rows]
        self.paths.select_rows(rows)
        self.hidden = {reach: bias[rows] for reach, bias in self.hidden.items()}
        for part in self.parts():
            part.select_rows(rows)

    def parts(self) -> list[Cache]:
        return [*self.caches.values(), *([] if self.mixer is None else [self.mixer])]


class PrefixAttending(TargetAttending):
    """Reads the forced prefixes as a batch, and keeps of them what the tokens to come will see."""

    def __init__(self, prefix: Side, memory: Memory, beam: int) -> None:
        super().__init__(prefix, memory)
        self.first_room = whole(FIRST_ROOM * beam)
        self.beam = beam
        self.caches: dict[nn.Module, Cache] = {}
        self.hidden: dict[Reach, Tensor] = {}
        self.last_piece = prefix.row_pieces.starts[1:].long() - 1  # (rows,): the start symbol of the current sentence
        self.self_paddings: dict[Reach, Padding] = {}  # of what is seen, the same in all layers
        self.source_paddings: dict[Reach, Padding] = {}

    def note_self(
        self, attention: Attention, reach: Reach, key: Tensor, value: Tensor, old: tuple[Tensor, Tensor] | None
    ) -> None:
        if old is not None:
            index, is_old, _, segments = self.recurrence(len(key))
            which, segments = segments.take(self.last_piece)
            visible_old, where = is_old[which, None, None], index[which]
            key = torch.where(visible_old, old[0][where], key[where])
            value = torch.where(visible_old, old[1][where], value[where])
            self.self_paddings.setdefault(reach, Padding.of(segments, len(key)))
        elif reach not in self.self_paddings:
            if reach == "sentence":
                index, segments = self.side.pieces.take(self.last_piece)
                self.self_paddings[reach] = Padding.of(segments, len(index), index)
            else:
                self.self_paddings[reach] = Padding.of(self.side.rows, len(key))
        padding = self.self_paddings[reach]
        if reach not in self.hidden:
            self.hidden[reach] = hide(padding.visible, key)
        if has_kernel(key):  # on a GPU, where they mostly stay: laid out once, with room
            roomy = padding.lay(key, value, self.first_room)
            self.caches[attention] = SelfAttentionCache(*roomy, reach, room=self.first_room)
        else:
            fixed = padding.fixed(key, value)
            self.caches[attention] = SelfAttentionCache(fixed.keys, fixed.values, reach)

    def note_cross(self, attention: Attention, reach: Reach, key: Tensor, value: Tensor) -> None:
        memory = self.memory
        if reach not in self.source_paddings:
            if reach == "sentence":
                index, segments = memory.pieces.take(memory.row_pieces.starts[1:].long() - 1)
                self.source_paddings[reach] = Padding.of(segments, len(index), index)
            else:
                segments = memory.rows if memory.context is None or reach == "row" else memory.context[1]
                self.source_paddings[reach] = Padding.of(segments, len(key))
        self.caches[attention] = CrossAttentionCache(self.source_paddings[reach].fixed(key, value))

    def note_states(self, recurrence: nn.Module, states: Tensor) -> None:
        last = states[self.side.rows.starts[1:].long() - 1]
        self.caches[recurrence] = SSRUState(last[:, None].expand(-1, self.beam, -1))

    def previous_attention(self, attention: Attention, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        part, rows = self.side.selections["previous"], len(self.side.rows)
        keys, values = (part.segments.pad(one) for one in attention.keys_values(states[part.index]))
        by_row = [one.unflatten(0, (-1, rows)).transpose(0, 1) for one in (keys, values, part.segments.mask)]
        self.caches[attention] = PreviousSentenceCache(by_row[0].transpose(2, 3), by_row[1].transpose(2, 3), by_row[2])
        return super().previous_attention(attention, x, states)


class CachedAttending:
    """The newest token of every hypothesis attends: x is (rows, beam, dim)."""

    def __init__(self, state: Decoding) -> None:
        self.caches, self.paths, self.hidden = state.caches, state.paths, state.hidden
        self.biases: dict[Reach, Tensor] = {}  # (rows, 1, beam, fixed + slots), for all layers alike
        self.places: dict[Reach, Tensor | None] = {}

    def _prepare(self, reach: Reach) -> None:
        hidden, paths = self.hidden[reach], self.paths
        self.biases[reach] = torch.cat([hidden.expand(-1, paths.beam, -1), paths.bias], dim=2)[:, None]
        self.places[reach] = None if paths.place is None else paths.place + hidden.shape[2]

    def self_attention(self, attention: Attention, x: Tensor, reach: Reach, earlier: Tensor | None = None) -> Tensor:
        cache = self.caches[attention]
        assert isinstance(cache, SelfAttentionCache)
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

    def cross_attention(self, attention: Attention, x: Tensor, reach: Reach) -> Tensor:
        cache = self.caches[attention]
        assert isinstance(cache, CrossAttentionCache)
        fixed = cache.fixed
        query = attention.queries(x).transpose(1, 2)  # (rows, heads, beam, size)
        mixed = attend_few(query, fixed.keys, fixed.values, fixed.bias[:, None])
        return attention.join(mixed.transpose(1, 2))

    def previous_attention(self, attention: Attention, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        cache = self.caches[attention]
        assert isinstance(cache, PreviousSentenceCache)
        query = attention.queries(x).transpose(1, 2)[:, None]  # (rows, 1, heads, beam, size)
        query = query.expand(-1, cache.keys.shape[1], -1, -1, -1)
        mixed = attend_masked(query, cache.keys, cache.values, cache.visible[:, :, None, None])
        there = cache.visible.any(-1)[:, None].expand(-1, x.shape[1], -1)  # (rows, beam, distances)
        return attention.join(mixed.permute(0, 3, 1, 2, 4)), there

    def recur(self, recurrence: SSRU, x: Tensor) -> Tensor:
        cache = self.caches[recurrence]
        assert isinstance(cache, SSRUState)
        cache.state = recurrence.step(x, cache.state)
        return cache.state
