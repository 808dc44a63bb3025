"""The beam: the live hypotheses of a batch of rows, and the best finished ones.

All that a step changes is in tensors that stay where they are, and no step waits for the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from docflat.data.rows import Array, Ids
from docflat.engines.engine import Hypothesis, with_alternatives
from docflat.model.cache.fixed_keys import Change
from docflat.model.layers import is_recent
from docflat.model.sizes import Vocabulary

beam_kernels: Any = None
if torch.cuda.is_available():
    with suppress(ImportError):  # no Triton for this platform; torch alone does the same, slower
        from docflat.engines.torch import beam_kernels

NEVER = float("-inf")
STRETCH = 128  # words of the vocabulary, of which one maximum is taken
GPU_STRETCH = 64  # the same for the kernels


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
    log_probs = logits.float()
    if log_probs.device.type == "cpu":  # in place: with so many numbers, memory is what takes time
        torch.log_softmax(log_probs, -1, out=log_probs)
    else:  # where nobody has tried whether it may be written over while it is read
        log_probs = log_probs.log_softmax(-1)
    ends = log_probs[..., vocabulary.eos].clone()
    log_probs[..., :first] = NEVER
    top, words = best_of_many(log_probs, count)
    return top, words, ends


class Beam:
    """The live hypotheses of a batch of rows, and the best finished ones of each row."""

    def __init__(
        self,
        limits: Sequence[int],
        size: int,
        length_penalty: float,
        vocabulary: Vocabulary,
        device: torch.device,
        n_best: int = 1,
    ) -> None:
        """limits: most tokens of each row; n_best: finished ones that are kept, at most `size`."""
        rows = len(limits)
        self.n_best = n_best
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
        # Of the finished ones, the best first.
        self.best_scores = torch.full((rows, n_best), NEVER, dtype=torch.float64, device=device)
        self.best_lengths, self.best_parents = (
            torch.zeros(rows, n_best, dtype=torch.long, device=device) for _ in range(2)
        )

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
        """Not for a large beam or a small vocabulary, nor on an old GPU, nor where more than the best is asked for."""
        if beam_kernels is None or not logits.is_cuda or not is_recent(logits.device) or self.n_best > 1:
            return False
        return self.size <= int(beam_kernels.MOST) and logits.shape[-1] >= 8 * self.size * GPU_STRETCH

    def expand_by_kernels(
        self, logits: Tensor, newest: Tensor | None = None, bias: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """`expand`, in three kernels. newest (rows, beam): where to put the newest tokens.

        bias (rows, beam, slots): that of `Paths`, which is reordered too.
        """
        first = self.vocabulary.mask + 1
        log_probs, words = beam_kernels.pick(logits, 2 * self.size, first, self.vocabulary.eos, GPU_STRETCH)
        parents, newest = beam_kernels.merge(self, log_probs, words, newest, bias)
        self.totals.index_copy_(0, self.length - 1, self.scores[None])
        return parents, newest

    def _finish(self, top: Tensor, parents: Tensor, ended: Tensor) -> None:
        """Note the best of the hypotheses that end here, of rows that are still searched; (rows, candidates) each."""
        ended = (ended & top.isfinite() & self.live[:, None])[:, : self.size]
        # They are all of one length, and in order.
        new = (~ended).to(torch.uint8).sort(dim=1, stable=True).indices[:, : self.n_best]
        total, parent, among = (x.gather(1, new) for x in (top[:, : self.size], parents[:, : self.size], ended))
        scores = self._score(total, self.length + 1).masked_fill(~among, NEVER)
        scores = torch.cat([self.best_scores, scores], dim=1)
        scores, order = (x[:, : self.n_best] for x in scores.sort(dim=1, descending=True, stable=True))
        for noted, newest in ((self.best_lengths, self.length.expand_as(new)), (self.best_parents, parent)):
            noted.copy_(torch.cat([noted, newest], dim=1).gather(1, order))
        self.best_scores.copy_(scores)
        self.finished += ended.sum(1)

    def _score(self, log_probability: Tensor, length: Tensor) -> Tensor:
        return log_probability.double() / length.double() ** self.length_penalty

    def _done(self) -> Tensor:
        """No live hypothesis can come among the best any more, or enough are finished and the best leads: (rows,).

        Enough alone would not do: a model that is sure of itself leaves only bad hypotheses to end early, and they
        would crowd out the good one. Which one is best does not depend on how many are asked for: once it is found,
        others are only waited for.
        """
        best = self.scores[:, 0]
        leading = (self.finished >= self.size) & (self.best_scores[:, 0] >= self._score(best, self.length))
        out_of_reach = self.best_scores[:, -1] >= self._score(best, self.limits + 1)
        return leading | out_of_reach | ~(best > NEVER)  # no number is no reason to go on

    def best(self, rows: Sequence[int]) -> list[Hypothesis]:
        """Of these rows, each with its alternatives."""
        index = torch.tensor(rows, dtype=torch.long, device=self.live.device)
        noted = (self.best_lengths, self.best_parents, self.best_scores)
        lengths, k, scores = (x[index].cpu().numpy().ravel() for x in noted)
        steps = int(lengths.max(initial=0))
        parents, words, totals = (x[:steps].cpu().numpy() for x in (self.parents, self.words, self.totals))
        which = np.repeat(np.array(rows, dtype=np.int64), self.n_best)
        tokens = np.zeros((len(which), steps), dtype=np.int64)
        so_far = np.zeros((len(which), steps + 1))  # log-probabilities from the start, 0 before the first token
        for step in reversed(range(steps)):  # back along all paths at once, as far as they have got
            tokens[:, step] = words[step, which, k]
            so_far[:, step + 1] = totals[step, which, k]
            k = np.where(lengths > step, parents[step, which, k], k)
        ends = zip(tokens, lengths, scores.tolist(), so_far, strict=True)
        hypotheses = [self._hypothesis(text[:end].tolist(), score, sums[: end + 1]) for text, end, score, sums in ends]
        return with_alternatives(hypotheses, self.n_best)

    def _hypothesis(self, tokens: Ids, score: float, so_far: Array) -> Hypothesis:
        """so_far (tokens + 1,): log-probabilities from the start, before the first token and after each."""
        whole = score * (len(tokens) + 1) ** self.length_penalty
        return Hypothesis(tokens, score, np.diff(so_far, append=whole).tolist())

    def select_rows(self, rows: Tensor) -> None:
        self.limits, self.scores, self.live = self.limits[rows], self.scores[rows], self.live[rows]
        self.parents, self.words, self.totals = self.parents[:, rows], self.words[:, rows], self.totals[:, rows]
        self.finished, self.best_scores = self.finished[rows], self.best_scores[rows]
        self.best_lengths, self.best_parents = self.best_lengths[rows], self.best_parents[rows]

    def map_tensors(self, change: Change) -> None:
        """Put another tensor into the place of every one."""
        self.limits, self.length, self.scores = change(self.limits), change(self.length), change(self.scores)
        self.live, self.totals = change(self.live), change(self.totals)
        self.parents, self.words = change(self.parents), change(self.words)
        self.finished, self.best_scores = change(self.finished), change(self.best_scores)
        self.best_lengths, self.best_parents = change(self.best_lengths), change(self.best_parents)
