"""What a Marian model is, whichever files it came in, and the same model as a folder of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docflat.data.sentencepieces import SentencePieces
from docflat.data.subwords import SPECIALS, Subwords
from docflat.model.sizes import ModelSizes
from docflat.support.errors import InputError
from docflat.weights.int8_files import SCALE, pack

Array = npt.NDArray[Any]
INDEX_TOKENS = 256  # for a document model that starts from an imported one
NEVER = -1e9  # the logit of what is no word


@dataclass(frozen=True)
class ForeignVocabulary:
    """The rows of an embedding table, as the other project numbers them."""

    pieces: Sequence[str]  # of row n
    end: int  # rows of </s> and of <unk>
    unknown: int
    start: int | None  # the row that starts a translation; None: zeros

    @classmethod
    def of_numbers(cls, numbers: Mapping[str, Any], start: str | None, file: Path) -> ForeignVocabulary:
        """Of a mapping from piece to row; start: the piece that starts a translation."""
        if sorted(value for value in numbers.values() if isinstance(value, int)) != list(range(len(numbers))):
            raise InputError("its numbers are not 0, 1, 2 ... without a gap", file)
        for piece in ("</s>", "<unk>", start):
            if piece is not None and piece not in numbers:
                raise InputError(f"it lacks {piece}", file)
        pieces = sorted(numbers, key=numbers.__getitem__)
        return cls(pieces, numbers["</s>"], numbers["<unk>"], None if start is None else numbers[start])

    def text_rows(self) -> list[int]:
        """All that are pieces of text, in their order: our ids from 4 on."""
        special = {self.end, self.unknown, self.start}
        return [row for row in range(len(self.pieces)) if row not in special]

    def ids(self, subwords: Subwords) -> Array:
        """Our id of each row: (rows,)."""
        ids = np.full(len(self.pieces), subwords.mask)
        text = self.text_rows()
        ids[text] = len(SPECIALS) + np.arange(len(text))
        ids[self.end] = subwords.eos
        return ids


@dataclass(frozen=True)
class ForeignModel:
    """A sentence model of Marian's architecture, its weights under our names, its tables in its own order."""

    sizes: ModelSizes
    weights: dict[str, Array]
    vocabularies: tuple[ForeignVocabulary, ForeignVocabulary]  # source and target
    sentencepieces: tuple[bytes, bytes]
    languages: tuple[str, str] | None
    origin: str  # where it came from, for its card
    license: str | None
    files: tuple[Path, Path]  # the SentencePiece models, for errors
    steps: dict[str, Array] = field(default_factory=dict)  # (rows,) of matrices that were rounded: what 1 stands for
    shortlist: Path | None = None  # Marian's file of one

    def subwords(self) -> SentencePieces:
        for file, model in zip(self.files, self.sentencepieces, strict=True):
            _attempt(file, lambda model=model: SentencePieces((model, model), ([], []), 0))  # type: ignore[misc]
        source, target = ([side.pieces[row] for row in side.text_rows()] for side in self.vocabularies)
        return SentencePieces(self.sentencepieces, (source, target), INDEX_TOKENS)

    def rounded(self, weights: Mapping[str, Array]) -> dict[str, Array]:
        """What `pack` makes of the weights as they were laid out; what was rounded before keeps its very numbers."""
        packed = {}
        for name, array in pack({name: array for name, array in weights.items() if name not in self.steps}).items():
            packed[name] = array
        for name, steps in self.steps.items():
            scale = steps if len(steps) == len(weights[name]) else np.full(len(weights[name]), steps[0])
            packed[name] = np.rint(weights[name] / scale[:, None]).astype(np.int8)
            packed[name + SCALE] = scale.astype(np.float32)
        return packed

    def laid_out(self, subwords: Subwords) -> dict[str, Array]:
        """The weights with their tables in our order: special symbols, text, index tokens."""
        weights = dict(self.weights)
        names = ["embedding", "separate_embedding"][: 1 + self.sizes.architecture.separate_embeddings]
        for name, vocabulary in zip(names, self.vocabularies, strict=False):
            weights[f"{name}.weight"] = _table(weights[f"{name}.weight"], vocabulary, subwords)
        bias, target = weights[f"{names[-1]}.bias"], self.vocabularies[1]
        laid = np.full(subwords.text_size, NEVER, dtype=np.float32)
        laid[subwords.eos], laid[subwords.mask] = bias[target.end], bias[target.unknown]
        rows = target.text_rows()
        laid[len(SPECIALS) : len(SPECIALS) + len(rows)] = bias[rows]
        weights[f"{names[-1]}.bias"] = laid
        return weights


def _table(table: Array, vocabulary: ForeignVocabulary, subwords: Subwords) -> Array:
    """(rows, dim) in our order; an index token begins as what starts a translation."""
    rows = vocabulary.text_rows()
    laid = np.zeros((subwords.size, table.shape[1]), dtype=np.float32)
    start = np.zeros(table.shape[1]) if vocabulary.start is None else table[vocabulary.start]
    laid[subwords.bos] = laid[subwords.text_size :] = start
    laid[subwords.eos], laid[subwords.mask] = table[vocabulary.end], table[vocabulary.unknown]
    laid[len(SPECIALS) : len(SPECIALS) + len(rows)] = table[rows]
    return laid


def _attempt(file: Path, read: Callable[[], Any]) -> None:
    try:
        read()
    except ValueError as error:
        raise InputError(str(error), file) from None


class Weights:
    """The tensors of a file, each asked for once, with the shape it must have."""

    def __init__(self, tensors: Mapping[str, Array], file: Path) -> None:
        self.tensors, self.file = dict(tensors), file

    def take(self, name: str, *shape: int) -> Array:
        """A tensor in float32; of this shape, where -1 is any length."""
        if name not in self.tensors:
            raise InputError(f"the weights lack {name}", self.file)
        tensor = self.tensors.pop(name)
        fits = len(tensor.shape) == len(shape) and all(b in (-1, a) for a, b in zip(tensor.shape, shape, strict=True))
        if not fits:
            raise InputError(f"{name} has the shape {tuple(tensor.shape)}, expected {shape}", self.file)
        if tensor.dtype.kind != "f":
            raise InputError(f"{name} holds {tensor.dtype}, expected numbers with a fraction", self.file)
        tensor = tensor.astype(np.float32, copy=False)
        if not np.isfinite(tensor).all():
            raise InputError(f"{name} has a number that is not finite", self.file)
        return tensor

    def finish(self) -> None:
        """Refuses what nobody asked for: it would change what the model computes."""
        if self.tensors:
            raise InputError(f"the weights have {min(self.tensors)}, which this architecture does not", self.file)
