"""The kernels of a decoding step against plain torch: on a GPU as they are, elsewhere in Triton's interpreter."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import docflat.engines.torch.beam
import docflat.engines.torch.recording
import docflat.engines.torch.search
import docflat.model.cache.decoding_state
import docflat.model.cache.fixed_keys
import docflat.model.layers
import docflat.systems.docflat_decoding
from conftest import VARIANTS, batch_of, build_variant, corpus_of, layout_for, random_documents, rows_array
from docflat.data.row_settings import RowSettings
from docflat.data.rows import Rows, SentenceList
from docflat.engines.engine import Hypothesis
from docflat.engines.torch.search import Search, beam_search
from docflat.model.batch import make_side
from docflat.model.cache.decoding_state import GlobalContext, KeptContext
from docflat.model.cache.fixed_keys import GivenFlat
from docflat.model.layers import Embedding, Norm
from docflat.model.segments import Segments
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.systems import SYSTEMS, find_system
from docflat.systems.docflat import DocFlat, fold_gates

on_gpu = torch.cuda.is_available()
if not on_gpu:
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="Triton comes with torch for GPUs only")

from docflat.model.kernels import decoding_step as step_kernels  # noqa: E402
from docflat.model.kernels import segment_attention as kernels  # noqa: E402

DEVICE = "cuda" if on_gpu else "cpu"
DTYPE: Any = torch.bfloat16 if on_gpu else torch.float32
CLOSE: Any = {"rtol": 2e-2, "atol": 2e-2} if on_gpu else {"rtol": 1e-5, "atol": 1e-5}
HEADS, SIZE = 2, 16


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE, dtype=DTYPE)


def hidden(*shape: int, seen: float = 0.5) -> Tensor:
    """What to add to scores, of which this share is seen."""
    return torch.where(torch.rand(*shape, device=DEVICE) < seen, 0.0, float("-inf")).to(DTYPE)


def newest_tokens(rows: int, beam: int) -> tuple[Tensor, Tensor, Tensor]:
    """As one product makes them: side by side."""
    query, key, value = random(rows, beam, 3 * HEADS * SIZE).chunk(3, dim=-1)
    return tuple(x.unflatten(-1, (HEADS, SIZE)) for x in (query, key, value))  # type: ignore[return-value]


def softmax_over(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """(rows, beam, heads, size) over (rows, heads, keys, size), in words; bias (rows, beam, keys)."""
    scores = torch.einsum("rbhs,rhks->rbhk", query.double(), keys.double()) / SIZE**0.5 + bias.double()[:, :, None]
    return torch.einsum("rbhk,rhks->rbhs", scores.softmax(-1), values.double())


class Own:
    """Caches in the middle of a decoding, and what attention to them must find and leave behind."""

    def __init__(self, rows: int, beam: int, given: int, start: int, room: int, columns: bool = False) -> None:
        torch.manual_seed(0)
        self.newest = newest_tokens(rows, beam)
        self.keys, self.values = (random(rows, HEADS, given + room, SIZE) for _ in range(2))
        if columns:
            self.keys = self.keys.mT.contiguous().mT
        # What was not written yet is never read: it need not be a number.
        self.keys[:, :, given + start :] = self.values[:, :, given + start :] = float("nan")
        self.hidden = hidden(rows, 1, given)
        self.hidden[0] = float("-inf")  # a row without a prefix
        self.bias = hidden(rows, beam, room, seen=0.3)
        self.bias[:, :, start:] = float("-inf")
        self.bias[:, torch.arange(beam), start + torch.arange(beam)] = 0.0
        self.place = start + torch.arange(beam, device=DEVICE)
        end = given + start + beam
        self.all_keys, self.all_values = self.keys.clone(), self.values.clone()
        for cache, new in zip((self.all_keys, self.all_values), self.newest[1:], strict=True):
            cache[:, :, given + start : end] = new.transpose(1, 2)
        self.all_bias = torch.cat([self.hidden.expand(-1, beam, -1), self.bias], 2)[:, :, :end]
        self.end = end

    def attend(self, parts: step_kernels.Parts | None = None) -> Tensor:
        before = self.hidden if self.hidden.shape[2] else None
        return step_kernels.attend_own(*self.newest, self.keys, self.values, before, self.bias, self.place, parts)

    def check_caches(self) -> None:
        assert torch.equal(self.keys[:, :, : self.end], self.all_keys[:, :, : self.end])
        assert torch.equal(self.values[:, :, : self.end], self.all_values[:, :, : self.end])
        assert self.keys[:, :, self.end :].isnan().all()
        assert self.values[:, :, self.end :].isnan().all()


@pytest.mark.parametrize("broadcast", [False, True])
def test_a_few_queries_attend(broadcast: bool) -> None:
    """Against a softmax in words; keys that are not seen come first, in the middle and last, as whole tiles too."""
    dtype: Any = torch.bfloat16 if on_gpu else torch.float32
    torch.manual_seed(0)
    query = torch.randn(3, 5, 2, 16, device=DEVICE, dtype=dtype).transpose(1, 2)
    keys, values = (torch.randn(3, 2, 161, 16, device=DEVICE, dtype=dtype) for _ in range(2))
    seen = torch.rand(3, 1, 1 if broadcast else 5, 161, device=DEVICE) < 0.3
    seen[0, :, :, :70] = False
    seen[1, :, :, 100:] = False
    seen[..., 80] = True
    bias = torch.where(seen, 0.0, float("-inf")).to(dtype)
    found = step_kernels.attend_few(query, keys, values, bias)
    scores = query.double() @ keys.double().mT / 4 + bias.double()
    close = {"rtol": 2e-2, "atol": 2e-2} if on_gpu else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(found.double(), scores.softmax(-1) @ values.double(), **close)


# Nothing but the newest tokens, less than a tile of keys, several with an odd rest, the last slots of the room.
@pytest.mark.parametrize(
    ("beam", "given", "start", "room"),
    [(5, 0, 0, 40), (5, 3, 0, 40), (1, 1, 7, 20), (16, 8, 32, 80), (5, 37, 75, 80), (4, 0, 36, 40), (2, 64, 6, 8)],
)
def test_newest_tokens_are_appended_and_attend(beam: int, given: int, start: int, room: int) -> None:
    own = Own(3, beam, given, start, room)
    expected = softmax_over(own.newest[0], own.all_keys[:, :, : own.end], own.all_values[:, :, : own.end], own.all_bias)
    torch.testing.assert_close(own.attend().double(), expected, **CLOSE)
    own.check_caches()


def test_keys_may_lie_as_columns() -> None:
    own = Own(2, 3, 5, 6, 12, columns=True)
    expected = softmax_over(own.newest[0], own.all_keys[:, :, : own.end], own.all_values[:, :, : own.end], own.all_bias)
    torch.testing.assert_close(own.attend().double(), expected, **CLOSE)
    own.check_caches()


# Groups of several rows, with gaps, of one row, without rows; more queries than one tile has; parts of keys.
@pytest.mark.parametrize(
    ("place", "groups", "slots", "beam", "keys"),
    [
        ([0, 1, 2, 3, 4, 5], 2, 3, 5, 90),
        ([0, 2, 3, 4], 2, 3, 5, 90),
        ([1, 9, 10, 15], 4, 5, 3, 130),
        ([0, 1, 2], 3, 1, 5, 7),
        (list(range(17)), 1, 17, 4, 200),
        ([0], 1, 1, 16, 64),
        ([3, 5], 2, 30, 5, 480),
        ([*range(3, 33), 39], 4, 10, 1, 20),
    ],
)
def test_keys_that_groups_share_are_read_before_the_own_ones(
    place: list[int], groups: int, slots: int, beam: int, keys: int
) -> None:
    """Against one softmax over the keys of the row's group and its own."""
    rows = len(place)
    own = Own(rows, beam, 0, 2 * beam, 4 * beam)
    shared_keys, shared_values = (random(groups, HEADS, keys, SIZE) for _ in range(2))
    bias = hidden(groups, slots, keys)
    bias.flatten(0, 1)[place[-1], 1:] = float("-inf")  # in other parts this row sees nothing
    where = torch.tensor(place, device=DEVICE)
    group = where // slots
    bounds = torch.tensor([int((group < n).sum()) for n in range(groups + 1)], device=DEVICE)
    parts = step_kernels.attend_shared(own.newest[0], shared_keys, shared_values, bias, where, bounds)
    expected = softmax_over(
        own.newest[0],
        torch.cat([shared_keys[group], own.all_keys[:, :, : own.end]], 2),
        torch.cat([shared_values[group], own.all_values[:, :, : own.end]], 2),
        torch.cat([bias.flatten(0, 1)[where][:, None].expand(-1, beam, -1), own.all_bias], 2),
    )
    torch.testing.assert_close(own.attend(parts).double(), expected, **CLOSE)
    own.check_caches()


