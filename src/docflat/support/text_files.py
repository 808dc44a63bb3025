"""Files as streams of lines or of bytes, compressed or not; what is wrong with them is said of their line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from docflat.support.errors import InputError


class _StaysOpen(io.RawIOBase):
    """A stream that Arrow does not close with its own: whoever opened it goes on with it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self.stream.write(data)


def _open_zstd(file: Path | BinaryIO, mode: str = "rb", **text: Any) -> Any:
    """By Arrow's own reader: of several frames it reads all, and it says when the last is cut off."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        name = file if isinstance(file, Path) else None
        raise InputError(".zst files need pyarrow: pip install 'docflat[bulk]'", name) from None
    place = str(file) if isinstance(file, Path) else _StaysOpen(file)
    if mode.startswith("r"):
        return io.BufferedReader(pyarrow.input_stream(place, compression="zstd"))
    stream = io.BufferedWriter(pyarrow.CompressedOutputStream(place, "zstd"))
    return io.TextIOWrapper(stream, **text) if mode.endswith("t") else stream


OPENERS: dict[str, Callable[..., Any]] = {
    ".xz": lzma.open,
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".zst": _open_zstd,
}
_BOM = "\ufeff"
_CHUNK = 1 << 16  # bytes
MOST_LINE = 64 << 20  # bytes; a line of JSON may be a document, but a small file can unpack to any line


def _open(file: Path | BinaryIO) -> Any:
    if not isinstance(file, Path):
        return nullcontext(file)  # not ours to close
    return OPENERS.get(file.suffix.lower(), open)(file, "rb")


def raw_lines(file: Path | BinaryIO, name: Path) -> Iterator[bytes]:
    """Lines with their ends."""
    number = 0
    with reading(name, lambda: number + 1), _open(file) as stream:
        while raw := stream.readline(MOST_LINE + 1):
            number += 1
            if len(raw) > MOST_LINE:
                raise InputError(f"a line of more than {MOST_LINE >> 20} MiB", name, number)
            yield raw


def lines_of(file: Path | BinaryIO, name: Path) -> Iterator[str]:
    """Lines without their ends. Only \\n and \\r\\n end a line: str.splitlines knows ten more."""
    number = 0
    try:
        for number, raw in enumerate(raw_lines(file, name), 1):
            text = raw.decode()
            if number == 1 and text.startswith(_BOM):
                text = text[1:]
                if not text:
                    return
            if text.endswith("\r\n"):
                text = text[:-2]
            elif text.endswith("\n"):
                text = text[:-1]
            yield text
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1} of the line (0x{error.object[error.start]:02x})"
        raise InputError(f"not UTF-8: {place}: {error.reason}", name, number) from error


def check_ordinary(path: Path, most: int) -> None:
    """Refuse what cannot be read whole: a pipe, a device, a file of more than so many bytes; a lack shows later."""
    try:
        status = path.stat()
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise InputError("is no ordinary file", path)
    if status.st_size > most:
        raise InputError(f"has {status.st_size} bytes; {most} are the most", path)


def chunks_of(file: Path | BinaryIO, name: Path) -> Iterator[bytes]:
    with reading(name, lambda: None), _open(file) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


@contextmanager
def reading(name: Path, line: Callable[[], int | None]) -> Iterator[None]:
    """What goes wrong with a file, said of its name and the line."""
    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        if not isinstance(error, OSError) or error.errno is None:  # gzip and bz2 raise OSErrors for bad data
            raise InputError(f"truncated or corrupt: {error}", name, line()) from error
        raise InputError(f"cannot be read: {error.strerror}", name) from error
