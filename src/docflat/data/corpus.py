"""Encoded corpora: folders of token ids, too large for memory, that training reads through memory maps.

corpus.json                         format, counts, hash, and what it was made from
source.bin, target.bin              token ids, one after the other, little-endian
source.ends.npy, target.ends.npy    where each sentence ends in them
documents.npy                       where each document ends among the sentences
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, astuple, dataclass, fields
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from docflat.support.atomic import whole_folder
from docflat.support.errors import InputError
from docflat.support.json_files import read_json

FORMAT = 1
SIDES = ("source", "target")
Array = npt.NDArray[Any]
_PIECE = 1 << 20


@dataclass(frozen=True)
class Counts:
    """How large a corpus is."""

    documents: int
    sentences: int
    source_tokens: int
    target_tokens: int


@dataclass(frozen=True)
class CorpusPart:
    """Documents in a row that came from one source file."""

    name: str
    counts: Counts


@dataclass(frozen=True)
class EncodedSentences:
    """The sentences of one language: sentence i is tokens[ends[i]:ends[i + 1]]."""

    tokens: Array  # (tokens,) uint16 or uint32, mapped from the file
    ends: Array  # (sentences + 1,) int64, from 0

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, sentence: int) -> Array:
        sentence = range(len(self))[sentence]
        return self.tokens[self.ends[sentence] : self.ends[sentence + 1]]


@dataclass(frozen=True)
class Corpus:
    """Documents of sentences on both sides: document d is the sentences documents[d]:documents[d + 1]."""

    source: EncodedSentences
    target: EncodedSentences
    documents: Array  # (documents + 1,) int64, from 0
    name: str  # of its folder
    hash: str  # of its contents
    vocabulary: int  # all ids are below this
    about: Mapping[str, Any]  # where it came from, as the writer was told
    parts: tuple[
        CorpusPart, ...
    ] = ()  # all documents in their order; none: written by a docflat that did not note them

    @property
    def languages(self) -> tuple[str, str] | None:
        """Source and target in two letters, as `docflat prepare` was told; None: it was not."""
        match self.about.get("languages"):
            case [str(source), str(target)]:
                return source, target
        return None

    @property
    def counts(self) -> Counts:
        return Counts(len(self), len(self.source), len(self.source.tokens), len(self.target.tokens))

    def __len__(self) -> int:
        """How many documents."""
        return len(self.documents) - 1

    def times(self, sampling: Mapping[str, float], where: str = "sampling") -> Array:
        """How often an epoch sees each document, by the names of parts or by globs of them: (documents,).

        A part's own name comes before globs, of which the first counts; what is not named is seen once.
        where: what an error calls the setting.
        """
        names = [part.name for part in self.parts]
        if not names:
            raise InputError(f"{where}: the parts of {self.name} are not known: run docflat prepare again")
        for pattern in sampling:
            matching(pattern, names, where)
        weights = [
            sampling.get(name, next((sampling[glob] for glob in sampling if fnmatchcase(name, glob)), 1.0))
            for name in names
        ]
        if not any(weights):
            raise InputError(f"{where}: with 0 for all parts there is nothing to learn from")
        return np.repeat(weights, [part.counts.documents for part in self.parts])

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Corpus:
        """Map a corpus folder; its sizes are checked, its tokens are not read."""
        folder = Path(folder)
        facts = _read_facts(folder / "corpus.json")
        dtype = _token_type(facts["vocabulary"])
        documents = _read_ends(folder / "documents.npy", facts["documents"], facts["sentences"])
        if not _ascends(documents, least=1):
            raise InputError("has a document without sentences", folder / "documents.npy")
        source, target = (
            EncodedSentences(
                _map_tokens(folder / f"{name}.bin", dtype, facts[f"{name}_tokens"]),
                _read_ends(folder / f"{name}.ends.npy", facts["sentences"], facts[f"{name}_tokens"]),
            )
            for name in SIDES
        )
        name = folder.resolve().name
        parts = _read_parts(facts, folder / "corpus.json")
        return cls(source, target, documents, name, facts["hash"], facts["vocabulary"], facts["about"], parts)


class CorpusWriter:
    """Writes a corpus folder, which gets its name when all is written; an error leaves nothing behind."""

    def __init__(self, folder: str | os.PathLike[str], vocabulary: int, about: Mapping[str, Any] | None = None) -> None:
        self._folder = Path(folder)
        self._vocabulary = vocabulary
        self._about = dict(about or {})
        self._type = _token_type(vocabulary)
        self._hashes = [hashlib.sha256() for _ in SIDES]
        self._ends = [array("q", [0]) for _ in SIDES]
        self._documents = array("q", [0])
        self._parts: dict[str, Counts] = {}  # what there was at the end of each

    def __enter__(self) -> CorpusWriter:
        with ExitStack() as stack:
            self._partial = stack.enter_context(whole_folder(self._folder))
            stack.push(self._finish)  # when the files below are closed, before the folder gets its name
            self._files = [stack.enter_context(open(self._partial / f"{name}.bin", "wb")) for name in SIDES]
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def counts(self) -> Counts:
        """What has been added so far."""
        return Counts(len(self._documents) - 1, self._documents[-1], self._ends[0][-1], self._ends[1][-1])

    @property
    def parts(self) -> tuple[CorpusPart, ...]:
        """What has been added so far, by the file that it came from."""
        parts, before = [], (0, 0, 0, 0)
        for name, counts in self._parts.items():
            now = astuple(counts)
            parts.append(CorpusPart(name, Counts(*(b - a for a, b in zip(before, now, strict=True)))))
            before = now
        return tuple(parts)

    def add(self, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], part: str = "") -> None:
        """Add a document: the ids of its sentences, which may be empty."""
        self.extend(source, target)
        self.end_document(part)

    def extend(self, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]) -> None:
        """Add sentences to the document under way; for documents whose ids would fill the memory."""
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source sentences but {len(target)} target sentences")
        for side, sentences in enumerate((source, target)):
            ids = np.fromiter(chain.from_iterable(sentences), np.int64)
            if len(ids) and not 0 <= ids.min() <= ids.max() < self._vocabulary:
                raise ValueError(f"ids from {ids.min()} to {ids.max()} in a vocabulary of {self._vocabulary}")
            data = ids.astype(self._type).tobytes()
            self._files[side].write(data)
            self._hashes[side].update(data)
            ends = self._ends[side]
            for sentence in sentences:
                ends.append(ends[-1] + len(sentence))

    def end_document(self, part: str = "") -> None:
        """The sentences added since the last document are one; the documents of a part follow each other."""
        sentences = len(self._ends[0]) - 1
        if sentences == self._documents[-1]:
            raise ValueError("a document without sentences")
        if part in self._parts and part != next(reversed(self._parts)):
            raise ValueError(f"documents of {part!r} before and after those of another part")
        self._documents.append(sentences)
        self._parts[part] = self.counts

    def _finish(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        if self._documents[-1] != len(self._ends[0]) - 1:
            raise ValueError("the last document was not ended")
        indices = {"documents": self._documents}
        indices |= {f"{name}.ends": ends for name, ends in zip(SIDES, self._ends, strict=True)}
        total = hashlib.sha256(self._type.str.encode())
        for digest in self._hashes:
            total.update(digest.digest())
        for name, values in indices.items():
            index = np.frombuffer(values, np.int64).astype("<i8", copy=False)
            total.update(hashlib.sha256(index.tobytes()).digest())
            np.save(self._partial / f"{name}.npy", index, allow_pickle=False)
        facts = {
            "format": FORMAT,
            **asdict(self.counts),
            "dtype": self._type.name,
            "vocabulary": self._vocabulary,
            "hash": total.hexdigest()[:16],
            "parts": [{"name": part.name, **asdict(part.counts)} for part in self.parts],
            "about": self._about,
        }
        text = json.dumps(facts, indent=2)
        (self._partial / "corpus.json").write_text(text + "\n", encoding="utf-8")


def matching(pattern: str, names: Sequence[str], where: str) -> list[str]:
    """The parts of this name, or else those that the glob fits; none is an error of the setting `where`."""
    matched = [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
    if not matched:
        raise InputError(f"{where}: there is no part {pattern!r}; the parts are {', '.join(names)}")
    return matched


def _token_type(vocabulary: int) -> np.dtype[Any]:
    return np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4")


def _read_facts(file: Path) -> dict[str, Any]:
    facts = read_json(file, "not an encoded corpus")
    if "format" not in facts:
        raise InputError("not the index of an encoded corpus", file)
    if facts["format"] != FORMAT:
        message = f"has format {facts['format']!r}, this docflat reads {FORMAT}: run docflat prepare again"
        raise InputError(message, file)
    counts = ("documents", "sentences", "source_tokens", "target_tokens", "vocabulary")
    for key in counts:
        if type(facts.get(key)) is not int or facts[key] < 0:
            raise InputError(f"cannot use {key!r}: {facts.get(key)!r}", file)
    for key, kind in (("dtype", str), ("hash", str), ("about", dict)):
        if not isinstance(facts.get(key), kind):
            raise InputError(f"cannot use {key!r}: {facts.get(key)!r}", file)
    if facts["dtype"] != _token_type(facts["vocabulary"]).name:
        raise InputError(f"dtype {facts['dtype']} does not go with {facts['vocabulary']} ids", file)
    return facts


def _read_parts(facts: Mapping[str, Any], file: Path) -> tuple[CorpusPart, ...]:
    """The parts of the index, which a corpus of an earlier docflat lacks."""
    if "parts" not in facts:
        return ()
    keys = [field.name for field in fields(Counts)]
    try:
        parts = tuple(
            CorpusPart(str(each["name"]), Counts(*(int(each[key]) for key in keys))) for each in facts["parts"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"cannot use 'parts': {error!r}", file) from None
    columns = zip(*(astuple(part.counts) for part in parts), strict=True)
    for key, column in zip(keys, columns, strict=bool(parts)):
        if min(column) < 0 or sum(column) != facts[key]:
            raise InputError(f"cannot use 'parts': they do not add up to {facts[key]} {key}", file)
    return parts


def _read_ends(file: Path, count: int, total: int) -> Array:
    try:
        ends = np.load(file, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file) from error
    except (ValueError, EOFError) as error:
        raise InputError(f"truncated or corrupt: {error}", file) from error
    if ends.shape != (count + 1,) or ends.dtype != np.dtype("<i8"):
        shape = f"{ends.dtype} of shape {ends.shape}"
        raise InputError(f"holds {shape}, not int64 ({count + 1},) as corpus.json says", file)
    if ends[0] != 0 or ends[-1] != total or not _ascends(ends):
        raise InputError(f"does not ascend from 0 to {total}", file)
    return _plain(ends)


def _ascends(ends: Array, least: int = 0) -> bool:
    """Whether each is at least so much more than the one before: looked at piece by piece, for there may be many."""
    starts = range(0, len(ends), _PIECE)
    return all(bool(np.all(np.diff(ends[start : start + _PIECE + 1]) >= least)) for start in starts)


def _map_tokens(file: Path, dtype: np.dtype[Any], count: int) -> Array:
    expected = count * dtype.itemsize
    try:
        size = file.stat().st_size
        if size != expected:
            raise InputError(f"has {size} bytes, not the {expected} that corpus.json says", file)
        if not count:  # an empty file cannot be mapped
            return np.zeros(0, dtype)
        return _plain(np.memmap(file, dtype, mode="r", shape=(count,)))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from error


def _plain(mapped: Array) -> Array:
    """The same memory as an ordinary array: slicing np.memmap takes ten times as long."""
    plain: Array = mapped.view(np.ndarray)
    return plain
