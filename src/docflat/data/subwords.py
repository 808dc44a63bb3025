"""Subwords: text -> ids and back, with one byte-level BPE for both languages.

Raw text goes in, without truecasing or tokenisation, and every text survives the way there and back. The
paper tokenises with Moses first; `moses` does the same, and then the way back is only as good as the
detokeniser.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from docflat.support.atomic import write_whole
from docflat.support.errors import InputError
from docflat.support.text_files import check_ordinary
from docflat.support.text_ranges import Range

_MOST_BYTES = 256 << 20  # of a tokenizer.json
SideName = Literal["source", "target"]

SPECIALS = ("<pad>", "<s>", "</s>", "<mask>")
# A blank belongs to the word after it. Letters, digits and the rest are never in one piece, so that no merge
# can spell a special token such as "<s>" or "<1>"; at most three digits, so that numbers share subwords.
PIECES = r" ?[\p{L}\p{M}]+| ?\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"
_PREFIX = re.compile(r'"continuing_subword_prefix"\s*:\s*"')
_MODEL_SETTINGS = (
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
)
# Our one addition to tokenizer.json, only made with Moses and by imported models: the tokenizers library refuses a
# file with unknown keys, as it should when it does not know how to tokenise. Without it the file is an ordinary one.
SETTINGS_KEY = "docflat"


class Subwords:
    """A vocabulary: specials, 256 bytes and merges (ids below `text_size`), then index tokens <1>, <2> ..."""

    pad, bos, eos, mask = range(4)

    def __init__(self, tokenizer: Tokenizer, index_tokens: int, moses: tuple[str, str] | None = None) -> None:
        # Text that looks like "<s>" stays text. tokenizer.json does not keep this setting.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._moses = None if moses is None else (_Moses(moses[0]), _Moses(moses[1]))
        self.moses = moses
        self.index_tokens = index_tokens
        self.size = tokenizer.get_vocab_size()
        self.text_size = self.size - index_tokens

    def __reduce__(self) -> tuple[Any, ...]:
        return Subwords.from_json, (self.to_json(),)

    @property
    def hash(self) -> str:
        """Names this vocabulary, whichever version of the library wrote its file."""
        vocabulary = self._tokenizer.get_vocab()
        content = json.dumps([sorted(vocabulary, key=vocabulary.__getitem__), self.index_tokens, self.moses])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def encode(self, text: str, side: SideName = "source") -> list[int]:
        """Ids of one sentence, without start or end symbol; none for the empty text."""
        (text,) = self._tokenise([text], side)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def encode_batch(self, texts: Sequence[str], side: SideName = "source") -> list[list[int]]:
        """`encode` of each, on all cores (but Moses takes one)."""
        tokenised = list(self._tokenise(texts, side))
        # Not encode_batch_fast, which was a tenth slower with tokenizers 0.23 (20,000 lines of Europarl).
        encodings = self._tokenizer.encode_batch(tokenised, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Sequence[int], side: SideName = "target") -> str:
        """Text of these ids; specials and index tokens are left out, broken characters become U+FFFD."""
        words = [int(number) for number in ids if len(SPECIALS) <= number < self.text_size]
        text: str = self._tokenizer.decode(words, skip_special_tokens=True)
        return text if self._moses is None else self._moses[side == "target"].detokenise(text)

    def names(self) -> list[str]:
        """What tokenizer.json calls each id."""
        return [self._tokenizer.id_to_token(number) or "" for number in range(self.size)]

    def places(self, text: str, side: SideName = "target") -> list[Range] | None:
        """Where in the text each of its subwords is; None: only their own text tells."""
        return None

    def pieces(self, ids: Sequence[int], side: SideName = "target") -> list[str]:
        """What each id stands for, with the blank before a word; of a character in several ids, the last one has it."""
        names = [self._tokenizer.id_to_token(int(number)) or "" for number in ids]
        joined = decoders.ByteLevel()
        # Half a character is decoded to U+FFFD, at the end of what there is so far.
        starts = [joined.decode(names[:end]).rstrip("\ufffd") for end in range(len(names))]
        texts = [*starts, joined.decode(names)]
        return [after[len(before) :] for before, after in pairwise(texts)]

    def _tokenise(self, texts: Iterable[str], side: SideName) -> Iterable[str]:
        if side not in ("source", "target"):
            raise ValueError(f"a side is source or target, not {side!r}")
        return texts if self._moses is None else map(self._moses[side == "target"].tokenise, texts)

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        vocabulary: int = 32000,
        index_tokens: int = 256,
        moses: tuple[str, str] | None = None,
        target_texts: Iterable[str] = (),
    ) -> Subwords:
        """Learn merges until `vocabulary` ids are below the index tokens, or no pair is left that repeats.

        `texts` and `target_texts` are read once, in turns of a thousand. They may be of either language; only
        with Moses it matters that the first are source and the second target. The same texts always give the
        same merges.
        """
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        smallest = len(SPECIALS) + len(alphabet)
        if vocabulary < smallest:
            raise InputError(f"a vocabulary of {vocabulary} is too small: bytes and specials take {smallest}")
        if index_tokens < 1:
            raise InputError(f"there must be at least one index token, not {index_tokens}")
        tokenizer = _blank()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary,
            min_frequency=2,
            show_progress=False,
            special_tokens=list(SPECIALS),
            initial_alphabet=alphabet,
        )
        source, target = (None, None) if moses is None else (_Moses(moses[0]), _Moses(moses[1]))
        tokenizer.train_from_iterator(_lists((texts, source), (target_texts, target)), trainer)
        tokenizer.add_special_tokens(
            [AddedToken(name, normalized=False, special=True) for name in index_names(index_tokens)]
        )
        return cls(tokenizer, index_tokens, moses)

    def to_json(self) -> str:
        """What `save` writes."""
        text = self._tokenizer.to_str(pretty=True)
        if self.moses is None:
            return text
        return json.dumps({SETTINGS_KEY: {"moses": self.moses}, **json.loads(text)}, ensure_ascii=False, indent=2)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one tokenizer.json: all of it, or nothing."""
        write_whole(Path(path), self.to_json())

    @classmethod
    def from_json(cls, text: str) -> Subwords:
        """The vocabulary in the text of a tokenizer.json; ValueError if it is not one of ours."""
        moses = None
        # Read here only where our key may be in it: the library reads it in half the time.
        content = json.loads(text) if f'"{SETTINGS_KEY}"' in text else {}
        if isinstance(content, dict) and SETTINGS_KEY in content:
            if isinstance(content[SETTINGS_KEY], dict) and "sentencepiece" in content[SETTINGS_KEY]:
                from docflat.data.sentencepieces import SentencePieces

                try:
                    return SentencePieces.of_mapping(content[SETTINGS_KEY]["sentencepiece"])
                except (TypeError, LookupError) as error:
                    raise ValueError(f"cannot read its entry {SETTINGS_KEY!r}") from error
            try:
                moses = (str(content[SETTINGS_KEY]["moses"][0]), str(content[SETTINGS_KEY]["moses"][1]))
            except (TypeError, LookupError) as error:
                raise ValueError(f"cannot read its entry {SETTINGS_KEY!r}") from error
            del content[SETTINGS_KEY]
            text = json.dumps(content)
        if _PREFIX.search(text):  # where the library cuts it off words it may panic
            raise ValueError("it splits or joins text in another way than docflat")
        try:
            tokenizer = Tokenizer.from_str(text)
        except BaseException as error:  # the library raises nothing more exact, and panics are no Exceptions
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise ValueError(str(error)) from error
        if _settings(tokenizer) != _settings(_blank()):
            raise ValueError("it splits or joins text in another way than docflat")
        size = tokenizer.get_vocab_size()
        last = re.fullmatch("<([1-9][0-9]{0,8})>", (size and tokenizer.id_to_token(size - 1)) or "")
        index_tokens = int(last[1]) if last else 0
        places = [*range(len(SPECIALS)), *range(max(0, size - index_tokens), size)]
        names = [*SPECIALS, *index_names(min(index_tokens, size))]
        if not index_tokens or [tokenizer.id_to_token(place) for place in places] != names:
            raise ValueError("its special tokens are not those of docflat")
        return cls(tokenizer, index_tokens, moses)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Subwords:
        check_ordinary(Path(path), _MOST_BYTES)
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:  # broken UTF-8 and JSON are ValueErrors too
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"cannot load subwords: {reason}", path) from error