# One group and several; a row that sees the first key only; groups without rows; far more rows than was said.
@pytest.mark.parametrize(
    ("lengths", "ends", "beam", "slots"),
    [
        ([90], [1, 40, 64, 90], 5, 4),
        ([30, 200, 7], [12, 30, 31, 95, 230, 237], 5, 3),
        ([20, 5, 130, 3], [20, 100, 155], 3, 2),
        ([64, 128], [*range(1, 40), 64, 65, 192], 4, 1),
        ([480], [480, 480], 16, 2),
    ],
)
def test_a_flat_sequence_is_read_up_to_an_end_of_each_row(
    lengths: list[int], ends: list[int], beam: int, slots: int
) -> None:
    """Against one softmax over that much of the row's group and its own keys."""
    own = Own(len(ends), beam, 0, 2 * beam, 4 * beam)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    groups = Segments(torch.tensor(starts, dtype=torch.int32, device=DEVICE), max(lengths))
    keys, values = (random(sum(lengths), 3, HEADS, SIZE)[:, 1] for _ in range(2))  # as products make them: apart
    given = GivenFlat(keys, values, groups, torch.tensor(ends, dtype=torch.int32, device=DEVICE), slots)
    where = (given.starts, given.ends, given.group_rows, given.longest, given.slots)
    found = own.attend(step_kernels.attend_flat(own.newest[0], keys, values, *where)).double()
    for row, end in enumerate(ends):
        start = starts[np.searchsorted(starts, end) - 1]
        alone = slice(row, row + 1)
        expected = softmax_over(
            own.newest[0][alone],
            torch.cat([keys[start:end].transpose(0, 1)[None], own.all_keys[alone, :, : own.end]], 2),
            torch.cat([values[start:end].transpose(0, 1)[None], own.all_values[alone, :, : own.end]], 2),
            torch.cat([torch.zeros(1, beam, end - start, device=DEVICE), own.all_bias[alone]], 2),
        )
        torch.testing.assert_close(found[alone], expected, **CLOSE)


