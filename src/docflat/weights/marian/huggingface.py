"""Hugging Face's MarianMT folders: config.json, weights, vocab.json and two SentencePiece models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docflat.model.sizes import Architecture, ModelSizes
from docflat.support.errors import InputError
from docflat.support.text_files import check_ordinary
from docflat.weights.marian.foreign import Array, ForeignModel, ForeignVocabulary, Weights

MOST_BYTES = 32 << 30  # of weights; the largest Marian models that there are have 2 GiB
MOST_SETTINGS = 256 << 20
ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish"}
# Settings that change what is computed, and the one value that we have.
FIXED: dict[str, Any] = {
    "is_encoder_decoder": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "add_bias_logits": False,
    "extra_pos_embeddings": 0,
}
IGNORED = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")  # computed, not learned


def read_huggingface(folder: Path) -> ForeignModel:
    config_file = folder / "config.json"
    config = read_mapping(config_file)
    sizes = read_sizes(config, config_file)
    vocabularies = read_vocabularies(folder, config, config_file)
    weights = Weights(*read_tensors(folder))
    ours = dict(convert(weights, sizes, vocabularies))
    weights.finish()
    settings = read_mapping(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").exists() else {}
    languages = (settings.get("source_lang"), settings.get("target_lang"))
    files = (folder / "source.spm", folder / "target.spm")
    return ForeignModel(
        sizes,
        ours,
        vocabularies,
        (read_bytes(files[0]), read_bytes(files[1])),
        (str(languages[0]), str(languages[1])) if all(languages) else None,
        str(config.get("_name_or_path") or folder.name),
        license_of(folder),
        files,
    )


def read_sizes(config: Mapping[str, Any], file: Path) -> ModelSizes:
    for key, value in FIXED.items():
        if config.get(key, value) != value:
            raise InputError(f"{key}: {config[key]!r} is another architecture; docflat has {value!r}", file)
    activation = config.get("activation_function", "relu")
    if activation not in ACTIVATIONS:
        raise InputError(f"activation_function: {activation!r}; docflat has {', '.join(ACTIVATIONS)}", file)

    def same(key: str) -> int:
        encoder, decoder = (number(config, f"{side}_{key}", file) for side in ("encoder", "decoder"))
        if encoder != decoder:
            raise InputError(f"decoder_{key}: {decoder}, but encoder_{key}: {encoder}; docflat has one for both", file)
        return encoder

    architecture = Architecture(
        activation=ACTIVATIONS[activation],  # type: ignore[arg-type]
        embedding_norm=False,
        scaled_embedding=bool(config.get("scale_embedding", False)),
        frequencies="paper",
        logits_bias=True,
        separate_embeddings=not config.get("share_encoder_decoder_embeddings", True),
    )
    try:
        return ModelSizes(
            number(config, "d_model", file),
            same("attention_heads"),
            same("ffn_dim"),
            number(config, "encoder_layers", file),
            number(config, "decoder_layers", file),
            architecture,
        )
    except ValueError as error:
        raise InputError(str(error), file) from None


def number(config: Mapping[str, Any], key: str, file: Path) -> int:
    value = config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 1_000_000:
        raise InputError(f"{key}: expected a whole number above 0, found {value!r}", file)
    return value


def read_vocabularies(
    folder: Path, config: Mapping[str, Any], config_file: Path
) -> tuple[ForeignVocabulary, ForeignVocabulary]:
    files = [folder / "vocab.json"]
    if not config.get("share_encoder_decoder_embeddings", True):
        files.append(folder / "target_vocab.json")
    sizes = [config.get("vocab_size"), config.get("decoder_vocab_size") or config.get("vocab_size")]
    sides = []
    for file, size in zip(files, sizes, strict=False):
        numbers = read_mapping(file)
        if len(numbers) != size:
            raise InputError(f"it has {len(numbers)} pieces, but {config_file.name} says {size}", file)
        sides.append(ForeignVocabulary.of_numbers(numbers, "<pad>", file))
    start, pad = config.get("decoder_start_token_id"), sides[-1].start
    if start != pad:
        raise InputError(f"decoder_start_token_id: {start}, but texts start with <pad>, {pad}", config_file)
    return sides[0], sides[-1]


def read_tensors(folder: Path) -> tuple[dict[str, Array], Path]:
    """The weights, and the file they are in."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    file = folder / "model.safetensors"
    if file.exists():
        check_ordinary(file, MOST_BYTES)
        try:
            return load_file(file), file
        except (OSError, SafetensorError, ValueError, KeyError) as error:
            raise InputError(f"cannot read the weights: {error}", file) from None
    file = folder / "pytorch_model.bin"
    if not file.exists():
        raise InputError("there is neither model.safetensors nor pytorch_model.bin", folder)
    check_ordinary(file, MOST_BYTES)
    try:
        import torch
    except ImportError:
        raise InputError(
            "torch reads this file, and it is not installed: pip install 'docflat[train]', or take model.safetensors",
            file,
        ) from None
    try:
        tensors = torch.load(file, map_location="cpu", weights_only=True)  # what is no tensor is not unpickled
    except Exception as error:  # torch raises whatever its unpickler does
        what = str(error).split("\n", maxsplit=1)[0]
        raise InputError(f"not weights alone, or damaged: {what}", file) from None
    if not (isinstance(tensors, dict) and all(isinstance(one, torch.Tensor) for one in tensors.values())):
        raise InputError("it holds more than tensors", file)
    return {name: tensor.float().numpy() for name, tensor in tensors.items()}, file


