"""Files that verbs write beside what they print."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from docflat.support.console import finite
from docflat.support.errors import InputError


def check_output(path: Path | None) -> None:
    """Refuse before the work what could not be written after it."""
    if path is None:
        return
    from docflat.data.documents import OPENERS

    if path.suffix.lower() in OPENERS:
        raise InputError("is written as plain text: its name must not say otherwise", path)
    if path.is_dir():
        raise InputError("cannot be written: it is a folder", path)
    if not path.parent.is_dir():
        raise InputError(f"cannot be written: there is no folder {path.parent}", path)


def write_json_lines(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    from docflat.support.atomic import write_whole

    lines = (json.dumps({name: _plain(value) for name, value in each.items()}, ensure_ascii=False) for each in records)
    try:
        write_whole(path, "".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from error


def _plain(value: object) -> object:
    return [finite(one) for one in value] if isinstance(value, list) else finite(value)
