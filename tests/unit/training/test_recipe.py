"""Recipes: every mistake is one line that names the key, and the nearest right one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from docflat.data.row_settings import RowSettings
from docflat.model.sizes import Architecture, ModelSizes
from docflat.reproduce.grid import CONTROL
from docflat.support.errors import InputError
from docflat.support.strict_yaml import from_mapping, to_mapping
from docflat.systems import SYSTEMS, find_system
from docflat.training.recipe import Recipe, Stage, load_recipe

FOLDER = Path(__file__).parents[3] / "recipes"
DATASETS = ("ted", "news", "europarl")
SMALL = {"data": "prepared", "out": "runs/x", "stages": [{"system": "sent2sent"}, {"system": "docflat-c"}]}


def write(folder: Path, content: Any) -> Path:
    path = folder / "recipe.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def load(folder: Path, *overrides: str, **changes: Any) -> Recipe:
    return load_recipe(write(folder, {**SMALL, **changes}), overrides)


def refused(folder: Path, content: Any, *overrides: str) -> str:
    """The message without the file, which comes first, and the line."""
    path = write(folder, content)
    with pytest.raises(InputError) as caught:
        load_recipe(path, overrides)
    assert "\n" not in str(caught.value)
    return re.sub(rf"^{re.escape(str(path))}(:\d+)?: ", "", str(caught.value))


def with_value(key: str, value: Any) -> dict[str, Any]:
    """SMALL with one more setting: `stages[1].rows.context`."""
    mapping = json.loads(json.dumps(SMALL))
    *before, last = re.sub(r"\[(\d)\]", r".\1", key).split(".")
    here: Any = mapping
    for name in before:
        here = here[int(name)] if isinstance(here, list) else here.setdefault(name, {})
    here[int(last) if isinstance(here, list) else last] = value
    return mapping


def test_recipes_are_read_and_refused_without_torch(tmp_path: Path) -> None:
    """A mistake is told in a tenth of a second; numpy and torch take one."""
    wrong = write(tmp_path, with_value("stages[1].options.gama", 1))
    code = (
        "import sys\nfrom docflat.support.errors import InputError\nfrom docflat.training.recipe import load_recipe\n"
    )
    code += f"load_recipe([__import__('pathlib').Path({str(FOLDER / 'quickstart.yaml')!r})])\n"
    code += (
        f"try: load_recipe([__import__('pathlib').Path({str(wrong)!r})])\nexcept InputError as error: print(error)\n"
    )
    code += "sys.exit('torch' in sys.modules)"
    read = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")
    assert "stages[1].options.gama" in read.stdout


def test_the_quick_start_loads():
    recipe = load_recipe(FOLDER / "quickstart.yaml")
    assert [stage.system for stage in recipe.stages] == ["sent2sent", "docflat-c"]


def test_the_recipe_of_what_is_shipped_loads():
    recipe = load_recipe(FOLDER / "ship" / "en-de.yaml")
    assert [stage.system for stage in recipe.stages] == ["sent2sent", *["docflat-c"] * 5]
    assert all(stage.rows.context_free > 0 for stage in recipe.stages[1:])  # one checkpoint does both passes
    assert all(stage.sampling for stage in recipe.stages)


@pytest.mark.parametrize("data", DATASETS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_has_a_recipe_for_every_dataset(system: str, data: str):
    recipe = load_recipe([FOLDER / f"{data}.yaml", FOLDER / "systems" / f"{system}.yaml"])
    assert recipe.stages[-1].system == system
    assert (recipe.data, recipe.out) == (Path("prepared") / data, Path("runs") / data / system)
    # Everyone starts from the one sentence model, but for that model itself.
    start = None if system == "sent2sent" else Path("runs") / data / "sent2sent" / "model"
    assert recipe.stages[0].start == start


@pytest.mark.parametrize("data", DATASETS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_recipes_have_the_papers_settings(system: str, data: str):
    """As methods.md has them: of all systems, then of one."""
    recipe = load_recipe([FOLDER / f"{data}.yaml", FOLDER / "systems" / f"{system}.yaml"])
    assert recipe.model == ModelSizes(512, 8, 2048, 6, 6)
    first = system == "sent2sent"
    for stage in recipe.stages:
        # gtrans: the original's, of which it takes a fifth for what the sentence model has.
        rate = 5e-4 if first or system == "gtrans" else 2e-4
        assert (stage.learning_rate, stage.warmup_steps, stage.betas) == (rate, 4000, (0.9, 0.98))
        assert stage.batch_tokens * stage.accumulate == 8 * 4096
        assert stage.dropout == (0.1 if data == "europarl" else 0.3)  # its recipe says why
        assert (stage.word_dropout, stage.label_smoothing) == (0.0 if first else 0.1, 0.1)
        assert (stage.patience, stage.average) == (10, 5)
        rows = find_system(system).rows_of(stage.rows)
        assert rows.context == {"sent2sent": 0, "selective": 0, "doctransformer": 2}.get(system, 3)
        assert rows.mixed == (0.5 if system == "mbe" else 0.0)
        rate = find_system(system).sentence_rate if stage.sentence_rate is None else stage.sentence_rate
        assert rate == {"doctransformer": 0.0, "gtrans": 0.2}.get(system, 1.0)
    if system == "han":  # first the encoder, then both sides
        assert [stage.options for stage in recipe.stages] == [{"decoder": False}, {}]
    else:
        assert len(recipe.stages) == 1


def test_there_is_no_other_recipe():
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {"base", "quickstart", "finetune", *DATASETS}
    assert {path.stem for path in (FOLDER / "systems").glob("*.yaml")} == {*SYSTEMS, CONTROL}
    assert {path.stem for path in (FOLDER / "ship").glob("*.yaml")} == {"en-de"}


def layers(folder: Path, **files: str) -> list[Path]:
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def test_layers_lie_over_each_other_key_by_key_and_stage_by_stage(tmp_path: Path):
    paths = layers(
        tmp_path,
        base="data: d\nmodel: {dim: 64, heads: 4}\nstages: [{system: sent2sent, dropout: 0.2}, {system: doc2doc}]",
        middle="extends: base.yaml\nmodel: {dim: 32}\nstages: [{dropout: 0.3}, {rows: {context: 1}}]",
        top="seed: 7\nstages: [{}, {system: gtrans}, {system: han}]",
    )
    recipe = load_recipe(paths[1:], ["stages.1.rows.max_tokens=64"])
    assert recipe == Recipe(
        Path("d"),
        Path("runs/d/han"),
        (
            Stage("sent2sent", dropout=0.3),
            Stage("gtrans", rows=RowSettings(context=1, max_tokens=64)),
            Stage("han"),
        ),
        ModelSizes(32, 4),
        seed=7,
    )


def test_what_is_said_of_every_stage_is_the_same_for_all_but_what_one_says_itself(tmp_path: Path):
    paths = layers(
        tmp_path,
        one="data: d\nout: o\nevery_stage: {dropout: 0.3, rows: {max_tokens: 99}}\n"
        "stages: [{system: sent2sent, dropout: 0.1}, {system: doc2doc, rows: {context: 1}}]",
    )
    first, second = load_recipe(paths).stages
    assert first == Stage("sent2sent", dropout=0.1, rows=RowSettings(max_tokens=99))
    assert second == Stage("doc2doc", dropout=0.3, rows=RowSettings(context=1, max_tokens=99))


@pytest.mark.parametrize(
    ("overrides", "dropouts"),
    [
        (["every_stage.dropout=0.4"], (0.4, 0.4)),  # also over the 0.1 that the first stage names itself
        (["every_stage.dropout=0.4", "stages.1.dropout=0.2"], (0.4, 0.2)),
        (["stages.1.dropout=0.2", "every_stage.dropout=0.4"], (0.4, 0.4)),  # the later one wins
        (["stages.1.dropout=0.2"], (0.1, 0.2)),
        (["stages=[{system: sent2sent}, {system: doc2doc}]"], (0.3, 0.3)),
    ],
)
def test_an_override_wins_over_every_file(tmp_path: Path, overrides: list[str], dropouts: tuple[float, float]):
    one = "data: d\nevery_stage: {dropout: 0.3}\nstages: [{system: sent2sent, dropout: 0.1}, {system: doc2doc}]"
    recipe = load_recipe(layers(tmp_path, one=one), overrides)
    assert tuple(stage.dropout for stage in recipe.stages) == dropouts


def test_an_override_of_every_stage_reaches_into_its_settings(tmp_path: Path):
    one = "data: d\nstages: [{system: doc2doc, rows: {context: 1}}, {system: docflat-c}]"
    recipe = load_recipe(layers(tmp_path, one=one), ["every_stage.rows.context=2"])
    assert [stage.rows.context for stage in recipe.stages] == [2, 2]


@pytest.mark.parametrize(
    ("base", "top", "message"),
    [
        ("data: d\nseed: x", "stages: []", "base.yaml:2: seed: expected a whole number, found 'x'"),
        ("data: d\nevery_stage:\n  droput: 1", "stages: [{system: han}]", "base.yaml:3: stages[0].droput: unknown key"),
        ("data: d\nevery_stage: 3", "stages: [{system: han}]", "base.yaml:2: every_stage: expected keys and values"),
        ("extends: base.yaml", "stages: []", "base.yaml: extends itself"),
        ("extends: [a]", "stages: []", "base.yaml:1: extends: expected a file"),
        ("extends: none.yaml", "stages: []", "none.yaml: cannot be read"),
    ],
)
def test_a_mistake_is_named_where_it_stands(tmp_path: Path, base: str, top: str, message: str):
    with pytest.raises(InputError) as caught:
        load_recipe(layers(tmp_path, base=base, top=top))
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_what_is_not_said_has_its_default(tmp_path: Path):
    recipe = load(tmp_path)
    assert recipe == Recipe(Path("prepared"), Path("runs/x"), (Stage("sent2sent"), Stage("docflat-c")))
    # Transformer-base (Vaswani et al., 2017, table 3) and the defaults.
    assert recipe.model == ModelSizes(512, 8, 2048, 6, 6)
    assert recipe.precision == "fp32"
    assert recipe.stages[0].average == 5
    assert find_system("docflat-c").rows_of(recipe.stages[1].rows).context == 3


FULL = Recipe(
    Path("a"),
    Path("b/c"),
    (
        Stage(
            "docflat-d",
            {"gamma": 0.25, "encoder": False, "gate_bias": None},
            RowSettings(2, False, "irrelevant", "irrelevant", False, 0, 0.0, 99, 0.5, 0.25),
            Path("start"),
            {"web/*": 2.5, "a": 0.0},
            batch_tokens=100,
            accumulate=3,
            learning_rate=1e-5,
            sentence_rate=0.5,
            warmup_steps=7,
            cooldown_steps=5,
            betas=(0.8, 0.9),
            clip=1.5,
            dropout=0.2,
            word_dropout=0.3,
            label_smoothing=0.4,
            max_steps=11,
            max_epochs=12,
            max_minutes=1.5,
            patience=0,
            average=2,
            validate_every=13,
            validation_sample=0,
        ),
        Stage("doc2doc", rows=RowSettings(window=4)),
    ),
    ModelSizes(8, 2, 10, 1, 2, Architecture(activation="swish")),
    seed=0,
    precision="fp16",
    compile=True,
    device="cuda",
    log_every=3,
    tensorboard=False,
)


def test_full_sets_everything():
    """So that the round trips below leave no field out."""
    plain = Recipe(Path("x"), Path("y"), (Stage("sent2sent"),))
    for a, b in ((FULL, plain), (FULL.stages[0], plain.stages[0]), (FULL.model, plain.model)):
        same = [field.name for field in fields(a) if getattr(a, field.name) == getattr(b, field.name)]
        assert same == []


@pytest.mark.parametrize("recipe", [FULL, Recipe(Path("x"), Path("y"), (Stage("sent2sent"),))])
def test_round_trip(tmp_path: Path, recipe: Recipe):
    mapping = to_mapping(recipe)
    assert from_mapping(Recipe, mapping) == recipe
    assert from_mapping(Recipe, json.loads(json.dumps(mapping))) == recipe
    assert load_recipe(write(tmp_path, mapping)) == recipe
    assert to_mapping(load_recipe(write(tmp_path, mapping))) == mapping


def test_anchors_and_merges(tmp_path: Path):
    text = """
data: prepared
out: runs/x
stages:
  - &first {system: doc2doc, max_steps: 7, rows: {context: 2}}
  - {<<: *first, system: docflat-c}
"""
    recipe = load_recipe(write(tmp_path, text))
    assert [stage.system for stage in recipe.stages] == ["doc2doc", "docflat-c"]
    assert recipe.stages[1] == replace(recipe.stages[0], system="docflat-c")


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("sead", "seed"),
        ("precison", "precision"),
        ("stage", "stages"),
        ("model.dims", "dim"),
        ("model.feedforward", "feed_forward"),
        ("stages[0].learning_rat", "learning_rate"),
        ("stages[1].max_step", "max_steps"),
        ("stages[1].rows.contxt", "context"),
        ("stages[1].rows.document-mask", "document_mask"),
        ("stages[1].options.gama", "gamma"),
        ("stages[1].options.enconder", "encoder"),
    ],
)
def test_an_unknown_key_and_the_nearest_right_one(tmp_path: Path, key: str, nearest: str):
    assert refused(tmp_path, with_value(key, 1)) == f"{key}: unknown key; did you mean {nearest!r}?"


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
    import subprocess
    import sys

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
