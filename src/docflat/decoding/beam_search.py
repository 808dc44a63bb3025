"""Beam search over cached rows.

All that a step changes is in tensors that stay where they are, and no step waits for the host: on a GPU a step is
recorded once as a CUDA graph and replayed, since it is about a hundred launches of kernels that take microseconds each.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from docflat.data.rows import Array, Ids
from docflat.model.batch import Side
from docflat.model.batch_attention import Memory
from docflat.model.cache.decoding_state import Decoding, GlobalContext, KeptContext
from docflat.model.cache.fixed_keys import Change
from docflat.model.cache.hypotheses import FIRST_ROOM
from docflat.model.layers import is_recent
from docflat.model.sizes import Vocabulary
from docflat.model.transformer import Transformer
from docflat.support.console import warn

beam_kernels: Any = None
if torch.cuda.is_available():
    with suppress(ImportError):  # no Triton for this platform; torch alone does the same, slower
        from docflat.decoding import beam_kernels

NEVER = float("-inf")
STRETCH = 128  # words of the vocabulary, of which one maximum is taken
GPU_STRETCH = 64  # the same for the kernels
LOOK_EVERY = 4  # recorded steps between two looks at whether all rows are finished
RECORDINGS = 2  # kept for batches of the same shape, each with caches for a batch


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation."""

    tokens: Ids  # without </s>
    score: float  # log-probability, that of </s> included, by length ** penalty
    log_probabilities: list[float]  # of each token, and of </s>


