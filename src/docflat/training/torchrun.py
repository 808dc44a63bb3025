"""The processes that train together: one by default, several under torchrun."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, distributed

from docflat.support.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Processes:
    rank: int
    world: int
    device: torch.device

    @classmethod
    def start(cls, device: str) -> Processes:
        """Join the others, if torchrun started this process. device: auto, cpu or cuda."""
        if device == "cuda" and not torch.cuda.is_available():
            raise InputError("device: cuda asked for, but torch sees no GPU")
        cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
        place = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(place)
        world = int(os.environ.get("WORLD_SIZE", "1"))
        if world > 1 and not distributed.is_initialized():
            distributed.init_process_group("nccl" if cuda else "gloo")
        return cls(int(os.environ.get("RANK", "0")), world, place)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes, on each of them."""
        if self.world > 1:
            distributed.all_reduce(values)
        return values

    def together(self, action: Callable[[], T]) -> T:
        """Do the same on all processes; if any of them cannot, all of them end, and one says why."""
        error: InputError | None = None
        try:
            result = action()
        except InputError as raised:
            error = raised
        failed = torch.tensor([float(error is not None), float(error is not None and self.first)], device=self.device)
        anyone, the_first = self.sum(failed).tolist()
        if error is not None and (self.first or not the_first):
            raise error
        if anyone:
            raise SystemExit(2)
        return result

    def wait(self) -> None:
        """Until all are here."""
        if self.world > 1:
            distributed.barrier()

    def stop(self) -> None:
        if self.world > 1 and distributed.is_initialized():
            distributed.destroy_process_group()

    @property
    def first(self) -> bool:
        return self.rank == 0
