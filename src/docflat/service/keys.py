"""Who may ask, and how often: keys, of which only hashes are kept, and rates."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from docflat.support.errors import InputError

_LINE = re.compile(r"([\w.@-]{1,64})\s+([0-9a-f]{64})")
_MOST_CLIENTS = 10_000  # whose rates are remembered


def _hash(key: str) -> str:
    """Plain SHA-256: a key is random and long, so nobody finds it by guessing."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Keys:
    """Hashes by the name of their owner."""

    hashes: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> Keys:
        """A name and the hash of its key a line; `docflat serve --new-key NAME` writes such a line."""
        hashes: dict[str, str] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path) from None
        except UnicodeDecodeError:
            raise InputError("not UTF-8", path) from None
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            match = _LINE.fullmatch(line.strip())
            if match is None:
                raise InputError("expected a name and the SHA-256 of a key in hexadecimal", path, number)
            if match[1] in hashes:
                raise InputError(f"a second key for {match[1]}", path, number)
            hashes[match[1]] = match[2]
        if not hashes:
            raise InputError("there are no keys in this file: nobody could use the service", path)
        return cls(hashes)

    def owner(self, key: str) -> str | None:
        """Whose key it is. All are compared, each in constant time: how long it takes says nothing."""
        owner = None
        hashed = _hash(key)
        for name, known in self.hashes.items():
            if hmac.compare_digest(hashed, known):
                owner = name
        return owner


def add_key(path: Path, name: str) -> str:
    """A new key; its hash is added to the file, and nobody can get it back from there."""
    if not _LINE.fullmatch(f"{name} {'0' * 64}"):
        raise InputError(f"a name of a key is of letters, digits, . @ - and _, not {name!r}", path)
    if path.exists() and name in Keys.read(path).hashes:
        raise InputError(f"there is a key for {name} already; remove its line first", path)
    key = secrets.token_urlsafe(32)
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{name} {_hash(key)}\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from None
    return key


@dataclass
class Rates:
    """Requests a minute, of each key or address: a bucket that fills steadily."""

    a_minute: int
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)  # and when that was so

    def take(self, client: str, now: float | None = None) -> float:
        """0: go on; else the seconds to wait."""
        if not self.a_minute:
            return 0.0
        now = time.monotonic() if now is None else now
        left, then = self._left.pop(client, (float(self.a_minute), now))
        left = min(float(self.a_minute), left + (now - then) * self.a_minute / 60)
        wait = 0.0 if left >= 1 else (1 - left) * 60 / self.a_minute
        self._left[client] = (left if wait else left - 1, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return wait
