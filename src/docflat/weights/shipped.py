"""The models that come with docflat."""

from __future__ import annotations

import os
from pathlib import Path

from docflat.support.errors import InputError

MODELS = Path(__file__).parent / "models"
ENGLISH_GERMAN = MODELS / "en-de"


def imported_models() -> Path | None:
    """Where `docflat import` puts models: $DOCFLAT_MODELS, or a folder of the user's data; None: the user has none."""
    if named := os.environ.get("DOCFLAT_MODELS"):
        return Path(named)
    try:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    except RuntimeError:  # a user of a container, whom the system does not know
        return None
    return data / "docflat" / "models"


def model_folder(name: str) -> Path:
    """A folder by its path; or, where there is none, a model that comes with docflat or was imported, by its name."""
    path = Path(name)
    if path.exists():
        return path
    for room in (MODELS, imported_models()):
        if room is not None and (room / name).parent == room and (room / name).is_dir():
            return room / name
    return path


def languages_of(folder: Path) -> tuple[str, str] | None:
    """Source and target language: of a model that comes with docflat by its name, of others as their folders say."""
    if folder.parent == MODELS:
        source, _, target = folder.name.partition("-")
        return source, target
    from docflat.weights.config import read_config  # here: --help asks for names only

    try:
        return read_config(folder).languages
    except InputError:  # whoever loads it will say so
        return None
