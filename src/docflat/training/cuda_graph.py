"""A training step as a CUDA graph: recorded once, replayed for every batch, with next to nothing to do for the host.

A graph has fixed shapes. Batches are filled up to them with rows of padding, which no row reads and which predict
nothing: loss and gradients are those of the batch. One that does not fit is for the caller to do step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from docflat.model.batch import Batch, Side
from docflat.model.loss import IGNORED
from docflat.model.segments import Segments
from docflat.model.transformer import Transformer

TILE = 64  # tokens, of the attention kernels: shapes are multiples of it
LONGEST_PADDING = 256  # tokens of one segment: padding attends to itself, at a cost that grows with the square
WARM_UPS = 2  # before recording: they compile, and choose kernels


@dataclass(frozen=True)
class SideShape:
    """How many there are of each, at most; and how long segments are."""

    tokens: int
    current: int
    rows: int
    pieces: int
    groups: int
    longest_row: int
    longest_piece: int
    longest_sentence: int
    longest_group: int
    longest_group_tokens: int

    @classmethod
    def around(cls, sides: Sequence[Side], budget: int) -> SideShape:
        """For sides like these; none has more than `budget` tokens.

        Every segment that could be there costs time, be it empty. So there is little room to spare: a few batches in
        a hundred will not fit, and the last of an epoch.
        """

        def most(count: Callable[[Side], int], room: float = 1.0) -> int:
            return int(max(count(side) for side in sides) * room)

        def spare(longest: int) -> int:
            """Segments of padding, for a batch of which up to a quarter is padding."""
            return tokens // (4 * min(longest, LONGEST_PADDING)) + 2

        # At least one token of padding: what fills the current sentences up has to be somewhere.
        tokens = _up(min(budget, most(lambda side: len(side.tokens), 1.05)) + 1)
        whole = all(len(side.current) == len(side.tokens) for side in sides)
        row, piece, sentence, group, group_tokens = (
            _up(most(lambda side, name=name: getattr(side, name).longest))  # type: ignore[misc]
            for name in ("rows", "pieces", "sentences", "groups", "group_tokens")
        )
        return cls(
            tokens,
            tokens if whole else _up(most(lambda side: len(side.current), 1.05)),
            most(lambda side: len(side.rows), 1.05) + spare(min(row, sentence)),
            most(lambda side: len(side.pieces), 1.05) + spare(piece),
            most(lambda side: len(side.groups), 1.05) + spare(min(group, group_tokens)),
            row,
            piece,
            sentence,
            group,
            group_tokens,
        )


Shapes = tuple[SideShape, SideShape]  # of source and target


def shapes_around(batches: Sequence[Batch], budget: int) -> Shapes:
    """For batches like these."""
    source = SideShape.around([batch.source for batch in batches], budget)
    target = SideShape.around([batch.target for batch in batches], budget)
    # A row of the target reads the row of the source that has its number: there are as many on both sides.
    both = {"rows": max(source.rows, target.rows), "pieces": max(source.pieces, target.pieces)}
    return replace(source, **both), replace(target, **both)


def _up(number: int) -> int:
    return -(-number // TILE) * TILE


class DoesNotFit(Exception):
    """A batch has more of something than the graph was recorded for."""


def fill_segments(segments: Segments, total: int, count: int, longest: int) -> Segments:
    """Further segments up to the token `total`, rather long ones, then empty ones: `count` in all."""
    end, step = int(segments.starts[-1]), min(longest, LONGEST_PADDING)
    stretches = torch.arange(end + step, total + step, step, dtype=torch.int32).clamp_max(total)
    starts = torch.cat([segments.starts, stretches])
    if len(starts) - 1 > count or segments.longest > longest:
        raise DoesNotFit
    return Segments(F.pad(starts, (0, count + 1 - len(starts)), value=total), longest)


def fill_side(side: Side, shape: SideShape) -> Side:
    """Without what only systems read that cannot be recorded (Transformer.recordable)."""
    missing = shape.tokens - len(side.tokens)
    if missing < 1 or len(side.current) > shape.current:
        raise DoesNotFit
    nothing = Segments(side.rows.starts[:1], 0)
    return Side(
        F.pad(side.tokens, (0, missing)),
        F.pad(side.positions, (0, missing)),
        F.pad(side.places, (0, missing)),
        fill_segments(side.rows, shape.tokens, shape.rows, shape.longest_row),
        fill_segments(side.pieces, shape.tokens, shape.pieces, shape.longest_piece),
        nothing,
        side.piece_places[:0],
        # Any token of padding, but not the same for all: gradients of one and the same are summed one by one.
        torch.cat([side.current, shape.tokens - 1 - torch.arange(shape.current - len(side.current)) % missing]),
        fill_segments(side.sentences, shape.current, shape.rows, shape.longest_sentence),
        fill_segments(side.groups, shape.current, shape.groups, shape.longest_group),
        nothing,
        fill_segments(side.group_tokens, shape.tokens, shape.groups, shape.longest_group_tokens),
        side.mixed[:0],
        {},
    )


def fill(batch: Batch, shapes: Shapes) -> Batch:
    """The batch in these shapes; DoesNotFit if it has more."""
    source, target = fill_side(batch.source, shapes[0]), fill_side(batch.target, shapes[1])
    missing = shapes[1].current - len(batch.labels)
    return Batch(source, target, F.pad(batch.labels, (0, missing), value=IGNORED))


def pack(batch: Batch) -> list[Tensor]:
    """All its tensors one after the other, in one for each type: what is copied at once."""
    by_type: dict[torch.dtype, list[Tensor]] = {}

    def put(tensor: Tensor) -> Tensor:
        by_type.setdefault(tensor.dtype, []).append(tensor)
        return tensor

    batch.map_tensors(put)
    return [torch.cat(tensors) for tensors in by_type.values()]


def unpack(packed: list[Tensor], like: Batch) -> Batch:
    """The batch whose tensors lie in these."""
    left = {flat.dtype: flat for flat in packed}

    def take(tensor: Tensor) -> Tensor:
        here, left[tensor.dtype] = left[tensor.dtype].tensor_split([len(tensor)])
        return here

    return like.map_tensors(take)


class StepGraph:
    """Loss and gradients of a filled batch, replayed."""

    def __init__(self, model: Transformer, cast: AbstractContextManager[Any], smoothing: float, like: Batch) -> None:
        """Records with this batch; gradients come to lie in tensors that stay."""
        self.inputs = [flat.to(model.embedding.weight.device) for flat in pack(like)]
        batch = unpack(self.inputs, like)

        def step() -> Tensor:
            with cast:
                loss, plain = model(batch, smoothing)
            (loss / (batch.labels != IGNORED).sum()).backward()
            return plain.detach()

        # Gradients are summed on the stream that first did so. All of it is on one, which is not the default stream.
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(WARM_UPS):
                step()
                model.zero_grad(set_to_none=True)
        torch.cuda.current_stream().wait_stream(beside)
        self.graph = torch.cuda.CUDAGraph()
        # Of this thread only: another one lays batches out meanwhile, and pins their memory.
        with torch.cuda.graph(self.graph, stream=beside, capture_error_mode="thread_local"):
            self.plain = step()

    def __call__(self, packed: list[Tensor]) -> Tensor:
        """The plain loss of a packed batch, until the next call; its gradients take the place of those before."""
        for here, there in zip(self.inputs, packed, strict=True):
            here.copy_(there, non_blocking=True)
        self.graph.replay()
        return self.plain
