"""Recipes: one YAML file says what to train, in which stages, on what. No torch here."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from docflat.data.row_settings import RowSettings
from docflat.model.sizes import ModelSizes
from docflat.support.errors import InputError
from docflat.support.strict_yaml import File, from_mapping, read_yaml, to_mapping
from docflat.systems import SYSTEMS, find_system
from docflat.training.recipe_names import find_recipe, recipe_names
from docflat.weights.config import read_config
from docflat.weights.shipped import model_folder


@dataclass(frozen=True)
class Stage:
    """One training run; each stage starts from the best checkpoint of the one before."""

    system: str  # a name of `docflat systems`
    options: dict[str, Any] = field(default_factory=dict)  # the system's own switches
    rows: RowSettings = field(default_factory=RowSettings)  # local context, and which rows see each other
    start: Path | None = None  # a model folder to start from instead (first stage only); en-de: the one we ship
    sampling: dict[str, float] | None = None  # by parts of the data: how often an epoch sees them; none: all once

    batch_tokens: int = 4096  # no side of a micro-batch has more tokens
    accumulate: int = 8  # micro-batches a step, over all processes together
    learning_rate: float = 5e-4  # its peak, at the end of the warm-up; then inverse square root
    sentence_rate: float | None = None  # times that for what the sentence model has; 0: frozen; none: the system's own
    warmup_steps: int = 4000
    cooldown_steps: int = 0  # before max_steps, in which the rate falls to 0 in a straight line
    betas: tuple[float, float] = (0.9, 0.98)  # of Adam
    clip: float = 0.0  # largest norm of a gradient; 0: any
    dropout: float = 0.1
    word_dropout: float = 0.0  # share of input words replaced by <mask>
    label_smoothing: float = 0.1

    max_steps: int = 100_000
    max_epochs: int = 0  # 0: no limit
    max_minutes: float = 0.0  # 0: no limit; the model is finished properly when they are over
    patience: int = 10  # validations without a better loss before it stops; 0: never
    average: int = 5  # the model is the mean of this many last checkpoints
    validate_every: int = 1000  # steps; each validation also saves a checkpoint
    validation_sample: int = 200  # sentences of the validation set to translate for BLEU; 0: none

    def __post_init__(self) -> None:
        at_least_one = (
            "batch_tokens",
            "accumulate",
            "warmup_steps",
            "max_steps",
            "average",
            "validate_every",
        )
        for name in at_least_one:
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: must be at least 1")
        for name in ("clip", "cooldown_steps", "max_epochs", "max_minutes", "patience", "validation_sample"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: must not be negative")
        for name in ("dropout", "word_dropout", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}: must be at least 0 and less than 1")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError("betas: must be at least 0 and less than 1")
        if self.sentence_rate is not None and self.sentence_rate < 0:
            raise ValueError("sentence_rate: must not be negative")
        if any(not 0 <= times < math.inf for times in (self.sampling or {}).values()):
            raise ValueError("sampling: must not be negative, nor infinite")
        if self.learning_rate <= 0:
            raise ValueError("learning_rate: must be more than 0")
        if self.rows.max_tokens > self.batch_tokens:
            raise ValueError("batch_tokens: must hold a row of rows.max_tokens")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the outcome of a training."""

    data: Path  # a folder of `docflat prepare`
    out: Path  # where checkpoints, logs and the model go; in a file it may be left out: runs/DATA/SYSTEM
    stages: tuple[Stage, ...]
    model: ModelSizes = field(default_factory=ModelSizes)  # what it does not say is as in the model it starts from
    seed: int = 1
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    compile: bool = False  # torch.compile: slower to start, faster on a GPU
    device: Literal["auto", "cpu", "cuda"] = "auto"
    log_every: int = 100  # steps between two lines of the log
    tensorboard: bool = True  # also log for TensorBoard, if it is installed

    def __post_init__(self) -> None:
        if not self.stages:
            raise ValueError("stages: there must be at least one")
        if any(stage.start for stage in self.stages[1:]):
            raise ValueError("stages: only the first can have a start; the others go on from the one before")
        if self.seed < 0:
            raise ValueError("seed: must not be negative")
        if self.log_every < 1:
            raise ValueError("log_every: must be at least 1")


