from __future__ import annotations

import builtins
import copy
import json
import pickle
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers

from docflat.data.subwords import PIECES, SPECIALS, Subwords
from docflat.support.errors import InputError

ENGLISH = [
    "The cat sat on the mat, and the dog sat on the cat.",
    "Where is the cat? The cat is on the mat; the mat is in the house.",
    "In 1999 there were 12345 cats & 2 dogs (<s> and <1> and </s> too).",
    "<s> <s> <1> <1> <12> <mask> <pad>",
]
GERMAN = [
    "Die Katze saß auf der Matte, und der Hund saß auf der Katze.",
    "Wo ist die Katze? Die Katze ist auf der Matte; die Matte ist im Haus.",
    "Straße, Füße, Äpfel, Öl – „schön“.",
]
TEXTS = ENGLISH * 5 + GERMAN * 5
# Where blanks, marks and look-alikes have their own ways to get lost.
AWKWARD = [
    "",
    " ",
    "   ",
    " leading",
    "trailing ",
    "two  blanks",
    "\ttab\t",
    "\r\n",
    "a\r",
    "\x00\x01\x1f\x7f",
    "\u0085\u2028\u2029\u00a0\u3000",
    "▁",
    "▁under▁score ▁",
    "Ġ Ċ Ġword",
    "\u0301",
    " \u0301e",
    "e\u0301",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "<s>",
    "</s>",
    " <s>",
    "<1>",
    "<12> <256>",
    "<pad><mask>",
    "<unk> [CLS] ##a </w> @@",
    "漢字かな交じり文。",
    "\ufeffBOM",
    "\ufffd",
    "\U0010ffff\ue000",
    "１２３ ٣٤٥ Ⅳ ½",
]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.learn(TEXTS, vocabulary=360, index_tokens=16)


