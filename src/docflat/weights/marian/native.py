"""Marian's own files: weights in .npz or .bin with its settings inside, and the SentencePiece vocabularies beside it.

`decoder.yml` of the folder says which files these are; without one, there must be one of weights and one or two .spm.
The models of Firefox are such folders: model.enfr.intgemm.alphas.bin, vocab.enfr.spm, lex.50.50.enfr.s2t.bin.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from docflat.model.sizes import Architecture, ModelSizes
from docflat.support.errors import InputError
from docflat.support.text_files import check_ordinary
from docflat.weights.marian.binary import BinaryTensors, read_binary
from docflat.weights.marian.foreign import Array, ForeignModel, ForeignVocabulary, Weights
from docflat.weights.marian.huggingface import MOST_BYTES, license_of, number, read_bytes

SETTINGS = "special:model.yml"
WEIGHTS = ("*.npz", "model*.bin")
PACKED = (".gz", ".zst", ".xz")
MOST_RATIO = 10  # of unpacked weights to packed ones, which are nearly as large
ACTIVATIONS = {"relu": "relu", "swish": "swish"}
# Settings that change what is computed, and the values with which it is what we compute.
FIXED: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "transformer-preprocess": ("",),
    "transformer-postprocess": ("dan", "an"),
    "transformer-postprocess-emb": ("", "d"),
    "transformer-postprocess-top": ("",),
    "transformer-pool": (False,),
    "transformer-no-projection": (False,),
    "transformer-no-bias": (False,),
    "transformer-no-affine": (False,),
    "transformer-rnn-projection": (False,),
    "transformer-train-position-embeddings": (False,),
    "transformer-train-positions": (False,),
    "transformer-depth-scaling": (True, False),  # says how weights were drawn
    "transformer-guided-alignment-layer": ("last",),
    "transformer-tied-layers": ([],),
    "transformer-ffn-depth": (2,),
    "lemma-dim-emb": (0,),
    "lemma-dependency": ("",),
    "factors-combine": ("sum",),
    "factors-dim-emb": (0,),
    "layer-normalization": (False,),
    "output-omit-bias": (False,),
    "ulr": (False,),
    "input-types": ([],),
    "skip": (False,),
    "tied-embeddings-src": (False,),
    "transformer-decoder-autoreg": ("self-attention", "rnn"),
    "bert-train-type-embeddings": (True, False),
}


def read_native(folder: Path) -> ForeignModel:
    decoder = read_yaml_file(folder / "decoder.yml") if (folder / "decoder.yml").exists() else {}
    file = chosen(folder, decoder.get("models"), WEIGHTS)[0]
    files = chosen(folder, decoder.get("vocabs"), ("*.spm",))
    read = BinaryTensors(read_npz(file), {}) if file.suffix == ".npz" else read_binary(file, read_bytes(file))
    settings = read_settings(read.tensors.pop(SETTINGS, None), file)
    sizes = read_sizes(settings, file, "Wemb" in read.tensors)
    models = (read_bytes(files[0]), read_bytes(files[-1]))
    sides = (read_vocabulary(models[0], files[0]), read_vocabulary(models[1], files[-1]))
    tensors = {name: array for name, array in read.tensors.items() if not name.startswith("special:")}
    weights = Weights(tensors, file)
    ours = dict(convert(weights, sizes, sides))
    weights.finish()
    steps = steps_of(read, sizes, sides, file)
    shortlists = sorted(folder.glob("lex*.bin"))
    return ForeignModel(
        sizes,
        ours,
        sides,
        models,
        languages_of(file),
        folder.name,
        license_of(folder),
        (files[0], files[-1]),
        steps,
        shortlists[0] if len(shortlists) == 1 else None,
    )


def steps_of(
    read: BinaryTensors, sizes: ModelSizes, sides: tuple[ForeignVocabulary, ForeignVocabulary], file: Path
) -> dict[str, Array]:
    """Of each matrix of ours that was rounded, what 1 stands for in each row: the weights' way, with steps for weights.

    A matrix of ours may be of several of Marian's, each with a step of its own.
    """
    if not read.steps:
        return {}
    full = {
        name: np.broadcast_to(np.float32(read.steps.get(name, 0)), array.shape)
        for name, array in read.tensors.items()
        if not name.startswith("special:")
    }
    converted = convert(Weights(full, file), sizes, sides)
    steps = {name: array[:, 0].copy() for name, array in converted if array.ndim == 2}
    return {name: array for name, array in steps.items() if (array > 0).all()}


def languages_of(file: Path) -> tuple[str, str] | None:
    """As Firefox names its files: model.enfr.intgemm.alphas.bin."""
    match = re.fullmatch(r"model\.([a-z]{2})([a-z]{2})\..*", file.name)
    return (match[1], match[2]) if match else None


def chosen(folder: Path, named: Any, patterns: Sequence[str]) -> list[Path]:
    """The files that decoder.yml names, or those there are."""
    if isinstance(named, list) and named and all(isinstance(name, str) for name in named):
        files = [folder / Path(name).name for name in named]
    elif named is not None:
        raise InputError(f"models and vocabs: expected a list of files, found {named!r}", folder / "decoder.yml")
    else:
        files = next((some for pattern in patterns if (some := sorted(folder.glob(pattern)))), [])
        if not files:
            packed = sorted(file.name for end in PACKED for pattern in patterns for file in folder.glob(pattern + end))
            hint = f"; unpack {packed[0]} first" if packed else ""
            raise InputError(f"there is no {' or '.join(patterns)}{hint}", folder)
        most = 1 if patterns == WEIGHTS else 2
        if len(files) > most:
            names = ", ".join(file.name for file in files)
            raise InputError(f"there are several ({names}); decoder.yml must say which in what order", folder)
    for file in files:
        if file.suffix not in (".npz", ".spm", ".bin"):
            raise InputError("docflat reads weights in .npz or .bin and vocabularies in .spm", file)
        if not file.is_file():
            raise InputError("there is no such file", file)
    return files


def read_yaml_file(file: Path) -> dict[str, Any]:
    return parse_yaml(read_bytes(file), file)


def parse_yaml(data: bytes, file: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(data.decode("utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"not YAML: {' '.join(str(error).split())}", file) from None
    if not isinstance(content, dict):
        raise InputError("expected keys and values", file)
    return content


def read_npz(file: Path) -> dict[str, Array]:
    check_ordinary(file, MOST_BYTES)
    try:
        with zipfile.ZipFile(file) as members:
            unpacked = sum(member.file_size for member in members.infolist())
        if unpacked > MOST_RATIO * file.stat().st_size:
            raise InputError(f"unpacks to {unpacked} bytes, as no weights do: a zip bomb?", file)
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise InputError(f"cannot read the weights: {error}", file) from None


def read_settings(stored: Array | None, file: Path) -> dict[str, Any]:
    if stored is None:
        raise InputError(f"it lacks {SETTINGS}: these are no weights of a Marian model", file)
    return parse_yaml(stored.astype(np.uint8).tobytes().rstrip(b"\0"), file)


def read_sizes(settings: Mapping[str, Any], file: Path, shared: bool) -> ModelSizes:
    """shared: one table for both sides."""
    for key, values in FIXED.items():
        if settings.get(key, values[0]) not in values:
            raise InputError(f"{key}: {settings[key]!r} is another architecture; docflat has {values[0]!r}", file)
    activation = settings.get("transformer-ffn-activation", "swish")
    if activation not in ACTIVATIONS:
        raise InputError(f"transformer-ffn-activation: {activation!r}; docflat has {', '.join(ACTIVATIONS)}", file)
    recurrent = settings.get("transformer-decoder-autoreg") == "rnn"
    if recurrent and (cell := settings.get("dec-cell")) != "ssru":
        raise InputError(f"dec-cell: {cell!r}; docflat has ssru", file)
    inner = number(settings, "transformer-dim-ffn", file)
    if (other := settings.get("transformer-decoder-dim-ffn") or inner) != inner:
        raise InputError(f"transformer-decoder-dim-ffn: {other}, but {inner} in the encoder", file)
    if (depth := settings.get("transformer-decoder-ffn-depth") or 2) != 2:
        raise InputError(f"transformer-decoder-ffn-depth: {depth}; docflat has 2", file)
    try:
        return ModelSizes(
            number(settings, "dim-emb", file),
            number(settings, "transformer-heads", file),
            inner,
            number(settings, "enc-depth", file),
            number(settings, "dec-depth", file),
            Architecture(
                activation=ACTIVATIONS[activation],  # type: ignore[arg-type]
                embedding_norm=False,
                logits_bias=True,
                separate_embeddings=not shared,
                recurrent_decoder=recurrent,
            ),
        )
    except ValueError as error:
        raise InputError(str(error), file) from None


def read_vocabulary(model: bytes, file: Path) -> ForeignVocabulary:
    """The rows are SentencePiece's own ids; nothing but zeros starts a translation."""
    from docflat.data.sentencepieces import processor_of

    try:
        processor = processor_of(model)
    except ValueError as error:
        raise InputError(str(error), file) from None
    pieces = [processor.id_to_piece(row) for row in range(processor.get_piece_size())]
    return ForeignVocabulary(pieces, processor.eos_id(), processor.unk_id(), None)


