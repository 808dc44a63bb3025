"""The ways through a document against plain loops over sentences, and searches that are recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import docflat.engines.torch.recording
import docflat.engines.torch.search
from conftest import (
    TARGET_FLAT_VARIANTS,
    VARIANTS,
    Ids,
    Sentences,
    batch_of,
    build_variant,
    corpus_of,
    layout_for,
    random_documents,
    rows_array,
    rows_for,
)
from decoding_checks import (
    SlowBeam,
    SlowPartial,
    decoder_for,
    limit_of,
    modes,
    source_documents,
    window_around,
)
from docflat.data.flat_layout import Layout
from docflat.data.rows import Rows
from docflat.engines.torch.recording import Recorder
from docflat.engines.torch.search import Search, beam_search
from docflat.model.batch import make_batch, make_side
from docflat.model.cache.decoding_state import GlobalContext
from docflat.model.cache.fixed_keys import FixedKeys
from docflat.model.cache.hypotheses import Paths
from docflat.model.transformer import Transformer
from docflat.systems.docflat import DocFlat
from recomputed_decoding import Recomputed, prefix_of, reads_rows, with_rows


def slow_translation(
    model: Transformer,
    layout: Layout,
    source: Sequence[Ids],
    target: Sequence[Ids],
    place: int,
    window: int,
    context: int,
    beam: int,
    penalty: float,
    shown: str = "all",
    moving: bool = False,
) -> Ids:
    """One sentence of a document, given the target text of the others: a full training batch for every hypothesis.

    shown: to systems that read whole rows of target text; all of them, those so far, or the prefixes of all.
    moving: the window goes along with the sentence; else it is one of those that the document is cut into.
    """
    together = window_around(place, window, len(source)) if moving else range(len(source))
    seen = np.array([k for k in together if source[k] and (moving or k // window == place // window)])
    rows = Rows(seen, np.minimum(context, seen), seen, seen, np.zeros_like(seen))
    row = seen.tolist().index(place)
    search = SlowBeam(limit_of(len(source[place])), beam, penalty)
    shown_rows = layout.target_rows(rows.take(slice(0, row + 1)) if shown == "so far" else rows)
    shown_side = make_side(Sentences(target), shown_rows, layout, close=False, prefix_only=shown == "prefixes")

    def next_logits(tokens: Ids) -> Tensor:
        texts = [*target[:place], tokens, *target[place + 1 :]]
        batch = make_batch(Sentences(source), Sentences(texts), rows, layout)
        return model.logits(batch)[int(batch.target.sentences.starts[row + 1]) - 1]

    with with_rows(model, shown_side, shown_rows.group, row):
        while not search.done:
            search.step([next_logits(tokens) for _, tokens, _ in search.live])
    return search.best[1]


def slow_sentences(document: Sequence[Ids], translate: Callable[[int, list[Ids]], Ids]) -> list[Ids]:
    """Sentence by sentence; an empty one stays empty."""
    target: list[Ids] = [[] for _ in document]
    for place, ids in enumerate(document):
        if ids:
            target[place] = translate(place, target)
    return target


def slow_partial_document(
    model: Transformer,
    layout: Layout,
    source: Sequence[Ids],
    first: Sequence[Ids],
    window: int,
    context: int,
    beam: int,
    penalty: float,
) -> list[Ids]:
    """The second pass over a document, window by window."""
    assert isinstance(model, DocFlat)
    target: list[Ids] = [[] for _ in source]
    for start in range(0, len(source), window):
        seen = np.array([k for k in range(start, min(start + window, len(source))) if source[k]], dtype=np.int64)
        if len(seen):
            rows = Rows(seen, np.minimum(context, seen), seen, seen, np.zeros_like(seen))
            batch = make_batch(Sentences(source), Sentences(first), rows, layout)
            prefix = make_side(Sentences(first), rows, layout, close=False, prefix_only=True)
            limits = [limit_of(len(source[k])) for k in seen]
            for k, (_, tokens) in zip(
                seen, SlowPartial(model, batch, prefix, limits, beam, penalty).search(), strict=True
            ):
                target[k] = tokens
    return target


@torch.no_grad()
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("variant", VARIANTS)
def test_modes_are_plain_loops_over_sentences(variant: str) -> None:
    """Each mode but the partial one is a loop; what differs is which text the other sentences have."""
    name, _ = VARIANTS[variant]
    model, layout = build_variant(variant), layout_for(name)
    window, beam, penalty, documents = 3, 2, 0.8, source_documents()
    context = rows_for(name, 2).context
    decoder = decoder_for(name, model, window=window, beam=beam, length_penalty=penalty, batch_size=4)
    results = modes(decoder, documents)
    for number, document in enumerate(documents):

        def translate(
            place: int,
            target: Sequence[Ids],
            window: int = window,
            context: int = context,
            shown: str = "all",
            moving: bool = False,
            document: Any = document,
        ) -> Ids:
            return slow_translation(
                model, layout, document, target, place, window, context, beam, penalty, shown, moving
            )

        empty: list[Ids] = [[] for _ in document]
        alone = slow_sentences(
            document, lambda place, _, translate=translate, empty=empty: translate(place, empty, 1, 0)
        )
        assert results["sentence"][number] == alone
        assert results["sequential"][number] == slow_sentences(document, partial(translate, shown="so far"))
        streamed = slow_sentences(document, partial(translate, shown="so far", moving=True))
        assert results["stream"][number] == streamed
        second = slow_sentences(document, lambda place, _, translate=translate, alone=alone: translate(place, alone))
        assert results["two-pass, first-pass"][number] == second
        if reads_rows(model):
            prefixes = partial(translate, target=alone, shown="prefixes")
            second = slow_sentences(document, lambda place, _, prefixes=prefixes: prefixes(place))
        elif variant in TARGET_FLAT_VARIANTS:
            second = slow_partial_document(model, layout, document, alone, window, context, beam, penalty)
        assert results["two-pass, partial"][number] == second  # the others have no global context on the target side
    if variant != "sent2sent":
        assert results["sentence"] != results["sequential"], "context matters, or this shows nothing"


def again(search: Search, keep: bool) -> tuple[Callable[[], None], int]:
    """In the place of a recorder: the step itself."""
    return search.step, 0


def tensors_in(thing: Any) -> Iterator[Tensor]:
    """All tensors that hang on it, but for weights and what is not read when tensors stay in their place."""
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, dict):
        yield from (tensor for part in thing.values() for tensor in tensors_in(part))
    elif isinstance(thing, list | tuple):
        yield from (tensor for part in thing for tensor in tensors_in(part))
    elif hasattr(thing, "__dict__") and not isinstance(thing, torch.nn.Module):
        unread = ("slots",) if isinstance(thing, Paths) else ("visible",) if isinstance(thing, FixedKeys) else ()
        yield from tensors_in({name: part for name, part in vars(thing).items() if name not in unread})


@torch.no_grad()
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_recording_knows_all_tensors_of_a_step(variant: str) -> None:
    """One that it did not know would keep what the batch before had in it."""
    slow = Recomputed(variant)
    context = GlobalContext(slow.batch.target, torch.arange(len(slow.rows)))
    with torch.inference_mode():
        search = Search(slow.model, slow.memory, slow.prefix, [9] * len(slow.rows), 3, 1.0, context)
        search.state.make_room(4)
        search.step()
        tensors = search.tensors()
        known = {tensor.data_ptr() for tensor in tensors}
        everything = {tensor.data_ptr() for tensor in tensors_in([search.state, search.beam, search.words])}
        assert everything - {0} <= known
        search.map_tensors(torch.clone)
        assert not known & {tensor.data_ptr() for tensor in search.tensors()} - {0}


@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_search_in_place_finds_what_a_search_with_growing_caches_finds(
    variant: str, beam: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the other tests hold to slow loops. Room is made several times, and rows end at different times."""
    monkeypatch.setattr(docflat.engines.torch.search, "FIRST_ROOM", 2)
    name, _ = VARIANTS[variant]
    lengths = set()
    for seed in range(3):
        model = build_variant(variant, seed=seed)
        documents = random_documents(np.random.default_rng(seed), [4, 2])
        batch, literal = batch_of(documents, name, context=2)
        rows, target = rows_array(literal), corpus_of(documents).target
        prefix = prefix_of(target, rows, layout_for(name))
        context = GlobalContext(batch.target, torch.arange(len(rows)))
        given = (prefix, [3, 17, 2, 6, 30, 5], beam, 2.0, context)  # a penalty that makes long ones good
        expected = beam_search(model, model.encode(batch.source), *given)
        with torch.inference_mode():
            search = Search(model, model.encode(batch.source), *given)
            assert search.state.stays
            search.run_in_place(again)
        for row, hypothesis in enumerate(expected):
            assert search.finished[row].tokens == hypothesis.tokens
            assert search.finished[row].score == pytest.approx(hypothesis.score, rel=1e-9)
            lengths.add(len(hypothesis.tokens))
    assert max(lengths) > 6, "beyond the first room, of 2, and the second, of 4"
    assert len(lengths) > 2


