from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from docflat.support.errors import InputError
from docflat.support.strict_yaml import from_mapping, nearest, read_yaml, to_mapping


def load_yaml(path: Path, cls: Any) -> Any:
    """As recipes are read."""
    mapping, lines = read_yaml(path)
    return from_mapping(cls, mapping, path, lines=lines)


@dataclass(frozen=True)
class Rows:
    context: int = 3
    kind: Literal["gold", "irrelevant"] = "gold"
    level: Literal[1, 2] = 1


@dataclass(frozen=True)
class Stage:
    system: str
    learning_rate: float = 5e-4
    max_steps: int = 100
    rows: Rows = Rows()
    start: Path | None = None
    betas: tuple[float, float] = (0.9, 0.98)

    def __post_init__(self) -> None:
        if self.max_steps < 1:
            raise ValueError("max_steps: must be at least 1")
        if self.learning_rate <= 0:
            raise ValueError("this cannot learn")


@dataclass(frozen=True)
class Recipe:
    out: Path
    stages: tuple[Stage, ...] = ()
    compile: bool = False
    names: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


FULL = {
    "out": "runs/x",
    "stages": [{"system": "a", "learning_rate": 1, "rows": {"context": 0, "kind": "irrelevant"}, "betas": [0, 0.5]}],
    "compile": True,
    "names": ["x", "y"],
    "options": {"deep": {"er": [1, None]}},
}


def message(mapping: object, **place: Any) -> str:
    with pytest.raises(InputError) as caught:
        from_mapping(Recipe, mapping, **place)
    return str(caught.value)


def stage_message(**values: Any) -> str:
    return message({"out": "x", "stages": [{"system": "a", **values}]})


def test_every_type_becomes_what_the_dataclass_says():
    recipe = from_mapping(Recipe, FULL)
    stage = Stage("a", 1.0, rows=Rows(0, "irrelevant"), betas=(0.0, 0.5))
    assert recipe == Recipe(Path("runs/x"), (stage,), True, ["x", "y"], {"deep": {"er": [1, None]}})
    assert type(recipe.stages[0].learning_rate) is float


def test_to_mapping_is_the_inverse_and_json():
    recipe = from_mapping(Recipe, FULL)
    assert from_mapping(Recipe, json.loads(json.dumps(to_mapping(recipe)))) == recipe
    assert from_mapping(Recipe, yaml.safe_load(yaml.safe_dump(to_mapping(recipe)))) == recipe


@given(st.floats(allow_nan=False, min_value=1e-300), st.integers(min_value=1), st.text())
def test_numbers_and_text_survive_exactly(rate: float, steps: int, system: str):
    stage = Stage(system, rate, steps)
    assert from_mapping(Stage, to_mapping(stage)) == stage


def test_unknown_key_names_its_path_and_the_nearest_key():
    text = message({"out": "x", "stages": [{"system": "a", "learning_rat": 1}]}, file="recipe.yaml")
    assert text == "recipe.yaml: stages[0].learning_rat: unknown key; did you mean 'learning_rate'?"


def test_unknown_key_far_from_all_lists_them():
    assert stage_message(rows={"zzz": 1}) == "stages[0].rows.zzz: unknown key; known keys: context, kind, level"