def test_rows_are_kept_of_a_flat_sequence() -> None:
    """Of three groups with 2, 1 and 2 rows those go on that are asked for, each in its group."""
    groups = Segments.of_lengths(np.array([10, 5, 20]))
    keys = random(35, HEADS, SIZE).cpu()
    given = GivenFlat(keys, keys, groups, torch.tensor([3, 10, 15, 16, 35], dtype=torch.int32), 2)
    assert given.group_rows.tolist() == [0, 2, 3, 5]
    kept = given.keep(torch.tensor([1, 3, 4]))
    assert kept.ends.tolist() == [10, 16, 35]
    assert kept.group_rows.tolist() == [0, 1, 1, 3]


def test_shared_keys_are_cut_into_parts_where_there_are_few_groups() -> None:
    query, keys = newest_tokens(2, 5)[0], random(480, HEADS, SIZE)
    groups = Segments.of_lengths(np.array([480])).each(lambda x: x.to(DEVICE))
    given = GivenFlat(keys, keys, groups, torch.tensor([200, 480], dtype=torch.int32, device=DEVICE), 2)
    where = (given.starts, given.ends, given.group_rows, given.longest, given.slots)
    assert len(step_kernels.attend_flat(query, keys, keys, *where)[0]) == step_kernels.MOST_PARTS


@pytest.mark.parametrize("gamma", [None, 0.4])
@pytest.mark.parametrize("dim", [16, 48, 512])
@pytest.mark.parametrize("beam", [1, 5])
def test_a_gate_mixes_before_the_norm(dim: int, beam: int, gamma: float | None) -> None:
    """Against the gate in words; what was read and the gate are halves of one product, or of some tokens of it."""
    torch.manual_seed(0)
    norm = Norm(dim).to(DEVICE, DTYPE)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    x, (read, gate) = 3 + random(3, beam, dim), (2 * random(3, 5, 2 * dim))[:, :beam].chunk(2, dim=-1)
    found = step_kernels.mix_norm(x, read, gate, gamma, norm.weight, norm.bias, norm.eps)
    opening = 1 / (1 + (-gate.double()).exp())
    if gamma is not None:
        opening = (opening >= gamma).double()
    with torch.no_grad():
        mixed = (1 - opening) * x.double() + opening * read.double()
        expected = torch.nn.functional.layer_norm(mixed, (dim,), norm.weight.double(), norm.bias.double(), norm.eps)
    torch.testing.assert_close(found.double(), expected, **CLOSE)


