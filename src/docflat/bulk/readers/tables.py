"""Tables with a column of documents: Parquet, and Hugging Face datasets on disk. The other columns stay as they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from docflat.bulk.readers.documents import Document, Failure, Translation
from docflat.bulk.readers.json_lines import check, choose_key
from docflat.bulk.settings import hash_file
from docflat.bulk.shards import Shard, Unit, work_of
from docflat.bulk.sources import Source
from docflat.support.errors import InputError
from docflat.support.json_files import read_json

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ModuleNotFoundError:
    raise InputError("Parquet and datasets need pyarrow: pip install 'docflat[bulk]'") from None

_ROWS = 512  # of a table at a time
HUGGING_FACE = b"huggingface"  # what its datasets note of their columns in a schema


class Table:
    suffix = ".parquet"

    def __init__(self, source: Source, target_key: str) -> None:
        self.path, self.kind, self.key, self.target_key = Path(source.path), source.kind, source.key, target_key
        self.digest = source.hash
        self.rows: Any = None  # of the shard that was read last
        self.batches: Iterator[Any] = iter(())
        self.pending: Any = None  # a batch, some rows of which are not used yet
        self.place = -1  # the row that it starts with, from 0

    def scan(self) -> Iterator[Unit]:
        _said_of(self.path, lambda: _check_columns(schema_of(self.path, self.kind), self))
        for batch in batches_of(self.path, self.kind, [self.key]):
            yield from (Unit(work_of(check(value)[0])) for value in _values(batch.column(0), self.path))
        files = [self.path] if self.kind == "parquet" else data_files(self.path)
        self.digest = hashlib.sha256("".join(map(hash_file, files)).encode()).hexdigest()

    def read(self, shard: Shard) -> list[Document]:
        first = shard.first - 1
        if self.place < 0 or first < self.place:
            self.batches, self.place, self.pending = batches_of(self.path, self.kind, None), 0, None
        pieces, left = [], shard.documents
        while left:
            if self.pending is None or not len(self.pending):
                self.pending = next(self.batches, None)
                if self.pending is None:
                    raise InputError("has fewer rows than when the plan was made", self.path)
            skip = min(first - self.place, len(self.pending))
            used = self.pending.slice(skip, left) if skip == first - self.place else self.pending.slice(0, 0)
            pieces.append(used)
            self.pending = self.pending.slice(skip + len(used))
            self.place += skip + len(used)
            first += len(used)
            left -= len(used)
        self.rows = pa.Table.from_batches([piece for piece in pieces if len(piece)])
        documents = []
        for number, value in enumerate(_values(self.rows.column(self.key), self.path), shard.first):
            text, failure = check(value)
            documents.append(Document(text, number, f"{self.key!r} {failure}" if failure else ""))
        return documents

    def render(self, translations: Sequence[Translation]) -> bytes:
        """A row a row; one without a translation has null."""
        values = [None if isinstance(each, Failure) else each for each in translations]
        field = self.rows.schema.field(self.key)
        table = self.rows.append_column(pa.field(self.target_key, field.type), pa.array(values, field.type))
        table = table.replace_schema_metadata(_with_column(self.rows.schema.metadata, self.key, self.target_key))
        out = BytesIO()
        pq.write_table(table, out, compression="zstd")
        return out.getvalue()


def _values(column: Any, path: Path) -> list[Any]:
    """Text that is no UTF-8 shows only here."""
    values: list[Any] = _said_of(path, column.to_pylist)
    return values


def schema_of(path: Path, kind: str) -> Any:
    if kind == "parquet":
        return pq.read_schema(path)
    with pa.memory_map(str(data_files(path)[0])) as file:
        return pa.ipc.open_stream(file).schema


def batches_of(path: Path, kind: str, columns: list[str] | None) -> Iterator[Any]:
    """All rows in order, some hundred at a time; of some columns."""
    batches = _parquet(path, columns) if kind == "parquet" else _arrow(path, columns)
    while (batch := _said_of(path, lambda: next(batches, None))) is not None:
        yield batch


def _parquet(path: Path, columns: list[str] | None) -> Iterator[Any]:
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(_ROWS, columns=columns)


def _arrow(path: Path, columns: list[str] | None) -> Iterator[Any]:
    for name in data_files(path):
        with pa.memory_map(str(name)) as file:
            for batch in pa.ipc.open_stream(file):
                chosen = batch if columns is None else batch.select(columns)
                yield from (chosen.slice(start, _ROWS) for start in range(0, len(chosen), _ROWS))


def data_files(folder: Path) -> list[Path]:
    """The files of a dataset on disk, in its order."""
    state = read_json(folder / "state.json", "cannot be read")
    try:
        names = [Path(str(file["filename"])) for file in state["_data_files"]]
    except (KeyError, TypeError):
        raise InputError("names no files of data", folder / "state.json") from None
    if state.get("_indices_files"):
        raise InputError("is a selection of rows: save it with save_to_disk of datasets 2 or later", folder)
    if not names or any(name.name != str(name) for name in names):
        raise InputError("names no files of data in this folder", folder / "state.json")
    return [folder / name for name in names]


def split_names(folder: Path) -> list[str]:
    splits = read_json(folder / "dataset_dict.json", "cannot be read").get("splits")
    if not isinstance(splits, list) or not splits or not all(Path(str(name)).name == name for name in splits):
        raise InputError("names no splits", folder / "dataset_dict.json")
    return splits


def find_column(path: Path, kind: str, key: str | None) -> str:
    return choose_key(_said_of(path, lambda: schema_of(path, kind).names), key, path, None, "column")


def _check_columns(schema: Any, table: Table) -> None:
    if table.target_key in schema.names:
        raise InputError(f"has a column {table.target_key!r} already: name another with --target-key", table.path)
    if schema.names.count(table.key) > 1:
        raise InputError(f"has several columns {table.key!r}", table.path)
    kind = schema.field(table.key).type
    value = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    if not (pa.types.is_string(value) or pa.types.is_large_string(value)):
        raise InputError(f"column {table.key!r} must have texts or lists of sentences, not {kind}", table.path)


def _with_column(metadata: dict[bytes, bytes] | None, key: str, target_key: str) -> dict[bytes, bytes] | None:
    """Hugging Face's note of columns, with the new one: as the one that it translates."""
    if not metadata or HUGGING_FACE not in metadata:
        return metadata
    try:
        note = json.loads(metadata[HUGGING_FACE])
        note["info"]["features"][target_key] = note["info"]["features"][key]
    except (ValueError, KeyError, TypeError):
        return {name: value for name, value in metadata.items() if name != HUGGING_FACE}
    return {**metadata, HUGGING_FACE: json.dumps(note).encode()}


def _said_of(path: Path, do: Callable[[], Any]) -> Any:
    """What goes wrong in Arrow, said of the file."""
    try:
        return do()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"truncated or corrupt: {message}", path) from None
