"""Beam search over cached rows.

All that a step changes is in tensors that stay where they are, and no step waits for the host: on a GPU a step is
recorded once and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from docflat.engines.engine import Hypothesis
from docflat.engines.torch.beam import Beam
from docflat.engines.torch.recording import recorder
from docflat.model.batch import Side
from docflat.model.batch_attention import Memory
from docflat.model.cache.decoding_state import CachedContext, Decoding, GlobalContext
from docflat.model.cache.fixed_keys import Change
from docflat.model.cache.hypotheses import FIRST_ROOM
from docflat.model.transformer import Transformer

LOOK_EVERY = 4  # recorded steps between two looks at whether all rows are finished


class Search:
    """Rows on their way."""

    def __init__(
        self,
        model: Transformer,
        memory: Memory,
        prefix: Side,
        limits: Sequence[int],
        beam: int,
        length_penalty: float,
        context: GlobalContext | CachedContext | None,
        n_best: int = 1,
    ) -> None:
        self.model = model
        self.state: Decoding
        self.state, logits = model.start_decoding(memory, prefix, beam, context)
        self.beam = Beam(limits, beam, length_penalty, model.vocabulary, logits.device, n_best)
        self.rows = list(range(len(limits)))  # which row each row of the tensors is
        self.finished: dict[int, Hypothesis] = {}  # by row
        parents, self.words = self.beam.expand(logits[:, None])
        self.state.reorder(parents)

    def step(self) -> None:
        logits = self.model.decode_one_token(self.state, self.words)
        if self.state.paths.stays and self.beam.has_kernels(logits):
            self.beam.expand_by_kernels(logits, self.words, self.state.paths.bias)
            return
        parents, words = self.beam.expand(logits)
        self.state.reorder(parents)
        self.words.copy_(words)

    def drop_finished(self) -> None:
        live = self.beam.live.tolist()
        if all(live):
            return
        done = [n for n, goes_on in enumerate(live) if not goes_on]
        for n, hypothesis in zip(done, self.beam.best(done), strict=True):
            self.finished[self.rows[n]] = hypothesis
            if self.state.mixer is not None and not self.state.stays:  # others see this row
                self.state.mixer.settle(n, torch.tensor(hypothesis.tokens, dtype=torch.long, device=self.words.device))
        going = [n for n, goes_on in enumerate(live) if goes_on]
        self.rows = [self.rows[n] for n in going]
        if not going:
            return
        rows = self.words.new_tensor(going)
        self.words = self.words[rows]
        self.beam.select_rows(rows)
        self.state.select_rows(rows)

    def run(self) -> None:
        """To the end; a row that is finished is left out from then on."""
        self.drop_finished()
        while self.rows:
            self.step()
            self.drop_finished()

    def map_tensors(self, change: Change) -> None:
        """Put another tensor into the place of every one that a step reads or writes."""
        self.state.map_tensors(change)
        self.beam.map_tensors(change)
        self.words = change(self.words)

    def tensors(self) -> list[Tensor]:
        tensors: list[Tensor] = []

        def note(tensor: Tensor) -> Tensor:
            tensors.append(tensor)
            return tensor

        self.map_tensors(note)
        return tensors

    def run_in_place(self, record: Callable[[Search, bool], tuple[Callable[[], None], int]]) -> None:
        """To the end, in tensors that stay; finished rows are left out only when there is more room to make.

        record: makes of a step one that does the same, as often as it is called, and says how many were made already;
        it is told whether another batch may have these shapes too, which is so at first, when all rows are there.
        """
        room = FIRST_ROOM
        self.drop_finished()
        while self.rows:
            self.state.make_room(room)
            left = int(self.beam.limits.max()) + 1 - int(self.beam.length)
            again, done = record(self, room == FIRST_ROOM)
            for number in range(done, min(room, left)):
                if number and number % LOOK_EVERY == 0 and not bool(self.beam.live.any()):
                    break
                again()
            room *= 2
            self.drop_finished()


@torch.inference_mode()
def beam_search(
    model: Transformer,
    memory: Memory,
    prefix: Side,
    limits: Sequence[int],
    beam: int,
    length_penalty: float,
    context: GlobalContext | CachedContext | None = None,
    n_best: int = 1,
) -> list[Hypothesis]:
    """Translate the rows of an encoded batch; limits: most tokens of each row."""
    device = model.embedding.weight.device
    on_stream: AbstractContextManager[object] = nullcontext()
    if device.type == "cuda":
        stream = recorder.stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        on_stream = torch.cuda.stream(stream)
    try:
        with on_stream:
            search = Search(model, memory, prefix, limits, beam, length_penalty, context, n_best)
            if device.type == "cuda" and recorder.works and search.state.stays:
                search.run_in_place(recorder.record)
            else:
                search.run()
    except torch.OutOfMemoryError:
        recorder.recordings.clear()  # each holds the caches of a batch, and a smaller one may come
        raise
    finally:  # also where it was broken off: nobody may write over what is still being read
        if device.type == "cuda":
            torch.cuda.current_stream(device).wait_stream(recorder.stream(device))
    return [search.finished[row] for row in range(len(limits))]
