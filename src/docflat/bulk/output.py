"""Files of the output folder."""

from __future__ import annotations

from pathlib import Path

from docflat.support.atomic import write_whole
from docflat.support.errors import InputError


class OutputError(InputError):
    """The output cannot be written: nothing more can be done, and what was finished stays."""


def store(path: Path, content: str | bytes) -> None:
    """Write a file whole, and the folders that it is in."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except InputError as error:
        raise OutputError(str(error)) from None
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path) from None