@pytest.mark.parametrize("dim", [16, 48, 512])
def test_a_sum_and_its_norm(dim: int) -> None:
    """Against torch's, of a sum with a mean that is not zero; one of them lies apart."""
    torch.manual_seed(0)
    norm = Norm(dim).to(DEVICE, DTYPE)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    x, y = 3 + random(3, 5, dim), 2 * random(3, 5, 2 * dim)[..., :dim]
    found = step_kernels.add_norm(x, y, norm.weight, norm.bias, norm.eps)
    with torch.no_grad():
        expected = torch.nn.functional.layer_norm(
            x.double() + y.double(), (dim,), norm.weight.double(), norm.bias.double(), norm.eps
        )
    torch.testing.assert_close(found.double(), expected, **CLOSE)


@pytest.mark.parametrize("dim", [16, 48, 512])
def test_tokens_with_their_places(dim: int) -> None:
    """Against what training embeds; far positions too."""
    torch.manual_seed(0)
    embedding = Embedding(50, 40, dim).to(DEVICE, DTYPE)
    tokens = torch.randint(50, (5, 4), device=DEVICE).T
    positions = torch.tensor([0, 3, 257, 1999], device=DEVICE)[:, None]
    frequencies = docflat.model.layers.angles_of_one(dim, tokens.device)
    found = step_kernels.embed(tokens, positions, embedding.weight.detach(), frequencies)
    expected = embedding(tokens, positions).detach()
    close = CLOSE if on_gpu else {"rtol": 1e-5, "atol": 1e-4}
    torch.testing.assert_close(found, expected, **close)


def test_tokens_of_a_flat_sequence_with_their_places(everywhere: None) -> None:
    torch.manual_seed(0)
    embedding = Embedding(50, 40, 48).to(DEVICE, DTYPE)
    tokens, positions = (torch.randint(high, (7,), device=DEVICE) for high in (50, 300))
    expected = embedding(tokens, positions).detach()
    with torch.inference_mode():
        found = embedding(tokens, positions)
    torch.testing.assert_close(found, expected, **(CLOSE if on_gpu else {"rtol": 1e-5, "atol": 1e-4}))


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are run on a CPU and in float32 too: in the interpreter that is right, if nothing else."""
    for module in (
        docflat.model.layers,
        docflat.model.cache.fixed_keys,
        docflat.model.cache.decoding_state,
        docflat.systems.docflat_decoding,
    ):
        monkeypatch.setattr(module, "step_kernels", step_kernels)
    monkeypatch.setattr(docflat.model.layers, "kernels", kernels)
    monkeypatch.setattr(docflat.model.layers, "has_kernels", lambda x: True)


class Case:
    """A batch of a system, in float32 and with heads that the kernels can read."""

    def __init__(self, variant: str, groups: Sequence[int] | None = None) -> None:
        """groups (5,): which rows see each other, if not those of a document."""
        self.name, _ = VARIANTS[variant]
        sizes = ModelSizes(dim=16, heads=1, feed_forward=32, encoder_layers=1, decoder_layers=1)
        self.model = build_variant(variant, sizes=sizes).float()
        documents = random_documents(np.random.default_rng(0), [3, 2])
        self.batch, literal = batch_of(documents, self.name, context=2)
        rows, layout = rows_array(literal), layout_for(self.name)
        if groups is not None:
            rows = replace(rows, group=np.array(groups))
        self.rows = len(rows)
        targets, text = layout.target_rows(rows), corpus_of(documents).target
        self.target = make_side(text, targets, layout, close=False)
        self.prefix = make_side(text, targets, layout, close=False, prefix_only=True)

    def search(self, context: GlobalContext | KeptContext | None) -> Search:
        memory = self.model.encode(self.batch.source)
        return Search(self.model, memory, self.prefix, [3, 9, 2, 7, 8], 3, 2.0, context)

    def translate(self, context: GlobalContext | KeptContext | None, in_place: bool) -> dict[int, Hypothesis]:
        with torch.inference_mode():
            search = self.search(context)
            if in_place:
                search.run_in_place(lambda search, keep: (search.step, 0))
            else:
                search.run()
        return search.found

    def context(self, kind: str) -> GlobalContext | KeptContext | None:
        if kind in ("global", "folded"):
            return GlobalContext(self.target, torch.arange(self.rows))
        if kind == "kept":
            assert isinstance(self.model, DocFlat)
            with torch.inference_mode():
                shown = self.model.show_target(self.target)
            return KeptContext([shown[:row] for row in range(self.rows)])
        return None


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of the kernels of a step is called."""
    counts: Counter[str] = Counter()

    def count(name: str, plain: Any) -> Any:
        def call(*args: Any) -> Any:
            counts[name] += 1
            return plain(*args)

        return call

    for name in ("attend_few", "attend_own", "attend_shared", "attend_flat", "add_norm", "mix_norm", "embed"):
        monkeypatch.setattr(step_kernels, name, count(name, getattr(step_kernels, name)))
    return counts


