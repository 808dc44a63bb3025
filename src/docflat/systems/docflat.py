"""DocFlat: flat-batch attention and a neural context gate (Wu et al., EACL 2023).

Between embedding and first layer, the current sentences of all rows of a document are laid out as one sequence;
one attention over it lets every sentence read all the others, and a gate decides, per token and dimension, how
much of what it read replaces the embedding. The rest is `doc2doc`.

Where the paper is silent: the discrete gate trains with a straight-through gradient; documents in one batch do
not see each other (`document_mask: false` restores the paper); tokens of the local context pass by unchanged.
Not as in the paper: at most 32 rows see each other, about what its batch of 4096 tokens holds, because ours are larger
(`window: 0`: all); the discrete gate starts closed, because half open it replaces half of every embedding at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from docflat.model.batch import Side
from docflat.model.batch_attention import Memory, SideAttending
from docflat.model.cache.decoding_state import GlobalContext, KeptContext, KeysValues, Mixer, read_cache
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
from docflat.model.layers import (
    Attention,
    Gate,
    NoNorm,
    Norm,
    attend,
    fold,
    has_step_kernel,
    is_inference,
    is_step,
    step_kernels,
)
from docflat.model.segments import Segments
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems.options import DocFlatOptions


def blend(x: Tensor, read: Tensor, opening: Tensor) -> Tensor:
    """(1 - opening) x + opening read; (..., dim) each. Autocast may have made what was read of another type."""
    return torch.lerp(x, read.to(x.dtype), opening.to(x.dtype))


def put(x: Tensor, where: Tensor, new: Tensor) -> Tensor:
    """x (tokens, dim) with other rows at some places; written over where no gradient will ask for it."""
    copy = Tensor.index_copy_ if is_inference() else Tensor.index_copy
    return copy(x, 0, where, new.to(x.dtype))


class FlatBatchAttention(nn.Module):
    """Attention over the flat sequence and the gate."""

    def __init__(self, dim: int, heads: int, options: DocFlatOptions) -> None:
        super().__init__()
        self.options = options
        self.attention = Attention(dim, heads)
        # What was read and what the gate makes of it, before its sigmoid, in one product; None while it is trained.
        self.folded: nn.Module | None = None
        if options.gate != "identity":
            # Half open is no shock to the continuous gate: the layer norm takes the common factor out. The discrete
            # one would replace half of every embedding at once, so it starts closed.
            default = 0.0 if options.gate == "continuous" else -1.0
            self.gate = Gate(dim, 1, default if options.gate_bias is None else options.gate_bias)

    def fold(self) -> None:
        """From now on output and gate are one product: for weights that will not change."""
        if self.options.gate != "identity":
            self.folded = fold(self.attention.output, self.gate)

    def openings(self, read: Tensor) -> Tensor:
        """How far the gate opens for what was read: (..., dim) -> (..., dim) between 0 and 1."""
        return self.opened(self.gate(read))

    def opened(self, opening: Tensor) -> Tensor:
        """The same for what the gate says."""
        if self.options.gate == "discrete":
            # Straight through: the step goes forward, the sigmoid's gradient goes back.
            opening = (opening >= self.options.gamma).to(opening.dtype) + (opening - opening.detach())
        return opening

    def mix(self, x: Tensor, read: Tensor) -> Tensor:
        """Embedding and what attention read, before the layer norm; (..., dim) each."""
        if self.options.gate == "identity":
            return x + read
        return blend(x, read, self.openings(read))

    def mix_heads(self, x: Tensor, mixed: Tensor) -> Tensor:
        """`mix` of what the heads read, (..., heads, size), which the attention's output has not joined yet."""
        if self.folded is None:
            return self.mix(x, self.attention.join(mixed))
        read, opening = self.folded(mixed.flatten(-2)).chunk(2, dim=-1)
        return blend(x, read, self.opened(opening.sigmoid()))

    def mix_newest(self, x: Tensor, mixed: Tensor, norm: Norm | NoNorm) -> Tensor:
        """The layer norm of `mix_heads`, for newest tokens: (rows, beam, dim)."""
        if self.options.gate == "identity":
            return norm.of_sum(x, self.attention.join(mixed))
        if not is_step(x) or isinstance(norm, NoNorm):
            return norm(self.mix_heads(x, mixed))
        if self.folded is None:
            read = self.attention.join(mixed)
            opening = self.gate.unsquashed(read)
        else:
            read, opening = self.folded(mixed.flatten(-2)).chunk(2, dim=-1)
        gamma = self.options.gamma if self.options.gate == "discrete" else None
        found: Tensor = step_kernels.mix_norm(x, read, opening, gamma, norm.weight, norm.bias, norm.eps)
        return found

    def flat(self, side: Side) -> tuple[Tensor, Segments]:
        """Which tokens make up the flat sequence, and which stretches of it see each other."""
        if self.options.scope == "current":
            return side.current, side.groups
        return torch.arange(len(side.tokens), device=side.tokens.device), side.group_tokens

    def forward(self, x: Tensor, side: Side, causal: bool) -> Tensor:
        """(tokens, dim) -> (tokens, dim), before the layer norm."""
        kind = x.device.type
        if torch.is_autocast_enabled(kind):
            x = x.to(torch.get_autocast_dtype(kind))  # as the layers will read it: half as much to copy
        where, groups = self.flat(side)
        flat = x[where]
        mixed = attend(*self.attention.project(flat), groups, groups, causal)
        return put(x, where, self.mix_heads(flat, mixed))

    def compile(self, *_: Any, **__: Any) -> None:
        """Not by itself: it is compiled with what stands around it (`start_source`), which it would cut in pieces."""

    def rows(self, side: Side) -> Segments:
        """Over the flat sequence: one segment a row."""
        return side.sentences if self.options.scope == "current" else side.rows

    def show(self, x: Tensor, side: Side) -> list[KeysValues]:
        """What other rows see of each row; x: embeddings (tokens, dim)."""
        where, _ = self.flat(side)
        lengths = self.rows(side).lengths.tolist()
        both = (part.split(lengths) for part in self.attention.keys_values(x[where]))
        return [KeysValues(keys, values) for keys, values in zip(*both, strict=True)]

    def given(self, seen: Sequence[Sequence[KeysValues]], like: Tensor) -> Given:
        """What each row sees of the rows that were shown, padded; like (tokens, dim): where it is."""
        nothing, _ = self.attention.keys_values(like[:0])  # of the type that keys have, under autocast too
        shown = [one for row in seen for one in row]
        lengths = np.array([sum(len(one.keys) for one in row) for row in seen], dtype=np.int64)
        return given_by_segment(
            torch.cat([nothing, *(one.keys for one in shown)]),
            torch.cat([nothing, *(one.values for one in shown)]),
            Segments.of_lengths(lengths).each(lambda starts: starts.to(like.device)),
        )

    def among(self, x: Tensor, side: Side, seen: Sequence[Sequence[KeysValues]]) -> Tensor:
        """`forward` of rows that see what was shown of rows, of themselves too: (tokens, dim) -> (tokens, dim)."""
        where, _ = self.flat(side)
        rows, given = self.rows(side), self.given(seen, x)
        query = rows.pad(self.attention.queries(x[where])).transpose(1, 2)  # (rows, heads, longest, size)
        mixed = attend_masked(query, given.keys, given.values, given.seen[:, None])
        read = rows.unpad(mixed.transpose(1, 2), len(where))
        return put(x, where, self.mix_heads(x[where], read))


