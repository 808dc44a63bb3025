"""What a system cannot do is refused in one line that names the setting; what fits is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import save_file

from conftest import (
    BOS,
    INDEX_TOKENS,
    MASK,
    SIZES,
    TEXT_SIZE,
    batch_of,
    random_documents,
    vocabulary_for,
)
from docflat.cli import dispatch as cli
from docflat.data.row_settings import RowSettings
from docflat.model.transformer import Transformer
from docflat.support.errors import InputError
from docflat.systems import SYSTEMS, System
from docflat.training.recipe import load_recipe
from docflat.translation.translator import Translator
from docflat.weights.config import ModelConfig
from docflat.weights.folders import start_from

Settings = dict[str, Any]


def write(folder: Path, system: str, **stage: Any) -> Path:
    path = folder / "recipe.yaml"
    content = {"data": "data", "out": str(folder / "out"), "stages": [{"system": system, **stage}]}
    path.write_text(yaml.safe_dump(content))
    return path


NO_ROWS: list[tuple[str, Settings, str]] = [
    ("flattrans", {"target_context": True}, "target_context: flattrans has no target context"),
    ("doctransformer", {"target_context": True}, "target_context: doctransformer has no target context"),
    ("selective", {"target_context": True}, "target_context: selective has no target context"),
    ("sent2sent", {"context": 3}, "context: sent2sent has no local context"),
    ("selective", {"context": 1}, "context: selective has no local context"),
    ("gtrans", {"target_context": False}, "target_context: gtrans needs the target context"),
    ("han", {"target_context": False}, "target_context: han needs the target context"),
    ("hybrid", {"target_context": False}, "target_context: hybrid needs the target context"),
    ("hybrid", {"window": 21}, "window: hybrid takes a window of 1 to 20"),
    ("hybrid", {"window": 0}, "window: hybrid takes a window of 1 to 20"),
    ("selective", {"window": 65}, "window: selective takes a window of 1 to 64"),
    ("doc2doc", {"mixed": 0.5}, "mixed: doc2doc has no use for mixed groups"),
    ("docflat-c", {"mixed": 0.1}, "mixed: docflat-c has no use for mixed groups"),
    ("hybrid", {"document_mask": False}, "document_mask: hybrid needs it"),
    ("selective", {"document_mask": False}, "document_mask: selective needs it"),
    ("mbe", {"document_mask": False}, "mixed: is told apart by documents, so it needs document_mask: true"),
    ("docflat-c", {"mixed": 1.5}, "mixed: must be between 0 and 1"),
    ("docflat-c", {"window": -1}, "window: must not be negative"),
    ("flattrans", {"target_contxt": False}, "target_contxt: unknown key; did you mean 'target_context'?"),
]
NO_OPTIONS: list[tuple[str, Settings, str]] = [
    ("docflat-c", {"encoder": False, "decoder": False}, "encoder: flat-batch attention is off on both sides"),
    ("abd", {"encoder": False}, "encoder: attention between rows is off on both sides"),
    ("han", {"encoder": False, "decoder": False}, "encoder: hierarchical attention is off on both sides"),
    ("han", {"encodr": False}, "encodr: unknown key; did you mean 'encoder'?"),
    ("abd", {"decoders": True}, "decoders: unknown key; did you mean 'decoder'?"),
    ("flattrans", {"top_layer": 1}, "top_layer: unknown key; did you mean 'top_layers'?"),
    ("flattrans", {"top_layers": -1}, "top_layers: must not be negative"),
    ("selective", {"contxt": "online"}, "contxt: unknown key; did you mean 'context'?"),
    ("selective", {"context": "onlin"}, "context: expected one of offline, online, found 'onlin'"),
    ("gtrans", {"encoder": False}, "encoder: unknown key; there are none\n"),
    ("docflat-i", {"gate": "continuous"}, "gate: docflat-i means gate: identity"),
]
REFUSED = [
    *((system, {"rows": rows}, f"stages[0].rows.{message}") for system, rows, message in NO_ROWS),
    *((system, {"options": options}, f"stages[0].options.{message}") for system, options, message in NO_OPTIONS),
    ("hybrit", {}, "stages[0].system: unknown system 'hybrit'"),
]


@pytest.mark.parametrize(("system", "stage", "message"), REFUSED, ids=lambda value: str(value))
def test_a_bad_request_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], system: str, stage: Settings, message: str
):
    path = write(tmp_path, system, **stage)
    assert cli.run(["train", str(path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"docflat: error: {path}")
    assert message in err
    assert not (tmp_path / "out").exists()


def test_an_option_that_does_not_go_with_the_sizes_is_refused_before_the_first_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "recipe.yaml"
    stages = [{"system": "sent2sent"}, {"system": "flattrans", "options": {"top_layers": 6}}]
    path.write_text(yaml.safe_dump({"data": "data", "out": str(tmp_path / "out"), "stages": stages}))
    assert cli.run(["train", str(path)]) == 2
    out, err = capsys.readouterr()
    wanted = "top_layers: 6 of 6 encoder layers leave none that sees the context; that is the system sent2sent"
    assert (out, err) == ("", f"docflat: error: {path}: stages[1].options.{wanted} (flattrans)\n")
    assert load_recipe(path, ["stages.1.options.top_layers=5"]).stages[1].options == {"top_layers": 5}


@pytest.mark.parametrize(
    ("system", "rows"),
    [
        ("flattrans", {"target_context": False, "context": 5}),
        ("doc2doc", {"target_context": False}),
        ("sent2sent", {"context": 0}),
        ("selective", {"context": 0, "window": 32}),
        ("hybrid", {"window": 20, "context": 0}),
        ("hybrid", {"window": 1}),
        ("gtrans", {"document_mask": False}),
        ("mbe", {"mixed": 0.0}),
        ("mbe", {"mixed": 1.0, "window": 8}),
        ("docflat-c", {"window": 100}),
    ],
    ids=lambda value: str(value),
)
def test_what_fits_is_taken_as_it_is(tmp_path: Path, system: str, rows: Settings):
    stage = load_recipe(write(tmp_path, system, rows=rows)).stages[0]
    filled = SYSTEMS[system].rows_of(stage.rows)
    assert {key: getattr(filled, key) for key in rows} == rows


@pytest.mark.parametrize(
    ("system", "expected"),  # as methods.md has them; 32 rows are about a batch of the paper
    [
        ("sent2sent", (0, True, 0, 0.0)),
        ("doc2doc", (3, True, 0, 0.0)),
        ("doctransformer", (2, False, 0, 0.0)),
        ("han", (3, True, 0, 0.0)),
        ("selective", (0, False, 32, 0.0)),
        ("hybrid", (3, True, 20, 0.0)),
        ("flattrans", (3, False, 0, 0.0)),
        ("gtrans", (3, True, 0, 0.0)),
        ("mbe", (3, True, 32, 0.5)),
        ("abd", (3, True, 32, 0.0)),
        *((f"docflat-{gate}", (3, True, 32, 0.0)) for gate in "cdi"),
    ],
)
def test_rows_are_a_systems_own_where_nothing_is_said(system: str, expected: tuple[int, bool, int, float]):
    rows = SYSTEMS[system].rows_of(RowSettings())
    assert (rows.context, rows.target_context, rows.window, rows.mixed) == expected


def test_all_13_systems_of_the_paper_are_there():
    names = (
        "sent2sent doc2doc doctransformer han selective hybrid flattrans gtrans mbe abd docflat-c docflat-d docflat-i"
    )
    assert len(names.split()) == 13
    assert set(names.split()) <= set(SYSTEMS)


def config(system: str, **options: Any) -> ModelConfig:
    return ModelConfig(system, SIZES, options, SYSTEMS[system].rows_of(RowSettings()))


def build(given: ModelConfig, seed: int) -> Transformer:
    torch.manual_seed(seed)
    system = SYSTEMS[given.system]
    return system.build(SIZES, vocabulary_for(TEXT_SIZE - MASK - 1), system.read_options(given.options))


def start(folder: Path, before: ModelConfig, now: ModelConfig) -> tuple[Transformer, Transformer]:
    """Two models, the second started from the first one's weights."""
    old, new = build(before, 1), build(now, 2)
    path = folder / "model.safetensors"
    save_file(old.state_dict(), path)
    start_from(new, path, before, now)
    return old, new


