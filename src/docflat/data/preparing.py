"""Preparing: text files -> subwords and encoded corpora, in a folder that training starts from.

    OUT/tokenizer.json    the subwords, learned from what is trained on
    OUT/train/            encoded corpora, see corpus.py
    OUT/valid/

The text is streamed three times, to count, to learn subwords and to encode, and never kept.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import compress, tee, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from docflat.data.cleaning import Cleaning
from docflat.data.corpus import CorpusPart, CorpusWriter, Counts, matching
from docflat.data.documents import FilePair, read_documents
from docflat.data.subwords import Subwords
from docflat.support.atomic import whole_folder
from docflat.support.console import progress
from docflat.support.errors import InputError
from docflat.support.text_files import OPENERS

CHUNK = 20_000  # sentences encoded at once: enough to keep all cores busy, and some 100 MB
LARGEST_SHARE = 0.02  # of the sentences, held out for validation

Array = npt.NDArray[Any]
Advance = Callable[[int], object]


@dataclass(frozen=True)
class Prepared:
    """What `prepare` has written."""

    folder: Path
    text_size: int  # ids that can be predicted
    index_tokens: int
    train: Counts
    valid: Counts | None
    notes: tuple[str, ...]  # what the user should know, a sentence each
    parts: tuple[CorpusPart, ...]  # of train
    dropped: dict[str, dict[str, int]]  # pairs that cleaning left out of a part, by what is wrong with them


# Long: the steps of a verb in their order, each a call.
def prepare(
    pairs: Sequence[FilePair],
    out: str | os.PathLike[str],
    valid_pairs: Sequence[FilePair] = (),
    vocabulary: int = 32000,
    index_tokens: int = 256,
    moses: tuple[str, str] | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
    learn_from: int = 1_000_000,
    hold_out: int = 2000,
    force: bool = False,
    loose: Sequence[str] = (),
    clean: bool = False,
    exclude: Sequence[Path] = (),
    languages: tuple[str, str] | None = None,
) -> Prepared:
    """Encode corpora into the folder `out`, which appears when all is done; an error leaves nothing behind.

    Without `valid_pairs`, whole documents of about `hold_out` sentences are held out for validation.
    `tokenizer` is an existing tokenizer.json to encode with, or a model folder that has one; without it, subwords are
    learned from at most `learn_from` sentence pairs. `force` replaces an earlier result.

    Each source file is a part of the corpus. `loose` names parts, or globs of them, that are sentences without
    documents. `clean` leaves bad pairs out of the training text (see cleaning.py), `exclude` names files of source
    sentences that must not be in it. `languages`, source and target, are what models trained on it know of themselves.
    """
    _check(pairs, valid_pairs, learn_from, hold_out)
    texts = _texts(pairs, loose, Cleaning(clean, exclude) if clean or exclude else None)
    valid_texts = _texts(valid_pairs)
    if tokenizer is not None and Path(tokenizer).is_dir():
        tokenizer = Path(tokenizer) / "tokenizer.json"
    subwords = None if tokenizer is None else _load_subwords(tokenizer, moses)
    with whole_folder(Path(out), force, ("tokenizer.json", "train", "valid")) as folder:
        counted, counted_valid = _count(texts, valid_texts, hold_out)
        dropped = {text.name: dict(text.dropped) for text in texts}
        notes = [] if valid_pairs or not hold_out else _hold_out_notes(counted.sizes, counted.held)
        if subwords is None:
            subwords = _learn(counted, learn_from, vocabulary, index_tokens, moses)
            if subwords.text_size < vocabulary:
                notes.append(f"The text has only {subwords.text_size} subwords, not {vocabulary}.")
        subwords.save(folder / "tokenizer.json")

        about = {
            "subwords": subwords.hash,
            "moses": subwords.moses,
            "tokenizer": None if tokenizer is None else Path(tokenizer).name,
            "learn_from": learn_from if tokenizer is None else None,
            "hold_out": None if valid_pairs else hold_out,
            "languages": languages,
        }
        about_train: dict[str, Any] = {"files": [_describe(text.pair) for text in texts], **about}
        if clean or exclude:
            about_train |= {"clean": clean, "exclude": [file.name for file in exclude], "dropped": dropped}
        about_valid = {"files": [_describe(pair) for pair in valid_pairs or pairs], **about}
        has_valid = valid_pairs or counted.held.any()
        train, valid = _write(folder, counted, counted_valid, subwords, about_train, about_valid if has_valid else None)
        return Prepared(
            Path(out),
            subwords.text_size,
            subwords.index_tokens,
            train.counts,
            None if valid is None else valid.counts,
            tuple(notes),
            train.parts,
            dropped,
        )


@dataclass(frozen=True)
class _Text:
    """A part of the input."""

    name: str
    pair: FilePair
    cleaning: Cleaning | None
    dropped: Counter[str] = field(default_factory=Counter)  # as found when it was last read

    def documents(self) -> Iterator[tuple[list[str], list[str]]]:
        """The sentences of each document that are kept: source and target."""
        self.dropped.clear()
        for document in read_documents(self.pair):
            if document.target is None:
                raise InputError("there is no target side to learn from", self.pair.source, document.line)
            if self.cleaning is None:
                yield document.source, document.target
                continue
            faults = list(map(self.cleaning.fault, document.source, document.target))
            self.dropped.update(filter(None, faults))
            if not all(faults):
                is_clean = [not fault for fault in faults]
                yield list(compress(document.source, is_clean)), list(compress(document.target, is_clean))


def _texts(pairs: Sequence[FilePair], loose: Sequence[str] = (), cleaning: Cleaning | None = None) -> list[_Text]:
    names = part_names([pair.source for pair in pairs])
    alone = {name for pattern in loose for name in matching(pattern, names, "--loose")}
    return [
        _Text(name, replace(pair, boundaries="lines") if name in alone else pair, cleaning)
        for name, pair in zip(names, pairs, strict=True)
    ]


def part_names(files: Sequence[Path]) -> list[str]:
    """What parts are called: their source files below the folder that holds all, without language or kind.

    a/europarl/train.en.xz and a/web/fsfe.en.xz are europarl/train and web/fsfe. A name that is taken gets a number.
    """
    paths = [Path(os.path.abspath(file)) for file in files]
    above = os.path.commonpath([path.parent for path in paths]) if paths else ""
    names: list[str] = []
    for path in paths:
        if path.suffix.lower() in OPENERS:
            path = path.with_suffix("")
        name = path.with_suffix("").relative_to(above).as_posix()
        same = sum(name == other.partition("#")[0] for other in names)
        names.append(f"{name}#{same + 1}" if same else name)
    return names


class _Counted(NamedTuple):
    """Texts of which it is known what documents they have."""

    texts: Sequence[_Text]
    sizes: Array  # (documents,) int64: sentences of each
    held: Array  # (documents,) bool: whether it is for validation


def _count(texts: Sequence[_Text], valid_texts: Sequence[_Text], hold_out: int) -> tuple[_Counted, _Counted]:
    """The texts for training, of which some may be held out, and those for validation."""
    with progress("counting") as advance:
        sizes, valid_sizes = _document_sizes(texts, advance), _document_sizes(valid_texts, advance)
    if not len(sizes):
        raise InputError("nothing to prepare: cleaning leaves no sentence")
    held = choose_held_out(sizes, 0 if valid_texts else hold_out)
    return _Counted(texts, sizes, held), _Counted(valid_texts, valid_sizes, np.ones(len(valid_sizes), bool))


def choose_held_out(sizes: Array, sentences: int) -> Array:
    """Which documents of these sizes to keep from training: (documents,) bool.

    Evenly spread, and so many that they have about `sentences` or 2% of all, and not more; the shortest alone if
    one is too much already. None of a single document, and none for 0 sentences.
    """
    held = np.zeros(len(sizes), bool)
    if len(sizes) < 2 or sentences == 0:
        return held
    most = min(sentences, LARGEST_SHARE * sizes.sum())
    # Not from a higher count than fits on average: only a spread of unusually short documents would fit.
    for count in range(max(1, int(most / sizes.mean())), 0, -1):
        spread = (2 * np.arange(count) + 1) * len(sizes) // (2 * count)
        if sizes[spread].sum() <= most:
            held[spread] = True
            return held
    held[sizes.argmin()] = True
    return held


def _hold_out_notes(sizes: Array, held: Array) -> list[str]:
    if not held.any():
        return ["There is only one document, so nothing was held out for validation."]
    share = sizes[held].sum() / sizes.sum()
    if share > LARGEST_SHARE:
        return [f"Documents are held out whole: the shortest has {share:.0%} of all sentences."]
    return []


def _load_subwords(file: str | os.PathLike[str], moses: tuple[str, str] | None) -> Subwords:
    subwords = Subwords.load(file)
    if moses is not None and moses != subwords.moses:
        raise InputError(f"was not learned with Moses for {moses[0]} and {moses[1]}", file)
    return subwords


def _learn(
    counted: _Counted, learn_from: int, vocabulary: int, index_tokens: int, moses: tuple[str, str] | None
) -> Subwords:
    with progress("learning subwords", total=int(counted.sizes.sum())) as advance:
        sources, targets = tee(_sample(counted, learn_from, advance))
        return Subwords.learn(
            (source for source, _ in sources),
            vocabulary,
            index_tokens,
            moses,
            target_texts=(target for _, target in targets),  # read in turns, so that tee keeps little
        )


def _sample(counted: _Counted, most: int, advance: Advance) -> Iterator[tuple[str, str]]:
    """Sentence pairs evenly spread through what is not held out: `most`, or all if there are fewer."""
    available = int(counted.sizes[~counted.held].sum())
    wanted = min(most, available)
    place = 0
    for (source, target), skip in zip(_documents(counted.texts, advance), counted.held, strict=False):
        if skip:
            continue
        for sentences in zip(source, target, strict=True):
            if (place + 1) * wanted // available > place * wanted // available:
                yield sentences
            place += 1


class _Piece(NamedTuple):
    """A document, or part of one: a file without boundaries may be one huge document."""

    source: list[str]
    target: list[str]
    writer: CorpusWriter
    part: str
    is_end: bool


def _write(
    folder: Path,
    counted: _Counted,
    counted_valid: _Counted,
    subwords: Subwords,
    about_train: Mapping[str, Any],
    about_valid: Mapping[str, Any] | None,
) -> tuple[CorpusWriter, CorpusWriter | None]:
    """Write the corpora and say what with; about_valid: None where there is nothing for validation."""
    with ExitStack() as stack:
        total = int(counted.sizes.sum() + counted_valid.sizes.sum())
        advance = stack.enter_context(progress("encoding", total=total))
        train = stack.enter_context(CorpusWriter(folder / "train", subwords.size, about_train))
        valid = None
        if about_valid is not None:
            valid = stack.enter_context(CorpusWriter(folder / "valid", subwords.size, about_valid))
        for each in (counted, counted_valid):
            _encode(_pieces(each, train, valid or train), subwords, advance)
    return train, valid


def _encode(pieces: Iterable[_Piece], subwords: Subwords, advance: Advance) -> None:
    """Encode each piece into its writer, many at a time."""
    chunk: list[_Piece] = []
    waiting = 0
    for piece in pieces:
        chunk.append(piece)
        waiting += len(piece.source)
        if waiting >= CHUNK:
            _encode_chunk(chunk, subwords)
            advance(waiting)
            chunk, waiting = [], 0
    _encode_chunk(chunk, subwords)
    advance(waiting)


def _encode_chunk(chunk: Sequence[_Piece], subwords: Subwords) -> None:
    source_ids = subwords.encode_batch([text for piece in chunk for text in piece.source], "source")
    target_ids = subwords.encode_batch([text for piece in chunk for text in piece.target], "target")
    start = 0
    for piece in chunk:
        end = start + len(piece.source)
        piece.writer.extend(source_ids[start:end], target_ids[start:end])
        if piece.is_end:
            piece.writer.end_document(piece.part)
        start = end


def _pieces(counted: _Counted, train: CorpusWriter, valid: CorpusWriter) -> Iterator[_Piece]:
    documents = ((text.name, document) for text in counted.texts for document in text.documents())
    for document, size, held in zip_longest(documents, counted.sizes, counted.held):
        if document is None or size is None or len(document[1][0]) != size:
            raise InputError("the files have changed while they were read")
        part, (source, target) = document
        for start in range(0, len(source), CHUNK):
            end = start + CHUNK
            yield _Piece(source[start:end], target[start:end], valid if held else train, part, end >= len(source))


def _documents(texts: Sequence[_Text], advance: Advance) -> Iterator[tuple[list[str], list[str]]]:
    """The sentences of each document: source and target."""
    passed = 0
    for text in texts:
        for source, target in text.documents():
            yield source, target
            passed += len(source)
            if passed >= CHUNK:  # moving the bar takes longer than reading a sentence
                advance(passed)
                passed = 0
    advance(passed)


def _document_sizes(texts: Sequence[_Text], advance: Advance) -> Array:
    """Sentences of each document: (documents,) int64."""
    sizes = array("q", (len(source) for source, _ in _documents(texts, advance)))
    return np.array(sizes, np.int64)


def _files(pair: FilePair) -> dict[str, Path]:
    files = {"source": pair.source, "target": pair.target, "docids": pair.docids, "starts": pair.starts}
    return {what: Path(file) for what, file in files.items() if file is not None}


def _check(pairs: Sequence[FilePair], valid_pairs: Sequence[FilePair], learn_from: int, hold_out: int) -> None:
    if not pairs:
        raise InputError("nothing to prepare: no training files")
    if learn_from < 1:
        raise InputError(f"subwords cannot be learned from {learn_from} sentences")
    if hold_out < 0:
        raise InputError(f"cannot hold out {hold_out} sentences")
    for pair in (*pairs, *valid_pairs):
        for file in _files(pair).values():
            if file.exists() and not file.is_file():
                raise InputError("must be an ordinary file: it is read more than once", file)


def _describe(pair: FilePair) -> dict[str, Any]:
    """What corpus.json says of the input: nothing that tells where it lay."""
    files = {what: {"name": file.name, "bytes": file.stat().st_size} for what, file in _files(pair).items()}
    languages = {} if pair.languages is None else {"languages": pair.languages}
    return {**files, "boundaries": pair.boundaries, **languages}
