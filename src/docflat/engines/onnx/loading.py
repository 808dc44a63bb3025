"""Loading a model folder for ONNX Runtime; what it cannot do is said before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from docflat.data.rows import Array
from docflat.engines.onnx.engine import FlatBatchAttention, Model, OnnxEngine
from docflat.engines.onnx.hardware import NO_INT8, has_int8
from docflat.engines.onnx.head import target_table
from docflat.engines.onnx.shortlist import read_shortlist
from docflat.engines.onnx.weights import Weights
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.support.console import warn
from docflat.support.errors import InputError
from docflat.systems import find_system
from docflat.systems.options import DocFlatOptions
from docflat.weights.config import ModelConfig
from docflat.weights.int8_files import SCALE, rounded_of
from docflat.weights.stored import read_stored

SYSTEMS = ("sent2sent", "doc2doc", "docflat-c", "docflat-d", "docflat-i")


def supports(config: ModelConfig) -> bool:
    """Whether there are graphs for this model: for some systems, in the form that the paper recommends."""
    if config.sizes.architecture.recurrent_decoder:
        return config.system in ("sent2sent", "doc2doc")
    return config.system in SYSTEMS and config.options.get("scope", "current") == "current"


def load(folder: Path, config: ModelConfig, vocabulary: Vocabulary, precision: str, threads: int = 0) -> OnnxEngine:
    """precision: fp32 or int8; threads: 0: as many as there are cores."""
    if precision == "int8" and not has_int8():
        warn(NO_INT8)
        precision = "fp32"
    model = read_model(folder, config, vocabulary, precision)
    engine = OnnxEngine(model, threads, read_shortlist(folder, vocabulary))
    engine.prepare()
    return engine


def read_model(folder: Path, config: ModelConfig, vocabulary: Vocabulary, precision: str) -> Model:
    """What graphs are made of, if the weights fit the configuration."""
    if not supports(config):
        raise InputError(f"the engine onnx has no graphs for this {config.system}; use the engine torch")
    path = folder / "model.safetensors"
    stored, flat = read_stored(path), flat_batch_attention(config)
    check_fit(stored, expected_shapes(config.sizes, vocabulary, flat), path)
    return Model(Weights(stored, precision == "int8"), config.sizes, vocabulary, flat)


def check_fit(stored: Mapping[str, Array], expected: Mapping[str, tuple[int, ...]], path: Path) -> None:
    """Whether these are all weights of the model, and no others."""
    matrices = rounded_of(stored)
    weights = {name: array for name, array in stored.items() if not name.endswith(SCALE)}
    for name in (*expected, *weights):
        if name not in weights:
            raise InputError(f"the weights lack {name}: they are of another system", path)
        if name not in expected:
            raise InputError(
                f"the weights have {name[:100]}, which this system does not: they are of another one", path
            )
        if weights[name].shape != expected[name]:
            raise InputError(f"{name} has the shape {weights[name].shape}, expected {expected[name]}", path)
        if name not in matrices and not np.issubdtype(weights[name].dtype, np.floating):
            raise InputError(f"{name} is of the type {weights[name].dtype}, expected floating point", path)


def expected_shapes(
    sizes: ModelSizes, vocabulary: Vocabulary, flat: FlatBatchAttention | None
) -> dict[str, tuple[int, ...]]:
    """Of every tensor, by its name."""
    dim, inner, kind = sizes.dim, sizes.feed_forward, sizes.architecture
    shapes: dict[str, tuple[int, ...]] = {}

    def linear(name: str, outputs: int, inputs: int) -> None:
        shapes.update({f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)})

    def norm(name: str) -> None:
        shapes.update({f"{name}.weight": (dim,), f"{name}.bias": (dim,)})

    def attention(name: str) -> None:
        linear(f"{name}.qkv", 3 * dim, dim)
        linear(f"{name}.output", dim, dim)

    shapes["embedding.weight"] = (vocabulary.size, dim)
    if kind.separate_embeddings:
        shapes["separate_embedding.weight"] = (vocabulary.size, dim)
    if kind.logits_bias:
        shapes[f"{target_table(sizes)}.bias"] = (vocabulary.text_size,)
    if kind.embedding_norm:
        for name in ("source_norm", "target_norm"):
            norm(name)
            if kind.shared_norm:
                shapes[f"{name}.share"] = (dim,)
    for side, count in (("encoder", sizes.encoder_layers), ("decoder", sizes.decoder_layers)):
        for number in range(count):
            name = f"{side}.{number}"
            recurrent = side == "decoder" and kind.recurrent_decoder
            if recurrent:
                linear(f"{name}.recurrence.both", 2 * dim, dim)
            else:
                attention(f"{name}.attention")
            if side == "decoder":
                attention(f"{name}.source_attention")
            for part in ("attention_norm", "source_norm", "feed_forward_norm"):
                if side == "decoder" or part != "source_norm":
                    norm(f"{name}.{part}")
            linear(f"{name}.feed_forward.inner", inner, dim)
            linear(f"{name}.feed_forward.outer", dim, inner)
    for name, there in (("source_flat", flat and flat.encoder), ("target_flat", flat and flat.decoder)):
        if there:
            attention(f"{name}.attention")
            if flat and flat.gate != "identity":
                linear(f"{name}.gate", dim, dim)
    return shapes


def flat_batch_attention(config: ModelConfig) -> FlatBatchAttention | None:
    options = find_system(config.system).read_options(config.options)
    if not isinstance(options, DocFlatOptions):
        return None
    return FlatBatchAttention(options.gate, options.gamma, options.encoder, options.decoder)
