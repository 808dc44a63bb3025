"""Glossaries that clients keep here: by owner, each with a dictionary for every language pair."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docflat.service.problems import Problem
from docflat.service.store import Store

_MOST = 1000  # of one owner
_NAME = 1024  # characters

LanguagePair = tuple[str, str]


@dataclass(frozen=True)
class StoredGlossary:
    id: str
    name: str
    created: float
    dictionaries: Mapping[LanguagePair, Mapping[str, str]]


@dataclass
class Glossaries:
    store: Store

    def create(self, owner: str, name: str, dictionaries: Mapping[LanguagePair, Mapping[str, str]]) -> StoredGlossary:
        _check_name(name)
        id = str(uuid.uuid4())
        with self.store.transaction() as connection:
            count = connection.execute("select count(*) from glossaries where owner = ?", (owner,)).fetchone()[0]
            if count >= _MOST:
                raise Problem(400, "too_many_glossaries", most=_MOST)
            connection.execute("insert into glossaries values (?, ?, ?, ?)", (id, owner, name, time.time()))
            for (source, target), entries in dictionaries.items():
                values = (id, source, target, json.dumps(dict(entries)))
                connection.execute("insert into dictionaries values (?, ?, ?, ?)", values)
        return self.get(id, owner)

    def get(self, id: str, owner: str) -> StoredGlossary:
        row = self.store.row("select * from glossaries where id = ? and owner = ?", (id, owner))
        if row is None:
            raise Problem(404, "no_glossary")
        dictionaries = {
            (each["source"], each["target"]): json.loads(each["entries"])
            for each in self.store.rows("select * from dictionaries where glossary = ? order by rowid", (id,))
        }
        return StoredGlossary(row["id"], row["name"], row["created"], dictionaries)

    def all_of(self, owner: str) -> list[StoredGlossary]:
        rows = self.store.rows("select id from glossaries where owner = ? order by created", (owner,))
        return [self.get(row["id"], owner) for row in rows]

    def rename(self, id: str, owner: str, name: str) -> None:
        _check_name(name)
        self.store.change("update glossaries set name = ? where id = ? and owner = ?", (name, id, owner))

    def put(self, id: str, owner: str, pair: LanguagePair, entries: Mapping[str, str]) -> None:
        """The dictionary of a pair, in the place of any that there was."""
        self.get(id, owner)
        self.store.change("replace into dictionaries values (?, ?, ?, ?)", (id, *pair, json.dumps(dict(entries))))

    def delete(self, id: str, owner: str) -> None:
        if not self.store.change("delete from glossaries where id = ? and owner = ?", (id, owner)):
            raise Problem(404, "no_glossary")

    def delete_dictionary(self, id: str, owner: str, pair: LanguagePair) -> None:
        self.get(id, owner)
        query = "delete from dictionaries where glossary = ? and source = ? and target = ?"
        if not self.store.change(query, (id, *pair)):
            raise Problem(404, "no_glossary")

    def entries_of(self, ids: Sequence[str], owner: str, pair: LanguagePair) -> dict[str, str]:
        """Of several glossaries together; where they differ the first counts."""
        entries: dict[str, str] = {}
        for id in reversed(ids):
            dictionaries = self.get(id, owner).dictionaries
            if pair not in dictionaries:
                raise Problem(400, "no_dictionary", pair=f"{pair[0]}-{pair[1]}")
            entries.update(dictionaries[pair])
        return entries


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > _NAME:
        raise Problem(400, "missing", name="name")