def test_where_starts_the_path():
    with pytest.raises(InputError, match=r"^x\.json: stages\[1\]\.rows\.contxt: .*'context'"):
        from_mapping(Rows, {"contxt": 1}, file="x.json", where="stages[1].rows")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"max_steps": "ten"}, "stages[0].max_steps: expected a whole number, found 'ten'"),
        ({"max_steps": True}, "stages[0].max_steps: expected a whole number, found True"),
        ({"max_steps": 1.5}, "stages[0].max_steps: expected a whole number, found 1.5"),
        ({"max_steps": None}, "stages[0].max_steps: expected a whole number, found nothing"),
        ({"learning_rate": "fast"}, "stages[0].learning_rate: expected a number, found 'fast'"),
        ({"learning_rate": False}, "stages[0].learning_rate: expected a number, found False"),
        ({"learning_rate": float("nan")}, "stages[0].learning_rate: expected a number, found nan"),
        ({"learning_rate": [1]}, "stages[0].learning_rate: expected a number, found [1]"),
        ({"system": 3}, "stages[0].system: expected text, found 3"),
        ({"start": 3}, "stages[0].start: expected text, found 3"),
        ({"betas": [0.9]}, "stages[0].betas: expected a list of 2, found [0.9]"),
        ({"betas": [0.9, "x"]}, "stages[0].betas[1]: expected a number, found 'x'"),
        ({"betas": 0.9}, "stages[0].betas: expected a list, found 0.9"),
        ({"rows": 3}, "stages[0].rows: expected keys and values, found 3"),
        ({"rows": {"level": True}}, "stages[0].rows.level: expected one of 1, 2, found True"),
        (
            {"rows": {"kind": "irelevant"}},
            "stages[0].rows.kind: expected one of gold, irrelevant, found 'irelevant'; did you mean 'irrelevant'?",
        ),
        ({"max_steps": 0}, "stages[0].max_steps: must be at least 1"),
        ({"learning_rate": 0}, "stages[0]: this cannot learn"),
    ],
)
def test_wrong_value_names_key_expected_and_found(values: dict[str, Any], expected: str):
    assert stage_message(**values) == expected


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ([], "expected keys and values, found []"),
        ({}, "out: missing, and it has no default"),
        ({"out": "x", "stages": [{}]}, "stages[0].system: missing, and it has no default"),
        ({"out": "x", "compile": "yes"}, "compile: expected true or false, found 'yes'"),
        ({"out": "x", "options": [1]}, "options: expected keys and values, found [1]"),
        ({"out": "x", 3: 4}, "3: unknown key; known keys: out, stages, compile, names, options"),
    ],
)
def test_wrong_mapping(mapping: object, expected: str):
    assert message(mapping) == expected


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def yaml_message(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        load_yaml(write(tmp_path, text), Recipe)
    return str(caught.value).removeprefix(f"{tmp_path}/recipe.yaml")


def test_yaml_with_what_pyyaml_reads_oddly(tmp_path: Path):
    path = write(tmp_path, "\ufeffout: x  # a BOM\nstages:\n- {system: a, learning_rate: 5e-4}\ncompile: on\n")
    assert load_yaml(path, Recipe) == Recipe(Path("x"), (Stage("a", 5e-4),), True)


def test_yaml_anchors_and_merges(tmp_path: Path):
    text = "out: x\nstages:\n- &one {system: a, max_steps: 7}\n- {<<: *one, system: b}\n- *one\n"
    stages = load_yaml(write(tmp_path, text), Recipe).stages
    assert stages == (Stage("a", max_steps=7), Stage("b", max_steps=7), Stage("a", max_steps=7))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out: x\nstages:\n- system: a\n  rows:\n    contxt: 1\n", ":5: stages[0].rows.contxt: unknown key;"),
        ("out: x\nstages:\n- system: a\n- rows: {}\n", ":4: stages[1].system: missing"),
        ("out: x\nstages:\n- system: a\n  max_steps: 0\n", ":4: stages[0].max_steps: must be"),
        ("out: x\ncompile: true\nout: y\n", ":3: out: given twice (line 1)"),
        ("out: x\nstages: [{system: a, system: a}]\n", ":2: stages[0].system: given twice (line 2)"),
        ("out: x\n  y: z\n", ":2: not YAML: mapping values are not allowed here"),
        ("out: [x\n", ":2: not YAML: expected ',' or ']'"),
        ("out: !!python/name:os.system\n", ":1: not YAML: could not determine a constructor"),
        ("out: 2023-02-31\n", ": not YAML: day is out of range"),
        ("out: x\x00\n", ": not YAML: unacceptable character"),
        (b"out: x\nnames: [\xff]\n", ":2: not UTF-8"),
        ("", ": nothing in this file"),
        ("# only a comment\n", ": nothing in this file"),
        ("- out\n", ": expected keys and values"),
        ("out: x\noptions: &loop {again: *loop}\nzzz: 1\n", ":3: zzz: unknown key"),
    ],
)
def test_yaml_errors_have_file_and_line(tmp_path: Path, text: str | bytes, expected: str):
    found = yaml_message(tmp_path, text)
    assert found.startswith(expected)
    assert "\n" not in found


def test_missing_file(tmp_path: Path):
    with pytest.raises(InputError, match=r"none\.yaml: cannot be read: No such file"):
        load_yaml(tmp_path / "none.yaml", Recipe)


def test_a_pipe_is_not_waited_for_and_a_huge_file_not_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(InputError, match=r"pipe\.yaml: is no ordinary file"):
        load_yaml(tmp_path / "pipe.yaml", Recipe)
    with open(tmp_path / "huge.yaml", "wb") as file:
        file.truncate(5 << 20)
    with pytest.raises(InputError, match=r"huge\.yaml: has 5242880 bytes; 4194304 are the most"):
        load_yaml(tmp_path / "huge.yaml", Recipe)


def test_nearest():
    assert nearest("trian", ["train", "translate"]) == "; did you mean 'train'?"
    assert nearest("zzz", ["train"], "!") == "!"
