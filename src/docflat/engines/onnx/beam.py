"""The live hypotheses of a batch of rows, and the best finished ones. As engines/torch/beam.py, in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docflat.data.rows import Array
from docflat.engines.engine import Hypothesis, with_alternatives

NEVER = np.float32(-np.inf)


class Beam:
    """Hypothesis 0 of a row is its best."""

    def __init__(self, limits: Sequence[int], size: int, length_penalty: float, eos: int, n_best: int = 1) -> None:
        """limits: most tokens of each row; n_best: finished ones that are kept, at most `size`."""
        rows = len(limits)
        self.size, self.length_penalty, self.eos, self.n_best = size, length_penalty, eos, n_best
        self.limits = np.array(limits, dtype=np.int64)
        self.length = 0  # of the live hypotheses
        self.scores = np.full((rows, size), NEVER)  # their log-probabilities, the best first
        self.scores[:, 0] = 0  # at first all hypotheses of a row are the same one
        self.live = np.ones(rows, dtype=bool)
        # How each hypothesis came about: the one that it goes on from, its word, its log-probability from the start.
        steps = int(self.limits.max(initial=0)) + 1
        self.parents, self.words = (np.zeros((steps, rows, size), dtype=np.int64) for _ in range(2))
        self.totals = np.zeros((steps, rows, size), dtype=np.float32)
        self.finished = np.zeros(rows, dtype=np.int64)  # how many
        self.best_scores = np.full((rows, n_best), -np.inf)  # of the finished ones, the best first
        self.best_lengths, self.best_parents = (np.zeros((rows, n_best), dtype=np.int64) for _ in range(2))

    def expand(self, best: Array, words: Array, ends: Array) -> tuple[Array, Array]:
        """Grow by a token: which hypothesis each one goes on from, and its newest token, (rows, size) each.

        best, words (rows, size or 1, candidates): of each hypothesis, or of all alike; ends (rows, size or 1).
        """
        rows = len(best)
        top = np.concatenate([best, ends[..., None]], axis=2)
        top[self.limits <= self.length, :, :-1] = NEVER  # only the end may come
        if not self.length:
            top[..., -1] = NEVER  # an empty translation would lose a sentence
        words = np.concatenate([words, np.full_like(words[..., :1], self.eos)], axis=2)
        each = top.shape[2]
        totals = (self.scores[:, :, None] + top).reshape(rows, -1)
        which, row = np.argsort(-totals, axis=1, kind="stable")[:, : 2 * self.size], np.arange(rows)[:, None]
        top, parents, nth = totals[row, which], which // each, which % each
        words = words[row, np.minimum(parents, words.shape[1] - 1), nth]
        ended = words == self.eos
        self._finish(top, parents, ended)

        # Those that go on, in their order, before those that ended.
        order = np.argsort(ended, axis=1, kind="stable")[:, : self.size]
        top[ended] = NEVER
        self.scores, parents, words = top[row, order], parents[row, order], words[row, order]
        missing = self.size - order.shape[1]
        if missing:  # a vocabulary smaller than the beam
            self.scores = np.pad(self.scores, ((0, 0), (0, missing)), constant_values=NEVER)
            parents, words = (np.pad(x, ((0, 0), (0, missing))) for x in (parents, words))
        self.totals[self.length], self.parents[self.length], self.words[self.length] = self.scores, parents, words
        self.length += 1
        self.live &= ~self._done()
        return parents, words

    def _finish(self, top: Array, parents: Array, ended: Array) -> None:
        """Note the best of the hypotheses that end here, of rows that are still searched; (rows, candidates) each."""
        ended = (ended & np.isfinite(top) & self.live[:, None])[:, : self.size]
        some = np.flatnonzero(ended.any(1))
        if not len(some):
            return
        row = some[:, None]
        new = np.argsort(~ended[some], axis=1, kind="stable")[:, : self.n_best]  # they are of one length, in order
        new_scores = np.where(ended[row, new], self._score(top[row, new], self.length + 1), -np.inf)
        scores = np.concatenate([self.best_scores[some], new_scores], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, : self.n_best]
        lengths, those = np.full_like(new, self.length), parents[row, new]
        for noted, newest in ((self.best_lengths, lengths), (self.best_parents, those)):
            noted[some] = np.take_along_axis(np.concatenate([noted[some], newest], axis=1), order, axis=1)
        self.best_scores[some] = np.take_along_axis(scores, order, axis=1)
        self.finished += ended.sum(1)

    def _score(self, log_probability: Array, length: Array | int) -> Array:
        return log_probability.astype(np.float64) / np.asarray(length, dtype=np.float64) ** self.length_penalty

    def _done(self) -> Array:
        """No live hypothesis can come among the best any more, or enough are finished and the best leads: (rows,)."""
        best = self.scores[:, 0]
        leading = (self.finished >= self.size) & (self.best_scores[:, 0] >= self._score(best, self.length))
        out_of_reach = self.best_scores[:, -1] >= self._score(best, self.limits + 1)
        return leading | out_of_reach | ~(best > NEVER)  # no number is no reason to go on

    def best(self, rows: Array) -> list[Hypothesis]:
        """Of these rows, each with its alternatives."""
        noted = (self.best_lengths, self.best_parents, self.best_scores)
        lengths, k, scores = (each[rows].ravel() for each in noted)
        rows = np.repeat(rows, self.n_best)
        steps = int(lengths.max(initial=0))
        tokens = np.zeros((len(rows), steps), dtype=np.int64)
        so_far = np.zeros((len(rows), steps + 1))  # log-probabilities from the start, 0 before the first token
        for step in reversed(range(steps)):  # back along all paths at once, as far as they have got
            tokens[:, step] = self.words[step, rows, k]
            so_far[:, step + 1] = self.totals[step, rows, k]
            k = np.where(lengths > step, self.parents[step, rows, k], k)
        hypotheses = [
            self._hypothesis(tokens[n, :length].tolist(), float(scores[n]), so_far[n, : length + 1])
            for n, length in enumerate(lengths)
        ]
        return with_alternatives(hypotheses, self.n_best)

    def _hypothesis(self, tokens: list[int], score: float, so_far: Array) -> Hypothesis:
        """so_far (tokens + 1,): log-probabilities from the start, before the first token and after each."""
        whole = score * (len(tokens) + 1) ** self.length_penalty
        return Hypothesis(tokens, score, np.diff(so_far, append=whole).tolist())

    def select_rows(self, rows: Array) -> None:
        """Go on with these rows only."""
        self.limits, self.scores, self.live = self.limits[rows], self.scores[rows], self.live[rows]
        self.parents, self.words, self.totals = self.parents[:, rows], self.words[:, rows], self.totals[:, rows]
        self.finished, self.best_scores = self.finished[rows], self.best_scores[rows]
        self.best_lengths, self.best_parents = self.best_lengths[rows], self.best_parents[rows]
