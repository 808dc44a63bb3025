"""Models on Hugging Face's hub, by name: downloaded once, then taken from the cache."""

from __future__ import annotations

import re
from pathlib import Path

from docflat.support.errors import InputError

NAME = re.compile(r"[\w.-]+/[\w.-]+")
FILES = ("*.json", "*.spm", "model.safetensors", "README.md")
WITHOUT_SAFETENSORS = ("pytorch_model.bin",)


def is_hub_name(text: str) -> bool:
    """OWNER/NAME, and no file or folder here."""
    return bool(NAME.fullmatch(text)) and not Path(text).exists()


def download(name: str) -> Path:
    """The folder in the cache; downloaded, with a progress bar, if it is not there."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError
    except ImportError:
        raise InputError(
            f"{name} is no folder here. To download models by name: pip install 'docflat[hub]'; or fetch "
            f"{', '.join((*FILES, *WITHOUT_SAFETENSORS))} by hand into a folder, and import that"
        ) from None
    try:
        folder = Path(snapshot_download(name, allow_patterns=list(FILES)))
        if not (folder / "model.safetensors").exists():
            folder = Path(snapshot_download(name, allow_patterns=[*FILES, *WITHOUT_SAFETENSORS]))
    except RepositoryNotFoundError:
        raise InputError(f"the hub has no model {name}, or it is not public") from None
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        what = str(error).strip().split("\n", maxsplit=1)[0]
        raise InputError(
            f"cannot download {name} ({what}); where there is a network, fetch its files "
            f"({', '.join((*FILES, *WITHOUT_SAFETENSORS))}) into a folder, and import that folder"
        ) from None
    return folder