def byte_characters() -> dict[int, str]:
    """The byte-level alphabet as GPT-2 defines it (openai/gpt-2, encoder.py, bytes_to_unicode)."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}


BYTES = byte_characters()


def pieces_of(text: str) -> list[str]:
    """Pieces in the byte-level alphabet, by another regular expression engine."""
    regex = pytest.importorskip("regex")
    found = regex.findall(PIECES, " " + text) if text else []
    return ["".join(BYTES[byte] for byte in piece.encode()) for piece in found]


def slow_learn(texts: list[str], merges: int) -> list[tuple[str, str]]:
    """Byte-pair encoding as it is told: join the most frequent pair, again and again.

    Of equally frequent pairs it takes the one whose symbols are older.
    """
    words = [[list(piece), count] for piece, count in Counter(p for t in texts for p in pieces_of(t)).items()]
    age = {symbol: place for place, symbol in enumerate(sorted(BYTES.values()))}
    learned = []
    for _ in range(merges):
        pairs: Counter[tuple[str, str]] = Counter()
        for symbols, count in words:
            for pair in pairwise(symbols):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], age[pair[0]], age[pair[1]]), default=None)
        if best is None or pairs[best] < 2:
            break
        learned.append(best)
        age.setdefault("".join(best), len(age))
        for word in words:
            word[0] = join(word[0], best)
    return learned


def join(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    joined: list[str] = []
    for symbol in symbols:
        if joined and (joined[-1], symbol) == pair and not joined[-1].endswith("\0"):
            joined[-1] += symbol + "\0"  # just joined: not to be joined again in this round
        else:
            joined.append(symbol)
    return [symbol.removesuffix("\0") for symbol in joined]


def slow_encode(text: str, merges: list[tuple[str, str]]) -> list[str]:
    tokens = []
    for piece in pieces_of(text):
        symbols = list(piece)
        for merge in merges:
            symbols = join(symbols, merge)
        tokens += symbols
    return tokens


def merges_of(subwords: Subwords) -> list[tuple[str, str]]:
    merges = json.loads(subwords.to_json())["model"]["merges"]
    return [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in merges]


def vocabulary_of(subwords: Subwords) -> list[str]:
    content = json.loads(subwords.to_json())
    ids = content["model"]["vocab"] | {token["content"]: token["id"] for token in content["added_tokens"]}
    return sorted(ids, key=ids.__getitem__)


def test_merges_are_those_of_the_definition(subwords: Subwords) -> None:
    assert merges_of(subwords) == slow_learn(TEXTS, 360 - 260)


@pytest.mark.parametrize("text", TEXTS[:1] + GERMAN + AWKWARD)
def test_encodes_as_the_definition_does(subwords: Subwords, text: str) -> None:
    names = vocabulary_of(subwords)
    assert [names[number] for number in subwords.encode(text)] == slow_encode(text, merges_of(subwords))


# Letters, marks, digits and blanks about which engines and their Unicode versions agree.
@given(st.text("abceghinrstuABCßäöü 0123456789.,<s>/'\"-\t\u0301\u00a0—漢👩", max_size=40))
def test_encodes_as_the_definition_does_with_any_text(subwords: Subwords, text: str) -> None:
    names = vocabulary_of(subwords)
    assert [names[number] for number in subwords.encode(text)] == slow_encode(text, merges_of(subwords))


def test_ids_lie_as_promised(subwords: Subwords) -> None:
    names = vocabulary_of(subwords)
    assert (subwords.pad, subwords.bos, subwords.eos, subwords.mask) == (0, 1, 2, 3)
    assert names[:4] == ["<pad>", "<s>", "</s>", "<mask>"]
    assert sorted(names[4:260]) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert subwords.text_size == 360
    assert subwords.size == 376 == len(names)
    assert names[360:] == [f"<{n}>" for n in range(1, 17)]


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_survives(subwords: Subwords, text: str) -> None:
    assert subwords.decode(subwords.encode(text)) == text


@given(st.text())
def test_any_text_survives(subwords: Subwords, text: str) -> None:
    ids = subwords.encode(text)
    assert all(len(SPECIALS) <= number < subwords.text_size for number in ids)
    assert subwords.decode(ids) == text
    assert (not ids) is (not text)


@given(st.lists(st.sampled_from([*SPECIALS, "<1>", "<16>", "<17>", "<", ">", "s", "1", " ", "the", "Ġ"])))
def test_text_never_becomes_special_tokens(subwords: Subwords, parts: list[str]) -> None:
    text = "".join(parts)
    ids = subwords.encode(text)
    assert all(len(SPECIALS) <= number < subwords.text_size for number in ids)
    assert subwords.decode(ids) == text


def test_no_merge_spells_a_special_token() -> None:
    # A text of nothing else, and room for all merges that it can give.
    looks_special = ["<s> </s> <pad> <mask> <1> <2> <10>", "<s><1></s><mask>"] * 50
    subwords = Subwords.learn(looks_special, vocabulary=1000, index_tokens=10)
    merged = ["".join(pair) for pair in merges_of(subwords)]
    assert "Ġ<" in merged  # there are merges of this text
    assert not {*SPECIALS, *(f"<{n}>" for n in range(1, 11))} & set(merged)
    assert not any("<" in token and ">" in token.partition("<")[2] and token[-2].isalnum() for token in merged)
    assert subwords.decode(subwords.encode("<s> <1>")) == "<s> <1>"


def test_first_word_is_the_same_token_as_inside(subwords: Subwords) -> None:
    (first,) = subwords.encode("the")
    assert subwords.encode("on the") == [*subwords.encode("on"), first]


def test_numbers_are_cut_at_three_digits() -> None:
    digits = Subwords.learn(["1234567 123 456 7"] * 9, 1000, 1)
    (first,) = digits.encode("123")
    assert digits.encode("1234567")[0] == first
    assert len(digits.encode("1234567")) == 3


def test_decode_leaves_out_specials_and_index_tokens(subwords: Subwords) -> None:
    cat = subwords.encode("the cat")
    around = [subwords.text_size + 3, *cat[:1], subwords.mask, *cat[1:], subwords.eos, subwords.pad, subwords.pad]
    assert subwords.decode(around) == "the cat"
    assert subwords.decode([subwords.bos, subwords.eos]) == ""
    assert subwords.decode([]) == ""


def test_decode_takes_away_one_blank_only_if_there_is_one(subwords: Subwords) -> None:
    blank, *inside = subwords.encode("xyz")
    assert subwords.decode(inside) == "xyz"
    assert subwords.decode([blank, *inside]) == "xyz"
    assert subwords.decode([blank, blank, *inside]) == " xyz"


@given(st.lists(st.integers(0, 375)))
def test_any_ids_decode(subwords: Subwords, ids: list[int]) -> None:
    # The bytes of the tokens, read as UTF-8 with U+FFFD for what is broken: as Python reads them.
    names = vocabulary_of(subwords)
    back = {character: byte for byte, character in BYTES.items()}
    raw = bytes(back[c] for number in ids if 4 <= number < 360 for c in names[number])
    assert subwords.decode(ids) == raw.decode(errors="replace").removeprefix(" ")


@given(st.lists(st.text() | st.sampled_from(TEXTS + AWKWARD)))
def test_batch_is_each_in_turn(subwords: Subwords, texts: list[str]) -> None:
    assert subwords.encode_batch(texts) == [subwords.encode(text) for text in texts]


def test_tiny_text_gives_fewer_merges() -> None:
    subwords = Subwords.learn(["ab ab"], vocabulary=32000, index_tokens=3)
    assert subwords.text_size == 260 + 2  # "ab" or " a", then " ab"
    assert subwords.size == subwords.text_size + 3
    nothing = Subwords.learn([], index_tokens=1)
    assert nothing.text_size == 260
    assert nothing.decode(nothing.encode("any")) == "any"


@pytest.mark.parametrize(("vocabulary", "index_tokens"), [(259, 1), (1000, 0)])
def test_impossible_sizes(vocabulary: int, index_tokens: int) -> None:
    with pytest.raises(InputError):
        Subwords.learn(TEXTS, vocabulary, index_tokens)


def test_learning_is_deterministic(subwords: Subwords, tmp_path: Path) -> None:
    # In other processes, because hash seeds differ between them; and with the texts in another order and way.
    script = f"""