def convert(
    weights: Weights, sizes: ModelSizes, vocabularies: tuple[ForeignVocabulary, ForeignVocabulary]
) -> Iterator[tuple[str, Array]]:
    """Our names and tensors, the tables in their order."""
    for name in IGNORED:
        weights.tensors.pop(name, None)
    yield from convert_tables(weights, sizes, vocabularies)
    for side, layers in (("encoder", sizes.encoder_layers), ("decoder", sizes.decoder_layers)):
        for layer in range(layers):
            theirs, ours = f"model.{side}.layers.{layer}", f"{side}.{layer}"
            yield from convert_attention(weights, f"{theirs}.self_attn", f"{ours}.attention", sizes.dim)
            yield from copy(weights, f"{theirs}.self_attn_layer_norm", f"{ours}.attention_norm", sizes.dim)
            if side == "decoder":
                yield from convert_attention(weights, f"{theirs}.encoder_attn", f"{ours}.source_attention", sizes.dim)
                yield from copy(weights, f"{theirs}.encoder_attn_layer_norm", f"{ours}.source_norm", sizes.dim)
            inner, outer = f"{ours}.feed_forward.inner", f"{ours}.feed_forward.outer"
            yield from copy(weights, f"{theirs}.fc1", inner, sizes.feed_forward, sizes.dim)
            yield from copy(weights, f"{theirs}.fc2", outer, sizes.dim, sizes.feed_forward)
            yield from copy(weights, f"{theirs}.final_layer_norm", f"{ours}.feed_forward_norm", sizes.dim)


def convert_tables(
    weights: Weights, sizes: ModelSizes, vocabularies: tuple[ForeignVocabulary, ForeignVocabulary]
) -> Iterator[tuple[str, Array]]:
    """The embeddings and the bias of the logits. A table is stored under several names, or under one of them."""
    rows = [len(vocabulary.pieces) for vocabulary in vocabularies]
    encoder, decoder = (f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder"))
    output = "lm_head.weight"
    if sizes.architecture.separate_embeddings:
        names = [([encoder], "embedding", rows[0]), ([decoder, output], "separate_embedding", rows[1])]
    else:
        names = [(["model.shared.weight", encoder, decoder, output], "embedding", rows[0])]
    for theirs, ours, size in names:
        copies = [weights.take(name, size, sizes.dim) for name in theirs if name in weights.tensors]
        if not copies:
            raise InputError(f"the weights lack {theirs[0]}", weights.file)
        if any((one != copies[0]).any() for one in copies[1:]):
            raise InputError(f"{theirs[0]} and {theirs[-1]} differ; docflat has one table for both", weights.file)
        yield f"{ours}.weight", copies[0]
    yield f"{names[-1][1]}.bias", weights.take("final_logits_bias", 1, rows[1])[0]


def convert_attention(weights: Weights, theirs: str, ours: str, dim: int) -> Iterator[tuple[str, Array]]:
    import numpy as np

    for kind, shape in (("weight", (dim, dim)), ("bias", (dim,))):
        parts = [weights.take(f"{theirs}.{part}_proj.{kind}", *shape) for part in "qkv"]
        yield f"{ours}.qkv.{kind}", np.concatenate(parts)
        yield f"{ours}.output.{kind}", weights.take(f"{theirs}.out_proj.{kind}", *shape)


def copy(weights: Weights, theirs: str, ours: str, *shape: int) -> Iterator[tuple[str, Array]]:
    """Weight and bias; shape: of the weight."""
    yield f"{ours}.weight", weights.take(f"{theirs}.weight", *shape)
    yield f"{ours}.bias", weights.take(f"{theirs}.bias", shape[0])


def read_mapping(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_bytes(file, MOST_SETTINGS))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file) from None
    if not isinstance(content, dict):
        raise InputError("expected a JSON object", file)
    return content


def read_bytes(file: Path, most: int = MOST_BYTES) -> bytes:
    check_ordinary(file, most)
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from None


def license_of(folder: Path) -> str | None:
    """What the front matter of its card says."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    for line in card.read_text(encoding="utf-8", errors="replace").splitlines()[:100]:
        if line.startswith("license:"):
            return line.partition(":")[2].strip() or None
    return None
