"""Files that hold one JSON object: settings, indexes, what a program noted for itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docflat.support.atomic import write_whole
from docflat.support.errors import InputError
from docflat.support.text_files import check_ordinary

_MOST_BYTES = 16 << 20


def read_json(path: Path, otherwise: str) -> dict[str, Any]:
    """otherwise: what to say of a file that is not there or cannot be opened."""
    check_ordinary(path, _MOST_BYTES)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{otherwise}: {error.strerror}", path) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", path) from None
    if not isinstance(content, dict):
        raise InputError("expected a JSON object", path)
    return content


def write_json(path: Path, content: Any) -> None:
    write_whole(path, json.dumps(content, indent=2) + "\n")