@pytest.mark.skipif(on_gpu, reason="there is no interpreter where a GPU is")
@pytest.mark.parametrize(
    ("variant", "kind", "in_place"),
    [
        *((variant, "global", True) for variant in ("sent2sent", "doc2doc", "docflat-c", "docflat-c, all", "han")),
        ("docflat-d", "global", True),
        ("docflat-i", "global", True),
        ("docflat-c", "alone", True),
        ("docflat-c", "folded", True),
        ("docflat-d", "folded", True),
        ("doc2doc", "none", False),
        ("docflat-c", "global", False),
        ("docflat-c", "none", False),
        ("docflat-c", "kept", True),
        ("docflat-c, all", "kept", False),
    ],
)
def test_decoding_by_kernels_finds_what_plain_decoding_finds(
    variant: str, kind: str, in_place: bool, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Rows end at different times, and room is made several times; for two at first more than will be used."""
    monkeypatch.setattr(docflat.engines.torch.search, "FIRST_ROOM", 2)
    for module in (docflat.model.cache.decoding_state, docflat.systems.docflat_decoding):
        monkeypatch.setattr(module, "FIRST_ROOM", 2 if variant not in ("doc2doc", "docflat-d") else 5)
    case = Case(variant, range(5) if kind == "alone" else None)
    context = case.context(kind)
    expected = case.translate(context, in_place=False)
    if kind == "folded":
        fold_gates(case.model)
    request.getfixturevalue("everywhere")
    counts = counted(monkeypatch)
    found = case.translate(context, in_place)
    assert max(len(one.tokens) for one in expected.values()) > 6, "beyond the second room"
    for row, hypothesis in expected.items():
        assert found[row].tokens == hypothesis.tokens
        assert found[row].score == pytest.approx(hypothesis.score, rel=1e-4)
    wanted = {"attend_few", "attend_own", "add_norm", "embed"}
    if isinstance(case.model, DocFlat):
        wanted |= {"attend_flat" if kind in ("global", "folded", "alone") else "attend_shared"}
        wanted |= set() if variant == "docflat-i" else {"mix_norm"}
    assert set(counts) == wanted


def held(part: Any) -> Iterator[Tensor]:
    """Every tensor that a state of decoding holds, but for the weights."""
    if isinstance(part, Tensor):
        yield part
    elif isinstance(part, dict | list | tuple):
        for one in part.values() if isinstance(part, dict) else part:
            yield from held(one)
    elif hasattr(part, "__dict__") and not isinstance(part, torch.nn.Module):
        yield from held(vars(part))


@pytest.mark.skipif(on_gpu, reason="there is no interpreter where a GPU is")
@pytest.mark.parametrize("kind", ["global", "alone", "kept"])
def test_a_recorded_step_reads_nothing_but_what_is_named_to_the_recorder(
    kind: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A recording is played when the search that it is of is gone: whatever else that held is memory of others."""
    case = Case("docflat-c", range(5) if kind == "alone" else None)
    context = case.context(kind)
    expected = case.translate(context, in_place=False)
    request.getfixturevalue("everywhere")

    def record(search: Search, keep: bool) -> tuple[Callable[[], None], int]:
        named = {x.untyped_storage().data_ptr() for x in search.tensors()}
        search.step()  # as the recorder does: what is made now and kept is not made by the recorded step

        def again() -> None:
            others = [x for x in held(search.state) if x.untyped_storage().data_ptr() not in named]
            before = [x.clone() for x in others]
            for other in others:
                other.zero_()
            search.step()
            for other, old in zip(others, before, strict=True):
                other.copy_(old)

        return again, 1

    with torch.inference_mode():
        search = case.search(context)
        search.run_in_place(record)
    assert {row: found.tokens for row, found in search.found.items()} == {
        row: hypothesis.tokens for row, hypothesis in expected.items()
    }


@pytest.mark.skipif(on_gpu, reason="there is no interpreter where a GPU is")
def test_a_recorded_step_is_played_for_groups_of_other_sizes(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A step of another search, with tensors of the same shapes, into which those of this one are copied."""
    monkeypatch.setattr(docflat.engines.torch.search, "FIRST_ROOM", 8)
    cases = [Case("docflat-c", groups) for groups in ([0, 0, 0, 0, 1], [0, 1, 1, 1, 1])]
    recorded, played = cases
    expected, other = (case.translate(case.context("global"), in_place=False) for case in reversed(cases))
    assert {row: x.tokens for row, x in expected.items()} != {row: x.tokens for row, x in other.items()}
    request.getfixturevalue("everywhere")
    with torch.inference_mode():
        first = recorded.search(recorded.context("global"))
        first.state.make_room(8)
        tensors = first.tensors()
        first.step()

        def record(search: Search, keep: bool) -> tuple[Callable[[], None], int]:
            if not keep:
                return search.step, 0
            for here, there in zip(tensors, search.tensors(), strict=True):
                assert here.shape == there.shape
                here.copy_(there)
            waiting = iter(tensors)
            search.each(lambda _: next(waiting))
            return first.step, 0

        search = played.search(played.context("global"))
        search.run_in_place(record)
    for row, hypothesis in expected.items():
        assert search.found[row].tokens == hypothesis.tokens
        assert search.found[row].score == pytest.approx(hypothesis.score, rel=1e-4)


@pytest.mark.skipif(not on_gpu, reason="a graph needs a GPU")
@pytest.mark.parametrize("name", SYSTEMS)
def test_on_a_gpu_a_recorded_search_with_kernels_scores_as_one_with_neither(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bf16 words may change where they are nearly as good as each other; the score of the best one hardly does."""
    system, vocabulary = find_system(name), Vocabulary(4000 + 256, 4000, 1, 2, 3)
    torch.manual_seed(1)
    sizes = ModelSizes(dim=128, heads=4, feed_forward=256, encoder_layers=2, decoder_layers=2)
    model = system.build(sizes, vocabulary, system.read_options({})).eval().to("cuda", torch.bfloat16)
    settings = system.rows_of(RowSettings())
    layout = system.layout(settings, vocabulary)
    for seed in range(2):  # the second one is played: it has the shapes of the first
        rng = np.random.default_rng(seed)
        text = SentenceList([rng.integers(4, 4000, n).tolist() for n in (3, 40, 7, 20, 20, 1, 33)])
        number = np.arange(len(text.ends) - 1)
        rows = Rows(number, np.minimum(settings.context or 0, number), number, number, number // 4)
        source = make_side(text, rows, layout, close=True).to(torch.device("cuda"))
        targets = layout.target_rows(rows)
        prefix, whole = (
            make_side(text, targets, layout, close=False, prefix_only=only).to(torch.device("cuda"))
            for only in (True, False)
        )
        context = GlobalContext(whole, torch.arange(len(rows), device="cuda"))
        given = (prefix, [12, 90, 30, 60, 50, 20, 80], 4, 2.0, context)
        with torch.inference_mode():
            found = beam_search(model, model.encode(source), *given)
            with monkeypatch.context() as patch:
                patch.setattr(docflat.model.layers, "kernels", None)
                patch.setattr(docflat.engines.torch.beam, "beam_kernels", None)
                plain = Search(model, model.encode(source), *given)
                plain.run()
        assert docflat.engines.torch.recording.recorder.works
        for row, hypothesis in enumerate(found):
            assert hypothesis.score == pytest.approx(plain.found[row].score, abs=0.02)
