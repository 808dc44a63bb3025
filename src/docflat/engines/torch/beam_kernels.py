"""Kernels for a GPU, in Triton: what a beam search does with the logits of a step.

In plain torch (`Beam.expand`) that is more than a hundred kernels of a microsecond or two, which with few rows take
longer than the model. Here it is three: `summarize` reads the logits once, `pick` finds the best words of each
hypothesis by what that noted, and `merge` does the rest, row by row. Of what is equal the lower number comes first, so
that the same logits always give the same translations.
"""

# Triton compiles its kernels from their source; its language has no types that mypy could check.
# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from docflat.engines.torch.beam import Beam

MOST = 16  # hypotheses a row that `merge` is made for
AT_ONCE = 2048  # words that one program sums up
SLOTS_AT_ONCE = 256  # of a cache
SUM_WARPS, PICK_WARPS, MERGE_WARPS = 4, 1, 1

# What is left to choose from is at least that, even if it is minus infinity; minus infinity is what was taken already.
LOWEST = tl.constexpr(-3.4028234663852886e38)


@triton.jit
def _summarize_kernel(
    logits, totals, maxima, size, stretches, first_text,
    STRETCH: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """One part of the logits of one hypothesis. All of it is loaded at once: memory is what takes time."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stretch = part * AT_ONCE + tl.arange(0, AT_ONCE)
    place = stretch[:, None] * STRETCH + tl.arange(0, STRETCH)[None, :]
    x = tl.load(logits + row * size + place, mask=place < size, other=float("-inf")).to(tl.float32)
    of_text = tl.max(tl.where(place >= first_text, x, float("-inf")), 1)
    tl.store(maxima + row * stretches + stretch, of_text, mask=stretch < stretches)
    highest = tl.max(x)
    highest = tl.where(highest > float("-inf"), highest, 0.0)  # nothing in this part, or no number
    total = tl.sum(tl.exp(x - highest))
    tl.store(totals + row * tl.num_programs(1) + part, highest + tl.log(total))


def summarize(logits: Tensor, first_text: int, stretch: int) -> tuple[Tensor, Tensor]:
    """What a search wants to know, in one reading of (..., size): float32 each.

    The logarithm of the sum of exponentials of each of some parts, (..., parts), and the largest logit of each stretch
    of so many words, those before `first_text` not counted: (..., stretches).
    """
    *shape, size = logits.shape
    logits = logits.contiguous()
    stretches, parts = triton.cdiv(size, stretch), triton.cdiv(size, AT_ONCE)
    totals = torch.empty(*shape, parts, dtype=torch.float32, device=logits.device)
    maxima = torch.empty(*shape, stretches, dtype=torch.float32, device=logits.device)
    _summarize_kernel[(totals.numel() // parts, parts)](
        logits, totals, maxima, size, stretches, first_text,
        STRETCH=stretch, AT_ONCE=AT_ONCE // stretch, num_warps=SUM_WARPS,
    )  # fmt: skip
    return totals, maxima


@triton.jit
def _pick_kernel(
    logits, totals, maxima, found, words, size, parts, stretches, first_text, end,
    COUNT: tl.constexpr, CHOSEN: tl.constexpr, STRETCH: tl.constexpr, STRETCHES: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """One hypothesis. The best words are in the stretches with the best maxima, as many stretches as are asked for."""
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, PARTS)
    sums = tl.load(totals + row * parts + part, mask=part < parts, other=float("-inf"))
    highest = tl.max(sums, 0)
    total = highest + tl.log(tl.sum(tl.exp(sums - highest), 0))

    stretch = tl.arange(0, STRETCHES)
    keys = tl.load(maxima + row * stretches + stretch, mask=stretch < stretches, other=float("-inf"))
    keys = tl.where(keys > LOWEST, keys, LOWEST)  # no number, too
    keys = tl.where(stretch < stretches, keys, float("-inf"))
    slot = tl.arange(0, CHOSEN)
    chosen = tl.zeros([CHOSEN], tl.int32)
    for n in range(COUNT):
        best = tl.max(keys, 0)
        at = tl.min(tl.where(keys == best, stretch, STRETCHES), 0)
        chosen = tl.where(slot == n, at, chosen)
        keys = tl.where(stretch == at, float("-inf"), keys)

    tile = chosen[:, None] * STRETCH + tl.arange(0, STRETCH)[None, :]
    # Special symbols are loaded too: a mask with such edges would keep loads from being wide.
    there = (slot[:, None] < COUNT) & (tile < size)
    x = tl.load(logits + row * size + tile, mask=there, other=float("-inf")).to(tl.float32)
    x = tl.where(x > LOWEST, x, LOWEST)
    there = there & (tile >= first_text)
    left = tl.reshape(tl.where(there, x, float("-inf")), [CHOSEN * STRETCH])
    place = tl.reshape(tile, [CHOSEN * STRETCH])
    to = row * (COUNT + 1)
    for n in range(COUNT):
        best = tl.max(left, 0)
        word = tl.min(tl.where(left == best, place, size), 0)
        tl.store(found + to + n, tl.where(best > LOWEST, best, float("-inf")) - total)
        tl.store(words + to + n, word)
        left = tl.where(place == word, float("-inf"), left)
    tl.store(found + to + COUNT, tl.load(logits + row * size + end).to(tl.float32) - total)
    tl.store(words + to + COUNT, end)


def pick(logits: Tensor, count: int, first_text: int, end: int, stretch: int) -> tuple[Tensor, Tensor]:
    """The best words from `first_text` on, the best first, and last the end: (..., count + 1) each.

    Log-probabilities and words; logits (..., size), of at least `count` stretches of so many words.
    """
    *shape, size = logits.shape
    logits = logits.contiguous()
    totals, maxima = summarize(logits, first_text, stretch)
    parts, stretches = totals.shape[-1], maxima.shape[-1]
    found = torch.empty(*shape, count + 1, dtype=torch.float32, device=logits.device)
    words = torch.empty(*shape, count + 1, dtype=torch.int32, device=logits.device)
    _pick_kernel[(found.numel() // (count + 1),)](
        logits, totals, maxima, found, words, size, parts, stretches, first_text, end,
        COUNT=count, CHOSEN=triton.next_power_of_2(count), STRETCH=stretch,
        STRETCHES=triton.next_power_of_2(stretches), PARTS=triton.next_power_of_2(parts), num_warps=PICK_WARPS,
    )  # fmt: skip
    return found, words


@triton.jit
def _score(log_probability, length, PENALTY: tl.constexpr):
    """By length ** penalty, in float64. Triton itself has no power; by logarithms it is the same to the last bits."""
    count = length.to(tl.float64)
    power = count if PENALTY == 1.0 else tl.exp2(tl.full([], PENALTY, tl.float64) * tl.log2(count))
    return log_probability.to(tl.float64) / power


# Long: a kernel is one function.
@triton.jit(do_not_specialize=["p_step", "p_row", "w_step", "w_row"])  # nothing is to be had for another compilation
def _merge_kernel(
    found, words, limits, lengths, scores, live, finished, best_score, best_length, best_parent,
    old_parents, old_words, new_parents, new_words, bias,
    p_step, p_row, p_beam, w_step, w_row, w_beam, slots, b_row, b_beam, b_slot,
    PENALTY: tl.constexpr, BEAM: tl.constexpr, HYPOTHESES: tl.constexpr, CANDIDATES: tl.constexpr,
    PLACES: tl.constexpr, REORDER: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """One row. What `Beam.expand` does, in its order."""
    wide: tl.constexpr = 2 * BEAM + 1
    row = tl.program_id(0).to(tl.int64)
    length, limit = tl.load(lengths), tl.load(limits + row)
    searched = tl.load(live + row) != 0
    candidate = tl.arange(0, CANDIDATES)
    inside = candidate < BEAM * wide
    hypothesis, choice = candidate // wide, candidate % wide
    source = (row * HYPOTHESES + hypothesis % HYPOTHESES) * wide + choice
    top = tl.load(found + source, mask=inside, other=float("-inf"))
    top = tl.where((choice < wide - 1) & (limit <= length), float("-inf"), top)  # only the end may come
    top = tl.where((choice == wide - 1) & (length == 0), float("-inf"), top)  # an empty one would lose a sentence
    top += tl.load(scores + row * BEAM + hypothesis, mask=inside, other=float("-inf"))
    # No number comes first, as with `topk`.
    keys = tl.where(top > LOWEST, top, tl.where(top == top, LOWEST, float("inf")))
    keys = tl.where(inside, keys, float("-inf"))

    # Those that go on, in their order: of 2 * BEAM at most BEAM end.
    place = tl.arange(0, PLACES)
    going = tl.full([PLACES], float("-inf"), tl.float32)
    which = tl.zeros([PLACES], tl.int32)
    leader = tl.full([], float("-inf"), tl.float32)
    placed = tl.full([], 0, tl.int32)
    ended = tl.full([], 0, tl.int32)
    total = tl.full([], 0.0, tl.float32)
    parent = tl.full([], 0, tl.int32)
    for n in range(2 * BEAM):
        best = tl.max(keys, 0)
        at = tl.min(tl.where(keys == best, candidate, CANDIDATES), 0)
        keys = tl.where(candidate == at, float("-inf"), keys)
        value = tl.where(best > LOWEST, best, float("-inf"))
        value = tl.where(best < float("inf"), value, float("nan"))
        goes_on = (at % wide) < wide - 1
        here = (place == placed) & goes_on
        going = tl.where(here, value, going)
        which = tl.where(here, at, which)
        leader = tl.where(goes_on & (placed == 0), value, leader)
        placed += goes_on.to(tl.int32)
        # They are all of one length, and the best comes first.
        ends = ((at % wide) == wide - 1) & (best > LOWEST) & (best < float("inf")) & searched & (n < BEAM)
        total = tl.where(ends & (ended == 0), best, total)
        parent = tl.where(ends & (ended == 0), at // wide, parent)
        ended += ends.to(tl.int32)

    parents = which // wide
    chosen = (row * HYPOTHESES + parents % HYPOTHESES) * wide + which % wide
    kept = place < BEAM
    chosen_words = tl.load(words + chosen, mask=kept, other=0).to(tl.int64)
    to = row * BEAM + place
    tl.store(scores + to, going, mask=kept)
    tl.store(new_parents + to, parents.to(tl.int64), mask=kept)
    tl.store(new_words + to, chosen_words, mask=kept)
    tl.store(old_parents + length * p_step + row * p_row + place * p_beam, parents.to(tl.int64), mask=kept)
    tl.store(old_words + length * w_step + row * w_row + place * w_beam, chosen_words, mask=kept)

    winner = tl.load(best_score + row)
    score = _score(total, length + 1, PENALTY)
    better = (ended > 0) & (score > winner)
    winner = tl.where(better, score, winner)
    many = tl.load(finished + row) + ended
    tl.store(best_score + row, winner)
    tl.store(best_length + row, length, mask=better)
    tl.store(best_parent + row, parent.to(tl.int64), mask=better)
    tl.store(finished + row, many)

    leading = (many >= BEAM) & (winner >= _score(leader, length + 1, PENALTY))
    out_of_reach = winner >= _score(leader, limit + 1, PENALTY)
    done = (many > 0) & (leading | out_of_reach)
    goes_on = searched & (leader > float("-inf")) & (done == 0)  # no number is no reason to go on
    tl.store(live + row, goes_on.to(tl.uint8))

    if REORDER:
        for first in range(0, slots, SLOTS):
            slot = first + tl.arange(0, SLOTS)
            both = kept[:, None] & (slot[None, :] < slots)
            base = bias + row * b_row + slot[None, :] * b_slot
            seen = tl.load(base + parents[:, None] * b_beam, mask=both, other=0.0)
            tl.debug_barrier()  # all is read before any is written over
            tl.store(base + place[:, None] * b_beam, seen, mask=both)


def merge(
    beam: Beam, found: Tensor, words: Tensor, newest: Tensor | None = None, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Let the hypotheses of each row go on with the best of what was picked for them: parents and words, (rows, beam).

    found and words (rows, beam or 1, 2 * beam + 1), as `pick` has them. newest (rows, beam): where the words go.
    bias (rows, beam, slots): put into the order of the parents.
    """
    rows, size = beam.scores.shape
    parents = torch.empty(rows, size, dtype=torch.long, device=found.device)
    newest = torch.empty_like(parents) if newest is None else newest
    state = (beam.limits, beam.length, beam.scores, beam.live.view(torch.uint8), beam.finished)
    best = (beam.best_scores, beam.best_lengths, beam.best_parents)  # (rows, 1) each
    assert all(x.is_contiguous() for x in (found, words, *state, *best, newest))
    _merge_kernel[(rows,)](
        found, words, *state, *best, beam.parents, beam.words, parents, newest, found if bias is None else bias,
        *beam.parents.stride(), *beam.words.stride(),
        *((0, 0, 0, 0) if bias is None else (bias.shape[2], *bias.stride())),
        PENALTY=float(beam.length_penalty), BEAM=size, HYPOTHESES=found.shape[1],
        CANDIDATES=triton.next_power_of_2(size * (2 * size + 1)), PLACES=triton.next_power_of_2(size),
        REORDER=bias is not None, SLOTS=SLOTS_AT_ONCE, num_warps=MERGE_WARPS,
    )  # fmt: skip
    # Not in the kernel: other rows may still have to read it.
    beam.length += 1
    return parents, newest
