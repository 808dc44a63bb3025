"""Loading a model: the hardware it runs on and the precision it computes in are chosen here, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docflat.data.flat_layout import Layout
from docflat.data.subwords import Subwords
from docflat.engines.engine import Engine
from docflat.support.errors import InputError
from docflat.systems import System, find_system
from docflat.weights.config import ModelConfig
from docflat.weights.int8_files import is_compact

PRECISIONS = {"cpu": ("fp32", "int8"), "cuda": ("fp32", "bf16")}


@dataclass(frozen=True)
class LoadedModel:
    """A model folder with the engine that runs it."""

    config: ModelConfig
    subwords: Subwords
    engine: Engine

    @property
    def system(self) -> System:
        return find_system(self.config.system)

    @cached_property
    def layout(self) -> Layout:
        """How its rows are laid out."""
        return self.system.layout(self.config.rows, self.engine.vocabulary)


@dataclass(frozen=True)
class Hardware:
    """What a model runs on."""

    device: str  # cpu, cuda, cuda:1
    precision: str  # fp32, bf16 or int8
    threads: int  # on a CPU; 0: all cores


def choose(folder: Path, device: str = "auto", precision: str = "auto", threads: int = 0) -> Hardware:
    """What the model in this folder runs on.

    device: auto (a GPU if there is one), cpu or cuda. precision: fp32; bf16, on a GPU; int8, on a CPU; auto: bf16 on a
    GPU that has it, int8 on a CPU if the weights are stored so, fp32 elsewhere.
    """
    from docflat.engines.torch import loading

    if device == "auto":
        device = "cuda" if loading.has_gpu() else "cpu"
    kind = device.partition(":")[0]  # cuda:1 is the second GPU
    if kind not in PRECISIONS:
        raise InputError(f"there is no device {device!r}; choose auto, {' or '.join(PRECISIONS)}")
    if kind == "cuda" and not loading.has_gpu():
        raise InputError("there is no GPU that torch can use; choose the device cpu or auto")
    if precision == "auto":
        precision = "fp32"
        if kind == "cuda" and loading.has_bf16():
            precision = "bf16"
        elif kind == "cpu" and is_compact(folder) and loading.has_int8():
            precision = "int8"
    if precision not in PRECISIONS[kind]:
        raise InputError(f"on {kind} the precision is one of {', '.join(PRECISIONS[kind])}, not {precision}")
    return Hardware(device, precision, threads)


def load(folder: Path, hardware: Hardware) -> LoadedModel:
    from docflat.engines.torch import loading

    return loading.load(folder, hardware)
