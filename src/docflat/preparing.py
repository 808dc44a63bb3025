"""Preparing: text files -> subwords and encoded corpora, in a folder that training starts from.

    OUT/tokenizer.json    the subwords, learned from what is trained on
    OUT/train/            encoded corpora, see corpus.py
    OUT/valid/

The text is streamed three times, to count, to learn subwords and to encode, and never kept.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import tee, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from docflat.atomic import whole_folder
from docflat.console import progress
from docflat.corpus import CorpusWriter, Counts
from docflat.documents import Pair, read_documents
from docflat.errors import InputError
from docflat.subwords import Subwords

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


def prepare(
    pairs: Sequence[Pair],
    out: str | os.PathLike[str],
    valid_pairs: Sequence[Pair] = (),
    vocabulary: int = 32000,
    index_tokens: int = 256,
    moses: tuple[str, str] | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
    learn_from: int = 1_000_000,
    hold_out: int = 2000,
    force: bool = False,
) -> Prepared:
    """Encode corpora into the folder `out`, which appears when all is done; an error leaves nothing behind.

    Without `valid_pairs`, whole documents of about `hold_out` sentences are held out for validation.
    `tokenizer` is an existing tokenizer.json to encode with; without it, subwords are learned from at most
    `learn_from` sentence pairs. `force` replaces an earlier result.
    """
    if not pairs:
        raise InputError("nothing to prepare: no training files")
    if learn_from < 1:
        raise InputError(f"subwords cannot be learned from {learn_from} sentences")
    if hold_out < 0:
        raise InputError(f"cannot hold out {hold_out} sentences")
    for pair in (*pairs, *valid_pairs):
        _check_files(pair)
    subwords = None if tokenizer is None else Subwords.load(tokenizer)
    if subwords is not None and moses is not None and moses != subwords.moses:
        raise InputError(f"was not learned with Moses for {moses[0]} and {moses[1]}", tokenizer)
    if force:
        _check_replaceable(Path(out))
    with whole_folder(Path(out), force) as folder:
        with progress("counting") as advance:
            sizes, valid_sizes = _document_sizes(pairs, advance), _document_sizes(valid_pairs, advance)
        held = choose_held_out(sizes, 0 if valid_pairs else hold_out)
        notes = [] if valid_pairs or not hold_out else _hold_out_notes(sizes, held)
        if subwords is None:
            subwords = _learn(pairs, sizes, held, learn_from, vocabulary, index_tokens, moses)
            if subwords.text_size < vocabulary:
                notes.append(f"The text has only {subwords.text_size} subwords, not {vocabulary}.")
        subwords.save(folder / "tokenizer.json")

        about = {
            "subwords": subwords.hash,
            "moses": subwords.moses,
            "tokenizer": None if tokenizer is None else Path(tokenizer).name,
            "learn_from": learn_from if tokenizer is None else None,
            "hold_out": None if valid_pairs else hold_out,
        }
        with ExitStack() as stack:
            advance = stack.enter_context(progress("encoding", total=int(sizes.sum() + valid_sizes.sum())))
            about_train = {"files": [_describe(pair) for pair in pairs], **about}
            about_valid = {"files": [_describe(pair) for pair in valid_pairs or pairs], **about}
            train = stack.enter_context(CorpusWriter(folder / "train", subwords.size, about_train))
            valid = train
            if valid_pairs or held.any():
                valid = stack.enter_context(CorpusWriter(folder / "valid", subwords.size, about_valid))
            _encode(pairs, sizes, [valid if each else train for each in held], subwords, advance)
            _encode(valid_pairs, valid_sizes, [valid] * len(valid_sizes), subwords, advance)
        return Prepared(
            Path(out),
            subwords.text_size,
            subwords.index_tokens,
            train.counts,
            None if valid is train else valid.counts,
            tuple(notes),
        )


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


def _learn(
    pairs: Sequence[Pair],
    sizes: Array,
    held: Array,
    learn_from: int,
    vocabulary: int,
    index_tokens: int,
    moses: tuple[str, str] | None,
) -> Subwords:
    with progress("learning subwords", total=int(sizes.sum())) as advance:
        sources, targets = tee(_sample(pairs, sizes, held, learn_from, advance))
        return Subwords.learn(
            (source for source, _ in sources),
            vocabulary,
            index_tokens,
            moses,
            target_texts=(target for _, target in targets),  # read in turns, so that tee keeps little
        )


def _sample(pairs: Sequence[Pair], sizes: Array, held: Array, most: int, advance: Advance) -> Iterator[tuple[str, str]]:
    """Sentence pairs evenly spread through what is not held out: `most`, or all if there are fewer."""
    available = int(sizes[~held].sum())
    wanted = min(most, available)
    place = 0
    for (source, target), skip in zip(_documents(pairs, advance), held, strict=False):
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
    is_end: bool


def _encode(
    pairs: Sequence[Pair],
    sizes: Array,
    writers: Sequence[CorpusWriter],
    subwords: Subwords,
    advance: Advance,
) -> None:
    """Encode each document into its writer, many at a time."""
    chunk: list[_Piece] = []
    waiting = 0
    for piece in _pieces(pairs, sizes, writers):
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
            piece.writer.end_document()
        start = end


def _pieces(pairs: Sequence[Pair], sizes: Array, writers: Sequence[CorpusWriter]) -> Iterator[_Piece]:
    for text, size, writer in zip_longest(_documents(pairs), sizes, writers):
        if text is None or size is None or len(text[0]) != size:
            raise InputError("the files have changed while they were read")
        source, target = text
        for start in range(0, len(source), CHUNK):
            end = start + CHUNK
            yield _Piece(source[start:end], target[start:end], writer, end >= len(source))


def _documents(pairs: Sequence[Pair], advance: Advance | None = None) -> Iterator[tuple[list[str], list[str]]]:
    """The sentences of each document: source and target."""
    passed = 0
    for pair in pairs:
        for document in read_documents(pair):
            if document.target is None:
                raise InputError("there is no target side to learn from", pair.source, document.line)
            yield document.source, document.target
            passed += len(document.source)
            if advance and passed >= CHUNK:  # moving the bar takes longer than reading a sentence
                advance(passed)
                passed = 0
    if advance:
        advance(passed)


def _document_sizes(pairs: Sequence[Pair], advance: Advance) -> Array:
    """Sentences of each document: (documents,) int64."""
    sizes = array("q", (len(source) for source, _ in _documents(pairs, advance)))
    return np.array(sizes, np.int64)


def _files(pair: Pair) -> dict[str, Path]:
    files = {"source": pair.source, "target": pair.target, "docids": pair.docids, "starts": pair.starts}
    return {what: Path(file) for what, file in files.items() if file is not None}


def _check_files(pair: Pair) -> None:
    for file in _files(pair).values():
        if file.exists() and not file.is_file():
            raise InputError("must be an ordinary file: it is read more than once", file)


def _describe(pair: Pair) -> dict[str, Any]:
    """What corpus.json says of the input: nothing that tells where it lay."""
    files = {what: {"name": file.name, "bytes": file.stat().st_size} for what, file in _files(pair).items()}
    languages = {} if pair.languages is None else {"languages": pair.languages}
    return {**files, "boundaries": pair.boundaries, **languages}


def _check_replaceable(out: Path) -> None:
    """With `force`, a slip in the name must not cost a folder that is something else."""
    if out.is_dir():
        others = {file.name for file in out.iterdir()} - {"tokenizer.json", "train", "valid"}
        if others:
            raise InputError(f"is not replaced: it holds {min(others)!r}, which prepare did not write", out)
