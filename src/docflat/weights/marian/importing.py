"""A foreign model to a model folder: `docflat import`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from docflat.data.row_settings import RowSettings
from docflat.support.atomic import whole_folder
from docflat.support.errors import InputError
from docflat.support.json_files import write_json
from docflat.support.languages import language_code, language_name
from docflat.support.strict_yaml import to_mapping
from docflat.systems import find_system
from docflat.weights.config import ModelConfig
from docflat.weights.int8_files import save_in_parts
from docflat.weights.marian.foreign import ForeignModel
from docflat.weights.marian.huggingface import read_huggingface
from docflat.weights.marian.native import WEIGHTS, read_native
from docflat.weights.marian.shortlist import read_shortlist
from docflat.weights.shortlists import FILE

SYSTEM = "sent2sent"
WRITTEN = ("config.json", "tokenizer.json", "README.md", "model*.safetensors", FILE)
MOST_TOKENS = 512  # tokens of a sentence, as in Marian's training


def read_foreign(folder: Path) -> ForeignModel:
    """A Marian model in whichever files it comes."""
    if not folder.is_dir():
        raise InputError("there is no such folder", folder)
    if (folder / "config.json").exists():
        return read_huggingface(folder)
    if (folder / "decoder.yml").exists() or any(file for end in WEIGHTS for file in folder.glob(f"{end}*")):
        return read_native(folder)
    raise InputError(
        "not a Marian model: it has neither config.json (Hugging Face's form) nor .npz or .bin and .spm", folder
    )


def import_model(
    folder: Path, out: Path, languages: tuple[str, str] | None = None, int8: bool = True, force: bool = False
) -> ModelConfig:
    """Write a model folder with the weights of a Marian model.

    languages: source and target, where its own files do not say. int8: a quarter of the size, and the fast products.
    """
    foreign = read_foreign(folder)
    subwords = foreign.subwords()
    rows = find_system(SYSTEM).rows_of(RowSettings(source_starts=False, max_tokens=MOST_TOKENS))
    if languages is None and foreign.languages is not None:
        source, target = map(language_code, foreign.languages)
        languages = (source, target)
    config = ModelConfig(SYSTEM, foreign.sizes, {}, rows, languages)
    weights = foreign.laid_out(subwords)
    shortlist = foreign.shortlist and read_shortlist(foreign.shortlist, foreign.vocabularies, subwords)
    with whole_folder(out, force, WRITTEN) as partial:
        write_json(partial / "config.json", to_mapping(config))
        subwords.save(partial / "tokenizer.json")
        if shortlist:
            save_file(shortlist, partial / FILE)
        (partial / "README.md").write_text(card(foreign, languages), encoding="utf-8")
        if int8:
            save_in_parts(foreign.rounded(weights), partial)
        else:
            # As they lie: what is turned would be written as it lay before.
            plain = {name: np.ascontiguousarray(array) for name, array in weights.items()}
            save_file(plain, partial / "model.safetensors")
    return config


def card(foreign: ForeignModel, languages: tuple[str, str] | None) -> str:
    sizes = foreign.sizes
    lines = [
        f"# {foreign.origin}, imported",
        "",
        "A sentence model of Marian's architecture, converted by `docflat import`. It was trained by others.",
        "",
        f"- Origin: {foreign.origin}",
        f"- Licence: {foreign.license or 'its folder does not say; ask its makers'}",
        f"- Languages: {' to '.join(map(language_name, languages)) if languages else 'its folder does not say'}",
        f"- Sizes: {sizes.encoder_layers} + {sizes.decoder_layers} layers of {sizes.dim}, {sizes.heads} heads",
    ]
    return "\n".join(lines) + "\n"
