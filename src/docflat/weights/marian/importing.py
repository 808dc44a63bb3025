"""A foreign model to a model folder: `docflat import`."""

from __future__ import annotations

from pathlib import Path

import torch

from docflat.data.row_settings import RowSettings
from docflat.support.errors import InputError
from docflat.systems import find_system
from docflat.weights.folders import ModelConfig, save_model
from docflat.weights.marian.foreign import ForeignModel
from docflat.weights.marian.huggingface import read_huggingface

SYSTEM = "sent2sent"
LONGEST = 512  # tokens of a sentence, in Marian's training


def read_foreign(folder: Path) -> ForeignModel:
    """A Marian model in whichever files it comes."""
    if not folder.is_dir():
        raise InputError("there is no such folder", folder)
    if (folder / "config.json").exists():
        return read_huggingface(folder)
    raise InputError("not a Marian model: there is no config.json (Hugging Face)", folder)


def import_model(folder: Path, out: Path, force: bool = False) -> ForeignModel:
    """Write a model folder with the weights of a Marian model."""
    if out.exists() and not force:
        raise InputError("already exists; --force replaces it", out)
    foreign = read_foreign(folder)
    subwords = foreign.subwords()
    rows = find_system(SYSTEM).rows_of(RowSettings(source_starts=False, max_tokens=LONGEST))
    config = ModelConfig(SYSTEM, foreign.sizes, {}, rows)
    weights = {name: torch.from_numpy(tensor) for name, tensor in foreign.laid_out(subwords).items()}
    save_model(out, config, weights, subwords, card(foreign))
    return foreign


def card(foreign: ForeignModel) -> str:
    languages = " to ".join(foreign.languages) if foreign.languages else "not said"
    sizes = foreign.sizes
    return "\n".join(
        [
            f"# {foreign.origin}, imported",
            "",
            "A sentence model of Marian's architecture, converted by `docflat import`; its weights are as they were.",
            "",
            f"- Origin: {foreign.origin}",
            f"- Licence: {foreign.license or 'not said in its folder; ask its makers'}",
            f"- Languages: {languages}",
            f"- Sizes: {sizes.encoder_layers}+{sizes.decoder_layers} layers of {sizes.dim}, {sizes.heads} heads",
            "",
        ]
    )
