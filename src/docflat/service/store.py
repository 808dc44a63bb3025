"""What outlives the process: jobs and their files, glossaries and usage, in SQLite.

Bytes of files are not here but in the spool. Every change is one transaction, on the disk before the call returns.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from docflat.support.errors import InputError

T = TypeVar("T")
log = logging.getLogger("docflat.service")

DISK_SECONDS = 10.0  # until a full disk is tried again
_VERSION = 1
_SCHEMA = """
create table jobs (
    id text primary key,
    owner text not null,          -- the name of the key that it was sent with, or nothing
    secret text not null,         -- the hash of what DeepL calls the document's key
    model text not null,          -- its language pair
    compare integer not null,     -- whether to say what each sentence reads without context
    terms text not null,          -- JSON: what stays as it is
    glossary text not null,       -- JSON: terms and their translations
    keys text not null,           -- JSON: of JSON files, which strings
    created real not null,
    ended real                    -- when the last of its files was
);
create table files (
    place integer primary key autoincrement,  -- in the queue
    job text not null references jobs(id) on delete cascade,
    number integer not null,
    name text not null,           -- the client's own
    suffix text not null,
    size integer not null,        -- bytes
    state text not null,          -- queued, running, done, failed
    tries integer not null default 0,  -- processes that died of it
    fault text not null default '',    -- JSON: code of the wording, and its values
    report text not null default '',   -- JSON
    unique (job, number)
);
create index files_by_state on files(state, place);
create table glossaries (
    id text primary key, owner text not null, name text not null, created real not null
);
create table dictionaries (
    glossary text not null references glossaries(id) on delete cascade,
    source text not null, target text not null, entries text not null,  -- JSON
    primary key (glossary, source, target)
);
create table usage (owner text primary key, characters integer not null);
"""


class Store:
    """One connection, for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)  # glossaries are nobody else's business; SQLite's files beside it are as it is
            path.chmod(0o600)
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("pragma journal_mode=wal")
            self._connection.execute("pragma synchronous=full")  # what was accepted survives a power cut too
            self._connection.execute("pragma foreign_keys=on")
            version = self._connection.execute("pragma user_version").fetchone()[0]
            if version == 0:
                self._connection.executescript(f"begin;{_SCHEMA}pragma user_version={_VERSION};commit;")
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path.parent) from None
        except sqlite3.Error as error:
            raise InputError(f"is no database of docflat: {error}", path) from None
        if version not in (0, _VERSION):
            raise InputError("is of another version of docflat; name another folder with --data", path)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("begin immediate")
            try:
                yield self._connection
                self._connection.execute("commit")  # which a full disk may refuse
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def row(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Row | None:
        rows = self.rows(query, values)
        return rows[0] if rows else None

    def change(self, query: str, values: Sequence[Any] = ()) -> int:
        """How many rows were changed."""
        with self.transaction() as connection:
            return connection.execute(query, values).rowcount


async def when_disk_allows(do: Callable[[], T]) -> T:
    """A full disk stops the work until it is not full; what was accepted is not lost by it."""
    while True:
        try:
            return do()
        except sqlite3.OperationalError as error:
            log.error("the database cannot be written: %s", error)
            await asyncio.sleep(DISK_SECONDS)