def fold_gates(model: Transformer) -> None:
    """For a model that only translates from now on."""
    for module in model.modules():
        if isinstance(module, FlatBatchAttention):
            module.fold()


class DocFlat(Transformer):
    recordable: ClassVar[bool] = True

    def __init__(
        self, sizes: ModelSizes, vocabulary: Vocabulary, options: DocFlatOptions, dropout: float = 0.0
    ) -> None:
        super().__init__(sizes, vocabulary, dropout)
        self.source_flat = FlatBatchAttention(sizes.dim, sizes.heads, options) if options.encoder else None
        self.target_flat = FlatBatchAttention(sizes.dim, sizes.heads, options) if options.decoder else None
        self.sees_growing = options.decoder

    def mix_source(self, x: Tensor, side: Side) -> Tensor:
        if self.source_flat is not None:
            x = self.source_flat(x, side, causal=False)
        return self.source_norm(x)

    def mix_target(self, x: Tensor, side: Side, memory: Memory) -> Tensor:
        if self.target_flat is not None:
            x = self.target_flat(x, side, causal=True)
        return self.target_norm(x)

    def show_source(self, side: Side) -> list[KeysValues]:
        return self._show(self.source_flat, self.embed(side), side)

    def show_target(self, side: Side) -> list[KeysValues]:
        return self._show(self.target_flat, self.embed_target(side), side)

    def _show(self, flat: FlatBatchAttention | None, x: Tensor, side: Side) -> list[KeysValues]:
        if flat is None:
            return [KeysValues(x[:0], x[:0])] * len(side.rows)
        return flat.show(x, side)

    def encode_among(self, source: Side, seen: Sequence[Sequence[KeysValues]]) -> Memory:
        x = self.embed(source)
        if self.source_flat is not None:
            x = self.source_flat.among(x, source, seen)
        x = self.source_norm(x)
        attending = SideAttending(source, causal=False)
        for layer in self.encoder:
            x = layer(x, attending)
        return Memory.of_side(x, source)

    def start_mix(
        self, x: Tensor, prefix: Side, memory: Memory, paths: Paths, context: GlobalContext | KeptContext | None
    ) -> tuple[Tensor, Mixer | None]:
        if self.target_flat is None:
            return self.target_norm(x), None
        if isinstance(context, KeptContext):
            mixed, kept_mixer = FlatMixer.after(self, self.target_flat, x, prefix, paths, context)
            return self.target_norm(mixed), kept_mixer
        mixed, mixer = FlatMixer.start(self, self.target_flat, x, prefix, paths, context)
        return self.target_norm(mixed), mixer

    def step_mix(self, x: Tensor, mixer: Mixer | None) -> Tensor:
        return mixer.step(x) if isinstance(mixer, FlatMixer) else self.target_norm(x)


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
            mixed = put(x, where, flat.mix_heads(own, read))
            in_place = GivenFlat(key, value, groups, last + 1, prefix.group_rows.longest)
            return mixed, cls(model, flat, in_place, paths, prefix, growing)
        padded = given_by_segment(*flat.attention.keys_values(shown), groups)
        # Of the context keys and values will do: no row sees what the tokens of another one read.
        given = given_until(padded.keys, padded.values, groups, place, slots)
        mixed = put(x, where, flat.mix_heads(own, given.read(flat.attention.queries(own))))
        if last is not place:  # else it is the start symbols alone that were read
            given = given_until(padded.keys, padded.values, groups, last)
        return mixed, cls(model, flat, given, paths, prefix, growing)

    @classmethod
    def after(
        cls, model: DocFlat, flat: FlatBatchAttention, x: Tensor, prefix: Side, paths: Paths, context: KeptContext
    ) -> tuple[Tensor, FlatMixer]:
        """The same for embedded prefixes x, (tokens, dim), each of which stands after rows of which this was kept."""
        where, _ = flat.flat(prefix)
        rows, kept = flat.rows(prefix), flat.given(context.rows, x)
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
        mixed = put(x, where, flat.mix_heads(x[where], read))
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
        return self.flat.mix_newest(x, read, self.model.target_norm)

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
