"""The Triton kernels of a beam search against plain torch: on a GPU as they are, elsewhere in Triton's interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import Tensor

import docflat.engines.torch.beam
import docflat.engines.torch.search
from conftest import batch_of, build, corpus_of, layout_for, random_documents, rows_array
from docflat.engines.torch.beam import GPU_STRETCH, Beam
from docflat.engines.torch.search import Search
from docflat.model.batch import make_side
from docflat.model.sizes import Vocabulary

on_gpu = torch.cuda.is_available()
if not on_gpu:
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="Triton comes with torch for GPUs only")

from docflat.engines.torch import beam_kernels  # noqa: E402

DEVICE = torch.device("cuda" if on_gpu else "cpu")
NEVER = float("-inf")
PAD, BOS, EOS, MASK = range(4)
GOOD = 40  # words a hypothesis that come into question, more than are ever picked here


@pytest.mark.parametrize("size", [32_000, 5_000, 128, 4_097])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_logits_summed_up(size: int, kind: torch.dtype) -> None:
    """Against torch's own logsumexp, and maxima in a plain loop; some logits are minus infinity, a whole part too."""
    torch.manual_seed(0)
    logits = (4 * torch.randn(2, 3, size, device=DEVICE)).to(kind)
    logits[0, 0, ::2] = NEVER
    logits[1, 1, :4] = 500.0  # special symbols count for the sum
    logits[1, 2, 100:] = NEVER
    logits[0, 1, : size - 100] = NEVER
    totals, maxima = beam_kernels.summarize(logits, 4, 128)
    wide = logits.double()
    torch.testing.assert_close(totals.double().logsumexp(-1), wide.logsumexp(-1), rtol=1e-6, atol=1e-5)
    wide[..., :4] = NEVER
    expected = torch.stack([part.amax(-1) for part in wide.split(128, dim=-1)], dim=-1)
    assert torch.equal(maxima.double(), expected)


@pytest.mark.parametrize("size", [1536, 5_003, 9_000])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_the_best_words(size: int, kind: torch.dtype) -> None:
    """Against a stable sort of all words that are text: of those that are equal, the first come first."""
    generator = torch.Generator().manual_seed(size)
    few = torch.randint(0, 50, (3, size), generator=generator).float()  # full of ties
    many = torch.randn(3, size, generator=generator)
    many[0, :4] = 9.0  # special symbols, however good
    many[1, -1] = 8.0
    together = many.sort(-1).values  # the best stand side by side, at the end
    only = torch.full((3, size), NEVER)  # hardly any word is left, all in one stretch
    only[:, [1, 2, 70, 71, 90]] = torch.tensor([1.0, 3.0, -2.0, 5.0, -4.0])
    logits = torch.stack([few, many, together, together.flip(-1), only]).to(kind)
    found, words = (x.cpu() for x in beam_kernels.pick(logits.to(DEVICE), 6, 4, EOS, 64))
    wide = logits.double()
    text = wide.log_softmax(-1)
    assert torch.equal(words[..., 6], torch.full_like(words[..., 6], EOS))
    torch.testing.assert_close(found[..., 6].double(), text[..., EOS], rtol=1e-5, atol=1e-5)
    text[..., :4] = NEVER
    expected = text.sort(dim=-1, descending=True, stable=True)
    torch.testing.assert_close(found[..., :6].double(), expected.values[..., :6], rtol=1e-5, atol=1e-5)
    there = found[..., :6] > NEVER
    assert torch.equal(words[..., :6][there].long(), expected.indices[..., :6][there])
    assert there[:4].all()
    assert (there[4].sum(-1) == 3).all()
    assert ((words >= 0) & (words < size)).all()


def step_logits(generator: torch.Generator, rows: int, hypotheses: int, size: int, end: float) -> Tensor:
    """Without ties, in bfloat16 neither; ends by how much better than the average word."""
    logits = torch.randn(rows, hypotheses, size, generator=generator) - 12
    places = torch.rand(rows, hypotheses, size - 4, generator=generator).argsort(-1)[..., :GOOD] + 4
    places[..., 0] = size - 1 - places[..., 0] % 8  # words of the last stretch, which is not whole, too
    for row in range(rows):
        for k in range(hypotheses):
            apart = 0.2 + 0.2 * torch.rand(1, generator=generator)
            logits[row, k, places[row, k]] = torch.randperm(GOOD, generator=generator) * apart
    chance = torch.rand(rows, hypotheses, generator=generator)
    logits[..., EOS] = torch.where(chance < 0.5, end + torch.randn(rows, hypotheses, generator=generator), -9.0)
    logits[..., [PAD, BOS, MASK]] = 2.0
    return logits


def two_beams(
    limits: list[int], size: int, penalty: float, vocabulary: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Beam, Beam]:
    """One for plain torch, on a CPU, and one for the kernels."""
    monkeypatch.setattr(docflat.engines.torch.beam, "beam_kernels", beam_kernels)
    known = Vocabulary(vocabulary, vocabulary, BOS, EOS, MASK)
    plain = Beam(limits, size, penalty, known, torch.device("cpu"))
    return plain, Beam(limits, size, penalty, known, DEVICE)


