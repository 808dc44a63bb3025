"""The models that come with docflat."""

from __future__ import annotations

from pathlib import Path

from docflat.weights.config import read_config

MODELS = Path(__file__).parent / "models"
ENGLISH_GERMAN = MODELS / "en-de"


def model_folder(name: str) -> Path:
    """A folder by its path; or, where there is none, a model that comes with docflat by its name."""
    path, shipped = Path(name), MODELS / name
    return shipped if not path.exists() and shipped.parent == MODELS and shipped.is_dir() else path


def languages_of(folder: Path) -> tuple[str, str] | None:
    """Source and target language: of a model that comes with docflat by its name, of others as their folders say."""
    if folder.parent == MODELS:
        source, _, target = folder.name.partition("-")
        return source, target
    return read_config(folder).languages
