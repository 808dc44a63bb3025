"""Recipes: every mistake is one line that names the key, and the nearest right one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from docflat.data.row_settings import RowSettings
from docflat.model.sizes import Architecture, ModelSizes
from docflat.reproduce.grid import CONTROL
from docflat.support.errors import InputError
from docflat.support.strict_yaml import from_mapping, to_mapping
from docflat.systems import find_system
from docflat.training.recipe import Recipe, Stage, load_recipe
from docflat.training.recipe_names import RECIPES, find_recipe, recipe_names
from recipe_files import load, refused, with_value, write

SHIP = Path(__file__).parents[3] / "recipes" / "ship"


PAPER = [
    *("sent2sent", "doc2doc", "doctransformer", "han", "selective", "hybrid", "flattrans", "gtrans", "mbe", "abd"),
    *("docflat-c", "docflat-d", "docflat-i"),
]
DATASETS = ("ted", "news", "europarl")


def test_recipes_are_read_and_refused_without_torch(tmp_path: Path) -> None:
    """A mistake is told in a tenth of a second; numpy and torch take one."""
    wrong = write(tmp_path, with_value("stages[1].options.gama", 1))
    code = (
        "import sys\nfrom docflat.support.errors import InputError\nfrom docflat.training.recipe import load_recipe\n"
    )
    code += f"load_recipe([__import__('pathlib').Path({str(RECIPES / 'quickstart.yaml')!r})])\n"
    code += (
        f"try: load_recipe([__import__('pathlib').Path({str(wrong)!r})])\nexcept InputError as error: print(error)\n"
    )
    code += "sys.exit('torch' in sys.modules)"
    read = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")
    assert "stages[1].options.gama" in read.stdout


def test_the_quick_start_loads():
    recipe = load_recipe(RECIPES / "quickstart.yaml")
    assert [stage.system for stage in recipe.stages] == ["sent2sent", "docflat-c"]


def test_the_recipe_of_what_is_shipped_loads():
    recipe = load_recipe(SHIP / "en-de.yaml")
    assert [stage.system for stage in recipe.stages] == ["sent2sent", *["docflat-c"] * 5]
    assert all(stage.rows.context_free > 0 for stage in recipe.stages[1:])  # one checkpoint does both passes
    assert all(stage.sampling for stage in recipe.stages)


@pytest.mark.parametrize("data", DATASETS)
@pytest.mark.parametrize("system", PAPER)
def test_every_system_has_a_recipe_for_every_dataset(system: str, data: str):
    recipe = load_recipe([RECIPES / f"{data}.yaml", RECIPES / "systems" / f"{system}.yaml"])
    assert recipe.stages[-1].system == system
    assert (recipe.data, recipe.out) == (Path("prepared") / data, Path("runs") / data / system)
    # Everyone starts from the one sentence model, but for that model itself.
    start = None if system == "sent2sent" else Path("runs") / data / "sent2sent" / "model"
    assert recipe.stages[0].start == start


@pytest.mark.parametrize("data", DATASETS)
@pytest.mark.parametrize("system", PAPER)
def test_the_recipes_have_the_papers_settings(system: str, data: str):
    """As methods.md has them: of all systems, then of one."""
    recipe = load_recipe([RECIPES / f"{data}.yaml", RECIPES / "systems" / f"{system}.yaml"])
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
    others = {"base", "quickstart", "finetune", "from-imported"}
    assert {path.stem for path in RECIPES.glob("*.yaml")} == {*others, *DATASETS}
    assert {path.stem for path in (RECIPES / "systems").glob("*.yaml")} == {*PAPER, CONTROL}
    assert {path.stem for path in SHIP.glob("*.yaml")} == {"en-de"}


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


def test_recipes_are_found_by_name_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {find_recipe(name) for name in recipe_names()} == set(RECIPES.rglob("*.yaml"))
    assert find_recipe("recipes/systems/abd.yaml") == find_recipe("systems/abd") == RECIPES / "systems" / "abd.yaml"
    with pytest.raises(InputError, match="did you mean 'quickstart'"):
        find_recipe("quikstart")


def test_a_file_comes_before_the_recipe_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()  # as of an earlier run
    assert find_recipe("quickstart") == RECIPES / "quickstart.yaml"
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "quickstart.yaml").write_text("seed: 3")
    assert find_recipe("recipes/quickstart.yaml") == Path("recipes/quickstart.yaml")


def test_a_copy_lies_over_what_the_original_does(tmp_path: Path) -> None:
    copy = tmp_path / "mine.yaml"
    copy.write_text((RECIPES / "europarl.yaml").read_text())
    copied, original = (
        load_recipe([path, RECIPES / "systems" / "docflat-c.yaml"]) for path in (copy, find_recipe("europarl"))
    )
    assert copied == original
