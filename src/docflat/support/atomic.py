"""Writing that is whole or not at all: beside, under a name that nobody else has, then renamed.

What is written is on the disk before it has its name. Devices, pipes and descriptors are written through; a symbolic
link stays, and what it leads to is replaced.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import io
import os
import re
import shutil
import stat
import sys
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from docflat.support.errors import InputError

fcntl: Any
try:
    fcntl = import_module("fcntl")
except ImportError:  # Windows has none
    fcntl = None

_MOST_LINKS = 40  # as many as Linux follows
_PARTIAL = re.compile(r"\.(.+)\.([0-9a-f]{8})([0-9a-f]{8})\.(partial|replaced)")
_RUST_ERROR = re.compile(r"(?:os error|code:) (\d+)")
_LONGEST_STEM = 180  # bytes of the name; file systems take 255, and ours has some beside it
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
_live: dict[Path, int] = {}  # what is being written, and by which process
_cleaned: set[Path] = set()  # folders where this process has looked for what killed ones left


def destination(path: Path) -> Path | int:
    """Where a name leads: symbolic links are followed; /dev/stdout and its like are a descriptor of this process."""
    descriptors = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd")}
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if folder in descriptors and path.name.isdecimal():
            return int(path.name)
        path = Path(folder, path.name)
        if not path.is_symlink():
            return path
        path = Path(folder, os.readlink(path))
    raise InputError("cannot be written: too many symbolic links", path)


def replaced_by(path: Path) -> Path | None:
    """The regular file that writing to this name would replace; None: there is none."""
    place = destination(path)
    return place if isinstance(place, Path) and place.is_file() else None


def is_stdout(path: Path) -> bool:
    return destination(path) == 1


def is_through(path: Path) -> bool:
    """Whether this is written through: a device, a pipe, a descriptor."""
    place = destination(path)
    return isinstance(place, int) or (place.exists() and not place.is_file() and not place.is_dir())


@contextmanager
def whole_file(path: Path | None) -> Iterator[BinaryIO]:
    """A stream into a file that gets its name when the block ends; after an error all is as it was. None: stdout."""
    if path is None:
        yield from _to_stdout()
        return
    place = destination(path)
    if isinstance(place, int) or is_through(place):
        with _said_of(path):
            handle = os.dup(place) if isinstance(place, int) else os.open(place, os.O_WRONLY)
        with _stream(handle, path) as stream:
            yield stream
        return
    with _said_of(path):
        if place.is_dir():
            raise InputError("cannot be written: it is a folder", path)
        before = place.stat() if place.exists() else None
        _clean(place.parent)
        partial, handle = _new_file(place, 0o666 if before is None else 0o600)
    held = os.dup(handle) if fcntl else None  # locked until the file has its name
    try:
        with _stream(handle, path) as stream:
            yield stream
            with _said_of(path):
                stream.flush()
                if before is not None:
                    _like(before, handle)
                os.fsync(handle)
        with _said_of(path):
            os.replace(partial, place)
            _flush(place.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        _live.pop(partial, None)
        if held is not None:
            os.close(held)


def write_whole(path: Path | None, content: str | bytes) -> None:
    """Write a file; until it is whole, an earlier one stays as it was. None: stdout."""
    with whole_file(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_folder(folder: Path, force: bool = False, writes: Collection[str] = ("*",)) -> Iterator[Path]:
    """A new folder to fill, beside `folder`: in the end it gets that name, after an error it is removed.

    `force` replaces what has the name until then, if it holds nothing else than `writes`, which are globs: a slip in
    the name must not cost a folder that is something else.
    """
    folder = folder.resolve()  # the rename must not hit a symbolic link
    with _said_of(folder, "made"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        _refuse_company(folder)
    if folder.exists() and not (folder.is_dir() and (force or not any(folder.iterdir()))):
        raise InputError("exists already and is not an empty folder", folder)
    if os.path.ismount(folder):
        raise InputError("is a mount point, which cannot be renamed: name a folder in it", folder)
    if folder.exists():
        others = [file.name for file in folder.iterdir() if not any(fnmatchcase(file.name, name) for name in writes)]
        if others:
            raise InputError(f"is not replaced: it holds {min(others)!r}, which docflat did not write here", folder)
    with _said_of(folder, "made"):
        partial, held = _new_folder(folder)
    old = partial_name(folder, "replaced")
    try:
        try:
            yield partial
            _settle(partial, folder if folder.exists() else None)
            if folder.exists():
                folder.rename(old)
            partial.rename(folder)
            _flush(folder.parent)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise InputError(f"cannot be written: {error.strerror or error}", folder) from error
        except InputError as error:  # of a file in it, by the name that it would have had
            raise InputError(str(error).replace(str(partial), str(folder))) from error
        except Exception as error:  # libraries in Rust, such as safetensors, have errors of their own
            number = _RUST_ERROR.search(str(error))
            if number is None or int(number[1]) not in _NO_ROOM:
                raise
            raise InputError(f"cannot be written: {os.strerror(int(number[1]))}", folder) from error
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        _live.pop(partial, None)
        if held is not None:
            os.close(held)


@contextmanager
def alone(folder: Path, what: str = "training", lock: str = ".lock", instead: str = "another `out`") -> Iterator[None]:
    """Hold a folder against a second process that would write into it; the system lets go of it after a kill.

    what: does so; instead: what else to write into. Where a file system has no locks, nothing is held.
    """
    if fcntl is None:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / lock, "a")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", folder) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another {what} is writing here; wait for it, or choose {instead}", folder) from None
        except OSError:
            pass
        yield


def _to_stdout() -> Iterator[BinaryIO]:
    if sys.stdout is None:
        raise InputError("stdout is closed")
    sys.stdout.flush()
    with _said_of(Path("stdout")):
        yield sys.stdout.buffer
        sys.stdout.flush()


class _Raw(io.FileIO):
    """Says what goes wrong of the file that the user named. After that it takes no more, so that it can be closed."""

    path: Path
    failed = False

    def write(self, data: Any) -> int:
        if self.failed:
            return len(data)
        try:
            return super().write(data)
        except OSError as error:
            self.failed = True
            if isinstance(error, BrokenPipeError):
                raise
            raise InputError(f"cannot be written: {error.strerror or error}", self.path) from None


@contextmanager
def _stream(handle: int, path: Path) -> Iterator[BinaryIO]:
    raw = _Raw(handle, "wb")
    raw.path = path
    try:
        with io.BufferedWriter(raw) as stream:
            yield stream
    finally:
        raw.close()


@contextmanager
def _said_of(path: Path, what: str = "written") -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot be {what}: {error.strerror or error}", path) from None


def partial_name(place: Path, kind: str = "partial") -> Path:
    """A name beside this one. By its second half we know it again: a user has no such file by chance."""
    stem = os.fsdecode(os.fsencode(place.name)[:_LONGEST_STEM])
    number = os.urandom(4).hex()
    return place.with_name(f".{stem}.{number}{_check(number)}.{kind}")


def _check(number: str) -> str:
    return f"{zlib.crc32(f'docflat {number}'.encode()):08x}"


def _is_ours(entry: os.DirEntry[str]) -> bool:
    match = _PARTIAL.fullmatch(entry.name)
    if not match or match[3] != _check(match[2]) or entry.is_symlink():
        return False
    try:
        return not hasattr(os, "geteuid") or entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except FileNotFoundError:  # another process has just given it its name
        return False


@atexit.register
def _remove_live() -> None:
    """A signal can come between the making of a file and the `try` that would remove it."""
    for partial, process in _live.items():
        if process != os.getpid():  # of the process that this one was forked from
            continue
        with contextlib.suppress(OSError):
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            else:
                partial.unlink(missing_ok=True)


def _new_file(place: Path, mode: int) -> tuple[Path, int]:
    """A file that was not there before, locked for as long as it is written."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        partial = partial_name(place)
        _live[partial] = os.getpid()
        handle = os.open(partial, flags, mode)
        if _hold(handle, partial):
            return partial, handle
        os.close(handle)


