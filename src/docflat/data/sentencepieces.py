"""Subwords of imported models: SentencePiece models of both languages, and the vocabulary that numbers their pieces.

Marian numbers pieces by a vocabulary of its own, not as SentencePiece does. Here its words follow our four special
symbols in their old order: its </s> is ours, its <pad>, with which it starts a translation, is our <s>, and its <unk>
is our <mask>. Which embedding belongs to which of them, `docflat.weights.marian` sees to.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from docflat.data.subwords import SETTINGS_KEY, SPECIALS, SideName, Subwords, index_names
from docflat.support.errors import InputError
from docflat.support.text_ranges import Range

UNKNOWN = Subwords.mask
BLANK = "\u2581"  # SentencePiece writes it for a blank
_LANGUAGE = re.compile(r">>[^<>\s]+<<")  # says into which language: ">>fra<<"


class SentencePieces(Subwords):
    """One SentencePiece model a side, and the pieces that have numbers."""

    def __init__(
        self, models: tuple[bytes, bytes], pieces: tuple[Sequence[str], Sequence[str]], index_tokens: int
    ) -> None:
        """models, pieces: of source and target. Pieces have the ids from 4 on; index tokens come after the longer list.

        Raises ValueError for what is no SentencePiece model.
        """
        self.models, self.vocabularies, self.index_tokens = models, (list(pieces[0]), list(pieces[1])), index_tokens
        self.moses = None
        self.text_size = len(SPECIALS) + max(map(len, self.vocabularies))
        self.size = self.text_size + index_tokens
        self._processors = [processor_of(model) for model in models]
        self._ids = [{piece: number for number, piece in enumerate(side, len(SPECIALS))} for side in self.vocabularies]

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def encode(self, text: str, side: SideName = "source") -> list[int]:
        return self.encode_batch([text], side)[0]

    def encode_batch(self, texts: Sequence[str], side: SideName = "source") -> list[list[int]]:
        if side not in ("source", "target"):
            raise ValueError(f"a side is source or target, not {side!r}")
        number = int(side == "target")
        ids, codes, rest = self._ids[number], [], []
        for text in texts:
            code = _LANGUAGE.match(text)
            codes.append([code[0]] if code else [])
            rest.append(text[code.end() :] if code else text)
        encoded = self._processors[number].encode(rest, out_type=str)
        return [
            [ids.get(piece, UNKNOWN) for piece in (*code, *pieces)] for code, pieces in zip(codes, encoded, strict=True)
        ]

    def places(self, text: str, side: SideName = "target") -> list[Range]:
        """As SentencePiece counts them: unknown pieces have places, and what it normalises first."""
        code = _LANGUAGE.match(text)
        begin = code.end() if code else 0
        offsets = _offsets(self._processors[int(side == "target")], text[begin:])
        places = [(begin + start, begin + end) for start, end in offsets]
        stripped = [(start + len(text[start:end]) - len(text[start:end].lstrip()), end) for start, end in places]
        return [(0, begin), *stripped] if code else stripped

    def decode(self, ids: Sequence[int], side: SideName = "target") -> str:
        number = int(side == "target")
        pieces = [self._name(int(one), number) for one in ids if len(SPECIALS) <= one < self.text_size]
        text: str = self._processors[number].decode_pieces(pieces)
        return text.replace(BLANK, " ").strip()

    def names(self) -> list[str]:
        return [self._name(number, 1) for number in range(self.size)]

    def pieces(self, ids: Sequence[int], side: SideName = "target") -> list[str]:
        return [self._name(int(number), int(side == "target")).replace(BLANK, " ") for number in ids]

    def to_json(self) -> str:
        models = [base64.b64encode(model).decode("ascii") for model in self.models]
        shared = models[:1] if self.models[0] == self.models[1] else models
        pieces = self.vocabularies[:1] if self.vocabularies[0] == self.vocabularies[1] else self.vocabularies
        content = {"models": shared, "pieces": pieces, "index_tokens": self.index_tokens}
        return json.dumps({SETTINGS_KEY: {"sentencepiece": content}}, ensure_ascii=False)

    @classmethod
    def of_mapping(cls, content: Mapping[str, Any]) -> SentencePieces:
        """The inverse of `to_json`, of its innermost mapping."""
        models = [base64.b64decode(model, validate=True) for model in content["models"]]
        pieces = content["pieces"]
        index_tokens = content["index_tokens"]
        if not all(isinstance(side, list) and all(isinstance(one, str) for one in side) for side in pieces):
            raise ValueError("its pieces are no lists of words")
        if not (isinstance(index_tokens, int) and 0 <= index_tokens <= 1_000_000):
            raise ValueError(f"it cannot have {index_tokens} index tokens")
        return cls((models[0], models[-1]), (pieces[0], pieces[-1]), index_tokens)

    def _name(self, number: int, side: int) -> str:
        if number < len(SPECIALS):
            return SPECIALS[number]
        pieces = self.vocabularies[side]
        if number < self.text_size:
            return pieces[number - len(SPECIALS)] if number - len(SPECIALS) < len(pieces) else ""
        return index_names(number - self.text_size + 1)[-1]


def _offsets(processor: Any, text: str) -> list[Range]:
    """Where in the text each piece is."""
    if hasattr(processor, "EncodeAsOffsetMapping"):
        return [(start, end) for start, end in processor.EncodeAsOffsetMapping(text)["offsets"]]
    return [(piece.begin, piece.end) for piece in processor.EncodeAsImmutableProto(text).pieces]  # in older versions


def processor_of(model: bytes) -> Any:
    """SentencePiece's own object. Raises ValueError for what is no model."""
    try:
        import sentencepiece
    except ImportError:
        raise InputError("imported models need sentencepiece: pip install sentencepiece") from None
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"not a SentencePiece model: {error}") from None
    return processor
