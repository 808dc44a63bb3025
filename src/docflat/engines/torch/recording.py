"""Recorded steps: on a GPU a step of a search is recorded once as a CUDA graph and replayed.

It is about a hundred launches of kernels that take microseconds each.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from docflat.model.transformer import Transformer

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from docflat.engines.torch.search import Search

RECORDINGS = 2  # kept for batches of the same shape, each with caches for a batch


@dataclass(frozen=True)
class Recording:
    """A step that was recorded, and the tensors that it reads and writes."""

    play: Callable[[], None]
    tensors: list[Tensor]


class Recorder(threading.local):
    """Records steps, all in the same memory, and plays them again for batches of the same shapes; a thread has its own.

    One step after the other is played, and between two of them nothing is kept but the tensors of a recording, so that
    they may share the memory in between.
    """

    def __init__(self) -> None:
        self.streams: dict[torch.device, torch.cuda.Stream] = {}
        self.pools: dict[torch.device, torch.cuda.CUDAGraph] = {}  # the memory is there as long as a graph that has it
        self.recordings: WeakKeyDictionary[Transformer, OrderedDict[Any, Recording]] = WeakKeyDictionary()
        self.works = True

    def stream(self, device: torch.device) -> torch.cuda.Stream:
        if device not in self.streams:
            self.streams[device] = torch.cuda.Stream(device)
        return self.streams[device]

    def record(self, search: Search, keep: bool) -> tuple[Callable[[], None], int]:
        """The step of a search, on the stream of this recorder, and how many were made. A step that cannot be recorded
        is made as it is. keep: for later batches.
        """
        tensors, beam, model = search.tensors(), search.beam, search.model
        shapes = tuple((tensor.shape, tensor.dtype) for tensor in tensors)
        weights = tuple(weight.data_ptr() for weight in model.parameters())
        key = (beam.size, beam.length_penalty, beam.n_best, model.training, weights, shapes)
        known = self.recordings.setdefault(model, OrderedDict())
        keep = keep and not torch.is_autocast_enabled("cuda")  # it makes copies of weights that do not outlive it
        if keep and key in known:
            known.move_to_end(key)
            torch._foreach_copy_(known[key].tensors, tensors)
            waiting = iter(known[key].tensors)
            search.map_tensors(lambda _: next(waiting))
            return known[key].play, 0
        search.step()  # as it is: what is done the first time only must not be recorded
        try:
            play = self.capture(search)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if self.works:
                logger.warning(
                    f"decoding cannot be recorded as a CUDA graph, so it is slower: {str(error).splitlines()[0]}"
                )
            self.works = False
            return search.step, 1
        if keep:
            known[key] = Recording(play, tensors)
            if len(known) > RECORDINGS:
                known.popitem(last=False)
        return play, 1

    def capture(self, search: Search) -> Callable[[], None]:
        """Nothing is computed. Not by `torch.cuda.graph`: it collects garbage and gives memory back, which takes longer
        than a sentence.
        """
        device = search.words.device
        if device not in self.pools:
            # Not in inference mode: what torch sets up with its first graph has to serve training too.
            with torch.inference_mode(False):
                self.pools[device] = capture(lambda: torch.zeros(1, device=device))
        return capture(search.step, self.pools[device].pool()).replay


def capture(action: Callable[[], Any], pool: Any = None) -> torch.cuda.CUDAGraph:
    """What it does on the stream at hand, as a graph; pool: memory of others that it may use."""
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin(pool, capture_error_mode="thread_local")
    try:
        action()
    finally:
        graph.capture_end()
    return graph


recorder = Recorder()