import sys
from docflat.data.subwords import Subwords
texts = {TEXTS!r}
Subwords.learn(iter(texts[::-1][:9]), 360, 16, target_texts=texts[::-1][9:]).save(sys.argv[1])
"""
    for name in ("a.json", "b.json"):
        subprocess.run([sys.executable, "-c", script, tmp_path / name], check=True)
    subwords.save(tmp_path / "here.json")
    here = (tmp_path / "here.json").read_bytes()
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes() == here


def test_errors_of_the_reader_come_through() -> None:
    def texts() -> object:
        yield "a first line"
        raise InputError("not UTF-8", "train.en", 2)

    with pytest.raises(InputError, match=r"train\.en:2: not UTF-8"):
        Subwords.learn(texts())  # type: ignore[arg-type]


def test_save_and_load(subwords: Subwords, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("an older file")
    subwords.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.json"]
    loaded = Subwords.load(path)
    assert (loaded.size, loaded.text_size, loaded.index_tokens) == (376, 360, 16)
    assert loaded.hash == subwords.hash
    assert loaded.to_json() == subwords.to_json()
    for text in TEXTS + AWKWARD:
        assert loaded.encode(text) == subwords.encode(text)
        assert loaded.decode(loaded.encode(text)) == text


def test_file_is_one_for_the_tokenizers_library(subwords: Subwords, tmp_path: Path) -> None:
    subwords.save(tmp_path / "tokenizer.json")
    plain = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert plain.encode(TEXTS[0]).ids == subwords.encode(TEXTS[0])
    assert plain.decode(subwords.encode(TEXTS[0])) == TEXTS[0]


def test_failed_save_leaves_the_old_file(subwords: Subwords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(InputError, match=r"tokenizer\.json: cannot be written: no space"):
        subwords.save(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("copied", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
def test_copies_keep_everything(subwords: Subwords, copied: object) -> None:
    other = copied(subwords)  # type: ignore[operator]
    assert other.encode("<s> <1> x") == subwords.encode("<s> <1> x")
    assert (other.size, other.text_size) == (subwords.size, subwords.text_size)


def test_hash_tells_vocabularies_apart(subwords: Subwords) -> None:
    others = [
        Subwords.learn(TEXTS, 359, 16),
        Subwords.learn(TEXTS, 360, 15),
        Subwords.learn(GERMAN * 5, 360, 16),
        Subwords.learn(TEXTS, 360, 16, moses=("en", "de")),
    ]
    assert len({subwords.hash, *(other.hash for other in others)}) == 5


def broken_files(subwords: Subwords) -> dict[str, bytes]:
    good = json.loads(subwords.to_json())
    no_specials = {**good, "added_tokens": good["added_tokens"][4:]}
    unordered = {
        **good,
        "added_tokens": [*good["added_tokens"][:-1], {**good["added_tokens"][-1], "content": "<99>"}],
    }
    return {
        "empty": b"",
        "not UTF-8": b'{"\xff": 1}',
        "truncated": subwords.to_json().encode()[:-100],
        "a list": b"[]",
        "null": b"null",
        "no model": b"{}",
        "too deep": b"[" * 100_000,
        "other version": json.dumps({**good, "version": "9.9"}).encode(),
        "bad merges": json.dumps({**good, "model": {**good["model"], "merges": [["q", "zzz"]]}}).encode(),
        "no index tokens": json.dumps({**good, "added_tokens": good["added_tokens"][:4]}).encode(),
        "no specials": json.dumps({**no_specials, "model": {**good["model"], "vocab": {}, "merges": []}}).encode(),
        "wrong index tokens": json.dumps(unordered).encode(),
        "other pieces": json.dumps({**good, "pre_tokenizer": {"type": "Whitespace"}}).encode(),
        "no normalizer": json.dumps({**good, "normalizer": None}).encode(),
        "other decoder": json.dumps({**good, "decoder": {"type": "Fuse"}}).encode(),
        "dropout": json.dumps({**good, "model": {**good["model"], "dropout": 0.5}}).encode(),
        "prefix": json.dumps({**good, "model": {**good["model"], "continuing_subword_prefix": "en"}}).encode(),
        "strange entry of ours": json.dumps({**good, "docflat": {"moses": "en"[:1]}}).encode(),
        "no entry of ours": json.dumps({**good, "docflat": None}).encode(),
        "unknown entry": json.dumps({**good, "other": 1}).encode(),
    }


def test_bad_files_are_named(subwords: Subwords, tmp_path: Path) -> None:
    for what, content in broken_files(subwords).items():
        path = tmp_path / f"{what}.json"
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"{what}\.json: cannot load subwords: ."):
            Subwords.load(path)
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(InputError, match=path.name):
            Subwords.load(path)


@pytest.fixture(scope="module")
def moses() -> Subwords:
    pytest.importorskip("sacremoses")
    return Subwords.learn(ENGLISH * 5, 500, 8, moses=("en", "de"), target_texts=GERMAN * 5)


class TestMoses:
    def test_tokenises_first(self, moses: Subwords) -> None:
        # By hand from the rules of tokenizer.perl: English keeps 's together, and "bzw." is a prefix in German.
        content = {key: value for key, value in json.loads(moses.to_json()).items() if key != "docflat"}
        plain = Subwords.from_json(json.dumps(content))
        text = "Well, it's five bzw. Six (or more)."
        english = "Well , it 's five bzw . Six ( or more ) ."
        german = "Well , it ' s five bzw. Six ( or more ) ."
        assert moses.encode(text) == plain.encode(english)
        assert moses.encode(text, "target") == plain.encode(german)
        assert moses.encode_batch([text, ""], "target") == [plain.encode(german), []]
        assert moses.encode("a & b <s>") == plain.encode("a & b < s >")  # not &amp;

    @pytest.mark.parametrize("text", [*ENGLISH[:3], ""])
    def test_ordinary_text_survives(self, moses: Subwords, text: str) -> None:
        text = text.replace("<s> and <1> and </s> too", "and more")
        assert moses.decode(moses.encode(text, "source"), "source") == text

    def test_learns_from_tokens(self, moses: Subwords) -> None:
        apart = Subwords.learn(
            ["The cat sat on the mat , and the dog sat on the cat ."] * 4,
            500,
            8,
            target_texts=["Die Katze ."] * 3,
        )
        same = Subwords.learn([ENGLISH[0]] * 4, 500, 8, moses=("en", "de"), target_texts=["Die Katze."] * 3)
        assert merges_of(apart) == merges_of(same)

    @given(st.text())
    def test_any_text_passes(self, moses: Subwords, text: str) -> None:
        assert isinstance(moses.decode(moses.encode(text, "source"), "source"), str)

    def test_save_and_load(self, moses: Subwords, tmp_path: Path) -> None:
        moses.save(tmp_path / "tokenizer.json")
        loaded = Subwords.load(tmp_path / "tokenizer.json")
        assert loaded.moses == ("en", "de")
        assert loaded.hash == moses.hash
        text = "Well, it's five bzw. Six."
        for side in ("source", "target"):
            assert loaded.encode(text, side) == moses.encode(text, side)
        assert pickle.loads(pickle.dumps(moses)).moses == ("en", "de")
        # Who does not know of Moses must not encode with it.
        with pytest.raises(Exception, match="expected"):
            Tokenizer.from_file(str(tmp_path / "tokenizer.json"))

    def test_unknown_side(self, moses: Subwords) -> None:
        with pytest.raises(ValueError, match="middle"):
            moses.encode("a", "middle")  # type: ignore[arg-type]

    def test_without_sacremoses(self, moses: Subwords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        moses.save(tmp_path / "tokenizer.json")
        real = builtins.__import__

        def without(name: str, *arguments: object) -> object:
            if name == "sacremoses":
                raise ImportError(name)
            return real(name, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(builtins, "__import__", without)
        for use in (
            lambda: Subwords.learn(TEXTS, moses=("en", "de")),
            lambda: Subwords.load(tmp_path / "tokenizer.json"),
        ):
            with pytest.raises(InputError, match=r"pip install 'docflat\[moses\]'"):
                use()
        Subwords.learn(TEXTS[:1])  # needs none