def convert(
    weights: Weights, sizes: ModelSizes, sides: tuple[ForeignVocabulary, ForeignVocabulary]
) -> Iterator[tuple[str, Array]]:
    """Our names and tensors, the tables in their order. Marian's matrices are (inputs, outputs)."""
    rows, dim = [len(side.pieces) for side in sides], sizes.dim
    if not sizes.architecture.separate_embeddings:
        yield "embedding.weight", weights.take("Wemb", rows[0], dim)
        last = "embedding"
    else:
        yield "embedding.weight", weights.take("encoder_Wemb", rows[0], dim)
        last = "separate_embedding"
        yield f"{last}.weight", weights.take("decoder_Wemb", rows[1], dim)
        if "decoder_ff_logit_out_W" in weights.tensors:
            raise InputError("decoder_ff_logit_out_W: docflat writes logits with the target's embeddings", weights.file)
    yield f"{last}.bias", weights.take("decoder_ff_logit_out_b", 1, rows[1])[0]
    for side, layers in (("encoder", sizes.encoder_layers), ("decoder", sizes.decoder_layers)):
        for layer in range(layers):
            theirs, ours = f"{side}_l{layer + 1}", f"{side}.{layer}"
            if side == "decoder" and sizes.architecture.recurrent_decoder:
                yield from convert_recurrence(weights, f"{theirs}_rnn", ours, dim)
            else:
                yield from convert_attention(weights, f"{theirs}_self", f"{ours}.attention", dim)
            if side == "decoder":
                yield from convert_attention(weights, f"{theirs}_context", f"{ours}.source_attention", dim)
            shapes = ((dim, sizes.feed_forward), (sizes.feed_forward, dim))
            for nth, name, shape in zip((1, 2), ("inner", "outer"), shapes, strict=True):
                yield f"{ours}.feed_forward.{name}.weight", weights.take(f"{theirs}_ffn_W{nth}", *shape).T
                yield f"{ours}.feed_forward.{name}.bias", weights.take(f"{theirs}_ffn_b{nth}", 1, shape[1])[0]
            yield from convert_norm(weights, f"{theirs}_ffn_ffn", f"{ours}.feed_forward_norm", dim)


