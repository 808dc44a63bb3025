"""Checkpoints and model folders: written beside and then renamed, safetensors and JSON only.

A model folder is what a user keeps: config.json, model.safetensors or the files of compact weights, tokenizer.json and
README.md, its card. A checkpoint is what training goes on from: weights, optimiser and state.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from docflat.data.rows import Array
from docflat.data.subwords import Subwords
from docflat.model.transformer import Transformer
from docflat.support.atomic import whole_folder
from docflat.support.errors import InputError
from docflat.support.json_files import read_json, write_json
from docflat.support.strict_yaml import from_mapping, to_mapping
from docflat.systems import System, find_system
from docflat.weights import stored
from docflat.weights.config import ModelConfig, read_config


@dataclass(frozen=True)
class ModelFolder:
    """A loaded model with all that is needed to use it."""

    config: ModelConfig
    subwords: Subwords
    model: Transformer

    @property
    def system(self) -> System:
        return find_system(self.config.system)


def save_model(folder: Path, config: ModelConfig, weights: Mapping[str, Tensor], subwords: Subwords, card: str) -> None:
    config = replace(config, options=find_system(config.system).for_folder(config.options))
    with whole_folder(folder, force=True) as partial:
        write_json(partial / "config.json", to_mapping(config))
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, partial / "model.safetensors")
        subwords.save(partial / "tokenizer.json")
        (partial / "README.md").write_text(card, encoding="utf-8")


class _Undrawn(TorchFunctionMode):
    """Leaves out what draws first values, where there are none to set.

    For `normal_` torch would import its compiler: a whole second. The others are written in Python, there.
    """

    drawing: ClassVar = {nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, Tensor.uniform_}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self.drawing:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def load_model(folder: Path) -> ModelFolder:
    loaded = load_empty(folder)
    load_weights(loaded.model, folder / "model.safetensors", assign=True)
    loaded.model.float()  # a file may be in half precision
    return loaded


def load_empty(folder: Path) -> ModelFolder:
    """All but the weights: to draw 60 million of them takes longer than to read them from the file."""
    config = read_config(folder)
    subwords = Subwords.load(folder / "tokenizer.json")
    with torch.device("meta"), _Undrawn():
        model = config.build(subwords, file=str(folder / "config.json"))
    return ModelFolder(config, subwords, model.eval())


def read_weights(path: Path) -> dict[str, Tensor]:
    """As `stored.read_weights`, as tensors."""
    return tensors_of(stored.read_weights(path))


def tensors_of(arrays: Mapping[str, Array]) -> dict[str, Tensor]:
    """In the same memory."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def load_weights(model: Transformer, path: Path, assign: bool = False) -> None:
    """Load weights that must fit exactly. assign: in the place of the model's tensors, not into them."""
    weights = read_weights(path)
    check_fit(model, weights, path)
    model.load_state_dict(weights, assign=assign)


def check_fit(model: Transformer, weights: Mapping[str, Tensor], path: Path) -> None:
    """Whether these are all weights of the model, and no others."""
    existing = model.state_dict()
    for name in (*existing, *weights):
        if name not in weights:
            raise InputError(f"the weights lack {name}: they are of another system", path)
        if name not in existing:
            raise InputError(
                f"the weights have {name[:100]}, which this system does not: they are of another one", path
            )
        if existing[name].shape != weights[name].shape:
            shapes = f"{tuple(weights[name].shape)}, expected {tuple(existing[name].shape)}"
            raise InputError(f"{name} has the shape {shapes}", path)


