"""Every system through its whole life: from a sentence model over training and a model folder to translations."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from docflat import Translator
from docflat.data.batches import DocumentBatches
from docflat.data.corpus import Corpus
from docflat.engines.torch.engine import on_torch
from docflat.model.batch import Batch
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS
from docflat.weights.config import read_config
from docflat.weights.folders import load_model, save_model

from .conftest import Mapping, made_up_documents, outcome, run_training, stage
from .test_training import STILL, checkpoint, plain_loss, weights_of

# Some sentences as a user has them: an empty one, a document of one sentence.
SOURCES = [[source for source, _ in document] for document in made_up_documents(2, "to translate", (3, 3))]
SOURCES[1].insert(1, "")
SOURCES.append(SOURCES[0][:1])


@pytest.fixture(scope="module")
def sentence_model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stage I, which the stages II of all systems start from."""
    out = tmp_path_factory.mktemp("stage I")
    run_training(data, out, stage(accumulate=1, max_steps=200, validate_every=200, average=1, validation_sample=0))
    return out / "model"


def second(system: str, start: Path, **changes: Any) -> Mapping:
    """A short stage II that starts from the sentence model."""
    short = {"max_steps": 4, "validate_every": 2, "average": 2, "validation_sample": 3, "learning_rate": 1e-3}
    return stage(system, start=str(start), **{**short, **changes})


class Trained:
    """Each system is trained once, when it is first asked for."""

    def __init__(self, data: Path, start: Path, folder: Path) -> None:
        self.data, self.start, self.folder = data, start, folder
        self.results: dict[str, Mapping] = {}

    def __call__(self, system: str) -> Path:
        out = self.folder / system
        if system not in self.results:
            (self.results[system],) = run_training(self.data, out, second(system, self.start))
        return out


