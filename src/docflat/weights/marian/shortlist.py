"""Marian's binary shortlists (lex.*.s2t.bin) as ours.

    magic, checksum, first, best, offsets, words          in 64 bits, little-endian
    the offsets, in 64 bits: the words of source word n are from offset n up to the next
    the words, in 32 bits

`first` says how many of the first words of the vocabulary, which are its most frequent, every sentence may need.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from docflat.data.subwords import Subwords
from docflat.support.errors import InputError
from docflat.weights.marian.foreign import Array, ForeignVocabulary
from docflat.weights.marian.huggingface import read_bytes

MAGIC = 0xF11A48D5013417F5
HEAD = struct.Struct("<6Q")


def read_shortlist(
    file: Path, vocabularies: tuple[ForeignVocabulary, ForeignVocabulary], subwords: Subwords
) -> dict[str, Array]:
    """Under the names that a model folder has them by, in our ids."""
    data = read_bytes(file)
    if len(data) < HEAD.size:
        raise InputError("it is too short for a shortlist of Marian", file)
    magic, _, first, _, offsets, words = HEAD.unpack_from(data)
    if magic != MAGIC:
        raise InputError("no binary shortlist of Marian", file)
    if len(data) != HEAD.size + 8 * offsets + 4 * words:
        raise InputError(f"it has {len(data)} bytes; {offsets} offsets and {words} words would be others", file)
    starts = np.frombuffer(data, dtype="<u8", count=offsets, offset=HEAD.size).astype(np.int64)
    lists = np.frombuffer(data, dtype="<u4", count=words, offset=HEAD.size + 8 * offsets).astype(np.int64)
    source, target = (side.ids(subwords) for side in vocabularies)
    in_order = len(starts) and starts[0] == 0 and starts[-1] == words and (np.diff(starts) >= 0).all()
    if not in_order or len(starts) != len(source) + 1 or (lists >= len(target)).any() or first > len(target):
        raise InputError(f"this shortlist is of other vocabularies than {len(source)} and {len(target)} words", file)
    row_of = np.full(subwords.text_size, len(source))  # which of their source words is ours; none: the last, empty one
    row_of[source] = np.arange(len(source))
    lengths = np.append(np.diff(starts), 0)[row_of]
    ends = np.cumsum(lengths)
    where = np.arange(ends[-1]) + np.repeat(np.append(starts[:-1], 0)[row_of] - (ends - lengths), lengths)
    return {
        "starts": np.concatenate([[0], ends]).astype(np.int32),
        "words": target[lists[where]].astype(np.int32),
        "frequent": target[:first].astype(np.int32),
    }