def convert_attention(weights: Weights, theirs: str, ours: str, dim: int) -> Iterator[tuple[str, Array]]:
    yield f"{ours}.qkv.weight", np.concatenate([weights.take(f"{theirs}_W{part}", dim, dim).T for part in "qkv"])
    yield f"{ours}.qkv.bias", np.concatenate([weights.take(f"{theirs}_b{part}", 1, dim)[0] for part in "qkv"])
    yield f"{ours}.output.weight", weights.take(f"{theirs}_Wo", dim, dim).T
    yield f"{ours}.output.bias", weights.take(f"{theirs}_bo", 1, dim)[0]
    norm = ours.replace("source_attention", "source") + "_norm"
    yield from convert_norm(weights, f"{theirs}_Wo", norm, dim)


def convert_recurrence(weights: Weights, theirs: str, ours: str, dim: int) -> Iterator[tuple[str, Array]]:
    """What is new has no bias there."""
    both = [weights.take(f"{theirs}_{part}", dim, dim).T for part in ("W", "Wf")]
    yield f"{ours}.recurrence.both.weight", np.concatenate(both)
    stays = weights.take(f"{theirs}_bf", 1, dim)[0]
    yield f"{ours}.recurrence.both.bias", np.concatenate([np.zeros(dim, dtype=np.float32), stays])
    yield from convert_norm(weights, f"{theirs}_ffn", f"{ours}.attention_norm", dim)


def convert_norm(weights: Weights, theirs: str, ours: str, dim: int) -> Iterator[tuple[str, Array]]:
    yield f"{ours}.weight", weights.take(f"{theirs}_ln_scale", 1, dim)[0]
    yield f"{ours}.bias", weights.take(f"{theirs}_ln_bias", 1, dim)[0]