def assert_alike(plain: Beam, found: Beam, rows: list[int]) -> None:
    """What a hypothesis that can never win goes on from may be anything."""
    scores = found.scores.cpu()
    torch.testing.assert_close(scores[rows], plain.scores[rows], rtol=1e-5, atol=1e-4)
    there = (plain.scores > NEVER) & torch.tensor([row in rows for row in range(len(scores))])[:, None]
    step = int(plain.length) - 1
    for name in ("parents", "words"):
        expected, got = getattr(plain, name), getattr(found, name).cpu()
        assert torch.equal(got[step][there], expected[step][there]), name
        assert not got[step + 1 :].any(), "nothing is written ahead"
    for name in ("live", "length", "finished", "best_lengths", "best_parents"):
        assert torch.equal(getattr(found, name).cpu(), getattr(plain, name)), name
    torch.testing.assert_close(found.best_scores.cpu(), plain.best_scores, rtol=1e-6, atol=1e-5)


CASES = [  # beam, limits, words, length penalty, type of the logits, how good ends are
    (1, [6, 2, 4], 700, 1.0, torch.float32, 3.0),
    (4, [8, 2, 5], 2_100, 0.6, torch.bfloat16, 4.0),
    (5, [7], 2_560, 1.0, torch.float32, 5.0),
    (5, [7, 2, 4], 2_573, 0.0, torch.bfloat16, 3.0),
    (5, [8, 3], 2_999, 1.0, torch.bfloat16, 4.0),
    (5, [6, 2], 9_000, 0.6, torch.float32, 5.0),
    (16, [3], 8_200, 2.0, torch.float32, 6.0),
]


