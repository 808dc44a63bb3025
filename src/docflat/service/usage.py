"""How many characters each owner has had translated, for DeepL's `usage`."""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from dataclasses import dataclass, field

from docflat.service.store import Store

log = logging.getLogger("docflat.service")

SECONDS = 10.0  # between writes: a write for every request would be a wait for the disk in every request


@dataclass
class Usage:
    store: Store
    _new: Counter[str] = field(default_factory=Counter)

    def add(self, owner: str, characters: int) -> None:
        self._new[owner] += characters

    def of(self, owner: str) -> int:
        row = self.store.row("select characters from usage where owner = ?", (owner,))
        return (row["characters"] if row else 0) + self._new[owner]

    def write(self) -> None:
        new, self._new = +self._new, Counter()
        if not new:
            return
        try:
            with self.store.transaction() as connection:
                connection.executemany(
                    "insert into usage values (?, ?)"
                    " on conflict (owner) do update set characters = characters + excluded.characters",
                    list(new.items()),
                )
        except sqlite3.OperationalError as error:  # the disk is full: they are counted here until it is not
            log.error("usage cannot be written: %s", error)
            self._new.update(new)
