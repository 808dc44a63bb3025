"""The plan of a run: its settings, its sources and its shards. The same inputs and settings make the same plan, byte
for byte, so that any number of machines may make it at once.

plan.json      settings, sources, and how much there is
shards.jsonl   a shard a line
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from docflat.bulk.output import store
from docflat.bulk.readers import open_reader, resolve
from docflat.bulk.settings import Settings, differences
from docflat.bulk.shards import Shard, Unit, check_inside, check_types, cut, name_of
from docflat.bulk.sources import FILES, TABLES, File, Source, changes, find_sources
from docflat.data.documents import kind_of
from docflat.support.errors import InputError
from docflat.support.json_files import read_json
from docflat.support.strict_yaml import from_mapping
from docflat.support.text_files import lines_of

FORMAT = 1
PLAN, SHARDS = "plan.json", "shards.jsonl"


@dataclass(frozen=True)
class Plan:
    out: Path
    facts: Mapping[str, Any]  # settings that decide the output
    sources: tuple[Source, ...]
    shards: int
    documents: int
    work: int

    def read_shards(self) -> Iterator[Shard]:
        path = self.out / SHARDS
        number = 0
        for number, line in enumerate(lines_of(path, path), 1):
            try:
                shard = Shard.from_json(line)
            except (ValueError, TypeError, RecursionError) as error:
                raise InputError(f"is no shard: {error}", path, number) from None
            if not 0 <= shard.source < len(self.sources) or shard.name != self._name(shard):
                raise InputError("is a shard of another plan", path, number)
            yield shard
        if number != self.shards:
            raise InputError(f"has {number} shards, where {PLAN} says {self.shards}", path)

    def _name(self, shard: Shard) -> str:
        return name_of(self.sources[shard.source].name, shard.first, shard.documents)

    def part(self, shard: Shard) -> Path:
        """The file that a shard becomes; of files of formats there is none."""
        return self.out / "parts" / (shard.name + self.suffix(shard.source))

    def receipt(self, name: str) -> Path:
        """What is there when a shard is done."""
        return self.out / "done" / f"{name}.json"

    def diary(self, name: str) -> Path:
        """What says which document of a shard a process is about."""
        return self.out / "doing" / name

    def suffix(self, source: int) -> str:
        one = self.sources[source]
        if one.kind in TABLES:
            return ".parquet"
        return ".jsonl" if kind_of(Path(one.name)) == ".jsonl" else ".txt"


def read_plan(out: Path) -> Plan:
    path = out / PLAN
    facts = read_json(path, "there is no plan of docflat bulk")
    if facts.get("format") != FORMAT:
        raise InputError(f"has format {facts.get('format')!r}, this docflat reads {FORMAT}", path)
    try:
        check_types(facts, dict, "settings")
        check_types(facts, list, "sources")
        check_types(facts, int, "shards", "documents", "work")
        sources = tuple(
            from_mapping(Source, source, path, f"sources[{n}]") for n, source in enumerate(facts["sources"])
        )
        for source in sources:
            check_inside(source.name)
        return Plan(out, facts["settings"], sources, facts["shards"], facts["documents"], facts["work"])
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"is no plan of docflat bulk: {error}", path) from None


def make_plan(paths: Sequence[Path], out: Path, settings: Settings) -> tuple[Plan, list[str], list[str]]:
    """Read all inputs: the plan, the lines of its shards, and what was passed over. Nothing is written."""
    sources, files, skipped = find_sources(paths, out, settings)
    stamped: list[Source] = []
    documents = work = count = 0
    lines: list[str] = []
    for shard in _shards(sources, files, settings, stamped):
        lines.append(shard.to_json() + "\n")
        documents, work, count = documents + shard.documents, work + shard.work, count + 1
    if not documents:
        raise InputError("has no documents", paths[0])
    return Plan(out, settings.facts(), tuple(stamped), count, documents, work), lines, skipped


def write_plan(plan: Plan, lines: Sequence[str]) -> None:
    """lines: of its shards."""
    header = {
        "format": FORMAT,
        "settings": plan.facts,
        "shards": plan.shards,
        "documents": plan.documents,
        "work": plan.work,
        "sources": [asdict(source) for source in plan.sources],
    }
    store(plan.out / SHARDS, "".join(lines))
    store(plan.out / PLAN, json.dumps(header, indent=1) + "\n")


def _shards(
    sources: Iterable[Source], files: Sequence[File], settings: Settings, stamped: list[Source]
) -> Iterator[Shard]:
    """Shards; `stamped` gets each source, with its size and time, when it has been read."""
    for source in sources:
        source = _stamped(resolve(source, settings))
        reader = open_reader(source, settings)
        lengths = bool(settings.docids or settings.starts)
        yield from cut(reader.scan(), len(stamped), source.name, settings.shard_size, lengths)
        stamped.append(replace(source, hash=reader.digest))
    if files:
        source = Source(FILES, "files", "", hash=_hash(files))
        yield from cut(map(_unit, files), len(stamped), FILES, settings.shard_size)
        stamped.append(source)


def _unit(file: File) -> Unit:
    from docflat.bulk.readers.files import work_of_file

    return Unit(work_of_file(Path(file.path), file.size), file=(file.name, file.path, file.size, file.changed))


def _hash(files: Sequence[File]) -> str:
    """Of their names, places, sizes and times: a million of them are not read twice."""
    digest = hashlib.sha256()
    for file in files:
        facts = f"{file.name}\0{file.path}\0{file.size}\0{file.changed}\0"
        digest.update(facts.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _stamped(source: Source) -> Source:
    """With size and time, by which it is known again without reading it."""
    path = Path(source.path)
    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    facts = [one.stat() for one in paths if one.is_file()]
    return replace(source, size=sum(one.st_size for one in facts), changed=max(one.st_mtime_ns for one in facts))


def check_same(plan: Plan, paths: Sequence[Path], settings: Settings) -> Plan:
    """The plan with sources where they are now; an error says what has changed since it was made."""
    all_changes = [f"setting {change}" for change in differences(plan.facts, settings.facts())]
    sources, files, _ = find_sources(paths, plan.out, settings)
    before = {source.name: source for source in plan.sources}
    now: list[Source] = []
    for source in sources:
        was = before.get(source.name)
        if was is None or was.kind != source.kind:
            now.append(source)
            continue
        stamped = _stamped(replace(was, path=source.path))
        same = (stamped.size, stamped.changed) == (was.size, was.changed)
        now.append(stamped if same else replace(stamped, hash=_read_hash(stamped, settings)))
    if files:
        now.append(Source(FILES, "files", "", hash=_hash(files)))
    changed = changes(plan.sources, now)
    if f"{FILES} has other contents" in changed:
        changed.remove(f"{FILES} has other contents")
        changed += _changed_files(plan, files)
    all_changes += [f"input {change}" for change in changed]
    if all_changes:
        more = f"; and {len(all_changes) - 5} more changes" if len(all_changes) > 5 else ""
        message = (
            f"was begun with others: {'; '.join(all_changes[:5])}{more}. --force starts anew, or name another folder"
        )
        raise InputError(message, plan.out)
    paths_now = {source.name: source for source in now}
    return replace(plan, sources=tuple(paths_now[source.name] for source in plan.sources))


def _read_hash(source: Source, settings: Settings) -> str:
    """By reading all of it: it has another time, but may be a copy."""
    reader = open_reader(source, settings)
    for _ in reader.scan():
        pass
    return reader.digest


def _changed_files(plan: Plan, files: Sequence[File]) -> list[str]:
    was = {name: facts for shard in plan.read_shards() for name, *facts in shard.files}
    now = {file.name: [file.path, file.size, file.changed] for file in files}
    changed = [f"{name} was not there" for name in now if name not in was]
    changed += [f"{name} is missing" for name in was if name not in now]
    return changed + [f"{name} was changed or moved" for name in now if name in was and was[name] != now[name]]