@pytest.mark.parametrize(
    ("before", "now", "misfit"),
    [
        (config("docflat-c"), config("doc2doc"), "_flat."),
        (config("docflat-c"), config("docflat-i"), "_flat.gate"),
        (config("docflat-c"), config("docflat-c", decoder=False), "target_flat"),
        (config("gtrans"), config("doctransformer"), "row_"),
        (config("hybrid"), config("selective"), "before"),
        (config("han"), config("han", decoder=False), "target_han"),
        (config("mbe"), config("sent2sent"), "classifier"),
        (config("abd"), config("flattrans"), "source_rows"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else f"{value.system} {value.options}",
)
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, before: ModelConfig, now: ModelConfig, misfit: str):
    with pytest.raises(InputError) as caught:
        start(tmp_path, before, now)
    message = str(caught.value)
    assert message.startswith(
        f"{tmp_path / 'model.safetensors'}: cannot start {now.system} from these weights of {before.system}: "
    )
    assert misfit in message
    assert message.endswith(" does not fit")
    assert "\n" not in message


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_starts_from_the_sentence_model(tmp_path: Path, system: str):
    old, new = start(tmp_path, config("sent2sent"), config(system))
    fresh = build(config(system), 2).state_dict()
    for name, tensor in new.state_dict().items():
        if name not in old.state_dict():
            assert torch.equal(tensor, fresh[name]), f"{name} is new: as it was made"
        elif name == "embedding.weight" and system != "sent2sent":
            assert torch.equal(tensor[:TEXT_SIZE], old.embedding.weight[:TEXT_SIZE])
            assert torch.equal(tensor[TEXT_SIZE:], old.embedding.weight[BOS].expand(INDEX_TOKENS, -1)), (
                "index tokens begin as <s>"
            )
        else:
            assert torch.equal(tensor, old.state_dict()[name]), name


def test_the_joint_han_starts_from_the_han_encoder(tmp_path: Path):
    old, new = start(tmp_path, config("han", decoder=False), config("han"))
    known = old.state_dict()
    assert any(name.startswith("source_han") for name in known)
    assert all(torch.equal(new.state_dict()[name], tensor) for name, tensor in known.items())


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_parameter_has_a_gradient_without_any_context(system: str):
    """Processes that train together wait for the gradient of each, also in a batch of first sentences only."""
    batch, _ = batch_of(random_documents(np.random.default_rng(0), [1, 1]), system)
    given = SYSTEMS[system]
    model = given.build(SIZES, vocabulary_for(TEXT_SIZE - MASK - 1), given.read_options({}))
    loss, _ = model(batch)
    loss.backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


# Beside the embeddings of both sides and the sublayers of encoder and decoder: where methods.md has a dropout, and the
# layers that a system adds.
MORE_DROPOUTS = {
    "doctransformer": 2,  # the layer of the context
    "han": 2,  # one a side
    "selective": 2,  # what was read; its feed-forward sublayer
    "hybrid": 2,  # both sublayers of the global layer
    "mbe": 2 + 1,  # its layer; the vector
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_dropout_is_everywhere(system: str):
    given = SYSTEMS[system]
    model = given.build(SIZES, vocabulary_for(TEXT_SIZE - MASK - 1), given.read_options({}), dropout=0.5).train()
    dropped: list[float] = []
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.register_forward_hook(lambda _, before, after: dropped.append((after == 0).float().mean().item()))
    batch, _ = batch_of(random_documents(np.random.default_rng(0), [4, 3]), system)
    model(batch)
    assert len(dropped) == 2 + 2 * SIZES.encoder_layers + 3 * SIZES.decoder_layers + MORE_DROPOUTS.get(system, 0)
    assert all(0.2 < share < 0.8 for share in dropped)


@pytest.mark.parametrize("system", SYSTEMS)
def test_word_dropout_hides_every_word(system: str):
    """With all of them dropped, another text of the same lengths is the same; index tokens and </s> stay."""
    given = SYSTEMS[system]
    torch.manual_seed(0)
    model = given.build(SIZES, vocabulary_for(TEXT_SIZE - MASK - 1), given.read_options({})).train()
    documents = random_documents(np.random.default_rng(0), [4, 3])
    others = [[([5] * len(x), [6] * len(y)) for x, y in document] for document in documents]
    batch, other = (batch_of(text, system)[0] for text in (documents, others))
    with torch.no_grad():
        assert not torch.equal(model.logits(batch), model.logits(other))
        model.word_dropout = 1.0
        assert torch.equal(model.logits(batch), model.logits(other))


def test_a_device_that_is_none(tmp_path: Path):
    with pytest.raises(InputError, match="there is no device 'tpu'; choose auto, cpu or cuda"):
        Translator.load(tmp_path, device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="no GPU"):
            Translator.load(tmp_path, device="cuda:0")


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_the_table_says_of_a_model_what_its_class_does(system: System) -> None:
    """The table is read without torch, and so says again what the class knows."""
    assert system.needs_target == system.model.paired
