"""Training: its schedule, its steps, its ends, and what it leaves behind."""

from __future__ import annotations

import json
import math
import shutil
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from conftest import batch_of, build, random_documents
from docflat.data.batches import DocumentBatches
from docflat.data.corpus import Corpus
from docflat.model.batch import Batch
from docflat.support.errors import InputError
from docflat.training.loop import learning_rate
from docflat.translation.translator import Translator
from docflat.weights.folders import load_model

from .conftest import (
    Mapping,
    made_up_documents,
    outcome,
    prepare_documents,
    read_log,
    run_training,
    stage,
    without_timing,
)

STILL = 1e-30  # a learning rate at which weights stay what they were


def weights_of(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def checkpoint(out: Path, number: int, step: int) -> Path:
    return out / f"stage-{number}" / "checkpoints" / f"step-{step:08d}"


def kept_steps(out: Path, number: int = 1) -> list[int]:
    return sorted(int(path.name[5:]) for path in (out / f"stage-{number}" / "checkpoints").iterdir())


def lines(out: Path, kind: str, number: int = 1) -> list[Mapping]:
    return [line for line in read_log(out / f"stage-{number}") if line["kind"] == kind]


def plain_loss(folder: Path, data: Path, split: str = "valid") -> float:
    """Cross-entropy per token of a model folder, by torch's own function."""
    loaded = load_model(folder)
    corpus = Corpus.open(data / split)
    layout = loaded.system.layout(loaded.config.rows, loaded.model.vocabulary)
    plan = DocumentBatches(corpus.documents, corpus.source, corpus.target, loaded.config.rows, layout, 200).plan()
    total, labels = 0.0, 0
    with torch.no_grad():
        for number in range(len(plan)):
            batch = Batch.of_flat(plan[number])
            total += float(torch.nn.functional.cross_entropy(loaded.model.logits(batch), batch.labels, reduction="sum"))
            labels += len(batch.labels)
    assert labels == len(corpus.target.tokens) + len(corpus.target)  # each word, and </s> of each sentence
    return total / labels


@pytest.mark.parametrize(
    ("step", "expected"),
    # Vaswani et al.'s schedule, scaled to its peak: linear up to the end of the warm-up, then as 1 / sqrt(step).
    [(1, 5e-4 / 4000), (1000, 1.25e-4), (4000, 5e-4), (4001, 5e-4 * (4000 / 4001) ** 0.5), (16_000, 2.5e-4)],
)
def test_learning_rate_formula(step: int, expected: float):
    assert learning_rate(step, 5e-4, 4000) == pytest.approx(expected, rel=1e-12)


def test_the_learning_rate_cools_down_to_nothing() -> None:
    rates = [learning_rate(step, 1.0, 1, left=11 - step, cooldown=4) * step**0.5 for step in range(1, 11)]
    assert rates == pytest.approx([1, 1, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25])


def test_the_log_has_the_rate_of_each_step(data: Path, tmp_path: Path):
    run_training(data, tmp_path, stage(learning_rate=1e-3, warmup_steps=5, validation_sample=0), log_every=1)
    rates = [line["rate"] for line in lines(tmp_path, "train")]
    expected = [1e-3 * min(n * 5**-1.5, n**-0.5) * 5**0.5 for n in range(1, 13)]
    assert rates == pytest.approx(expected, rel=1e-12)


def test_the_first_step_of_adam_is_as_large_as_the_rate_says(data: Path, tmp_path: Path):
    """Adam's first step moves every weight with a gradient by the learning rate, up or down (Kingma and Ba, 2.1)."""
    settings = {"max_steps": 1, "warmup_steps": 4, "validation_sample": 0}
    run_training(data, tmp_path / "start", stage(learning_rate=STILL, **settings))
    run_training(data, tmp_path / "one step", stage(learning_rate=2e-3, **settings))
    before, after = (weights_of(tmp_path / name / "model") for name in ("start", "one step"))
    moved = torch.cat([(after[name] - before[name]).abs().flatten() for name in before])
    assert moved.max().item() == pytest.approx(2e-3 / 4, rel=1e-2)
    assert (moved > 0.99 * 2e-3 / 4).float().mean() > 0.5


def test_accumulated_micro_batches_are_one_batch(data: Path, tmp_path: Path):
    """An epoch in one batch and the same epoch in several that are accumulated: the same loss and step."""
    settings = {"max_steps": 1, "dropout": 0.0, "word_dropout": 0.0, "validation_sample": 0, "learning_rate": 1e-2}
    run_training(data, tmp_path / "0", stage(batch_tokens=100_000, accumulate=1, **settings), log_every=1)
    for accumulate in range(5, 13):  # into how many batches the first epoch is cut is a matter of chance
        small = stage(batch_tokens=200, accumulate=accumulate, **settings)
        run_training(data, tmp_path / str(accumulate), small, log_every=1)
    trained, validated = (
        {n: lines(tmp_path / str(n), kind)[0]["loss"] for n in (0, *range(5, 13))} for kind in ("train", "validation")
    )
    (same,) = [n for n in range(5, 13) if trained[n] == pytest.approx(trained[0], rel=1e-6)]
    assert validated[same] == pytest.approx(validated[0], rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_smoothed_loss_is_that_of_torch(smoothing: float):
    rng = np.random.default_rng(1)
    for system in ("sent2sent", "docflat-c"):
        model = build(system)
        batch, _ = batch_of(random_documents(rng, [3, 5, 1]), system)
        loss, plain = model(batch, smoothing)
        oracle = torch.nn.functional.cross_entropy
        logits = model.logits(batch)
        expected = oracle(logits, batch.labels, reduction="sum", label_smoothing=smoothing)
        torch.testing.assert_close(loss.double(), expected, rtol=1e-6, atol=0)
        torch.testing.assert_close(plain.double(), oracle(logits, batch.labels, reduction="sum"), rtol=1e-6, atol=0)
        assert (loss == plain) == (smoothing == 0)


def test_validation_loss_is_that_of_torch(data: Path, tmp_path: Path):
    stages = stage(average=1, validation_sample=0), stage("docflat-c", average=1, validation_sample=0)
    results = run_training(data, tmp_path, *stages)
    for number, folder in ((1, tmp_path / "stage-1" / "model"), (2, tmp_path / "model")):
        expected = plain_loss(folder, data)
        assert results[number - 1]["loss"] == pytest.approx(expected, rel=1e-6)
        assert lines(tmp_path, "validation", number)[-1]["loss"] == pytest.approx(expected, rel=1e-6)
        assert lines(tmp_path, "validation", number)[-1]["perplexity"] == pytest.approx(math.exp(expected), rel=1e-5)


def test_validation_bleu_is_that_of_the_translations(tmp_path: Path):
    """All validation documents are the sample; the model has learned them, so that BLEU is something."""
    documents = made_up_documents(6, "data valid")
    data = prepare_documents(tmp_path, documents=1)
    shutil.rmtree(data / "train")
    shutil.copytree(data / "valid", data / "train")
    model = {"dim": 32, "heads": 2, "feed_forward": 64, "encoder_layers": 1, "decoder_layers": 1}
    changes = {"max_steps": 150, "validate_every": 150, "learning_rate": 1e-2, "warmup_steps": 30, "average": 1}
    out = tmp_path / "out"
    (result,) = run_training(data, out, stage(validation_sample=1000, dropout=0.0, **changes), model=model)
    translator = Translator.load(out / "model", device="cpu")
    sources = [[source for source, _ in document] for document in documents]
    system = [text for document in translator.translate_documents(sources, beam=1) for text in document]
    references = [target for document in documents for _, target in document]
    assert result["bleu"] > 5
    assert result["bleu"] == pytest.approx(sacrebleu.corpus_bleu(system, [references]).score)
    assert lines(out, "validation")[-1]["bleu"] == result["bleu"]


@pytest.fixture(scope="module")
def stopped(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Mapping]]:
    """A stage that ended early because it trained far too fast, and a second one that stands still."""
    out = tmp_path_factory.mktemp("stopped") / "out"
    changes = {"learning_rate": 0.3, "accumulate": 1, "max_steps": 300, "validate_every": 2, "validation_sample": 0}
    hasty = stage(patience=2, average=1, **changes)
    still = stage("docflat-c", learning_rate=STILL, max_steps=1, average=1, validation_sample=0)
    return out, run_training(data, out, hasty, still)


def test_training_stops_when_patience_is_over(stopped: tuple[Path, list[Mapping]]):
    out, (result, _) = stopped
    assert result["steps"] < 300
    losses = [line["loss"] for line in lines(out, "validation")]
    best = min(range(len(losses)), key=losses.__getitem__)
    assert best == len(losses) - 3  # two validations without a better one, and not a third
    # Before that, no two in a row were without a better one.
    records = [n for n in range(best + 1) if losses[n] < min(losses[:n], default=math.inf)]
    assert max(b - a for a, b in pairwise(records)) <= 2
    assert result["best_step"] == 2 * (best + 1)
    assert result["best_loss"] == losses[best]


def test_no_patience_means_no_early_stop(data: Path, tmp_path: Path):
    changes = {"learning_rate": 0.3, "accumulate": 1, "validate_every": 1, "validation_sample": 0}
    (result,) = run_training(data, tmp_path, stage(patience=0, max_steps=40, **changes))
    losses = [line["loss"] for line in lines(tmp_path, "validation")]
    assert result["steps"] == len(losses) == 40
    assert result["best_loss"] == min(losses)


def test_stage_two_starts_from_the_best_of_stage_one(stopped: tuple[Path, list[Mapping]], data: Path):
    out, (first, _) = stopped
    best = weights_of(checkpoint(out, 1, first["best_step"]))
    last = weights_of(checkpoint(out, 1, first["steps"]))
    start = weights_of(checkpoint(out, 2, 1))
    text_size = json.loads((data / "tokenizer.json").read_text())["model"]["vocab"].__len__()
    bos = 1
    assert not torch.equal(best["embedding.weight"], last["embedding.weight"])
    for name, tensor in best.items():
        rows = slice(0, text_size) if name == "embedding.weight" else slice(None)
        assert torch.equal(start[name][rows], tensor[rows]), name
    indices = start["embedding.weight"][text_size:]
    assert indices.shape[0] == 8
    assert torch.equal(indices, best["embedding.weight"][bos].expand_as(indices))
    new = start.keys() - best.keys()
    assert {name.split(".")[0] for name in new} == {"source_flat", "target_flat"}


def test_stage_two_starts_with_a_fresh_optimiser(stopped: tuple[Path, list[Mapping]]):
    out, _ = stopped
    moments = load_file(checkpoint(out, 2, 1) / "optimizer.safetensors")
    weights = weights_of(checkpoint(out, 2, 1))
    assert moments.keys() == {f"{name}:{what}" for name in weights for what in ("step", "exp_avg", "exp_avg_sq")}
    for name in weights:
        assert moments[f"{name}:step"].item() == 1
        # After one step of Adam: m = (1 - b1) g and v = (1 - b2) g^2.
        gradient = moments[f"{name}:exp_avg"] / (1 - 0.9)
        torch.testing.assert_close(moments[f"{name}:exp_avg_sq"], (1 - 0.98) * gradient**2, rtol=1e-4, atol=1e-12)


def test_the_last_checkpoints_and_the_best_are_kept(stopped: tuple[Path, list[Mapping]], data: Path, tmp_path: Path):
    out, (result, _) = stopped
    assert kept_steps(out) == [result["best_step"], result["steps"]]
    assert [(checkpoint(out, 1, step) / "optimizer.safetensors").exists() for step in kept_steps(out)] == [False, True]
    run_training(data, tmp_path, stage(max_steps=14, validate_every=3, average=3, validation_sample=0))
    losses = {line["step"]: line["loss"] for line in lines(tmp_path, "validation")}
    assert list(losses) == [3, 6, 9, 12, 14]
    best = min(losses, key=losses.__getitem__)
    assert kept_steps(tmp_path) == sorted({best, 9, 12, 14})


def test_the_model_is_the_mean_of_the_last_checkpoints(data: Path, tmp_path: Path):
    """Two checkpoints that are as far from a good model, on either side: their mean is better than both."""
    out = tmp_path / "out"
    training = stage(max_steps=12, validate_every=4, average=2, validation_sample=0)
    run_training(data, out, training)
    good, noise = weights_of(checkpoint(out, 1, 12)), torch.Generator().manual_seed(1)
    shift = {name: 0.3 * torch.randn(tensor.shape, generator=noise) for name, tensor in good.items()}
    two = []
    for step, sign in ((8, 1), (12, -1)):
        two.append({name: tensor + sign * shift[name] for name, tensor in good.items()})
        save_file(two[-1], checkpoint(out, 1, step) / "model.safetensors")
    (out / "stage-1" / "result.json").unlink()
    (result,) = run_training(data, out, training)
    assert result["model"] == "average"
    assert result["averaged"] == 2
    model = weights_of(out / "model")
    assert model.keys() == good.keys()
    for name, tensor in model.items():
        mean = (two[0][name].numpy().astype(np.float64) + two[1][name].numpy().astype(np.float64)) / 2
        assert np.array_equal(tensor.numpy(), mean.astype(np.float32)), name
    assert result["loss"] == pytest.approx(plain_loss(out / "model", data), rel=1e-6)
    assert "mean of the last 2 checkpoints" in (out / "model" / "README.md").read_text()


def test_the_model_is_the_best_checkpoint_where_the_mean_is_worse(data: Path, tmp_path: Path):
    """While the loss falls fast, the mean looks back to weaker weights."""
    (result,) = run_training(data, tmp_path, stage(max_steps=12, validate_every=4, average=3, validation_sample=0))
    assert result["model"] == "best"
    assert result["averaged"] == 1
    checkpoints = [weights_of(checkpoint(tmp_path, 1, step)) for step in (4, 8, 12)]
    model = weights_of(tmp_path / "model")
    best = weights_of(checkpoint(tmp_path, 1, result["best_step"]))
    assert all(torch.equal(tensor, best[name]) for name, tensor in model.items())
    own_loss = plain_loss(tmp_path / "model", data)
    assert result["loss"] == pytest.approx(own_loss, rel=1e-6)
    mean = {name: torch.stack([one[name] for one in checkpoints]).double().mean(0).float() for name in model}
    save_file(mean, tmp_path / "model" / "model.safetensors")
    assert plain_loss(tmp_path / "model", data) > own_loss


def test_max_epochs(data: Path, tmp_path: Path):
    """A batch that holds the corpus: an epoch is a step."""
    (result,) = run_training(
        data, tmp_path, stage(batch_tokens=100_000, accumulate=1, max_epochs=3, max_steps=50, validation_sample=0)
    )
    assert (result["steps"], result["epochs"]) == (3, 3)


def test_max_minutes_end_properly(data: Path, tmp_path: Path):
    endless = stage(max_minutes=0.4 / 60, max_steps=1_000_000, validate_every=1_000_000, validation_sample=0)
    (result,) = run_training(data, tmp_path, endless, log_every=3)
    assert 3 <= result["steps"] < 10_000
    assert 0.4 <= result["seconds"] < 5
    assert kept_steps(tmp_path) == [result["steps"]]
    assert lines(tmp_path, "validation")[-1]["step"] == result["steps"]
    assert result["loss"] == pytest.approx(plain_loss(tmp_path / "model", data), rel=1e-6)
    assert run_training(data, tmp_path, endless, log_every=3) == [result]


def test_start_from_a_model_folder(data: Path, stopped: tuple[Path, list[Mapping]], tmp_path: Path):
    start = stopped[0] / "stage-1" / "model"
    still = stage(start=str(start), learning_rate=STILL, max_steps=1, average=1, validation_sample=0)
    run_training(data, tmp_path, still)
    before, after = weights_of(start), weights_of(tmp_path / "model")
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


def test_start_from_a_system_with_context_keeps_its_index_tokens(data: Path, tmp_path: Path):
    """They mean something already; only a sentence system has never seen them."""
    short = {"max_steps": 4, "average": 1, "validation_sample": 0}
    run_training(data, tmp_path / "first", stage("doc2doc", **short))
    start = str(tmp_path / "first" / "model")
    run_training(data, tmp_path / "second", stage("docflat-c", start=start, **{**short, "learning_rate": STILL}))
    before, after = (weights_of(tmp_path / name / "model") for name in ("first", "second"))
    assert before["embedding.weight"][-8:].unique(dim=0).shape[0] == 8
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


def test_start_with_other_sizes_is_refused(data: Path, stopped: tuple[Path, list[Mapping]], tmp_path: Path):
    start = stopped[0] / "stage-1" / "model"
    model = {"dim": 32, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1}
    with pytest.raises(InputError, match=r"^stages\[0\]\.start: .* other sizes") as caught:
        run_training(data, tmp_path, stage(start=str(start)), model=model)
    assert str(start) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_start_with_other_subwords_is_refused(stopped: tuple[Path, list[Mapping]], tmp_path: Path):
    start = stopped[0] / "stage-1" / "model"
    other = prepare_documents(tmp_path / "data", vocabulary=290)
    with pytest.raises(InputError, match=r"^stages\[0\]\.start: .* other subwords") as caught:
        run_training(other, tmp_path / "out", stage(start=str(start)))
    assert str(start) in str(caught.value)


@pytest.mark.parametrize("start", ["nothing", "checkpoint"])
def test_start_from_what_is_no_model_folder_is_refused(
    data: Path, stopped: tuple[Path, list[Mapping]], tmp_path: Path, start: str
):
    folder = tmp_path / start if start == "nothing" else checkpoint(stopped[0], 2, 1)
    with pytest.raises(InputError, match=r"is not a model folder") as caught:
        run_training(data, tmp_path / "out", stage(start=str(folder)))
    assert str(folder) in str(caught.value)


def test_start_from_a_system_that_does_not_fit_is_refused(
    data: Path, stopped: tuple[Path, list[Mapping]], tmp_path: Path
):
    folder = stopped[0] / "model"  # docflat-c, whose attention sent2sent does not have
    with pytest.raises(InputError, match=r"_flat\..* does not fit") as caught:
        run_training(data, tmp_path / "out", stage(start=str(folder)))
    assert str(folder / "model.safetensors") in str(caught.value)


def test_the_seed_decides(data: Path, tmp_path: Path):
    short = stage(max_steps=4, validation_sample=0)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run_training(data, tmp_path / name, short, seed=seed)
    a, b, c = (outcome(tmp_path / name) for name in "abc")
    assert a == b
    assert a["models"].keys() == c["models"].keys()
    assert a["models"][Path("model/model.safetensors")] != c["models"][Path("model/model.safetensors")]


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_trains(data: Path, tmp_path: Path, precision: str):
    stages = stage(validation_sample=0, clip=1.0), stage("docflat-c", validation_sample=0)
    run_training(data, tmp_path / "half", *stages, precision=precision)
    run_training(data, tmp_path / "full", *stages)
    for number in (1, 2):
        half, full = ([x["loss"] for x in lines(tmp_path / name, "train", number)] for name in ("half", "full"))
        assert half == pytest.approx(full, rel=1e-2)
        assert half != full
    assert lines(tmp_path / "half", "train")[-1]["loss"] < 0.9 * lines(tmp_path / "half", "train")[0]["loss"]
    assert all(tensor.dtype == torch.float32 for tensor in weights_of(tmp_path / "half" / "model").values())


def go_on(data: Path, out: Path, **changes: Any) -> None:
    """Twice as long as the folder has been trained, as if the first half had been killed before its end."""
    (out / "stage-1" / "result.json").unlink()
    shutil.rmtree(out / "model")
    run_training(data, out, stage(max_steps=8, validation_sample=0), **changes)


def test_the_scale_of_fp16_survives(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The scale, and how long ago it last grew: after 6 good steps here, not 2000, it doubles."""
    scaler = torch.amp.GradScaler
    monkeypatch.setattr(torch.amp, "GradScaler", lambda *given, **more: scaler(*given, **more, growth_interval=6))
    run_training(data, tmp_path / "at once", stage(max_steps=8, validation_sample=0), precision="fp16")
    run_training(data, tmp_path / "in two", stage(max_steps=4, validation_sample=0), precision="fp16")
    go_on(data, tmp_path / "in two", precision="fp16")
    states = [
        json.loads((checkpoint(tmp_path / name, 1, 8) / "state.json").read_text()) for name in ("at once", "in two")
    ]
    assert states[0]["loss_scale"] == 2.0**14
    assert without_timing(states[1]) == without_timing(states[0])
    assert weights_of(tmp_path / "in two" / "model").keys() == weights_of(tmp_path / "at once" / "model").keys()


def test_a_lowered_scale_of_fp16_survives(data: Path, tmp_path: Path):
    run_training(data, tmp_path, stage(max_steps=4, validation_sample=0), precision="fp16")
    state = checkpoint(tmp_path, 1, 4) / "state.json"
    content = json.loads(state.read_text())
    assert content["loss_scale"] == 2.0**13
    state.write_text(json.dumps({**content, "loss_scale": 64.0}))
    go_on(data, tmp_path, precision="fp16")
    assert json.loads((checkpoint(tmp_path, 1, 8) / "state.json").read_text())["loss_scale"] == 64.0


def test_diverging_is_one_clear_line(data: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"^[^\n]*loss is (nan|inf) at step 4[^\n]*$"):
        run_training(data, tmp_path, stage(learning_rate=1e20, validation_sample=0))
    assert not (tmp_path / "model").exists()


def test_tensorboard_has_the_numbers_of_the_log(data: Path, tmp_path: Path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run_training(data, tmp_path, stage(validation_sample=0), tensorboard=True)
    events = EventAccumulator(str(tmp_path / "stage-1" / "tensorboard"))
    events.Reload()
    for kind in ("train", "validation"):
        expected = [(line["step"], pytest.approx(line["loss"], rel=1e-6)) for line in lines(tmp_path, kind)]
        assert [(event.step, event.value) for event in events.Scalars(f"{kind}/loss")] == expected


def test_tensorboard_is_not_needed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as if it were not installed
    run_training(data, tmp_path, stage(max_steps=2, validation_sample=0), tensorboard=True)
    assert "no TensorBoard log" in caplog.text
    assert not (tmp_path / "stage-1" / "tensorboard").exists()
    assert read_log(tmp_path / "stage-1")


def test_tensorboard_is_not_written_unless_asked_for(stopped: tuple[Path, list[Mapping]]):
    assert not list(stopped[0].rglob("*tensorboard*"))


@pytest.mark.parametrize("split", ["train", "valid"])
def test_missing_data_is_named(data: Path, tmp_path: Path, split: str):
    shutil.copytree(data, tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / split)
    with pytest.raises(InputError, match=rf"there is no {split} data") as caught:
        run_training(tmp_path / "data", tmp_path / "out", stage())
    assert str(tmp_path / "data") in str(caught.value)
