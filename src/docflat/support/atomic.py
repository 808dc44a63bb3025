"""Writing that is whole or not at all: beside, then renamed, on the disk before it has its name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docflat.support.errors import InputError


@contextmanager
def whole_folder(folder: Path, force: bool = False) -> Iterator[Path]:
    """A new folder to fill, beside `folder`: in the end it gets that name, after an error it is removed.

    `force` replaces what has the name until then.
    """
    folder = folder.resolve()  # the rename must not hit a symbolic link
    if folder.exists() and not (folder.is_dir() and (force or not any(folder.iterdir()))):
        raise InputError("exists already and is not an empty folder", folder)
    if os.path.ismount(folder):
        raise InputError("is a mount point, which cannot be renamed: name a folder in it", folder)
    partial = folder.with_name(folder.name + ".partial")
    old = folder.with_name(folder.name + ".replaced")
    if force:
        shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
    except FileExistsError:
        # Two runs that write into the same folder would spoil both results.
        message = "another run is writing here, or was killed while it did; if so, remove this folder"
        raise InputError(message, partial) from None
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", partial) from error
    try:
        yield partial
        for path in (*partial.rglob("*"), partial):
            _flush(path)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        partial.rename(folder)
        _flush(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file; until it is whole, an earlier one stays as it was."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content.encode() if isinstance(content, str) else content)
    _flush(partial)
    partial.replace(path)


def _flush(path: Path) -> None:
    """A rename may reach the disk before the contents do, unless these are sent there first."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder against a second process that would write into it; the system lets go of it after a kill."""
    try:
        import fcntl
    except ImportError:  # Windows has none
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / ".lock", "a")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", folder) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another training is writing here; wait for it, or choose another `out`", folder) from None
        yield
