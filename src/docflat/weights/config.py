"""config.json of a model folder: its system, its sizes, its rows. No torch here: any engine starts from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docflat.data.row_settings import RowSettings
from docflat.data.subwords import Subwords
from docflat.model.sizes import ModelSizes, Vocabulary
from docflat.support.errors import InputError
from docflat.support.json_files import read_json
from docflat.support.strict_yaml import from_mapping
from docflat.systems import find_system
from docflat.weights.stored import stored_names

if TYPE_CHECKING:
    from docflat.model.transformer import Transformer

FORMAT = 1


@dataclass(frozen=True)
class AlignmentView:
    """Where in a model the alignment of words shows."""

    layer: int  # of the decoder
    reading: bool  # when a word has just been read; else: when it is about to be said


@dataclass(frozen=True)
class ModelConfig:
    """config.json of a model folder."""

    system: str
    sizes: ModelSizes
    options: dict[str, Any]
    rows: RowSettings  # as in training: how much local context, which rows see each other
    languages: tuple[str, str] | None = None  # source and target, in two letters where they have them; None: not known
    alignment: AlignmentView | None = None  # as it was measured; None: found out when it is first asked for
    model_type: str = "docflat"
    format: int = FORMAT

    def alike(self, other: ModelConfig) -> bool:
        """Whether the weights of one fit the other: the same system with the same options."""
        options = [find_system(one.system).read_options(one.options) for one in (self, other)]
        return self.system == other.system and options[0] == options[1]

    def build(self, subwords: Subwords, dropout: float = 0.0, file: str | None = None) -> Transformer:
        system = find_system(self.system, file)
        return system.build(self.sizes, vocabulary_of(subwords), system.read_options(self.options, file), dropout)


def vocabulary_of(subwords: Subwords) -> Vocabulary:
    return Vocabulary(subwords.size, subwords.text_size, subwords.bos, subwords.eos, subwords.mask)


def read_config(folder: Path) -> ModelConfig:
    path = folder / "config.json"
    if not folder.exists():
        raise InputError("is not a model folder, nor the name of a model (`docflat models` lists those)", folder)
    content = read_json(path, f"{folder} is not a model folder")
    if content.get("model_type") != "docflat" or content.get("format") != FORMAT:
        raise InputError(f"not a docflat model of format {FORMAT}", path)
    config = from_mapping(ModelConfig, content, file=path)
    system = find_system(config.system, str(path))
    options = config.options
    if system.unnamed.keys() - options.keys():
        options = system.by_weights(options, stored_names(folder / "model.safetensors"))
    system.check(config.sizes, system.read_options(options, str(path)), str(path))
    return replace(config, options=options, rows=system.rows_of(config.rows, "rows", str(path)))
