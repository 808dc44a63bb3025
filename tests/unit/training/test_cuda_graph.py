"""Batches of fixed shapes, and the graph of a step: they must be the batch, and the step, that they stand for."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch

from conftest import an_epoch
from docflat.model import layers
from docflat.model.batch import Batch
from docflat.model.loss import IGNORED
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems import SYSTEMS, find_system
from docflat.training.cuda_graph import TILE, DoesNotFit, StepGraph, fill, pack, shapes_around, unpack
from docflat.training.learner import compile_parts

SIZES = ModelSizes(dim=64, heads=2, feed_forward=96, encoder_layers=3, decoder_layers=2)
VOCABULARY = Vocabulary(size=600, text_size=500, bos=1, eos=2, mask=3)
BUDGET = 1024
RECORDED = [name for name in SYSTEMS if find_system(name).model.recordable]


def a_model(name: str) -> Transformer:
    system = find_system(name)
    torch.manual_seed(0)
    return system.build(SIZES, VOCABULARY, system.read_options({}), dropout=0.0).train()


def some_batches(name: str) -> list[Batch]:
    plan = an_epoch(name, VOCABULARY, 12, BUDGET)
    return [Batch.of_flat(plan[number]) for number in range(len(plan))]


def loss_and_gradients(model: Transformer, batch: Batch) -> tuple[list[float], dict[str, torch.Tensor]]:
    model.zero_grad()
    loss, plain = model(batch, 0.1)
    loss.backward()
    gradients = {name: x.grad.clone() for name, x in model.named_parameters() if x.grad is not None}
    return [float(loss.detach()), float(plain)], gradients


def test_what_can_be_recorded():
    assert set(RECORDED) == {"sent2sent", "doc2doc", "flattrans", "gtrans", "docflat-c", "docflat-d", "docflat-i"}


@pytest.mark.parametrize("name", RECORDED)
def test_a_filled_batch_has_the_loss_and_the_gradients_of_the_batch(name: str):
    model, batches = a_model(name).double(), some_batches(name)
    shapes = shapes_around(batches, BUDGET)
    for batch in batches[:2]:
        filled = fill(batch, shapes)
        assert len(batch.source.tokens) < len(filled.source.tokens) <= BUDGET + TILE
        assert len(batch.target.tokens) < len(filled.target.tokens) <= BUDGET + TILE
        assert (filled.labels != IGNORED).sum() == len(batch.labels)
        sums, gradients = loss_and_gradients(model, batch)
        filled_sums, filled_gradients = loss_and_gradients(model, filled)
        assert filled_sums == pytest.approx(sums, rel=1e-12)
        assert filled_gradients.keys() == gradients.keys()
        for key, gradient in gradients.items():
            torch.testing.assert_close(filled_gradients[key], gradient, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", RECORDED)
def test_filled_batches_have_the_same_shapes_and_survive_packing(name: str):
    batches = some_batches(name)
    shapes = shapes_around(batches, BUDGET)
    filled = []
    for batch in batches:
        with suppress(DoesNotFit):  # the last ones, which are hardly filled
            filled.append(fill(batch, shapes))
    assert len(filled) > 0.8 * len(batches)
    sizes = [[flat.shape for flat in pack(batch)] for batch in filled]
    assert all(one == sizes[0] for one in sizes)
    for batch in filled:
        again = unpack(pack(batch), filled[0])
        assert all(torch.equal(a, b) for a, b in zip(pack(again), pack(batch), strict=True))
        assert torch.equal(again.target.rows.starts, batch.target.rows.starts)
        assert torch.equal(again.labels, batch.labels)
        # What is not a tensor is part of the recorded step.
        assert again.source.groups.longest == batch.source.groups.longest


def test_a_batch_that_is_too_large_does_not_fit():
    batches = some_batches("docflat-c")
    small = shapes_around(batches[-1:], 256)
    with pytest.raises(DoesNotFit):
        fill(batches[0], small)


@pytest.mark.skipif(not torch.cuda.is_available() or layers.kernels is None, reason="a graph needs a GPU")
@pytest.mark.parametrize("name", RECORDED)
def test_a_replayed_step_has_the_gradients_of_a_step(name: str):
    """In half precision both; the padding only moves where sums are cut."""
    model, batches = a_model(name).cuda(), some_batches(name)
    shapes = shapes_around(batches, BUDGET)
    cast = torch.autocast("cuda", torch.bfloat16)
    wanted = []
    for batch in batches[:3]:
        with cast:
            loss, plain = model(batch.to(torch.device("cuda")), 0.1)
        (loss / len(batch.labels)).backward()
        wanted.append(
            (float(plain), {key: x.grad.clone() for key, x in model.named_parameters() if x.grad is not None})
        )
        model.zero_grad(set_to_none=True)
        del loss  # or its graph would hold on to the default stream
    compile_parts(model)
    graph = StepGraph(model, cast, 0.1, fill(batches[5], shapes))
    for _ in range(2):
        for batch, (plain, gradients) in zip(batches[:3], wanted, strict=True):
            found = float(graph(pack(fill(batch, shapes))))
            assert found == pytest.approx(plain, rel=1e-2)
            for key, gradient in gradients.items():
                mine = dict(model.named_parameters())[key].grad
                assert mine is not None
                near = torch.nn.functional.cosine_similarity(mine.flatten(), gradient.flatten(), 0)
                assert near > 0.99 or gradient.norm() < 1e-4, (key, float(near))
