"""What a service can be told."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from docflat.support.errors import InputError
from docflat.weights.shipped import ENGLISH_GERMAN, languages_of, model_folder

_PAIR = re.compile(r"[a-z]{2,3}-[a-z]{2,3}")
_PAIR_AT_END = re.compile(r"(?:^|[-_.])([a-z]{2,3})-([a-z]{2,3})$")


@dataclass(frozen=True)
class Model:
    folder: Path
    source: str
    target: str

    @property
    def name(self) -> str:
        return f"{self.source}-{self.target}"


def read_model(text: str) -> Model:
    """A model of the command line: a name, a folder that ends in its languages (en-de), or en-de=FOLDER."""
    pair, _, path = text.partition("=")
    if not (path and _PAIR.fullmatch(pair)):
        pair, path = "", text
    folder = model_folder(path)
    if not folder.is_dir():
        raise InputError("there is no such model folder", path)
    match = _PAIR_AT_END.search(pair or folder.resolve().name)
    languages = languages_of(folder) or (match and match.groups())
    if not languages:
        raise InputError(f"which languages does it translate? Say so: --model en-de={path}", path)
    return Model(folder, languages[0], languages[1])


def default_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where jobs are kept: systemd names a folder for what a service keeps; else the user's own."""
    if systemd := environment.get("STATE_DIRECTORY"):
        return Path(systemd.partition(":")[0])
    if state := environment.get("XDG_STATE_HOME"):
        return Path(state) / "docflat"
    try:
        return Path.home() / ".local" / "state" / "docflat"
    except RuntimeError:  # a user of a container, whom the system does not know
        raise InputError("there is no home folder, so nobody knows where jobs are kept: say --data") from None


@dataclass(frozen=True)
class Settings:
    models: tuple[Model, ...] = (Model(ENGLISH_GERMAN, "en", "de"),)
    host: str = "127.0.0.1"
    port: int = 5000
    folder: Path = field(default_factory=default_folder)
    threads: int = 0  # of a model process; 0: all cores
    text_processes: int = 1
    document_processes: int = 1
    most_characters: int = 50_000  # of one request of texts
    most_upload: int = 64 << 20  # bytes of a file
    most_files: int = 20  # of a job
    text_seconds: float = 20.0  # of work that may wait before texts are refused
    document_seconds: float = 4 * 3600.0
    retention: float = 24 * 3600.0  # seconds that a job and its files are kept
    most_sessions: int = 1000
    session_seconds: float = 3600.0
    rate: int = 0  # requests a minute of one key or address; 0: any number
    keys: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()  # of pages elsewhere that may call the API from a browser
    root_path: str = ""
    proxy: bool = False  # whether to believe X-Forwarded-For and X-Forwarded-Proto of this machine's proxy
    most_connections: int = 1000
    client_seconds: float = 30.0  # that a client may keep the server waiting in the middle of a request
    grace_seconds: float = 3.0  # after which a text whose client has left, and has not asked again, is given up
    answer_seconds: float = 30.0  # that a model process may be silent when it is asked whether it is there
    silence_seconds: float = 600.0  # without progress, after which a document's process is taken to hang
    loader: str = "docflat.service.translators:load"  # what a model process gets its translators from

    def find(self, source: str, target: str) -> Model | None:
        return next((model for model in self.models if (model.source, model.target) == (source, target)), None)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model.source for model in self.models))

    def targets(self, source: str | None = None) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model.target for model in self.models if source in (None, model.source)))