@pytest.fixture(scope="module")
def trained(data: Path, sentence_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained(data, sentence_model, tmp_path_factory.mktemp("stage II"))


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_stopped_training_goes_on_to_the_same_bits(
    data: Path, sentence_model: Path, trained: Trained, tmp_path: Path, system: str
):
    run_training(data, tmp_path, second(system, sentence_model, max_steps=2))
    (tmp_path / "stage-1" / "result.json").unlink()  # as if it had been killed just before the end
    shutil.rmtree(tmp_path / "model")
    (result,) = run_training(data, tmp_path, second(system, sentence_model))
    assert result["steps"] == 4
    assert (checkpoint(tmp_path, 1, 4) / "optimizer.safetensors").exists()
    for part in ("models", "checkpoints"):
        assert outcome(tmp_path)[part] == outcome(trained(system))[part]


def test_a_new_model_of_han_says_that_it_has_inner_norms(trained: Trained):
    """Older folders do not name the option, and have none of them."""
    folder = trained("han") / "model"
    assert read_config(folder).options == {"inner_norms": True}
    assert load_model(folder).model.source_han.inner_norms


def edit_json(path: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_a_model_of_han_that_does_not_name_its_inner_norms_is_known_by_its_weights(trained: Trained, tmp_path: Path):
    """Such folders were written while the norms were new, and the option was not there yet."""
    shutil.copytree(trained("han") / "model", tmp_path / "model")
    edit_json(tmp_path / "model" / "config.json", lambda config: config["options"].clear())
    assert read_config(tmp_path / "model").options == {"inner_norms": True}
    before, now = (Translator.load(folder, device="cpu") for folder in (trained("han") / "model", tmp_path / "model"))
    lines = SOURCES[0], SOURCES[0]
    assert now.score(*lines) == before.score(*lines)


def test_a_training_of_han_that_is_older_than_its_inner_norms_goes_on_without_them(
    data: Path, sentence_model: Path, tmp_path: Path
):
    without = {"inner_norms": False}
    run_training(data, tmp_path / "whole", second("han", sentence_model, options=without))
    run_training(data, tmp_path / "older", second("han", sentence_model, options=without, max_steps=2))
    (tmp_path / "older" / "stage-1" / "result.json").unlink()
    edit_json(tmp_path / "older" / "recipe.json", lambda recipe: recipe["stages"][0]["options"].clear())
    run_training(data, tmp_path / "older", second("han", sentence_model))
    weights = [weights_of(checkpoint(tmp_path / name, 1, 4)) for name in ("whole", "older")]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    start = tmp_path / "older" / "model"
    with pytest.raises(InputError, match=r"weights of han with inner_norms: false: \S+ does not fit$"):
        run_training(data, tmp_path / "another", second("han", start))


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_validation_loss_is_that_of_translation_alone(data: Path, trained: Trained, system: str):
    """By torch's own cross-entropy; a loss beside it (mbe's) is none of its business."""
    out = trained(system)
    assert trained.results[system]["loss"] == pytest.approx(plain_loss(out / "model", data), rel=1e-5)


def modes_of(system: str) -> list[dict[str, Any]]:
    if SYSTEMS[system].sentence_level:
        return [{"mode": "sentence"}]
    two_passes: list[dict[str, Any]] = [{"mode": "two-pass"}]
    if "batch" in SYSTEMS[system].target:
        two_passes = [{"mode": "two-pass", "global_context": kind} for kind in ("first-pass", "partial")]
    return [{"mode": "sentence"}, {"mode": "sequential"}, {"mode": "stream", "window": 2}, *two_passes]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_model_folder_translates_in_every_mode_and_again_when_saved_again(
    sentence_model: Path, trained: Trained, tmp_path: Path, system: str
):
    folder = trained(system) / "model"
    loaded = load_model(folder)
    assert loaded.config.system == system
    weights = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    save_model(tmp_path / "copy", loaded.config, weights, loaded.subwords, "")
    first_pass = None if SYSTEMS[system].sentence_level else sentence_model
    for mode in modes_of(system):
        with_first = first_pass if mode.get("mode") == "two-pass" else None
        own = Translator(on_torch(loaded), with_first and on_torch(load_model(with_first)))
        again = Translator.load(tmp_path / "copy", device="cpu", first_pass=with_first, engine="torch")
        found = list(own.translate_documents(SOURCES, beam=2, **mode))
        assert found == list(again.translate_documents(SOURCES, beam=2, **mode))
        assert [[text != "" for text in each] for each in found] == [[text != "" for text in each] for each in SOURCES]
        assert len({text for each in found for text in each}) > 4, (
            "of 7, one of them empty: it reads what it translates"
        )


def moved(before: dict[str, Tensor], after: dict[str, Tensor]) -> dict[str, Tensor]:
    assert before.keys() == after.keys()
    return {name: (after[name] - before[name]).abs() for name in before}


class Stages:
    """The weights of one step, and those it starts from, which a rate of nearly nothing shows."""

    def __init__(self, data: Path, start: Path, folder: Path) -> None:
        self.data, self.start, self.folder = data, start, folder

    def one_step(self, system: str, **changes: Any) -> dict[str, Tensor]:
        """How far each weight moves in a step of rate 0.01."""
        found = []
        for name, rate in (("start", STILL), ("one step", 1e-2)):
            settings = {"max_steps": 1, "warmup_steps": 1, "average": 1, "validation_sample": 0, **changes}
            out = self.folder / name
            run_training(self.data, out, second(system, self.start, learning_rate=rate, **settings))
            found.append(weights_of(checkpoint(out, 1, 1)))
        return moved(*found)


@pytest.fixture
def stages(data: Path, sentence_model: Path, tmp_path: Path) -> Stages:
    return Stages(data, sentence_model, tmp_path)


def assert_rate(moves: list[Tensor], rate: float) -> None:
    """Adam's first step moves what has a gradient by the rate, up or down (Kingma and Ba, 2.1)."""
    every = torch.cat([move.flatten() for move in moves])
    assert every.max().item() == pytest.approx(rate, rel=1e-2)
    assert (every > 0.99 * rate).float().mean() > 0.3


@pytest.mark.parametrize(
    ("system", "given", "loaded_rate"),
    [
        ("doc2doc", {}, 1.0),
        ("docflat-c", {}, 1.0),
        ("gtrans", {}, 0.2),
        ("gtrans", {"sentence_rate": 1.0}, 1.0),
        ("doctransformer", {"sentence_rate": 0.5}, 0.5),
        ("han", {"sentence_rate": 0.1}, 0.1),
    ],
)
def test_what_the_sentence_model_knew_moves_at_its_own_rate(
    stages: Stages, sentence_model: Path, system: str, given: Mapping, loaded_rate: float
):
    moves = stages.one_step(system, **given)
    known = weights_of(sentence_model).keys()
    assert_rate([move for name, move in moves.items() if name in known], 1e-2 * loaded_rate)
    new = [move for name, move in moves.items() if name not in known]
    assert bool(new) == (system != "doc2doc")
    if new:
        assert_rate(new, 1e-2)


def test_doctransformer_freezes_the_sentence_model(sentence_model: Path, trained: Trained, stages: Stages):
    after = weights_of(checkpoint(trained("doctransformer"), 1, 4))
    before = weights_of(sentence_model)
    text_size = load_model(sentence_model).model.vocabulary.text_size
    for name, tensor in before.items():
        # Index tokens begin as <s>, which is no training.
        rows = text_size if name == "embedding.weight" else None
        assert torch.equal(after[name][:rows], tensor[:rows]), name
    assert_rate([move for name, move in stages.one_step("doctransformer").items() if name not in before], 1e-2)


def test_frozen_weights_from_nothing_are_trained(data: Path, tmp_path: Path):
    """There is no sentence model to keep: a first stage trains everything alike."""
    settings = {"max_steps": 1, "warmup_steps": 1, "average": 1, "validation_sample": 0}
    for name, rate in (("start", STILL), ("one step", 1e-2)):
        run_training(data, tmp_path / name, stage("doctransformer", learning_rate=rate, **settings))
    moves = moved(*(weights_of(checkpoint(tmp_path / name, 1, 1)) for name in ("start", "one step")))
    assert_rate(list(moves.values()), 1e-2)
    assert moves["encoder.0.attention.qkv.weight"].any()


def test_freezing_all_there_is_is_refused(data: Path, sentence_model: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"^stages\[0\]\.sentence_rate: [^\n]* doc2doc [^\n]*$"):
        run_training(data, tmp_path, second("doc2doc", sentence_model, sentence_rate=0.0))


def test_freezing_all_of_a_later_stage_is_refused_before_the_first_is_trained(data: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"^stages\[1\]\.sentence_rate: [^\n]* doc2doc [^\n]*$"):
        run_training(data, tmp_path, stage(), stage("doc2doc", sentence_rate=0.0))
    assert not (tmp_path / "stage-1").exists()


def test_han_in_three_stages(data: Path, tmp_path: Path):
    """From the sentence model to HAN in the encoder, and on to both; each stage begins as the one before it ended."""
    short = {"max_steps": 2, "validate_every": 2, "average": 1, "validation_sample": 0}
    han = stage("han", options={"decoder": False}, **short)
    both = stage("han", **{**short, "learning_rate": STILL})
    run_training(data, tmp_path, stage(**short), han, both)
    first, encoder, last = (weights_of(checkpoint(tmp_path, number, 2)) for number in (1, 2, 3))
    assert {name.partition(".")[0] for name in encoder.keys() - first.keys()} == {"source_han"}
    assert {name.partition(".")[0] for name in last.keys() - encoder.keys()} == {"target_han"}
    for name, tensor in encoder.items():  # at such a rate nothing moves but a bias that is exactly 0, by that rate
        torch.testing.assert_close(last[name], tensor, rtol=0, atol=10 * STILL)
    assert not torch.equal(encoder["encoder.0.attention.qkv.weight"], first["encoder.0.attention.qkv.weight"])
    assert load_model(tmp_path / "model").config.options == {"inner_norms": True}
    assert load_model(tmp_path / "stage-2" / "model").config.options == {"decoder": False, "inner_norms": True}


def test_the_classifier_of_mbe_is_trained_along_and_not_validated(data: Path, trained: Trained):
    """The loss to learn from is that of translation plus the classifier's with weight 1, per token."""
    loaded = load_model(trained("mbe") / "model")
    model: Any = loaded.model
    rows, corpus = loaded.config.rows, Corpus.open(data / "train")
    layout = loaded.system.layout(rows, model.vocabulary)
    batches = DocumentBatches(corpus.documents, corpus.source, corpus.target, rows, layout, budget=1000)
    batch = Batch.of_flat(batches.plan(np.random.default_rng(1))[0])
    kinds = batch.source.mixed.tolist()
    assert 0.2 < sum(kinds) / len(kinds) < 0.8
    seen: list[Tensor] = []
    model.classifier.register_forward_hook(lambda module, given, logits: seen.append(logits))

    def classifier_loss() -> Tensor:
        """-log P(right) of each group: of one document, or not; their mean."""
        right = [logits.log_softmax(0)[0 if mixed else 1] for logits, mixed in zip(seen[-1], kinds, strict=True)]
        return -torch.stack(right).mean()

    loss, plain = model(batch)
    translation = torch.nn.functional.cross_entropy(model.logits(batch), batch.labels, reduction="sum")
    torch.testing.assert_close(plain, translation, rtol=1e-5, atol=0)
    torch.testing.assert_close(loss, translation + len(batch.labels) * classifier_loss(), rtol=1e-5, atol=0)

    first = classifier_loss().item()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(40):
        optimizer.zero_grad()
        (model(batch)[0] / len(batch.labels)).backward()
        optimizer.step()
    model(batch)
    assert classifier_loss().item() < 0.5 * first
