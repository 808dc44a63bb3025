"""What only decoding needs of DocFlat: what rows show each other, and what a search keeps of hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.cache.decoding_state import GlobalContext, KeptContext, KeysValues, read_cache
from docflat.model.cache.fixed_keys import (
    Change,
    Given,
    GivenFlat,
    attend_masked,
    given_by_group,
    given_by_segment,
    upright,
    whole,
)
from docflat.model.cache.hypotheses import FIRST_ROOM, Grown, Paths
from docflat.model.layers import NoNorm, Norm, attend, has_step_kernel, is_step, step_kernels
from docflat.model.segments import Segments

if TYPE_CHECKING:
    from docflat.systems.docflat import DocFlat, FlatBatchAttention


def mix_newest(flat: FlatBatchAttention, x: Tensor, mixed: Tensor, norm: Norm | NoNorm) -> Tensor:
    """The layer norm of `FlatBatchAttention.mix_heads`, for newest tokens: (rows, beam, dim)."""
    if flat.options.gate == "identity":
        return norm.of_sum(x, flat.attention.join(mixed))
    if not is_step(x) or isinstance(norm, NoNorm):
        return norm(flat.mix_heads(x, mixed))
    if flat.folded is None:
        read = flat.attention.join(mixed)
        opening = flat.gate.unsquashed(read)
    else:
        read, opening = flat.folded(mixed.flatten(-2)).chunk(2, dim=-1)
    gamma = flat.options.gamma if flat.options.gate == "discrete" else None
    found: Tensor = step_kernels.mix_norm(x, read, opening, gamma, norm.weight, norm.bias, norm.eps)
    return found


def show_rows(flat: FlatBatchAttention, x: Tensor, side: Side) -> list[KeysValues]:
    """What other rows see of each row; x: embeddings (tokens, dim)."""
    where, _ = flat.flat(side)
    lengths = flat.rows(side).lengths.tolist()
    both = (part.split(lengths) for part in flat.attention.keys_values(x[where]))
    return [KeysValues(keys, values) for keys, values in zip(*both, strict=True)]


def lay_shown(flat: FlatBatchAttention, seen: Sequence[Sequence[KeysValues]], like: Tensor) -> Given:
    """What each row sees of the rows that were shown, padded; like (tokens, dim): where it is."""
    nothing, _ = flat.attention.keys_values(like[:0])  # of the type that keys have, under autocast too
    shown = [one for row in seen for one in row]
    lengths = np.array([sum(len(one.keys) for one in row) for row in seen], dtype=np.int64)
    return given_by_segment(
        torch.cat([nothing, *(one.keys for one in shown)]),
        torch.cat([nothing, *(one.values for one in shown)]),
        Segments.of_lengths(lengths).each(lambda starts: starts.to(like.device)),
    )


def mix_among(flat: FlatBatchAttention, x: Tensor, side: Side, seen: Sequence[Sequence[KeysValues]]) -> Tensor:
    """`FlatBatchAttention` of rows that see what was shown of rows, of themselves too: (tokens, dim) twice."""
    where, _ = flat.flat(side)
    rows, given = flat.rows(side), lay_shown(flat, seen, x)
    query = rows.pad(flat.attention.queries(x[where])).transpose(1, 2)  # (rows, heads, longest, size)
    mixed = attend_masked(query, given.keys, given.values, given.seen[:, None])
    read = rows.unpad(mixed.transpose(1, 2), len(where))
    return flat.put_mixed(x, where, x[where], read)


def given_until(keys: Tensor, values: Tensor, groups: Segments, place: Tensor, slots: int | None = None) -> Given:
    """What tokens at these places of a flat sequence see of their group: all up to themselves.

    keys and values (groups, heads, longest or more, size); place (tokens,) int32, in order; slots: as `given_by_group`.
    """
    group = torch.searchsorted(groups.starts[1:], place, right=True)  # (tokens,)
    until = (place - groups.starts[group])[:, None]
    return given_by_group(keys, values, torch.arange(keys.shape[2], device=place.device) <= until, group, slots)


class FlatMixer:
    """Flat-batch attention while decoding: keys and values of the hypotheses, and of the other rows.

    With a global context, or one that was kept, the other rows are given once and for all. Without, rows that grow at
    the same time see what the best hypotheses of the rows before them have so far (the paper's way).
    """

    def __init__(
        self,
        model: DocFlat,
        flat: FlatBatchAttention,
        given: Given | GivenFlat,
        paths: Paths,
        prefix: Side,
        growing: bool,
    ) -> None:
        self.model, self.flat, self.paths = model, flat, paths
        self.given = given  # start symbols of this batch's sentences, or the whole global context
        # Keys and values of the own sentence, few: both as rows. On a GPU, where they mostly stay, with room.
        room = whole(FIRST_ROOM * paths.beam) if has_step_kernel(given.keys, paths.beam) else 0
        none_yet = given.keys.new_zeros(2, len(prefix.rows), flat.attention.heads, room, given.keys.shape[-1])
        self.grown = [Grown(part, room=room) for part in none_yet]
        self.growing, self.stays = growing, not growing
        if growing:
            assert isinstance(given, Given)
            groups, slots, _ = given.seen.shape
            self.first_position = prefix.rows.lengths  # (all rows,)
            self.live = torch.arange(len(prefix.rows), device=given.keys.device)
            # Of every row, also of finished ones: its best hypothesis.
            self.best = [part.new_zeros(groups * slots, part.shape[1], 0, part.shape[3]) for part in none_yet]
            self.best_length = torch.zeros(groups * slots, dtype=torch.long, device=given.keys.device)
            slot = torch.arange(slots, device=given.keys.device)
            self.earlier = slot[None, :] < slot[:, None]  # (slots, slots): seeing row, seen row
            self.all_places = given.place

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
        rows, slots = flat.rows(prefix), groups.longest
        own = shown = x[where]
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
            mixed = flat.put_mixed(x, where, own, read)
            in_place = GivenFlat(key, value, groups, last + 1, prefix.group_rows.longest)
            return mixed, cls(model, flat, in_place, paths, prefix, growing)
        padded = given_by_segment(*flat.attention.keys_values(shown), groups)
        # Of the context keys and values will do: no row sees what the tokens of another one read.
        given = given_until(padded.keys, padded.values, groups, place, slots)
        mixed = flat.put_mixed(x, where, own, given.read(flat.attention.queries(own)))
        if last is not place:  # else it is the start symbols alone that were read
            given = given_until(padded.keys, padded.values, groups, last)
        return mixed, cls(model, flat, given, paths, prefix, growing)

    @classmethod
    def after(
        cls, model: DocFlat, flat: FlatBatchAttention, x: Tensor, prefix: Side, paths: Paths, context: KeptContext
    ) -> tuple[Tensor, FlatMixer]:
        """The same for embedded prefixes x, (tokens, dim), each of which stands after rows of which this was kept."""
        where, _ = flat.flat(prefix)
        rows, kept = flat.rows(prefix), lay_shown(flat, context.rows, x)
        query, key, value = (rows.pad(part).transpose(1, 2) for part in flat.attention.project(x[where]))
        given = Given(
            upright(torch.cat([kept.keys, key], dim=2)),
            torch.cat([kept.values, value], dim=2),
            torch.cat([kept.seen, rows.mask[:, None]], dim=2),
        )
        earlier = torch.ones(rows.longest, rows.longest, dtype=torch.bool, device=x.device).tril()
        seen = [part.expand(len(rows), rows.longest, -1) for part in (kept.seen, earlier)]
        read = attend_masked(query, given.keys, given.values, torch.cat(seen, dim=2)[:, None])
        read = rows.unpad(read.transpose(1, 2), len(where))
        mixed = flat.put_mixed(x, where, x[where], read)
        return mixed, cls(model, flat, given, paths, prefix, growing=False)

    def step(self, x: Tensor) -> Tensor:
        """The newest token of every hypothesis, mixed and normed: (rows, beam, dim)."""
        newest, given = self.flat.attention.project(x), self.given
        if self.growing:  # rows see each other's newest tokens at once
            for grown, new in zip(self.grown, newest[1:], strict=True):
                grown.append(new)
            given = self._with_best()
        keys, values = self.grown
        read = read_cache(newest, given, keys, values, self.paths, appended=self.growing)
        return mix_newest(self.flat, x, read, self.model.target_norm)

    def _with_best(self) -> Given:
        given, best_path = self.given, self.paths.slots[:, 0]
        steps = best_path.shape[1]
        assert isinstance(given, Given)
        assert given.place is not None
        groups, slots, _ = given.seen.shape
        self.best_length[given.place] = steps
        both = []
        for index, fixed in enumerate((given.keys, given.values)):
            missing = steps - self.best[index].shape[2]
            best = nn.functional.pad(self.best[index], (0, 0, 0, missing))  # (groups * slots, heads, steps, size)
            self.best[index] = best.index_copy(0, given.place, self.grown[index].along(best_path))
            by_group = self.best[index].unflatten(0, (groups, slots)).transpose(1, 2).flatten(2, 3)
            both.append(torch.cat([fixed, by_group], dim=2))
        there = torch.arange(steps, device=self.best_length.device) < self.best_length[:, None]
        there = there.unflatten(0, (groups, 1, slots)) & self.earlier[:, :, None]  # (groups, slots, slots, steps)
        return Given(both[0], both[1], torch.cat([given.seen, there.flatten(2)], dim=2), given.place)

    def keep(self, rows: Tensor) -> None:
        for grown in self.grown:
            grown.keep(rows)
        if self.growing:  # what finished rows show is still read at their places
            assert isinstance(self.given, Given)
            assert self.given.place is not None
            self.given = Given(self.given.keys, self.given.values, self.given.seen, self.given.place[rows])
            self.live = self.live[rows]
        else:
            self.given = self.given.keep(rows)

    def compact(self, index: Tensor) -> None:
        for grown in self.grown:
            grown.compact(index)

    def make_room(self, slots: int) -> None:
        for grown in self.grown:
            grown.make_room(slots)

    def each(self, change: Change) -> None:
        if isinstance(self.given, Given) and not has_step_kernel(self.given.keys, self.paths.beam):
            self.given.biases(self.paths.beam)  # now, not in the middle of a step
        self.given = self.given.each(change)
        for grown in self.grown:
            grown.part = change(grown.part)

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
