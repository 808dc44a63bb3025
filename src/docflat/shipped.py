"""The models that come with docflat."""

from __future__ import annotations

from pathlib import Path

MODELS = Path(__file__).parent / "models"
ENGLISH_GERMAN = MODELS / "en-de"


def model_folder(name: str) -> Path:
    """A folder by its path; or, where there is none, a model that comes with docflat by its name."""
    path, shipped = Path(name), MODELS / name
    return shipped if not path.exists() and shipped.parent == MODELS and shipped.is_dir() else path
