"""Bytes of a file from the middle; of a compressed one by reading on from where the last ones ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docflat.support.errors import InputError
from docflat.support.text_files import OPENERS, reading

_CHUNK = 1 << 20  # bytes


class Cursor:
    """A worker gets its shards in ascending order, so that it unpacks a file about once for all of them."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.packed = file.suffix.lower() in OPENERS
        self.stream: Any = None
        self.place = 0

    def read(self, offset: int, size: int) -> bytes:
        with reading(self.file, lambda: None):
            self._go_to(offset)
            pieces = []
            while size and (piece := self.stream.read(min(size, _CHUNK))):
                pieces.append(piece)
                size -= len(piece)
        if size:
            raise InputError("is shorter than when the plan was made", self.file)
        data = b"".join(pieces)
        self.place += len(data)
        return data

    def _go_to(self, offset: int) -> None:
        if self.stream is None or (self.packed and offset < self.place):
            self.close()
            self.stream = OPENERS.get(self.file.suffix.lower(), open)(self.file, "rb")
            self.place = 0
        if not self.packed:
            self.stream.seek(offset)
        else:
            while self.place < offset:
                piece = self.stream.read(min(offset - self.place, _CHUNK))
                if not piece:
                    raise InputError("is shorter than when the plan was made", self.file)
                self.place += len(piece)
        self.place = offset

    def close(self) -> None:
        if self.stream is not None:
            self.stream.close()
            self.stream = None