@pytest.mark.parametrize(("size", "limits", "words", "penalty", "kind", "end"), CASES)
def test_a_search_goes_as_in_plain_torch(
    size: int,
    limits: list[int],
    words: int,
    penalty: float,
    kind: torch.dtype,
    end: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until all are long finished, after every step."""
    rows = len(limits)
    generator = torch.Generator().manual_seed(7 * size + rows)
    plain, found = two_beams(limits, size, penalty, words, monkeypatch)
    finished_at: dict[int, int] = {}
    crowded, few = False, False
    for step in range(max(limits) + 2):
        logits = step_logits(generator, rows, size if step else 1, words, end).to(kind)
        if step == 0:
            logits[0, 0, 7:] = NEVER  # fewer words than hypotheses
        bias = torch.randn(rows, size, 150, generator=generator)
        expected_parents, expected_words = plain.expand(logits.clone())
        given = bias.to(DEVICE, kind, copy=True)
        newest = torch.zeros(rows, size, dtype=torch.long, device=DEVICE)
        if step % 2:
            parents, got = found.expand_by_kernels(logits.to(DEVICE), newest, given)
            assert got is newest
            order = parents.cpu()[..., None].expand_as(bias)
            assert torch.equal(given.cpu(), bias.to(kind).gather(1, order))
        else:
            parents, got = found.expand_by_kernels(logits.to(DEVICE))
        there = plain.scores > NEVER
        assert torch.equal(parents.cpu()[there], expected_parents[there])
        assert torch.equal(got.cpu()[there], expected_words[there])
        assert ((parents >= 0) & (parents < size) & (got >= 0) & (got < words)).all()
        assert_alike(plain, found, list(range(rows)))
        crowded |= bool((plain.finished >= size).any())
        few |= bool((there.any(1) & ~there.all(1)).any())
        for row in range(rows):
            if not plain.live[row]:
                finished_at.setdefault(row, step)
    assert not plain.live.any()
    assert (plain.finished > 0).all()
    assert crowded, "more than the beam have ended"
    assert few or size < 4, "some hypotheses of a row are missing"
    assert rows == 1 or len(set(finished_at.values())) > 1, "rows finish at different steps"


@pytest.mark.parametrize("penalty", [0.6, 1.0])
def test_a_step_from_anywhere_goes_as_in_plain_torch(penalty: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """States that a search comes to now and then: rows that are finished, that have ends of any rank, that may win."""
    generator = torch.Generator().manual_seed(1)
    rows, size, words, length = 40, 2, 1_100, 5
    limits = [length + (0, 1, 3, 30)[n % 4] for n in range(rows)]
    plain, found = two_beams(limits, size, penalty, words, monkeypatch)

    def random(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator)

    plain.length += length
    plain.scores.copy_((-3 - 2 * random(rows, size)).sort(-1, descending=True).values)
    plain.live.copy_(random(rows) < 0.8)
    plain.finished.copy_((random(rows) * 4).long())
    plain.finished[3::4] = size  # just enough, in rows that are far from their limits
    plain.live[3::4] = True
    worth = (-3 - 5 * random(rows).double()) / (length + 1) ** penalty
    plain.best_score.copy_(worth.masked_fill(plain.finished == 0, NEVER))
    for name in ("length", "scores", "live", "finished", "best_score"):
        getattr(found, name).copy_(getattr(plain, name))
    before = deepcopy(plain)
    logits = step_logits(generator, rows, size, words, 14.0)
    plain.expand(logits.clone())
    found.expand_by_kernels(logits.to(DEVICE))
    assert_alike(plain, found, list(range(rows)))
    more = plain.finished > before.finished
    assert (more & (plain.best_score == before.best_score)).any(), "some that end are no better"
    assert (more & (plain.best_score > before.best_score)).any(), "and some are"
    assert (before.live & ~plain.live & (plain.scores[:, 0] > NEVER)).any(), "rows are finished before their limit"


def test_what_is_no_number_ends_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no other; what was found before stays."""
    generator = torch.Generator().manual_seed(0)
    plain, found = two_beams([30] * 4, 5, 1.0, 2_600, monkeypatch)
    for step in range(6):
        logits = step_logits(generator, 4, 5 if step else 1, 2_600, 1.0)
        if step == 2:
            logits[0, 0, 300] = float("nan")
            logits[1, 3] = float("nan")
            logits[2, 1, 80] = float("inf")
        plain.expand(logits.clone())
        parents, words = found.expand_by_kernels(logits.to(DEVICE))
        assert ((parents >= 0) & (parents < 5) & (words >= 0) & (words < 2_600)).all()
        assert_alike(plain, found, [0, 1, 2, 3] if step < 2 else [3])
        assert found.live.tolist() == ([True] * 4 if step < 2 else [False] * 3 + [True])
        assert found.scores[:3, 0].isnan().all() == (step >= 2)


def test_a_beam_says_what_it_has_kernels_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnGPU:
        is_cuda, device = True, "cuda:0"

        def __init__(self, words: int) -> None:
            self.shape = (1, 1, words)

    def has(size: int, words: int) -> bool:
        return two_beams([3], size, 1.0, words, monkeypatch)[0].has_kernels(OnGPU(words))  # type: ignore[arg-type]

    monkeypatch.setattr(docflat.engines.torch.beam, "is_recent", lambda device: device == "cuda:0")
    assert has(5, 2_560)
    assert not has(5, 2_559)
    assert has(16, 32_000)
    assert not has(17, 32_000)
    beam = two_beams([3], 5, 1.0, 2_560, monkeypatch)[0]
    assert not beam.has_kernels(torch.zeros(1, 1, 2_560))
    monkeypatch.setattr(docflat.engines.torch.beam, "is_recent", lambda device: False)
    assert not beam.has_kernels(OnGPU(2_560))  # type: ignore[arg-type]
    monkeypatch.setattr(docflat.engines.torch.beam, "is_recent", lambda device: True)
    assert beam.has_kernels(OnGPU(2_560))  # type: ignore[arg-type]
    monkeypatch.setattr(docflat.engines.torch.beam, "beam_kernels", None)
    assert not beam.has_kernels(OnGPU(2_560))  # type: ignore[arg-type]


def again(search: Search, keep: bool) -> tuple[Callable[[], None], int]:
    return search.step, 0


@torch.no_grad()
def test_a_search_in_place_with_kernels_finds_what_one_without_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a model and its caches, whose bias is reordered by the kernel; room is made several times."""
    monkeypatch.setattr(docflat.engines.torch.search, "FIRST_ROOM", 2)
    monkeypatch.setattr(docflat.engines.torch.beam, "beam_kernels", beam_kernels)
    least, lengths, reordered = 8 * 2 * GPU_STRETCH, set(), []
    merge = beam_kernels.merge

    def noted(*given: object) -> tuple[Tensor, Tensor]:
        parents, words = merge(*given)  # type: ignore[arg-type]
        reordered.append(len(given) == 5 and given[4] is not None and parents.ne(torch.arange(2, device=DEVICE)).any())
        return parents, words

    monkeypatch.setattr(beam_kernels, "merge", noted)
    for seed in range(2):
        model = build("doc2doc", seed=seed, words=least).float().to(DEVICE)
        documents = random_documents(np.random.default_rng(seed), [3, 1], words=least)
        batch, literal = batch_of(documents, "doc2doc", context=2)
        layout, rows = layout_for("doc2doc", least), rows_array(literal)
        target = corpus_of(documents).target
        prefix = make_side(target, layout.target_rows(rows), layout, close=False, prefix_only=True).to(DEVICE)
        source = batch.source.to(DEVICE)
        given = (prefix, [3, 9, 2, 6], 2, 2.0, None)  # a penalty that makes long ones good
        searches = []
        for kernels in (False, True):
            monkeypatch.setattr(Beam, "has_kernels", lambda self, logits, answer=kernels: answer)
            reordered.clear()
            with torch.inference_mode():
                searches.append(Search(model, model.encode(source), *given))
                searches[-1].run_in_place(again)
            assert any(reordered) == kernels
        plain, found = (search.finished for search in searches)
        for row in range(len(rows)):
            assert found[row].tokens == plain[row].tokens
            assert found[row].score == pytest.approx(plain[row].score, rel=1e-5)
            lengths.add(len(plain[row].tokens))
    assert len(lengths) > 2
