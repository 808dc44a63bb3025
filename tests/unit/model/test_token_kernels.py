"""The kernels of a decoding step that see a token at a time, and whole searches with all of them."""

from __future__ import annotations

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
from docflat.model.cache.decoding_state import CachedContext, GlobalContext
from docflat.model.layers import Embedding, Norm
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.systems import SYSTEMS, find_system
from docflat.systems.docflat import DocFlat, fold_gates
from kernel_checks import CLOSE, DEVICE, DTYPE, kernels, on_gpu, random, step_kernels


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

    def search(self, context: GlobalContext | CachedContext | None) -> Search:
        memory = self.model.encode(self.batch.source)
        return Search(self.model, memory, self.prefix, [3, 9, 2, 7, 8], 3, 2.0, context)

    def translate(self, context: GlobalContext | CachedContext | None, in_place: bool) -> dict[int, Hypothesis]:
        with torch.inference_mode():
            search = self.search(context)
            if in_place:
                search.run_in_place(lambda search, keep: (search.step, 0))
            else:
                search.run()
        return search.finished

    def context(self, kind: str) -> GlobalContext | CachedContext | None:
        if kind in ("global", "folded"):
            return GlobalContext(self.target, torch.arange(self.rows))
        if kind == "kept":
            assert isinstance(self.model, DocFlat)
            with torch.inference_mode():
                shown = self.model.show_target(self.target)
            return CachedContext([shown[:row] for row in range(self.rows)])
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
    assert {row: found.tokens for row, found in search.finished.items()} == {
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
            search.map_tensors(lambda _: next(waiting))
            return first.step, 0

        search = played.search(played.context("global"))
        search.run_in_place(record)
    for row, hypothesis in expected.items():
        assert search.finished[row].tokens == hypothesis.tokens
        assert search.finished[row].score == pytest.approx(hypothesis.score, rel=1e-4)


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
            assert hypothesis.score == pytest.approx(plain.finished[row].score, abs=0.02)