@torch.no_grad()
def test_rows_that_see_each_other_grow_cannot_stay_in_place() -> None:
    slow = Recomputed("docflat-c")
    state, _ = slow.model.start_decoding(slow.memory, slow.prefix, 2)
    assert not state.stays


class Mimic(Recorder):
    """A recorder without a GPU: it plays a search of its own, which shares nothing but the recording's tensors."""

    def capture(self, search: Search) -> Callable[[], None]:
        shared = {id(tensor): tensor for tensor in search.tensors()}
        memo: dict[int, Any] = {**shared, id(search.model): search.model}
        memo |= {id(part): part for part in search.model.modules()}
        own = deepcopy(search, memo)
        vars(own).pop("step", None)  # which counts, in the test below
        return own.step


@torch.no_grad()
@pytest.mark.parametrize("sizes", [[4, 2], [1], [1, 1]])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_recording_is_played_again_for_other_batches_of_its_shapes(variant: str, sizes: list[int]) -> None:
    """With other words in them; on a GPU as a graph in float32, and else by one that knows nothing but its tensors."""
    name, _ = VARIANTS[variant]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = build_variant(variant).to(device)
    if device.type == "cuda":
        model = model.float()
    recorder = Recorder() if device.type == "cuda" else Mimic()
    made = []
    for seed in range(3):
        documents = [
            [(x[::-1] if seed == 1 else x, [*y[1:], *y[:1]] if seed == 2 else y) for x, y in document]
            for document in random_documents(np.random.default_rng(0), sizes)
        ]
        batch, literal = batch_of(documents, name, context=2)
        rows = rows_array(literal)
        prefix = prefix_of(corpus_of(documents).target, rows, layout_for(name)).to(device)
        context = GlobalContext(batch.target.to(device), torch.arange(len(rows), device=device))
        given = (prefix, [9, 17, 3, 6, 8, 5][: len(rows)], 3, 2.0, context)
        source = batch.source.to(device)
        with torch.inference_mode(), on_stream_of(recorder, device):
            plain = Search(model, model.encode(source), *given)
            plain.run()
            search = Search(model, model.encode(source), *given)
            steps = counted(search)
            search.run_in_place(recorder.record)
        made.append(len(steps))
        assert recorder.works
        for row in range(len(rows)):
            assert search.finished[row].tokens == plain.finished[row].tokens
            assert search.finished[row].score == pytest.approx(plain.finished[row].score, rel=1e-4)
    assert made[0] > 0
    assert made[1:] == [0, 0], "everything was played"


def on_stream_of(recorder: Recorder, device: torch.device) -> AbstractContextManager[Any]:
    return torch.cuda.stream(recorder.stream(device)) if device.type == "cuda" else nullcontext()


def counted(search: Search) -> list[None]:
    """Grows by one with each step that the search itself makes, and does not play."""
    made: list[None] = []
    step = search.step

    def count() -> None:
        made.append(None)
        step()

    search.step = count  # type: ignore[method-assign]
    return made


@torch.no_grad()
def test_logits_that_are_no_numbers_end_a_search() -> None:
    """As those of a training that went astray do."""
    slow = Recomputed("doc2doc")
    slow.model.embedding.weight.fill_(float("nan"))
    found = beam_search(slow.model, slow.memory, slow.prefix, [70] * len(slow.rows), 3, 1.0)
    assert all(hypothesis.tokens == [] for hypothesis in found)
