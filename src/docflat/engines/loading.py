"""Loading a model: its engine, its hardware and its precision are chosen here, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import CDLL
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from docflat.data.flat_layout import Layout
from docflat.data.subwords import Subwords
from docflat.engines.engine import Engine
from docflat.support.errors import InputError
from docflat.systems import System, find_system
from docflat.weights.config import ModelConfig, read_config, vocabulary_of
from docflat.weights.int8_files import is_compact

EngineName = Literal["onnx", "torch"]
PRECISIONS = {"cpu": ("fp32", "int8"), "cuda": ("fp32", "bf16")}
NO_TORCH = "pip install 'docflat[train]'"


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

    engine: EngineName
    device: str  # cpu, cuda, cuda:1
    precision: str  # fp32, bf16 or int8
    threads: int  # on a CPU; 0: as many as the engine likes, which is all cores


def choose(
    folders: Sequence[Path], engine: str = "auto", device: str = "auto", precision: str = "auto", threads: int = 0
) -> Hardware:
    """What the models in these folders run on, together.

    engine: onnx, torch, or auto: onnx on a CPU where it has their systems. device: auto (a GPU if there is one), cpu or
    cuda. precision: fp32; bf16, on a GPU; int8, on a CPU; auto: bf16 on a GPU that has it, int8 on a CPU if the weights
    of the first folder are stored so, fp32 elsewhere.
    """
    if engine not in ("auto", *get_args(EngineName)):
        raise InputError(f"there is no engine {engine!r}; choose auto, {' or '.join(get_args(EngineName))}")
    device = _choose_device(engine, device)
    kind = device.partition(":")[0]  # cuda:1 is the second GPU
    chosen = _choose_engine(folders, engine, kind)
    if precision == "auto":
        precision = _best_precision(folders[0], chosen, kind)
    if precision not in PRECISIONS[kind]:
        raise InputError(f"on {kind} the precision is one of {', '.join(PRECISIONS[kind])}, not {precision}")
    said = os.environ.get("OMP_NUM_THREADS", "")  # torch reads it itself
    return Hardware(chosen, device, precision, threads or (int(said) if chosen == "onnx" and said.isdecimal() else 0))


def _choose_device(engine: str, device: str) -> str:
    if device == "auto":
        return "cuda" if engine != "onnx" and _has_gpu() else "cpu"
    kind = device.partition(":")[0]
    if kind not in PRECISIONS:
        raise InputError(f"there is no device {device!r}; choose auto, {' or '.join(PRECISIONS)}")
    if kind == "cuda" and engine == "onnx":
        raise InputError("the engine onnx runs on a CPU; choose the device cpu or auto, or the engine torch")
    if kind == "cuda" and not _has("torch"):
        raise InputError(f"GPUs need torch: {NO_TORCH}")
    if kind == "cuda" and not _has_gpu():
        raise InputError("there is no GPU that torch can use; choose the device cpu or auto")
    return device


def _choose_engine(folders: Sequence[Path], engine: str, kind: str) -> EngineName:
    if engine == "torch" or kind == "cuda":
        if not _has("torch"):
            raise InputError(f"the engine torch is not installed: {NO_TORCH}")
        return "torch"
    if not _has("onnxruntime"):
        if engine == "auto" and _has("torch"):
            return "torch"
        raise InputError("the engine onnx needs onnxruntime: pip install onnxruntime")
    from docflat.engines.onnx.loading import supports

    others = [config for config in map(read_config, folders) if not supports(config)]
    if others and engine == "onnx":
        raise InputError(f"the engine onnx does not run {others[0].system}; the engine torch does")
    if others and not _has("torch"):
        raise InputError(f"{others[0].system} runs on torch alone: {NO_TORCH}")
    return "torch" if others else "onnx"


def _best_precision(folder: Path, engine: EngineName, kind: str) -> str:
    if kind == "cpu" and (engine == "onnx" or not is_compact(folder)):
        return "int8" if is_compact(folder) else "fp32"
    from docflat.engines.torch import loading

    if kind == "cuda":
        return "bf16" if loading.has_bf16() else "fp32"
    return "int8" if loading.has_int8() else "fp32"


def _has(package: str) -> bool:
    return find_spec(package) is not None


def _has_gpu() -> bool:
    """Whether torch has a GPU. It is asked only where there is a driver: importing it takes a second."""
    if not _has("torch") or not _has_driver():
        return False
    from docflat.engines.torch import loading

    return loading.has_gpu()


def _has_driver() -> bool:
    """That of NVIDIA or, for builds of torch that take theirs for CUDA, of AMD."""
    if os.path.exists("/dev/kfd"):
        return True
    for name in ("nvcuda.dll",) if os.name == "nt" else ("libcuda.so.1", "libcuda.so"):
        try:
            CDLL(name)
        except OSError:
            continue
        return True
    return False


def load(folder: Path, hardware: Hardware) -> LoadedModel:
    if hardware.engine == "torch":
        from docflat.engines.torch import loading

        return loading.load(folder, hardware)
    from docflat.engines.onnx import loading as onnx_loading

    config, subwords = read_config(folder), Subwords.load(folder / "tokenizer.json")
    engine = onnx_loading.load(folder, config, vocabulary_of(subwords), hardware.precision, hardware.threads)
    return LoadedModel(config, subwords, engine)
