"""Steps: the batches of each update, laid out in the background before they are needed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from torch import Tensor

from docflat.data.batches import DocumentBatches, Plan
from docflat.model.batch import Batch
from docflat.training.torchrun import Processes
from docflat.weights.folders import Progress

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One update's share of this process."""

    batches: list[Batch]
    numbers: list[int]  # which of the step's micro-batches they are
    labels: int  # of all micro-batches of the step
    epoch: int  # where the next step starts
    piece: int
    batch: int
    packed: list[Tensor] | None = None  # its one batch as a graph of the step reads it


def steps_from(
    batches: DocumentBatches,
    seeds: list[int],
    progress: Progress,
    accumulate: int,
    processes: Processes,
    pack: Callable[[Batch], list[Tensor] | None] = lambda batch: None,
) -> Iterator[Callable[[], Step]]:
    """The steps of a training from where it stands, epoch after epoch, without end.

    pack: for a graph of the step; None where there is none, or the batch does not fit.
    """

    def planned(place: tuple[int, int]) -> Future[Plan]:
        return planner.submit(batches.plan, np.random.default_rng([*seeds, place[0]]), place[1])

    def following(place: tuple[int, int]) -> tuple[int, int]:
        epoch, piece = place
        return (epoch, piece + 1) if piece + 1 < batches.pieces else (epoch + 1, 0)

    place, number = (progress.epoch, progress.piece), progress.batch
    planner = ThreadPoolExecutor(1)
    # The next piece is planned during this one: that takes seconds, in which a GPU would have nothing to do.
    plan, upcoming = planned(place).result(), planned(following(place))
    try:
        while True:
            chosen: list[tuple[Plan, int]] = []
            while len(chosen) < accumulate:
                while number == len(plan):  # with sampling an epoch can be empty
                    place, number = following(place), 0
                    plan, upcoming = upcoming.result(), planned(following(place))
                chosen.append((plan, number))
                number += 1
            after = (*following(place), 0) if number == len(plan) else (*place, number)

            def lay_out(chosen: list[tuple[Plan, int]] = chosen, after: tuple[int, int, int] = after) -> Step:
                numbers = list(range(processes.rank, accumulate, processes.world))
                laid_out = [Batch.of_flat(chosen[i][0][chosen[i][1]]) for i in numbers]
                packed = pack(laid_out[0])
                if processes.device.type == "cuda" and packed is None:
                    laid_out = [batch.pin() for batch in laid_out]
                return Step(laid_out, numbers, int(sum(plan.labels[n] for plan, n in chosen)), *after, packed)

            yield lay_out
    finally:
        planner.shutdown(wait=False, cancel_futures=True)


def ahead(items: Iterable[Callable[[], T]], depth: int = 4) -> Generator[T, None, None]:
    """Compute items in a background thread, up to `depth` ahead of their use."""
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(maxsize=depth)
    stop = threading.Event()

    def put(item: tuple[T | None, BaseException | None]) -> None:
        while not stop.is_set():
            try:
                return ready.put(item, timeout=0.1)
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                if stop.is_set():
                    return
                put((item(), None))
            put((None, StopIteration()))
        except BaseException as error:  # handed to the consumer, whoever it concerns
            put((None, error))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        while True:
            value, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield value  # type: ignore[misc]
    finally:
        stop.set()
        worker.join()  # Python must not end while the thread is inside of torch