def best_of_many(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`topk` over the last dimension, on a CPU four times as fast for a whole vocabulary: (..., count) each.

    The best of all are in the stretches with the best maxima, as many stretches as are asked for.
    """
    stretches = x.shape[-1] // STRETCH
    if x.is_cuda or stretches < 4 * count:
        top, which = x.topk(count, dim=-1)
        return top, which
    whole = stretches * STRETCH
    maxima = x[..., :whole].unflatten(-1, (stretches, STRETCH)).amax(-1)
    first = maxima.topk(count, dim=-1, sorted=False).indices[..., None] * STRETCH
    where = (first + torch.arange(STRETCH)).flatten(-2)  # (..., count * STRETCH)
    rest = torch.arange(whole, x.shape[-1]).expand(*x.shape[:-1], -1)
    where = torch.cat([where, rest], dim=-1)
    top, which = x.gather(-1, where).topk(count, dim=-1)
    return top, where.gather(-1, which)


def best_words(logits: Tensor, count: int, vocabulary: Vocabulary) -> tuple[Tensor, Tensor, Tensor]:
    """The best words that are text and their log-probabilities, (..., count) each; that of the end, (...).

    logits (..., text_size), which are written over.
    """
    size, first = logits.shape[-1], vocabulary.mask + 1  # special symbols come first
    count = min(count, size - first)
    found = logits.float()
    if found.device.type == "cpu":  # in place: with so many numbers, memory is what takes time
        torch.log_softmax(found, -1, out=found)
    else:  # where nobody has tried whether it may be written over while it is read
        found = found.log_softmax(-1)
    ends = found[..., vocabulary.eos].clone()
    found[..., :first] = NEVER
    top, words = best_of_many(found, count)
    return top, words, ends


class Beam:
    """The live hypotheses of a batch of rows, and the best finished one of each row."""

    def __init__(
        self, limits: Sequence[int], size: int, length_penalty: float, vocabulary: Vocabulary, device: torch.device
    ) -> None:
        """limits: most tokens of each row."""
        rows = len(limits)
        self.size, self.length_penalty, self.vocabulary = size, length_penalty, vocabulary
        self.limits = torch.tensor(limits, device=device)
        self.length = torch.zeros(1, dtype=torch.long, device=device)  # of the live hypotheses
        self.scores = torch.full((rows, size), NEVER, device=device)  # their log-probabilities, the best first
        self.scores[:, 0] = 0  # at first all hypotheses of a row are the same one
        self.live = torch.ones(rows, dtype=torch.bool, device=device)
        # How each hypothesis came about: the one that it goes on from, and its word. (steps, rows, size)
        steps = -(-(max(limits) + 1) // 64) * 64  # few shapes, so that what is recorded is of use again
        self.parents, self.words = (torch.zeros(steps, rows, size, dtype=torch.long, device=device) for _ in range(2))
        self.totals = torch.zeros(steps, rows, size, device=device)  # its log-probability from the start
        self.finished = torch.zeros(rows, dtype=torch.long, device=device)  # how many
        self.best_score = torch.full((rows,), NEVER, dtype=torch.float64, device=device)
        self.best_length, self.best_parent = torch.zeros_like(self.finished), torch.zeros_like(self.finished)

    def expand(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Grow by a token: which hypothesis each one goes on from, and its newest token, (rows, beam) each.

        logits (rows, beam, text_size), which are written over; one for all hypotheses of a row, (rows, 1, text_size),
        will do where they are the same.
        """
        if self.has_kernels(logits):
            return self.expand_by_kernels(logits)
        end = self.vocabulary.eos
        # Twice the beam: even if each hypothesis ends, beam others are left to go on.
        top, words, ends = best_words(logits, 2 * self.size, self.vocabulary)
        top = top.masked_fill((self.limits <= self.length)[:, None, None], NEVER)  # only the end may come
        ends = ends.masked_fill(self.length == 0, NEVER)  # an empty translation would lose a sentence
        top = torch.cat([top, ends[..., None]], dim=-1).expand(-1, self.size, -1)
        words = nn.functional.pad(words, (0, 1), value=end).expand(-1, self.size, -1)

        totals = (self.scores[:, :, None] + top).flatten(1)
        top, which = totals.topk(min(2 * self.size, totals.shape[1]), dim=1)
        parents, words = which // words.shape[2], words.flatten(1).gather(1, which)
        ended = words == end
        self._finish(top, parents, ended)

        # Those that go on, in their order, before those that ended.
        count = top.shape[1]
        place = torch.where(ended, count - ended.flip(1).cumsum(1).flip(1), (~ended).cumsum(1) - 1)
        going, parents, words = (
            torch.zeros_like(x).scatter_(1, place, x)[:, : self.size]
            for x in (top.masked_fill(ended, NEVER), parents, words)
        )
        missing = self.size - going.shape[1]  # a vocabulary smaller than the beam
        self.scores.copy_(nn.functional.pad(going, (0, missing), value=NEVER))
        parents, words = nn.functional.pad(parents, (0, missing)), nn.functional.pad(words, (0, missing))
        self.totals.index_copy_(0, self.length, self.scores[None])
        self.parents.index_copy_(0, self.length, parents[None])
        self.words.index_copy_(0, self.length, words[None])
        self.length += 1
        self.live &= ~self._done()
        return parents, words

    def has_kernels(self, logits: Tensor) -> bool:
        """Not for a large beam or a small vocabulary, nor on an old GPU."""
        if beam_kernels is None or not logits.is_cuda or not is_recent(logits.device):
            return False
        return self.size <= int(beam_kernels.MOST) and logits.shape[-1] >= 8 * self.size * GPU_STRETCH

    def expand_by_kernels(
        self, logits: Tensor, newest: Tensor | None = None, bias: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """`expand`, in three kernels. newest (rows, beam): where to put the newest tokens.

        bias (rows, beam, slots): that of `Paths`, which is reordered too.
        """
        first = self.vocabulary.mask + 1
        found, words = beam_kernels.pick(logits, 2 * self.size, first, self.vocabulary.eos, GPU_STRETCH)
        parents, newest = beam_kernels.merge(self, found, words, newest, bias)
        self.totals.index_copy_(0, self.length - 1, self.scores[None])
        return parents, newest

    def _finish(self, top: Tensor, parents: Tensor, ended: Tensor) -> None:
        """Note the best of the hypotheses that end here, of rows that are still searched; (rows, candidates) each."""
        ended = (ended & top.isfinite() & self.live[:, None])[:, : self.size]
        first = ended & (ended.cumsum(1) == 1)  # they are all of one length, and the best comes first
        total, parent = ((x[:, : self.size] * first).sum(1) for x in (top.nan_to_num(neginf=0.0), parents))
        score = self._score(total, self.length + 1)
        better = first.any(1) & (score > self.best_score)
        self.best_score.copy_(torch.where(better, score, self.best_score))
        self.best_length.copy_(torch.where(better, self.length, self.best_length))
        self.best_parent.copy_(torch.where(better, parent, self.best_parent))
        self.finished += ended.sum(1)

    def _score(self, log_probability: Tensor, length: Tensor) -> Tensor:
        return log_probability.double() / length.double() ** self.length_penalty

    def _done(self) -> Tensor:
        """No live hypothesis can win any more, or enough are finished and the best of them leads: (rows,).

        Enough alone would not do: a model that is sure of itself leaves only bad hypotheses to end early, and they
        would crowd out the good one.
        """
        best = self.scores[:, 0]
        leading = (self.finished >= self.size) & (self.best_score >= self._score(best, self.length))
        out_of_reach = self.best_score >= self._score(best, self.limits + 1)
        return (self.finished > 0) & (leading | out_of_reach) | ~(best > NEVER)  # no number is no reason to go on

    def best(self, rows: Sequence[int]) -> list[Hypothesis]:
        """Of these rows."""
        index = torch.tensor(rows, dtype=torch.long, device=self.live.device)
        lengths, k, scores = (x[index].cpu().numpy() for x in (self.best_length, self.best_parent, self.best_score))
        steps = int(lengths.max(initial=0))
        parents, words, totals = (x[:steps].cpu().numpy() for x in (self.parents, self.words, self.totals))
        tokens, which = np.zeros((len(rows), steps), dtype=np.int64), np.array(rows, dtype=np.int64)
        so_far = np.zeros((len(rows), steps + 1))  # log-probabilities from the start, 0 before the first token
        for step in reversed(range(steps)):  # back along all paths at once, as far as they have got
            tokens[:, step] = words[step, which, k]
            so_far[:, step + 1] = totals[step, which, k]
            k = np.where(lengths > step, parents[step, which, k], k)
        ends = zip(tokens, lengths, scores.tolist(), so_far, strict=True)
        return [self._hypothesis(text[:end].tolist(), score, sums[: end + 1]) for text, end, score, sums in ends]

    def _hypothesis(self, tokens: Ids, score: float, so_far: Array) -> Hypothesis:
        """so_far (tokens + 1,): log-probabilities from the start, before the first token and after each."""
        whole = score * (len(tokens) + 1) ** self.length_penalty
        return Hypothesis(tokens, score, np.diff(so_far, append=whole).tolist())

    def keep(self, rows: Tensor) -> None:
        self.limits, self.scores, self.live = self.limits[rows], self.scores[rows], self.live[rows]
        self.parents, self.words, self.totals = self.parents[:, rows], self.words[:, rows], self.totals[:, rows]
        self.finished, self.best_score = self.finished[rows], self.best_score[rows]
        self.best_length, self.best_parent = self.best_length[rows], self.best_parent[rows]

    def each(self, change: Change) -> None:
        """Put another tensor into the place of every one."""
        self.limits, self.length, self.scores = change(self.limits), change(self.length), change(self.scores)
        self.live, self.totals = change(self.live), change(self.totals)
        self.parents, self.words = change(self.parents), change(self.words)
        self.finished, self.best_score = change(self.finished), change(self.best_score)
        self.best_length, self.best_parent = change(self.best_length), change(self.best_parent)


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
        context: GlobalContext | KeptContext | None,
    ) -> None:
        self.model = model
        self.state: Decoding
        self.state, logits = model.start_decoding(memory, prefix, beam, context)
        self.beam = Beam(limits, beam, length_penalty, model.vocabulary, logits.device)
        self.rows = list(range(len(limits)))  # which row each row of the tensors is
        self.found: dict[int, Hypothesis] = {}  # by row
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
            self.found[self.rows[n]] = hypothesis
            if self.state.mixer is not None and not self.state.stays:  # others see this row
                self.state.mixer.settle(n, torch.tensor(hypothesis.tokens, dtype=torch.long, device=self.words.device))
        going = [n for n, goes_on in enumerate(live) if goes_on]
        self.rows = [self.rows[n] for n in going]
        if not going:
            return
        kept = self.words.new_tensor(going)
        self.words = self.words[kept]
        self.beam.keep(kept)
        self.state.keep(kept)

    def run(self) -> None:
        """To the end; a row that is finished is left out from then on."""
        self.drop_finished()
        while self.rows:
            self.step()
            self.drop_finished()

    def each(self, change: Change) -> None:
        """Put another tensor into the place of every one that a step reads or writes."""
        self.state.each(change)
        self.beam.each(change)
        self.words = change(self.words)

    def tensors(self) -> list[Tensor]:
        found: list[Tensor] = []

        def note(tensor: Tensor) -> Tensor:
            found.append(tensor)
            return tensor

        self.each(note)
        return found

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
        key = (beam.size, beam.length_penalty, model.training, weights, shapes)
        known = self.recordings.setdefault(model, OrderedDict())
        keep = keep and not torch.is_autocast_enabled("cuda")  # it makes copies of weights that do not outlive it
        if keep and key in known:
            known.move_to_end(key)
            torch._foreach_copy_(known[key].tensors, tensors)
            waiting = iter(known[key].tensors)
            search.each(lambda _: next(waiting))
            return known[key].play, 0
        search.step()  # as it is: what is done the first time only must not be recorded
        try:
            play = self.capture(search)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if self.works:
                warn(f"decoding cannot be recorded as a CUDA graph, so it is slower: {str(error).splitlines()[0]}")
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


@torch.inference_mode()
def beam_search(
    model: Transformer,
    memory: Memory,
    prefix: Side,
    limits: Sequence[int],
    beam: int,
    length_penalty: float,
    context: GlobalContext | KeptContext | None = None,
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
            search = Search(model, memory, prefix, limits, beam, length_penalty, context)
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
    return [search.found[row] for row in range(len(limits))]