def start_from(model: Transformer, path: Path, before: ModelConfig, now: ModelConfig) -> None:
    """Start a stage from another one's weights; what only the new system has keeps its first values."""
    if before.alike(now):
        return load_weights(model, path)
    weights = read_weights(path)
    existing = model.state_dict()
    unknown = [name for name in weights if name not in existing or existing[name].shape != weights[name].shape]
    if unknown:
        other = [f"{key}: {value!r}".lower() for key, value in before.options.items() if now.options.get(key) != value]
        with_other = f" with {', '.join(other)}" if before.system == now.system and other else ""
        raise InputError(
            f"cannot start {now.system} from these weights of {before.system}{with_other}: {unknown[0]} does not fit",
            path,
        )
    model.load_state_dict(weights, strict=False)
    if find_system(before.system).sentence_level and not find_system(now.system).sentence_level:
        model.start_index_tokens()
    if now.sizes.architecture.embedding_norm and not before.sizes.architecture.embedding_norm:
        model.start_quietly()


def average_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights, summed in float64."""
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in read_weights(path).items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(paths)).float() for name, tensor in total.items()}


@dataclass
class Progress:
    """How far a stage has come: all that is not weights or optimiser."""

    step: int = 0
    epoch: int = 0
    piece: int = 0  # of this epoch, which is planned in pieces where the corpus is large
    batch: int = 0  # micro-batches of this piece that are done
    seconds: float = 0.0  # spent in training, all sittings together
    best_loss: float | None = None
    best_step: int = 0
    worse: int = 0  # validations since the best
    loss_scale: float = 0.0  # of fp16
    loss_scale_steps: int = 0  # since it last changed

    def note(self, loss: float) -> None:
        """The validation loss at this step."""
        if not math.isfinite(loss):
            raise InputError(f"the validation loss is {loss} at step {self.step}; a lower learning rate may help")
        self.worse += 1
        if self.best_loss is None or loss < self.best_loss:
            self.best_loss, self.best_step, self.worse = loss, self.step, 0


class Checkpoints:
    """The checkpoints of one stage: the newest with its optimiser, the last few and the best with weights only."""

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder, self.keep = folder, keep

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    def steps(self) -> list[int]:
        names = (path.name.removeprefix("step-") for path in self.folder.glob("step-*"))
        return sorted(int(name) for name in names if name.isdigit())

    def weight_names(self) -> set[str]:
        """Of the newest, if there is any: by them an older training tells the options that it does not name."""
        steps = self.steps()
        return stored.stored_names(self.path(steps[-1]) / "model.safetensors") if steps else set()

    def save(self, model: Transformer, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
        names: dict[Any, str] = {parameter: name for name, parameter in model.named_parameters()}
        moments = {
            f"{names[parameter]}:{key}": value.detach().cpu().contiguous()
            for parameter, values in optimizer.state.items()
            for key, value in values.items()
        }
        with whole_folder(self.path(progress.step), force=True) as partial:
            weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
            save_file(weights, partial / "model.safetensors")
            save_file(moments, partial / "optimizer.safetensors")
            write_json(partial / "state.json", to_mapping(progress))
        self._prune(progress.best_step)

    def _prune(self, best: int) -> None:
        steps = self.steps()
        for step in steps[:-1]:
            (self.path(step) / "optimizer.safetensors").unlink(missing_ok=True)
        for step in steps[: -self.keep]:
            if step != best:
                shutil.rmtree(self.path(step))

    def resume(self, model: Transformer, optimizer: torch.optim.Optimizer) -> Progress | None:
        """Load the newest checkpoint, if there is any."""
        steps = self.steps()
        if not steps:
            return None
        path = self.path(steps[-1])
        load_weights(model, path / "model.safetensors")
        moments = read_weights(path / "optimizer.safetensors")
        for name, parameter in model.named_parameters():
            state: dict[str, Tensor] = {}
            for key, value in ((key, value) for key, value in moments.items() if key.rpartition(":")[0] == name):
                kind = key.rpartition(":")[2]
                # Adam's step counter stays where the optimiser keeps it; moments live beside their parameter.
                state[kind] = value if kind == "step" and not parameter.is_cuda else value.to(parameter.device)
            if state:  # there is none of what is not trained
                optimizer.state[parameter] = state
        return from_mapping(Progress, read_json(path / "state.json", "no state"), file=path / "state.json")

    def last(self, number: int) -> list[Path]:
        return [self.path(step) / "model.safetensors" for step in self.steps()[-number:]]
