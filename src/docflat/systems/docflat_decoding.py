"""What only decoding needs of DocFlat: what rows show each other, and what a search keeps of hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.cache.decoding_state import CachedContext, GlobalContext, KeysValues, read_cache
from docflat.model.cache.fixed_keys import (
    Change,
    FixedKeys,
    FlatFixedKeys,
    attend_masked,
    fixed_by_group,
    fixed_by_segment,
    upright,
    whole,
)
from docflat.model.cache.hypotheses import FIRST_ROOM, HypothesisSlots, Paths
from docflat.model.embedding_norm import NoNorm
from docflat.model.layers import Norm, attend, has_step_kernel, is_step, step_kernels
from docflat.model.segments import Segments

if TYPE_CHECKING:
    from docflat.systems.docflat import DocFlat, FlatBatchAttention


def mix_newest(flat: FlatBatchAttention, x: Tensor, mixed: Tensor, norm: Norm | NoNorm) -> Tensor:
    """The layer norm of `FlatBatchAttention.mix_heads`, for newest tokens: (rows, beam, dim)."""
    if flat.options.gate == "identity":
        return norm.of_sum(x, flat.attention.join(mixed))
    if not is_step(x) or type(norm) is not Norm:
        return norm(flat.mix_heads(x, mixed))
    if flat.folded is None:
        read = flat.attention.join(mixed)
        opening = flat.gate.unsquashed(read)
    else:
        read, opening = flat.folded(mixed.flatten(-2)).chunk(2, dim=-1)
    gamma = flat.options.gamma if flat.options.gate == "discrete" else None
    mixed_newest: Tensor = step_kernels.mix_norm(x, read, opening, gamma, norm.weight, norm.bias, norm.eps)
    return mixed_newest


def show_rows(flat: FlatBatchAttention, x: Tensor, side: Side) -> list[KeysValues]:
    """What other rows see of each row; x: embeddings (tokens, dim)."""
    where, _ = flat.flat(side)
    lengths = flat.rows(side).lengths.tolist()
    both = (part.split(lengths) for part in flat.attention.keys_values(x[where]))
    return [KeysValues(keys, values) for keys, values in zip(*both, strict=True)]


def lay_shown(flat: FlatBatchAttention, visible: Sequence[Sequence[KeysValues]], like: Tensor) -> FixedKeys:
    """What each row sees of the rows that were shown, padded; like (tokens, dim): where it is."""
    nothing, _ = flat.attention.keys_values(like[:0])  # of the type that keys have, under autocast too
    shown = [one for row in visible for one in row]
    lengths = np.array([sum(len(one.keys) for one in row) for row in visible], dtype=np.int64)
    return fixed_by_segment(
        torch.cat([nothing, *(one.keys for one in shown)]),
        torch.cat([nothing, *(one.values for one in shown)]),
        Segments.of_lengths(lengths).map_tensors(lambda starts: starts.to(like.device)),
    )


def mix_among(flat: FlatBatchAttention, x: Tensor, side: Side, visible: Sequence[Sequence[KeysValues]]) -> Tensor:
    """`FlatBatchAttention` of rows that see what was shown of rows, of themselves too: (tokens, dim) twice."""
    where, _ = flat.flat(side)
    rows, fixed = flat.rows(side), lay_shown(flat, visible, x)
    query = rows.pad(flat.attention.queries(x[where])).transpose(1, 2)  # (rows, heads, longest, size)
    mixed = attend_masked(query, fixed.keys, fixed.values, fixed.visible[:, None])
    read = rows.unpad(mixed.transpose(1, 2), len(where))
    return flat.put_mixed(x, where, x[where], read)


def fixed_until(
    keys: Tensor, values: Tensor, groups: Segments, place: Tensor, per_group: int | None = None
) -> FixedKeys:
    """What tokens at these places of a flat sequence see of their group: all up to themselves.

    keys and values (groups, heads, longest or more, size); place (tokens,) int32, in order;
    per_group: as `fixed_by_group`.
    """
    group = torch.searchsorted(groups.starts[1:], place, right=True)  # (tokens,)
    until = (place - groups.starts[group])[:, None]
    return fixed_by_group(keys, values, torch.arange(keys.shape[2], device=place.device) <= until, group, per_group)


class FlatMixer:
    """Flat-batch attention while decoding: keys and values of the hypotheses, and of the other rows.

    With a global context, or one that was kept, the other rows are given once and for all. Without, rows that grow at
    the same time see what the best hypotheses of the rows before them have so far (the paper's way).
    """

    def __init__(
        self,
        model: DocFlat,
        flat: FlatBatchAttention,
        fixed: FixedKeys | FlatFixedKeys,
        paths: Paths,
        prefix: Side,
        growing: bool,
    ) -> None:
        self.model, self.flat, self.paths = model, flat, paths
        self.fixed = fixed  # start symbols of this batch's sentences, or the whole global context
        # Keys and values of the own sentence, few: both as rows. On a GPU, where they mostly stay, with room.
        room = whole(FIRST_ROOM * paths.beam) if has_step_kernel(fixed.keys, paths.beam) else 0
        none_yet = fixed.keys.new_zeros(2, len(prefix.rows), flat.attention.heads, room, fixed.keys.shape[-1])
        self.hypotheses = [HypothesisSlots(part, room=room) for part in none_yet]
        self.growing, self.stays = growing, not growing
        if growing:
            assert isinstance(fixed, FixedKeys)
            groups, per_group, _ = fixed.visible.shape
            self.first_position = prefix.rows.lengths  # (all rows,)
            self.live = torch.arange(len(prefix.rows), device=fixed.keys.device)
            # Of every row, also of finished ones: its best hypothesis.
            self.best = [part.new_zeros(groups * per_group, part.shape[1], 0, part.shape[3]) for part in none_yet]
            self.best_length = torch.zeros(groups * per_group, dtype=torch.long, device=fixed.keys.device)
            place = torch.arange(per_group, device=fixed.keys.device)
            self.earlier = place[None, :] < place[:, None]  # (per_group, per_group): seeing row, seen row
            self.all_places = fixed.place

    @classmethod
    def start(
        cls,
        model: DocFlat,
        flat: FlatBatchAttention,
        x: Tensor,
        prefix: Side,
        paths: Paths,
        context: GlobalContext | None,
    ) -> tuple[Tensor, FlatMixer]:
        """Mix the embedded prefixes x, (tokens, dim), and keep what the steps to come will read."""
        where, groups = flat.flat(prefix)
        rows, per_group = flat.rows(prefix), groups.longest
        current = shown = x[where]
        place = torch.arange(len(where), device=x.device, dtype=torch.int32)  # of these tokens in what is shown
        if context is not None:  # a decoded row's prefix is how its row begins among the rows of the context
            side = context.side
            index, groups = flat.flat(side)
            shown = model.target_embedding(side.tokens[index], side.positions[index])
            first = flat.rows(side).starts[context.row]
            place = first if len(where) == len(rows) else place + (first - rows.starts[:-1])[rows.number(len(where))]
        last = place if len(where) == len(rows) else place[rows.starts[1:].long() - 1]
        growing = context is None and prefix.group_rows.longest > 1  # a row by itself has nobody to look at
        if has_step_kernel(flat.attention.split(x), paths.beam) and not growing:
            query, key, value = flat.attention.project(shown)
            read = attend(query, key, value, groups, groups, causal=True)[place]
            mixed = flat.put_mixed(x, where, current, read)
            in_place = FlatFixedKeys(key, value, groups, last + 1, prefix.group_rows.longest)
            return mixed, cls(model, flat, in_place, paths, prefix, growing)
        padded = fixed_by_segment(*flat.attention.keys_values(shown), groups)
        # Of the context keys and values will do: no row sees what the tokens of another one read.
        fixed = fixed_until(padded.keys, padded.values, groups, place, per_group)
        mixed = flat.put_mixed(x, where, current, fixed.read(flat.attention.queries(current)))
        if last is not place:  # else it is the start symbols alone that were read
            fixed = fixed_until(padded.keys, padded.values, groups, last)
        return mixed, cls(model, flat, fixed, paths, prefix, growing)

    @classmethod
    def after(
        cls, model: DocFlat, flat: FlatBatchAttention, x: Tensor, prefix: Side, paths: Paths, context: CachedContext
    ) -> tuple[Tensor, FlatMixer]:
        """The same for embedded prefixes x, (tokens, dim), each of which stands after rows of which this was kept."""
        where, _ = flat.flat(prefix)
        rows, context_keys = flat.rows(prefix), lay_shown(flat, context.rows, x)
        query, key, value = (rows.pad(part).transpose(1, 2) for part in flat.attention.project(x[where]))
        fixed = FixedKeys(
            upright(torch.cat([context_keys.keys, key], dim=2)),
            torch.cat([context_keys.values, value], dim=2),
            torch.cat([context_keys.visible, rows.mask[:, None]], dim=2),
        )
        earlier = torch.ones(rows.longest, rows.longest, dtype=torch.bool, device=x.device).tril()
        visible = [part.expand(len(rows), rows.longest, -1) for part in (context_keys.visible, earlier)]
        read = attend_masked(query, fixed.keys, fixed.values, torch.cat(visible, dim=2)[:, None])
        read = rows.unpad(read.transpose(1, 2), len(where))
        mixed = flat.put_mixed(x, where, x[where], read)
        return mixed, cls(model, flat, fixed, paths, prefix, growing=False)

    def step(self, x: Tensor) -> Tensor:
        """The newest token of every hypothesis, mixed and normed: (rows, beam, dim)."""
        newest, fixed = self.flat.attention.project(x), self.fixed
        if self.growing:  # rows see each other's newest tokens at once
            for hypotheses, new in zip(self.hypotheses, newest[1:], strict=True):
                hypotheses.append(new)
            fixed = self._with_best()
        keys, values = self.hypotheses
        read = read_cache(newest, fixed, keys, values, self.paths, appended=self.growing)
        return mix_newest(self.flat, x, read, self.model.target_norm)

    def _with_best(self) -> FixedKeys:
        fixed, best_path = self.fixed, self.paths.slots[:, 0]
        steps = best_path.shape[1]
        assert isinstance(fixed, FixedKeys)
        assert fixed.place is not None
        groups, per_group, _ = fixed.visible.shape
        self.best_length[fixed.place] = steps
        both = []
        for index, part in enumerate((fixed.keys, fixed.values)):
            missing = steps - self.best[index].shape[2]
            best = nn.functional.pad(self.best[index], (0, 0, 0, missing))  # (groups * per_group, heads, steps, size)
            self.best[index] = best.index_copy(0, fixed.place, self.hypotheses[index].along(best_path))
            by_group = self.best[index].unflatten(0, (groups, per_group)).transpose(1, 2).flatten(2, 3)
            both.append(torch.cat([part, by_group], dim=2))
        there = torch.arange(steps, device=self.best_length.device) < self.best_length[:, None]
        # (groups, per_group, per_group, steps)
        there = there.unflatten(0, (groups, 1, per_group)) & self.earlier[:, :, None]
        return FixedKeys(both[0], both[1], torch.cat([fixed.visible, there.flatten(2)], dim=2), fixed.place)

    def select_rows(self, rows: Tensor) -> None:
        for hypotheses in self.hypotheses:
            hypotheses.select_rows(rows)
        if self.growing:  # what finished rows show is still read at their places
            assert isinstance(self.fixed, FixedKeys)
            assert self.fixed.place is not None
            self.fixed = FixedKeys(self.fixed.keys, self.fixed.values, self.fixed.visible, self.fixed.place[rows])
            self.live = self.live[rows]
        else:
            self.fixed = self.fixed.select_rows(rows)

    def compact(self, index: Tensor) -> None:
        for hypotheses in self.hypotheses:
            hypotheses.compact(index)

    def make_room(self, slots: int) -> None:
        for hypotheses in self.hypotheses:
            hypotheses.make_room(slots)

    def map_tensors(self, change: Change) -> None:
        if isinstance(self.fixed, FixedKeys) and not has_step_kernel(self.fixed.keys, self.paths.beam):
            self.fixed.biases(self.paths.beam)  # now, not in the middle of a step
        self.fixed = self.fixed.map_tensors(change)
        for hypotheses in self.hypotheses:
            hypotheses.part = change(hypotheses.part)

    def settle(self, row: int, tokens: Tensor) -> None:
        """The others see a finished row's translation, which need not be the best hypothesis they saw last."""
        if not self.growing:
            return
        number = self.live[row]
        assert self.all_places is not None
        place = self.all_places[number]
        positions = self.first_position[number] + torch.arange(len(tokens), device=tokens.device)
        key, value = self.flat.attention.keys_values(self.model.target_embedding(tokens, positions))
        steps = self.best[0].shape[2]  # a translation has at most as many tokens as steps were made
        for index, part in enumerate((key, value)):
            self.best[index][place, :, : min(steps, len(tokens))] = part.transpose(0, 1)[:, :steps]
        self.best_length[place] = len(tokens)