def _blank() -> Tokenizer:
    """Our way of cutting and joining text, without a vocabulary yet."""
    tokenizer = Tokenizer(models.BPE())
    # The first word of a sentence gets the blank that other words have, and so the same subwords.
    tokenizer.normalizer = normalizers.Prepend(" ")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return tokenizer


def _settings(tokenizer: Tokenizer) -> list[Any]:
    """All of a tokenizer but its vocabulary, as this version of the library spells it."""
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.post_processor, tokenizer.decoder)
    # Not `to_str`, which would spell out the vocabulary too.
    spelled = [part and part.__getstate__() for part in parts]
    model = [type(tokenizer.model), *(getattr(tokenizer.model, name, None) for name in _MODEL_SETTINGS)]
    return [*spelled, *model, tokenizer.truncation, tokenizer.padding]


def index_names(count: int) -> list[str]:
    return [f"<{place}>" for place in range(1, count + 1)]


class _Moses:
    """Moses tokenisation of one language. Not lossless: blanks are lost, some quotes and brackets move."""

    def __init__(self, language: str) -> None:
        try:
            from sacremoses import MosesDetokenizer, MosesTokenizer
        except ImportError as error:
            raise InputError("Moses tokenisation needs sacremoses: pip install 'docflat[moses]'") from error
        self._tokenizer = MosesTokenizer(language)
        self._detokenizer = MosesDetokenizer(language)

    def tokenise(self, text: str) -> str:
        # Nothing downstream reads XML: "&" need not become "&amp;".
        tokens: str = self._tokenizer.tokenize(text, return_str=True, escape=False)
        return tokens

    def detokenise(self, text: str) -> str:
        plain: str = self._detokenizer.detokenize(text.split(), unescape=False)
        return plain


def _lists(*sides: tuple[Iterable[str], _Moses | None]) -> Iterator[list[str]]:
    """The texts in lists, which cross over to the library faster than one by one; the sides take turns."""
    remaining = [iter(texts if moses is None else map(moses.tokenise, texts)) for texts, moses in sides]
    while remaining:
        some = list(islice(remaining[0], 1000))
        if some:
            yield some
            remaining.append(remaining[0])
        del remaining[0]
