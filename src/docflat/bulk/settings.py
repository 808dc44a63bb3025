"""What decides the output of a run; a run that goes on must have the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from docflat import __version__
from docflat.decoding.settings import DecodingSettings, check_mode
from docflat.support.errors import InputError
from docflat.weights.shipped import model_folder

LOADER = "docflat.bulk.documents:load"
_BLOCK = 1 << 20  # bytes


@dataclass(frozen=True)
class Settings:
    """Workers, threads and where they run are none of it: they change when it is done, not what comes out."""

    model: str  # a folder
    first_pass: str | None = None
    device: str = "auto"
    precision: str = "auto"
    model_engine: str = "auto"  # what computes: onnx, torch, or auto, as `Translator.load` explains
    repairs: bool = True
    decoding: Mapping[str, Any] = field(default_factory=dict)  # fields of `DecodingSettings`
    key: str | None = None  # the field or column with the documents; None: source or text, whichever there is
    target_key: str = "target"
    language: str = "en"  # of the source, for sentences in texts
    boundaries: str = "auto"
    docids: str | None = None
    starts: str | None = None
    lines: bool = False  # whether files with the endings of formats are text, a sentence a line
    options: Mapping[str, Any] = field(default_factory=dict)  # of formats
    terms: tuple[str, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)
    shard_size: int = 256 << 10  # in the unit of `work_of`, about a character
    loader: str = LOADER  # what loads the model: a module and a function of it

    def check(self) -> None:
        """Refuse what no model decodes with; what this one cannot do is said when it is loaded."""
        chosen = {name: value for name, value in self.decoding.items() if value is not None}
        if chosen.get("mode") == "auto":
            del chosen["mode"]
        DecodingSettings(**chosen)
        if "mode" in chosen:
            check_mode(chosen["mode"], self.first_pass, chosen.get("global_context"), chosen.get("tolerance"))

    def facts(self) -> dict[str, Any]:
        """As JSON, with the contents of the model."""
        facts = asdict(self) | {"terms": list(self.terms), "docflat": __version__, "model": hash_folder(self.model)}
        if self.first_pass is not None:
            facts["first_pass"] = hash_folder(self.first_pass)
        return facts


def hash_folder(folder: str) -> str:
    """Of a model's files, by name and content: a folder may have been copied from machine to machine."""
    digest = hashlib.sha256()
    try:
        for file in sorted(path for path in model_folder(folder).iterdir() if path.is_file()):
            digest.update(file.name.encode() + b"\0")
            digest.update(hash_file(file).encode())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", error.filename or folder) from None
    return digest.hexdigest()[:16]


def hash_file(file: Path) -> str:
    digest = hashlib.sha256()
    with open(file, "rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What has changed, said of each setting."""
    changes = []
    for name in sorted({*before, *now}):
        was, is_ = before.get(name), now.get(name)
        if was == is_:
            continue
        if name in ("decoding", "options"):
            changes += differences(was or {}, is_ or {})
        elif name in ("model", "first_pass") and was and is_:
            changes.append(f"{name} has other contents")
        elif name in ("terms", "glossary"):
            changes.append(f"{name} is another")
        else:
            changes.append(f"{name} was {_shown(was)}, is {_shown(is_)}")
    return changes


def _shown(value: Any) -> str:
    return "not set" if value is None else str(value)
