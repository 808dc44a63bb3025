"""Mistakes in a recipe are named by file, line and key."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docflat.support.errors import InputError
from docflat.training.recipe import load_recipe
from recipe_files import SMALL, load, refused, with_value, write


def test_an_unknown_key_far_from_all_lists_them(tmp_path: Path):
    message = refused(tmp_path, with_value("model.zzz", 1))
    known = "dim, heads, feed_forward, encoder_layers, decoder_layers, architecture"
    assert message == f"model.zzz: unknown key; known keys: {known}"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("seed", "one", "a whole number, found 'one'"),
        ("seed", 1.5, "a whole number, found 1.5"),
        ("seed", True, "a whole number, found True"),
        ("compile", "yes please", "true or false, found 'yes please'"),
        ("compile", 1, "true or false, found 1"),
        ("data", 3, "text, found 3"),
        ("out", None, "text, found nothing"),
        ("precision", "fp23", "one of fp32, bf16, fp16, found 'fp23'"),
        ("device", "gpu", "one of auto, cpu, cuda, found 'gpu'"),
        ("model", [], "keys and values, found []"),
        ("model.dim", "512px", "a whole number, found '512px'"),
        ("stages", "sent2sent", "a list, found 'sent2sent'"),
        ("stages[0]", "sent2sent", "keys and values, found 'sent2sent'"),
        ("stages[0].system", 2, "text, found 2"),
        ("stages[0].learning_rate", "fast", "a number, found 'fast'"),
        ("stages[0].learning_rate", float("nan"), "a number, found nan"),
        ("stages[0].betas", 0.9, "a list, found 0.9"),
        ("stages[0].betas", [0.9, 0.98, 0.99], "a list of 2, found [0.9, 0.98, 0.99]"),
        ("stages[0].start", 1, "text, found 1"),
        ("stages[1].options", "gate", "keys and values, found 'gate'"),
        ("stages[1].options.gamma", "half", "a number, found 'half'"),
        ("stages[1].options.gate", "shut", None),
        ("stages[1].options.encoder", 0, "true or false, found 0"),
        ("stages[1].options.scope", "none", "one of current, all, found 'none'"),
        ("stages[1].rows", 3, "keys and values, found 3"),
        ("stages[1].rows.context", "3", "a whole number, found '3'"),
        ("stages[1].rows.local_context", "silver", "one of gold, irrelevant, found 'silver'"),
    ],
)
def test_an_ill_typed_value_names_key_expected_and_found(tmp_path: Path, key: str, value: Any, expected: str | None):
    message = refused(tmp_path, with_value(key, value))
    assert message.startswith(f"{key}: ")
    if expected is not None:
        assert message.startswith(f"{key}: expected {expected}")


def test_a_wrong_element_is_named(tmp_path: Path):
    assert refused(tmp_path, with_value("stages[0].betas", [0.9, "x"])).startswith(
        "stages[0].betas[1]: expected a number"
    )


@pytest.mark.parametrize("key", ["data", "stages"])
def test_a_missing_key_is_named(tmp_path: Path, key: str):
    mapping = {name: value for name, value in SMALL.items() if name != key}
    assert refused(tmp_path, mapping) == f"{key}: missing, and it has no default"


def test_a_stage_without_a_system(tmp_path: Path):
    mapping = {**SMALL, "stages": [{"system": "sent2sent"}, {"max_steps": 3}]}
    assert refused(tmp_path, mapping) == "stages[1].system: missing, and it has no default"


def test_an_unknown_system_lists_those_there_are(tmp_path: Path):
    message = refused(tmp_path, with_value("stages[1].system", "docflat"))
    assert message.startswith("stages[1].system: ")
    assert "'docflat'" in message
    for name in ("sent2sent", "doc2doc", "docflat-c", "docflat-d", "docflat-i"):
        assert name in message


@pytest.mark.parametrize("system", ["sent2sent", "doc2doc"])
def test_options_of_another_system(tmp_path: Path, system: str):
    stage = {"system": system, "options": {"gate": "continuous"}}
    message = refused(tmp_path, {**SMALL, "stages": [stage]})
    assert message.startswith("stages[0].options.gate: unknown key")


@pytest.mark.parametrize(
    ("system", "gate", "means"),
    [
        ("docflat-c", "discrete", "continuous"),
        ("docflat-c", "identity", "continuous"),
        ("docflat-d", "continuous", "discrete"),
        ("docflat-i", "discrete", "identity"),
    ],
)
def test_options_that_contradict_the_name(tmp_path: Path, system: str, gate: str, means: str):
    stage = {"system": system, "options": {"gate": gate}}
    message = refused(tmp_path, {**SMALL, "stages": [{"system": "sent2sent"}, stage]})
    assert message == f"stages[1].options.gate: {system} means gate: {means}"
    stage["options"] = {"gate": means}
    assert load(tmp_path, stages=[stage]).stages[0].options == {"gate": means}


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("seed", [-1]),
        ("log_every", [0, -1]),
        ("stages", [[]]),
        ("model.dim", [0, 8, 510]),  # with 8 heads: a multiple of 16
        ("model.heads", [0, -8]),
        ("model.feed_forward", [0]),
        ("model.encoder_layers", [0]),
        ("model.decoder_layers", [-1]),
        ("stages[1].batch_tokens", [0, 511]),  # a row may have 512
        ("stages[1].accumulate", [0]),
        ("stages[1].learning_rate", [0, -1e-4]),
        ("stages[1].warmup_steps", [0]),
        ("stages[1].betas", [[1.0, 0.98], [0.9, 1.0], [-0.1, 0.98], [0.9, 98]]),
        ("stages[1].sampling", [{"a": -1}, {"a": 1, "b": "inf"}]),
        ("stages[1].clip", [-0.5]),
        ("stages[1].dropout", [1, 1.5, -0.1]),
        ("stages[1].word_dropout", [1, -0.1]),
        ("stages[1].label_smoothing", [1, -0.1]),
        ("stages[1].max_steps", [0]),
        ("stages[1].max_epochs", [-1]),
        ("stages[1].max_minutes", [-1]),
        ("stages[1].patience", [-1]),
        ("stages[1].average", [0]),
        ("stages[1].validate_every", [0]),
        ("stages[1].validation_sample", [-1]),
        ("stages[1].rows.context", [-1]),
        ("stages[1].rows.window", [-1]),
        ("stages[1].rows.max_tokens", [7, 0]),
        ("stages[1].rows.context_free", [-0.1, 1.1]),
        ("stages[1].rows.index_shift", [-0.1, 1.1]),
        ("stages[1].rows.global_context", ["irrelevant"]),  # the document mask would hide all others
        ("stages[1].options.gamma", [0, 1, 2]),
    ],
)
def test_values_out_of_range(tmp_path: Path, key: str, values: list[Any]):
    for value in values:
        assert refused(tmp_path, with_value(key, value)).startswith(f"{key}: "), value


def test_flat_attention_off_on_both_sides_is_another_system(tmp_path: Path):
    message = refused(tmp_path, with_value("stages[1].options", {"encoder": False, "decoder": False}))
    assert message.startswith("stages[1].options.encoder: ")
    assert "doc2doc" in message


def test_only_the_first_stage_has_a_start(tmp_path: Path):
    assert refused(tmp_path, with_value("stages[1].start", "folder")).startswith("stages: ")
    assert load_recipe(write(tmp_path, with_value("stages[0].start", "folder"))).stages[0].start == Path("folder")


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("seed", [0]),
        ("model.dim", [16]),
        ("stages[1].batch_tokens", [512]),
        ("stages[1].betas", [[0.0, 0.999]]),
        ("stages[1].dropout", [0, 0.99]),
        ("stages[1].rows.context", [0]),
        ("stages[1].rows.context_free", [0, 1]),
        ("stages[1].learning_rate", ["5e-4", 1]),  # YAML 1.1 has 5e-4 as text
        ("stages[1].options.gamma", [0.01, 0.99]),
    ],
)
def test_values_at_the_edge_of_their_range(tmp_path: Path, key: str, values: list[Any]):
    for value in values:
        load_recipe(write(tmp_path, with_value(key, value)))


def test_the_line_of_the_mistake(tmp_path: Path):
    text = (
        "data: a\nout: b\n\nstages:\n  - system: sent2sent\n  # a comment\n  - system: docflat-c\n    max_steps: many\n"
    )
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}:8: stages\[1\]\.max_steps: "):
        load_recipe(path)


def test_a_key_given_twice(tmp_path: Path):
    assert refused(tmp_path, "data: a\nout: b\ndata: c\nstages: [{system: sent2sent}]\n").startswith(
        "data: given twice"
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a list\n", "text", "a: [1\n", "a: b: c\n", "\tx: 1\n"])
def test_no_recipe_at_all(tmp_path: Path, text: str):
    refused(tmp_path, text)


def test_no_file(tmp_path: Path):
    with pytest.raises(InputError, match=rf"^{re.escape(str(tmp_path / 'none.yaml'))}: "):
        load_recipe(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("override", "value_of", "expected"),
    [
        ("seed=3", lambda recipe: recipe.seed, 3),
        ("compile=true", lambda recipe: recipe.compile, True),
        ("data=/some/where", lambda recipe: recipe.data, Path("/some/where")),
        ("out=1", lambda recipe: recipe.out, Path("1")),
        ("data=2024-02-03", lambda recipe: recipe.data, Path("2024-02-03")),
        ("out=a=b", lambda recipe: recipe.out, Path("a=b")),
        ("model.dim=64", lambda recipe: recipe.model.dim, 64),
        ("stages.1.max_steps=7", lambda recipe: recipe.stages[1].max_steps, 7),
        ("stages.1.system=doc2doc", lambda recipe: recipe.stages[1].system, "doc2doc"),
        ("stages.1.rows.context=1", lambda recipe: recipe.stages[1].rows.context, 1),
        ("stages.0.learning_rate=5e-4", lambda recipe: recipe.stages[0].learning_rate, 5e-4),
        ("stages.0.betas=[0.8, 0.9]", lambda recipe: recipe.stages[0].betas, (0.8, 0.9)),
        ("stages.1.options.gamma=0.25", lambda recipe: recipe.stages[1].options, {"gamma": 0.25}),
        ("stages.1.options={scope: all}", lambda recipe: recipe.stages[1].options, {"scope": "all"}),
        ("stages.0={system: doc2doc}", lambda recipe: recipe.stages[0].system, "doc2doc"),
        ("stages=[{system: doc2doc}]", lambda recipe: [stage.system for stage in recipe.stages], ["doc2doc"]),
        ("stages.0.start=folder", lambda recipe: recipe.stages[0].start, Path("folder")),
        ("stages.0.start=null", lambda recipe: recipe.stages[0].start, None),
    ],
)
def test_an_override(tmp_path: Path, override: str, value_of: Any, expected: Any):
    assert value_of(load(tmp_path, override)) == expected


def test_the_last_override_wins(tmp_path: Path):
    assert load(tmp_path, "seed=2", "seed=3").seed == 3


def test_an_override_supplies_what_the_file_lacks(tmp_path: Path):
    path = write(tmp_path, "out: x\nstages: [{max_steps: 4}]\n")
    recipe = load_recipe(path, ["data=d", "stages.0.system=sent2sent"])
    assert (recipe.data, recipe.stages[0].system) == (Path("d"), "sent2sent")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("seed", "'seed': an override is key=value"),
        ("=3", "'=3': an override is key=value"),
        ("stages.5.max_steps=1", "'stages.5.max_steps=1': there is no stages.5"),
        ("stages.2.max_steps=1", "'stages.2.max_steps=1': there is no stages.2"),
        ("stages.-1.max_steps=1", "'stages.-1.max_steps=1': there is no stages.-1"),
        ("stages.last.max_steps=1", "'stages.last.max_steps=1': there is no stages.last"),
        ("stages.².max_steps=1", "'stages.².max_steps=1': there is no stages.²"),
        ("out.x=1", "'out.x=1': out has no keys"),
        ("stages.0.system.x=1", "'stages.0.system.x=1': stages.0.system has no keys"),
        ("seed=[", "'seed=[': the value is not YAML"),
        ("seed={a: b: c}", "'seed={a: b: c}': the value is not YAML"),
        ("seed=2023-02-31", "'seed=2023-02-31': the value is not YAML"),
        ("seed=", "seed: expected a whole number, found nothing"),
        ("seed=one", "seed: expected a whole number, found 'one'"),
        ("sead=3", "sead: unknown key; did you mean 'seed'?"),
        ("model.dims=3", "model.dims: unknown key; did you mean 'dim'?"),
        ("stages.0.max_stepz=3", "stages[0].max_stepz: unknown key; did you mean 'max_steps'?"),
        ("stages.1.options.gama=3", "stages[1].options.gama: unknown key; did you mean 'gamma'?"),
        ("stages.0.max_steps=0", "stages[0].max_steps: must be at least 1"),
        ("stages.1.options.gate=discrete", "stages[1].options.gate: docflat-c means gate: continuous"),
        ("stages.1.system=docflat", "stages[1].system: unknown system 'docflat'"),
    ],
)
def test_a_wrong_override(tmp_path: Path, override: str, expected: str):
    assert refused(tmp_path, SMALL, override).startswith(expected)


def test_an_override_stands_in_no_line(tmp_path: Path):
    path = write(tmp_path, "data: a\nout: b\nseed: 1\nstages: [{system: sent2sent}]\n")
    with pytest.raises(InputError) as caught:
        load_recipe(path, ["seed=one"])
    assert str(caught.value) == f"{path}: seed: expected a whole number, found 'one'"


def test_no_torch_for_reading_a_wrong_recipe(tmp_path: Path):
    """A typing mistake is reported before torch is imported, which takes seconds."""

    script = (
        "import sys\nfrom pathlib import Path\nfrom docflat.support.errors import InputError\n"
        "from docflat.training.recipe import load_recipe\n"
        "try: load_recipe(Path(sys.argv[1]))\n"
        "except InputError: print('torch' in sys.modules)\n"
    )
    path = write(tmp_path, with_value("sead", 1))
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_an_override_of_one_stage_leaves_the_other(tmp_path: Path):
    stages = "[{system: doc2doc, rows: &rows {context: 3}}, {system: doc2doc, rows: *rows}]"
    path = write(tmp_path, f"data: d\nout: x\nstages: {stages}\n")
    recipe = load_recipe(path, ["stages.1.rows.context=1"])
    assert [stage.rows.context for stage in recipe.stages] == [3, 1]
