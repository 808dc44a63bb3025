"""Which models there are: those that come with docflat, and those that were imported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from docflat.support.errors import InputError
from docflat.support.languages import checked_code
from docflat.weights.config import read_config
from docflat.weights.shipped import MODELS, imported_models, languages_of


@dataclass(frozen=True)
class InstalledModel:
    name: str
    folder: Path
    languages: tuple[str, str] | None
    system: str
    origin: str  # shipped or imported
    bytes: int


def installed_models() -> list[InstalledModel]:
    """Shipped ones first, each by its name; a folder that is no model is passed over."""
    models = []
    for origin, room in (("shipped", MODELS), ("imported", imported_models())):
        for folder in sorted(room.iterdir()) if room is not None and room.is_dir() else ():
            if not (folder / "config.json").is_file():
                continue
            try:
                config, languages = read_config(folder), languages_of(folder)
            except InputError:
                continue
            size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
            models.append(InstalledModel(folder.name, folder, languages, config.system, origin, size))
    return models


def model_for(source: str, target: str) -> InstalledModel:
    """The first model for a pair of languages; a document model before a sentence model."""
    wanted = (checked_code(source), checked_code(target))
    if wanted[0] == wanted[1]:
        raise InputError(f"from {source} to {target} is no translation")
    models = installed_models()
    fitting = [model for model in models if model.languages == wanted]
    if fitting:
        return min(fitting, key=lambda model: model.system == "sent2sent")
    there = ", ".join(sorted({"-".join(model.languages) for model in models if model.languages}))
    raise InputError(
        f"there is no model from {wanted[0]} to {wanted[1]} (there are {there}); "
        f"`docflat import Helsinki-NLP/opus-mt-{wanted[0]}-{wanted[1]}` gets one, if the hub has it"
    )


def folder_for(name: str) -> Path:
    """Where an imported model of this name goes."""
    if name in ("", ".", "..") or os.sep in name:
        raise InputError(f"{name!r} is no name for a model")
    room = imported_models()
    if room is None:
        raise InputError("there is no home folder, so nobody knows where models go: say --out, or set DOCFLAT_MODELS")
    return room / name