PATHS = ("data", "out", "stages.0.start")
Layer = tuple[dict[str, Any], dict[str, tuple[File, int]]]  # settings, and where each of them stands


def load_recipe(paths: Path | Sequence[Path], overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe of one file or of several, each over the ones before it.

    A file may say `extends: other.yaml`, and then lies over that one. Settings within are merged key by key, stages
    stage by stage; `every_stage` holds what is the same for all of them. Each override is `key=value`, with a path
    such as stages.1.max_steps for the key. It wins over every file; of two overrides of one setting the later one wins,
    and every_stage.KEY is KEY of each stage.
    """
    paths = [paths] if isinstance(paths, Path) else paths
    file = paths[-1]
    mapping, lines = read_layer(paths[0])
    for path in paths[1:]:
        mapping, lines = merge((mapping, lines), read_layer(path))
    changes = [read_override(override) for override in overrides]
    for override, key, value in changes:
        if key == "stages":  # all of them anew: what every_stage says goes for these too
            mapping, lines = _override((mapping, lines), key, value, override)
    mapping, lines = spread((mapping, lines))
    # Only now, so that an override of every_stage wins over what a stage of a file says.
    for override, key, value in changes:
        if key != "stages":
            for each in _in_every_stage(key, mapping):
                mapping, lines = _override((mapping, lines), each, value, override)
    _as_in_start(mapping)
    if "out" not in mapping and isinstance(mapping.get("data"), str):
        mapping["out"] = _usual_out(mapping)
    recipe = from_mapping(Recipe, mapping, file=file, lines=lines)
    for number, stage in enumerate(recipe.stages):
        where = f"stages[{number}]"
        system = find_system(stage.system, f"{file}: {where}.system")
        options = system.read_options(stage.options, file=str(file), where=f"{where}.options")
        # Now, not when the stage begins: a mistake in it should not show after hours of the stage before.
        system.check(recipe.model, options, str(file), f"{where}.options")
        system.rows_of(stage.rows, f"{where}.rows", str(file))
    return recipe


def read_override(override: str) -> tuple[str, str, Any]:
    """As it was written, its key and its value."""
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise InputError(f"{override!r}: an override is key=value, such as stages.0.max_steps=500")
    key = "stages.0.start" if key == "start" else key
    if key == "every_stage":
        raise InputError(f"{override!r}: say which setting of every stage, such as every_stage.max_steps=500")
    try:
        # A folder may be called 1 or 2024-02-03.
        return override, key, text if key in PATHS and text != "null" else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # a date such as 2023-02-31 is the latter
        raise InputError(f"{override!r}: the value is not YAML") from None


def _in_every_stage(key: str, mapping: dict[str, Any]) -> list[str]:
    """The keys that an override means: every_stage.KEY stands for one of each stage."""
    first, _, rest = key.partition(".")
    stages = mapping.get("stages")
    if first != "every_stage":
        return [key]
    return [f"stages.{number}.{rest}" for number in range(len(stages) if isinstance(stages, list) else 0)]


def _override(layer: Layer, key: str, value: Any, override: str) -> Layer:
    mapping, lines = layer
    _set(mapping, key.split("."), value, override)
    # What an override says stands in no line of a file.
    path_of_key = re.sub(r"\.(\d+)", r"[\1]", key)
    return mapping, {name: line for name, line in lines.items() if name != path_of_key}


def read_layer(path: Path, above: Sequence[Path] = ()) -> Layer:
    """A file over those it extends."""
    if path.resolve() in above:
        raise InputError("extends itself, by way of others" if len(above) > 1 else "extends itself", path)
    mapping, lines = read_yaml(path)
    below = mapping.pop("extends", None)
    if below is None:
        return mapping, lines
    if not isinstance(below, str):
        raise InputError(f"extends: expected a file, found {below!r}", *lines["extends"])
    # Of a copy of one of our recipes, that file may not lie beside it.
    beside = path.parent / below
    lower = beside if beside.exists() or below.removesuffix(".yaml") not in recipe_names() else find_recipe(below)
    return merge(read_layer(lower, (*above, path.resolve())), (mapping, lines))


def merge(below: Layer, above: Layer) -> Layer:
    return _merge(below[0], above[0]), {**below[1], **above[1]}


def _merge(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _merge(below[key], value) if key in below else value for key, value in above.items()}}
    if isinstance(below, list) and isinstance(above, list) and all(isinstance(one, dict) for one in (*below, *above)):
        both = [_merge(one, other) for one, other in zip(below, above, strict=False)]
        return [*both, *below[len(both) :], *above[len(both) :]]
    return above


def spread(layer: Layer) -> Layer:
    """Put `every_stage` under each stage."""
    mapping, lines = layer
    shared, stages = mapping.pop("every_stage", None), mapping.get("stages")
    if shared is None:
        return layer
    if not isinstance(shared, dict):
        raise InputError(f"every_stage: expected keys and values, found {shared!r}", *lines.get("every_stage", ()))
    if isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages):
        mapping["stages"] = [_merge(shared, stage) for stage in stages]
        for number in range(len(stages)):
            spread_lines = {
                name.replace("every_stage", f"stages[{number}]", 1): line
                for name, line in lines.items()
                if name.startswith("every_stage.")
            }
            lines = {**spread_lines, **lines}
    return mapping, lines


def _usual_out(mapping: dict[str, Any]) -> str:
    """runs/DATA/SYSTEM, by the names of the data folder and of the last stage's system."""
    stages = mapping.get("stages")
    last = stages[-1] if isinstance(stages, list) and stages else None
    system = last.get("system") if isinstance(last, dict) else None
    return str(Path("runs") / Path(mapping["data"]).name / str(system))


def _as_in_start(mapping: dict[str, Any]) -> None:
    """What a recipe leaves open about the model, and about the source of its rows, is as in the one it starts from.

    A document model has a norm after the embedding, so one that lacks it gets it.
    """
    stages = mapping.get("stages")
    if not (isinstance(stages, list) and stages and all(isinstance(stage, dict) for stage in stages)):
        return
    start, name = stages[0].get("start"), stages[0].get("system")
    folder = model_folder(str(start)) if start else None
    if folder is None or not (folder / "config.json").is_file():
        return  # whoever builds the model says what is wrong
    config = read_config(folder)
    sizes = to_mapping(config.sizes)
    if name in SYSTEMS and not SYSTEMS[name].sentence_level and not sizes["architecture"]["embedding_norm"]:
        sizes["architecture"].update(embedding_norm=True, shared_norm=True)
    mapping["model"] = _merge(sizes, mapping.get("model", {}))
    if not config.rows.source_starts:
        mapping["stages"] = [_merge({"rows": {"source_starts": False}}, stage) for stage in stages]


def _set(mapping: dict[str, Any], keys: list[str], value: Any, override: str) -> None:
    """What is on the way is copied: with a YAML alias it may be another stage's as well."""
    here: Any = mapping
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        if isinstance(here, list):
            if not (len(key) < 10 and key.isascii() and key.isdigit()) or int(key) >= len(here):
                raise InputError(f"{override!r}: there is no {'.'.join(keys[: depth + 1])}")
            if last:
                here[int(key)] = value
            here[int(key)] = here = copy(here[int(key)])
        elif isinstance(here, dict):
            if last:
                here[key] = value
            else:
                here[key] = here = copy(here.get(key, {}))
        else:
            raise InputError(f"{override!r}: {'.'.join(keys[:depth])} has no keys")
