"""Messages between the web process and a model process: JSON, after its length in four bytes."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any, BinaryIO

Message = dict[str, Any]

_LENGTH = struct.Struct(">I")
MOST = 256 << 20  # bytes: more is no message but a fault


def encode(message: Message) -> bytes:
    body = json.dumps(message).encode()
    return _LENGTH.pack(len(body)) + body


def _length(head: bytes) -> int:
    (length,) = _LENGTH.unpack(head)
    if length > MOST:
        raise ValueError(f"a message of {length} bytes")
    return int(length)


def read(stream: BinaryIO) -> Message | None:
    """The next message; None: the other side is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    length = _length(head)
    body = stream.read(length)
    return json.loads(body) if len(body) == length else None


async def read_async(stream: asyncio.StreamReader) -> Message | None:
    try:
        head = await stream.readexactly(_LENGTH.size)
        return dict(json.loads(await stream.readexactly(_length(head))))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
