"""Parts to one file, in the order of the input."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from docflat.bulk.plan import Plan
from docflat.bulk.receipts import names_done
from docflat.bulk.shards import Shard
from docflat.data.documents import kind_of
from docflat.support.atomic import whole_file
from docflat.support.errors import InputError
from docflat.support.text_files import OPENERS

_AGAIN = "without its receipt in the folder done it is made again"
_GROUP = 10_000  # rows of a group: many small ones would be slow to read


def merge(plan: Plan, out: Path, name: str | None = None) -> int:
    """One file of all parts, or of those of one source; how many documents it has."""
    shards = [shard for shard in plan.read_shards() if not shard.files and name in (None, _name(plan, shard))]
    if not shards:
        there = ", ".join(source.name for source in plan.sources if source.kind != "files")
        if name is None:
            raise InputError("there is nothing to merge: translated files lie in its folder files", plan.out)
        raise InputError(f"there is no source {name!r} to merge; there are {there or 'none'}", plan.out)
    done = names_done(plan)
    missing = sum(shard.name not in done for shard in shards)
    if missing:
        raise InputError(f"{missing} of {len(shards)} shards are not done yet: run docflat bulk again", plan.out)
    kinds = {plan.part(shard).suffix for shard in shards}
    if len(kinds) > 1:
        raise InputError(
            f"its parts are of several kinds ({', '.join(sorted(kinds))}): name one with --source", plan.out
        )
    (kind,) = kinds
    _check_name(out, kind)
    parts = [plan.part(shard) for shard in shards]
    if kind == ".parquet":
        _merge_tables(parts, out)
    else:
        with whole_file(out) as stream, _packed(stream, out) as packed:
            for part in parts:
                with _opened(part) as source:
                    shutil.copyfileobj(source, packed, 1 << 20)
    return sum(shard.documents for shard in shards)


def _name(plan: Plan, shard: Shard) -> str:
    return plan.sources[shard.source].name


def _check_name(out: Path, kind: str) -> None:
    named = ".parquet" if out.suffix.lower() == ".parquet" else kind_of(out)
    if (kind in (".parquet", ".jsonl") or named in (".parquet", ".jsonl")) and named != kind:
        raise InputError(f"the parts are {kind} files, and this is the name of another kind", out)


@contextmanager
def _opened(part: Path) -> Iterator[BinaryIO]:
    try:
        with open(part, "rb") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; {_AGAIN}", part) from None


@contextmanager
def _packed(stream: BinaryIO, out: Path) -> Iterator[Any]:
    """As the name says: .gz, .xz, .bz2 or .zst."""
    suffix = out.suffix.lower()
    if suffix not in OPENERS:
        yield stream
    elif suffix == ".gz":
        import gzip

        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:  # without name and time: the same each time
            yield packed
    elif suffix == ".zst":
        import pyarrow

        with pyarrow.CompressedOutputStream(stream, "zstd") as packed:
            yield packed
    else:
        with OPENERS[suffix](stream, "wb") as packed:
            yield packed


def _merge_tables(parts: Sequence[Path], out: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def table_of(part: Path) -> Any:
        try:
            return pq.ParquetFile(part).read()
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"truncated or corrupt: {error}; {_AGAIN}", part) from None

    first = table_of(parts[0]).schema
    with whole_file(out) as stream, pq.ParquetWriter(stream, first, compression="zstd") as writer:
        pending: list[Any] = []
        rows = 0
        for part in parts:
            table = table_of(part)
            if not table.schema.equals(first):
                raise InputError("has other columns than the parts before it: name one source with --source", part)
            pending.append(table)
            rows += len(table)
            if rows >= _GROUP:
                writer.write_table(pa.concat_tables(pending))
                pending, rows = [], 0
        if pending:
            writer.write_table(pa.concat_tables(pending))
