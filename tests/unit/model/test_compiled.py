"""Training as it runs on a GPU, half precision, kernels, compiled, against plain float32 without any of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from conftest import an_epoch
from docflat.model import batch_attention as attending
from docflat.model import layers
from docflat.model.batch import Batch
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.model.transformer import Transformer
from docflat.systems import SYSTEMS, docflat, find_system
from docflat.training.learner import compile_parts

SIZES = ModelSizes(dim=128, heads=2, feed_forward=256, encoder_layers=3, decoder_layers=2)
VOCABULARY = Vocabulary(size=600, text_size=500, bos=1, eos=2, mask=3)


def a_model(name: str, device: str) -> Transformer:
    system = find_system(name)
    torch.manual_seed(0)
    return system.build(SIZES, VOCABULARY, system.read_options({}), dropout=0.0).to(device).train()


def some_batches(name: str, device: str) -> list[Batch]:
    """Three batches of different sizes, whose sentences have from 1 word to more than a tile of the kernels."""
    plan = an_epoch(name, VOCABULARY, 20, 4096)
    return [Batch.of_flat(plan[number]).to(torch.device(device)) for number in (0, 1, len(plan) - 1)]


def loss_and_gradients(model: Transformer, batch: Batch, half: bool) -> tuple[float, dict[str, torch.Tensor]]:
    model.zero_grad()
    with torch.autocast(batch.labels.device.type, torch.bfloat16, enabled=half):
        loss, _ = model(batch, 0.1)
    (loss / len(batch.labels)).backward()
    gradients = {name: x.grad.clone() for name, x in model.named_parameters() if x.grad is not None}
    return float(loss.detach()) / len(batch.labels), gradients


@pytest.mark.skipif(not torch.cuda.is_available() or layers.kernels is None, reason="what is compared needs a GPU")
@pytest.mark.parametrize("name", SYSTEMS)
def test_what_trains_on_a_gpu_is_the_model(name: str) -> None:
    model, batches = a_model(name, "cuda"), some_batches(name, "cuda")
    wanted = [loss_and_gradients(model, batch, half=False) for batch in batches]
    for way in ("kernels", "compiled"):
        if way == "compiled":
            compile_parts(model)
        for batch, (loss, gradients) in zip(batches, wanted, strict=True):
            found, others = loss_and_gradients(model, batch, half=True)
            assert found == pytest.approx(loss, rel=2e-3), way
            assert others.keys() == gradients.keys()
            for key, gradient in gradients.items():
                if gradient.norm() > 1e-6:  # a bias of keys has none but rounding
                    like = F.cosine_similarity(others[key].flatten(), gradient.flatten(), dim=0)
                    assert like > 0.98, (way, key, float(like))
                    assert others[key].norm() == pytest.approx(gradient.norm().item(), rel=0.1), (way, key)


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_before_the_first_layer_and_a_layer_are_one_graph_each(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the compiler cannot see through it leaves in pieces, without a word: nothing is fused across them."""
    model, batch = a_model(name, "cpu"), some_batches(name, "cpu")[0]

    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
        layers.is_inference()  # as the kernels' way asks
        return query + key.sum() + value.sum()

    for module in (layers, attending, docflat):
        monkeypatch.setattr(module, "attend", attend)
    torch.compiler.reset()
    how: dict[str, Any] = {"backend": "eager", "fullgraph": True, "dynamic": True}  # in pieces is an error
    monkeypatch.setattr(model, "start_source", torch.compile(model.start_source, **how))
    monkeypatch.setattr(model, "start_target", torch.compile(model.start_target, **how))
    for layer in (*model.encoder, *model.decoder):
        layer.compile(**how)
    loss, _ = model(batch)
    assert loss.isfinite()
