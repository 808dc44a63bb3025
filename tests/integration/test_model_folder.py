"""Model folders: what is saved is what is loaded, and what is broken is named in one line."""

from __future__ import annotations

import ast
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import docflat
from docflat import Translator
from docflat.model.sizes import Architecture
from docflat.support.errors import InputError
from docflat.weights.folders import load_model, save_model

from .conftest import made_up_documents, prepare_documents, run_training, stage

SOURCES = [[source for source, _ in document] for document in made_up_documents(4, "to translate")]


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sent2sent in stage-1/model, docflat-c in model."""
    out = tmp_path_factory.mktemp("trained") / "out"
    options = {"gamma": 0.25, "gate_bias": -0.5, "scope": "all"}
    rows = {"max_tokens": 60, "context": 2, "context_free": 0.25}
    second = stage("docflat-c", options=options, rows=rows, learning_rate=1e-2, validation_sample=0)
    first = stage(learning_rate=2e-2, max_steps=60, validate_every=20, validation_sample=0)
    run_training(data, out, first, second)
    return out


@pytest.fixture
def folder(out: Path, tmp_path: Path) -> Path:
    """A model folder of docflat-c to spoil."""
    return shutil.copytree(out / "model", tmp_path / "model")


def refused(folder: Path) -> str:
    """What loading says, which is one line."""
    with pytest.raises(InputError) as caught:
        load_model(folder)
    with pytest.raises(InputError) as by_translator:
        Translator.load(folder, device="cpu")
    assert str(by_translator.value) == str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_folder_has_these_files(out: Path, data: Path):
    for folder in (out / "model", out / "stage-1" / "model"):
        names = {"config.json", "model.safetensors", "tokenizer.json", "README.md"}
        assert {path.name for path in folder.iterdir()} == names
        assert (folder / "tokenizer.json").read_bytes() == (data / "tokenizer.json").read_bytes()


def test_the_config_says_what_was_trained(out: Path):
    config = json.loads((out / "model" / "config.json").read_text())
    assert config["system"] == "docflat-c"
    assert config["model_type"] == "docflat"
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1}
    assert config["sizes"] == {**sizes, "architecture": asdict(Architecture())}
    assert config["options"] == {"gamma": 0.25, "gate_bias": -0.5, "scope": "all"}
    assert {key: config["rows"][key] for key in ("context", "max_tokens", "context_free")} == {
        "context": 2,
        "max_tokens": 60,
        "context_free": 0.25,
    }
    loaded = load_model(out / "model")
    assert loaded.model.target_flat.options.gamma == 0.25
    assert loaded.model.target_flat.options.scope == "all"
    assert loaded.config.rows.context == 2
    assert not loaded.model.training


def test_the_card_says_what_the_model_is(out: Path):
    card = (out / "model" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: docflat\n")
    for fact in ("docflat-c", "12 (", "prepared", "1, fp32", f"docflat {docflat.__version__}"):
        assert fact in card


@pytest.mark.parametrize("which", ["model", "stage-1/model"])
def test_saved_again_it_translates_the_same(out: Path, tmp_path: Path, which: str):
    loaded = load_model(out / which)
    save_model(tmp_path / "copy", loaded.config, loaded.model.state_dict(), loaded.subwords, "a card")
    first, second = (Translator.load(path, device="cpu") for path in (out / which, tmp_path / "copy"))
    translations = list(first.translate_documents(SOURCES, beam=2))
    assert list(second.translate_documents(SOURCES, beam=2)) == translations
    assert len({text for document in translations for text in document}) > 3  # it does not always say the same
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        assert (tmp_path / "copy" / name).read_bytes() == (out / which / name).read_bytes()


def test_saving_replaces_a_folder(out: Path, folder: Path):
    loaded = load_model(out / "stage-1" / "model")
    save_model(folder, loaded.config, loaded.model.state_dict(), loaded.subwords, "a card")
    assert load_model(folder).config.system == "sent2sent"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_saving_that_fails_leaves_the_old_folder(out: Path, folder: Path):
    loaded = load_model(out / "stage-1" / "model")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(AttributeError):
        save_model(folder, loaded.config, loaded.model.state_dict(), None, "a card")  # type: ignore[arg-type]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_no_folder(tmp_path: Path):
    assert str(tmp_path / "nothing") in refused(tmp_path / "nothing")


def test_a_file_is_no_folder(tmp_path: Path):
    (tmp_path / "file").write_text("text")
    assert str(tmp_path / "file") in refused(tmp_path / "file")


def test_a_checkpoint_is_no_model_folder(out: Path):
    checkpoint = max((out / "stage-2" / "checkpoints").iterdir())
    assert "is not a model folder" in refused(checkpoint)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, name: str):
    (folder / name).unlink()
    assert refused(folder).startswith(f"{folder / name}: ")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("what", ["empty", "half", "rubbish", "other bytes", "folder"])
def test_a_broken_file_is_named(folder: Path, name: str, what: str):
    path = folder / name
    whole = path.read_bytes()
    path.unlink()
    if what == "folder":
        path.mkdir()
    else:
        broken = {"empty": b"", "half": whole[: len(whole) // 2], "rubbish": b"rubbish", "other bytes": b"\xff" * 100}
        path.write_bytes(broken[what])
    assert refused(folder).startswith(f"{path}: ")


@pytest.mark.parametrize("cut", [1, 7, 8, 9, 100, -1])
def test_cut_weights_are_named(folder: Path, cut: int):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    assert refused(folder).startswith(f"{path}: cannot read the weights: ")


@pytest.mark.parametrize("content", ["[]", "3", "null", '"docflat"', "{}"])
def test_a_config_that_is_none(folder: Path, content: str):
    (folder / "config.json").write_text(content)
    assert refused(folder).startswith(f"{folder / 'config.json'}: ")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"format": 2}, "format 1"),
        ({"format": "1"}, "format 1"),
        ({"model_type": "marian"}, "not a docflat model"),
        ({"system": "docflat-x"}, "unknown system 'docflat-x'"),
        ({"system": 3}, "system: expected text"),
        ({"sizes": {"dim": "wide"}}, "sizes.dim: expected a whole number"),
        ({"sizes": {"dim": 16, "heads": 3}}, "sizes.dim: must be a multiple of twice the heads"),
        ({"sizes": None}, "sizes: expected keys and values"),
        ({"rows": {"contxt": 3}}, "rows.contxt: unknown key; did you mean 'context'?"),
        ({"options": {"gate": "discrete"}}, "options.gate: docflat-c means gate: continuous"),
        ({"options": {"gama": 0.5}}, "options.gama: unknown key; did you mean 'gamma'?"),
        ({"surprise": 1}, "surprise: unknown key"),
    ],
)
def test_a_wrong_config_names_the_key(folder: Path, changes: dict[str, Any], named: str):
    edit_config(folder, **changes)
    message = refused(folder)
    assert message.startswith(f"{folder / 'config.json'}: ")
    assert named in message


@pytest.mark.parametrize("key", ["system", "sizes", "options", "rows"])
def test_a_config_without_a_key_names_it(folder: Path, key: str):
    path = folder / "config.json"
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != key}))
    assert refused(folder) == f"{path}: {key}: missing, and it has no default"


@pytest.mark.parametrize("system", ["abd", "doc2doc", "docflat-i"])
def test_a_folder_that_says_it_is_another_system(folder: Path, system: str):
    edit_config(folder, system=system, options={})
    message = refused(folder)
    assert message.startswith(f"{folder / 'model.safetensors'}: ")
    assert "another" in message


def test_weights_of_another_system(out: Path, folder: Path):
    shutil.copy(out / "stage-1" / "model" / "model.safetensors", folder / "model.safetensors")
    message = refused(folder)
    assert message.startswith(f"{folder / 'model.safetensors'}: the weights lack ")
    assert "another system" in message


def test_a_message_does_not_depend_on_chance(out: Path, folder: Path):
    """Several weights are missing; the one that is named is the first of them."""
    shutil.copy(out / "stage-1" / "model" / "model.safetensors", folder / "model.safetensors")
    own, given = load_model(out / "model").model.state_dict(), load_file(folder / "model.safetensors")
    first = next(name for name in own if name not in given)
    assert f"lack {first}:" in refused(folder)


def test_weights_of_other_sizes(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    edit_config(folder, sizes={**config["sizes"], "feed_forward": 64})
    message = refused(folder)
    assert message.startswith(f"{folder / 'model.safetensors'}: ")
    assert "(32," in message
    assert "expected (64," in message


def test_subwords_of_another_model(folder: Path, tmp_path: Path):
    other = prepare_documents(tmp_path / "data", vocabulary=280)
    shutil.copy(other / "tokenizer.json", folder / "tokenizer.json")
    message = refused(folder)
    assert message.startswith(f"{folder / 'model.safetensors'}: embedding.weight has the shape ")


def test_weights_in_half_precision_load(folder: Path, out: Path):
    weights = load_file(folder / "model.safetensors")
    save_file({name: tensor.half() for name, tensor in weights.items()}, folder / "model.safetensors")
    loaded = load_model(folder).model.state_dict()
    for name, tensor in weights.items():
        assert loaded[name].dtype == torch.float32
        assert torch.equal(loaded[name], tensor.half().float())


def test_nothing_is_ever_unpickled():
    """Opening a model of a stranger must not run code: neither pickle, nor what is built on it."""
    forbidden = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
    calls = {("torch", "load"), ("torch", "save"), ("np", "loadtxt"), ("numpy", "loadtxt")}
    sources = sorted(Path(docflat.__file__).parent.rglob("*.py"))
    assert len(sources) > 15
    for path in sources:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # An imported model may be in a file of torch's: of such a file, only tensors are read.
        weights_only = {
            node.func
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and any(keyword.arg == "weights_only" for keyword in node.keywords)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not forbidden & {alias.name.split(".")[0] for alias in node.names}, path
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in forbidden, path
                assert not {(node.module, alias.name) for alias in node.names} & calls, path
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node not in weights_only:
                assert (node.value.id, node.attr) not in calls, path
            elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path
            elif isinstance(node, ast.keyword) and node.arg == "weights_only":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is True, path


def test_a_pickle_in_the_place_of_weights_is_not_opened(folder: Path, tmp_path: Path):
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "exploded",)

    torch.save({"embedding.weight": Bomb()}, folder / "model.safetensors")
    assert refused(folder).startswith(f"{folder / 'model.safetensors'}: ")
    assert not (tmp_path / "exploded").exists()
