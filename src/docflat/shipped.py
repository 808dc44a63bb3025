"""The model that comes with docflat."""

from __future__ import annotations

from pathlib import Path

ENGLISH_GERMAN = Path(__file__).parent / "models" / "en-de"
