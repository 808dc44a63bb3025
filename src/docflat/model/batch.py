"""A batch as tensors: what a model is handed, made of the flat layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from docflat.data.flat_layout import (
    FlatBatch,
    FlatSegments,
    FlatSelection,
    FlatSide,
    Layout,
    SelectionName,
    flatten_batch,
    flatten_side,
)
from docflat.data.rows import Rows, Sentences
from docflat.model.segments import Segments


@dataclass(frozen=True)
class Selection:
    """Some tokens of a side, in an order and in segments of their own."""

    index: Tensor  # (selected tokens,) where they are among the tokens of the side
    segments: Segments  # over index

    @classmethod
    def of_flat(cls, flat: FlatSelection) -> Selection:
        return cls(torch.from_numpy(flat.index), Segments.of_flat(flat.segments))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Selection:
        return Selection(change(self.index), self.segments.map_tensors(change))


@dataclass(frozen=True)
class Side:
    """One side of a batch. A piece is one sentence of one row."""

    tokens: Tensor  # (tokens,)
    positions: Tensor  # (tokens,) place in the row
    places: Tensor  # (tokens,) place in the sentence
    rows: Segments  # over tokens
    pieces: Segments  # over tokens: the sentences of the rows
    row_pieces: Segments  # over pieces: one segment a row, its last piece is the current sentence
    piece_places: Tensor  # (pieces,) place in the document
    current: Tensor  # (current,) where the tokens of the current sentences are
    sentences: Segments  # over current: one segment a row
    groups: Segments  # over current: rows that see each other
    group_rows: Segments  # over rows: the same groups
    group_tokens: Segments  # over tokens: the same groups
    mixed: Tensor  # (groups,) True where they were put together from several documents
    selections: dict[SelectionName, Selection]  # as the layout asks

    @classmethod
    def of_flat(cls, flat: FlatSide) -> Side:
        values: dict[str, Any] = {one.name: getattr(flat, one.name) for one in fields(flat)}
        selections: dict[SelectionName, FlatSelection] = values.pop("selections")
        tensors: dict[str, Any] = {
            name: Segments.of_flat(x) if isinstance(x, FlatSegments) else torch.from_numpy(x)
            for name, x in values.items()
        }
        return cls(**tensors, selections={name: Selection.of_flat(one) for name, one in selections.items()})

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Side:
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        selections: dict[SelectionName, Selection] = values.pop("selections")
        changed: dict[str, Any] = {
            name: change(x) if isinstance(x, Tensor) else x.map_tensors(change) for name, x in values.items()
        }
        return Side(**changed, selections={name: one.map_tensors(change) for name, one in selections.items()})

    def only_current(self) -> Side:
        """The current sentences as rows without context."""
        sentences, count = self.sentences, len(self.current)
        one_each = Segments(torch.arange(len(sentences) + 1, device=self.tokens.device, dtype=torch.int32), 1)
        place = self.places[self.current]
        return replace(
            self,
            tokens=self.tokens[self.current],
            positions=place,
            places=place,
            rows=sentences,
            pieces=sentences,
            row_pieces=one_each,
            piece_places=self.piece_places[self.row_pieces.starts[1:].long() - 1],
            current=torch.arange(count, device=self.tokens.device),
            group_tokens=self.groups,
            selections={},
        )

    def to(self, device: torch.device) -> Side:
        return self.map_tensors(lambda tensor: tensor.to(device, non_blocking=True))


@dataclass(frozen=True)
class Batch:
    source: Side
    target: Side
    labels: Tensor  # (target current,) what follows each token of the target's current sentences

    @classmethod
    def of_flat(cls, flat: FlatBatch) -> Batch:
        return cls(Side.of_flat(flat.source), Side.of_flat(flat.target), torch.from_numpy(flat.labels))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Batch:
        return Batch(self.source.map_tensors(change), self.target.map_tensors(change), change(self.labels))

    def to(self, device: torch.device) -> Batch:
        return self.map_tensors(lambda tensor: tensor.to(device, non_blocking=True))

    def pin(self) -> Batch:
        """In memory that a GPU can copy from while the host goes on."""
        return self.map_tensors(Tensor.pin_memory)


def make_side(
    sentences: Sentences,
    rows: Rows,
    layout: Layout,
    close: bool,
    one_group: bool = False,
    prefix_only: bool = False,
) -> Side:
    """`flatten_side` as tensors."""
    return Side.of_flat(flatten_side(sentences, rows, layout, close, one_group, prefix_only))


def make_batch(source: Sentences, target: Sentences, rows: Rows, layout: Layout, one_group: bool = False) -> Batch:
    """`flatten_batch` as tensors."""
    return Batch.of_flat(flatten_batch(source, target, rows, layout, one_group))