def _new_folder(place: Path) -> tuple[Path, int | None]:
    while True:
        partial = partial_name(place)
        _live[partial] = os.getpid()
        partial.mkdir()
        if fcntl is None:
            return partial, None
        handle = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
        if _hold(handle, partial):
            return partial, handle
        os.close(handle)


def _hold(handle: int, partial: Path) -> bool:
    """Whether it is ours now; another process may have taken it for a leftover before it was locked."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nothing is cleaned there
        return True
    try:
        return os.path.samestat(os.fstat(handle), os.stat(partial))
    except FileNotFoundError:
        return False


def _is_left(path: str) -> bool | None:
    """Whether nobody writes it any more; None: that cannot be known here."""
    if fcntl is None:
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    finally:
        os.close(handle)
    return True


def _clean(folder: Path) -> None:
    """Remove what killed processes left of files; once a process and folder, as a folder may have many files."""
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    with contextlib.suppress(PermissionError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".partial") and _is_ours(entry) and entry.is_file() and _is_left(entry.path):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _refuse_company(folder: Path) -> None:
    """Two runs that write into the same folder would spoil both results; what a killed one left is removed."""
    stem = os.fsdecode(os.fsencode(folder.name)[:_LONGEST_STEM])
    with os.scandir(folder.parent) as entries:
        beside = [
            one for one in entries if (match := _PARTIAL.fullmatch(one.name)) and match[1] == stem and _is_ours(one)
        ]
    beside = [one for one in beside if one.is_dir()]
    for entry in beside:
        if _is_left(entry.path) is False:
            raise InputError("another run is writing here", folder)
    for entry in beside:
        if entry.name.endswith(".replaced") and not folder.exists():
            os.rename(entry.path, folder)  # the run was killed after it had moved this out of the way
        elif _is_left(entry.path):
            shutil.rmtree(entry.path, ignore_errors=True)


def _settle(partial: Path, before: Path | None) -> None:
    """Everything on the disk, with the mode of what it replaces, or the one that the user asks for by umask."""
    usual = stat.S_IMODE(partial.stat().st_mode)
    for path in (*partial.rglob("*"), partial):
        if not path.is_symlink():
            is_folder = path.is_dir()
            old = before / path.relative_to(partial) if before is not None else None
            if old is not None and old.exists() and old.is_dir() == is_folder:
                path.chmod(stat.S_IMODE(old.stat().st_mode))
            else:
                path.chmod(usual if is_folder else usual & 0o666)
            _flush(path)


def _like(before: os.stat_result, handle: int) -> None:
    """The mode of the file that is replaced, and its owner where that can be set."""
    if not hasattr(os, "fchmod"):
        return
    now = os.fstat(handle)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode) & 0o777)


def _flush(path: Path) -> None:
    """A rename may reach the disk before the contents do, unless these are sent there first."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
