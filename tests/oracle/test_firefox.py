"""Firefox's models beside fxtranslate, Mozilla's engine for them, and beside Marian's .npz of the same weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from docflat import Translator
from docflat.data.subwords import Subwords
from docflat.engines.onnx.shortlist import read_shortlist
from docflat.model.segments import Segments
from docflat.model.ssru import SSRU
from docflat.weights.config import read_config, vocabulary_of
from docflat.weights.marian.importing import import_model
from docflat.weights.stored import read_stored, read_weights
from firefox_files import random_tensors, rounded, settings_bytes, write_firefox, write_lex
from marian_files import ENGLISH, GERMAN, TEXTS

SENTENCES = [*TEXTS[:1], *ENGLISH[:4], *GERMAN[:4], "The captain left.", "It was her harbour.", "noon"]


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_translations_are_those_of_mozillas_engine(tmp_path: Path, engine: str) -> None:
    """In float32, greedily. Theirs may be empty, and end after fewer words. (It reads no two tables in float32.)"""
    fxtranslate = pytest.importorskip("fxtranslate")
    ended = []
    for seed in range(6):
        folder = tmp_path / f"theirs-{seed}"
        write_firefox(folder, random_tensors(seed=seed), int8=False)
        import_model(folder, tmp_path / f"ours-{seed}", int8=False)
        spm = (folder / "vocab.ende.spm").read_bytes()
        theirs = fxtranslate.Translator((folder / "model.ende.intgemm.alphas.bin").read_bytes(), spm, spm)
        ours = Translator.load(tmp_path / f"ours-{seed}", device="cpu", precision="fp32", engine=engine)
        for text in SENTENCES:
            expected, translation = theirs.translate(text), ours.translate([text], beam=1)[0]
            if expected:
                assert translation.startswith(expected)
                ended.append(translation == expected)
    assert len(ended) > 40
    assert any(ended)


@pytest.mark.parametrize("separate", [False, True])
def test_int8_weights_are_those_that_mozillas_engine_reads(tmp_path: Path, separate: bool) -> None:
    """Most translations, because theirs rounds what comes into a product by a fixed scale, and ours does not."""
    fxtranslate = pytest.importorskip("fxtranslate")
    same = []
    for seed in range(6):
        folder = tmp_path / f"theirs-{seed}"
        write_firefox(folder, random_tensors(separate, seed), separate=separate)
        import_model(folder, tmp_path / f"ours-{seed}", int8=False)
        spm = [file.read_bytes() for file in sorted(folder.glob("*.spm"))]
        theirs = fxtranslate.Translator((folder / "model.ende.intgemm.alphas.bin").read_bytes(), spm[0], spm[-1])
        ours = Translator.load(tmp_path / f"ours-{seed}", device="cpu", precision="fp32", engine="torch")
        pairs = [(theirs.translate(text), ours.translate([text], beam=1)[0]) for text in SENTENCES]
        same += [translation[:1] == expected[:1] for expected, translation in pairs if expected]
    assert len(same) > 40
    assert np.mean(same) > 0.8


@pytest.mark.parametrize("separate", [False, True])
def test_both_forms_hold_the_same_model(tmp_path: Path, separate: bool) -> None:
    """Marian's .npz, its binary form in float32, and in int8, which has the numbers that it was written with."""
    tensors = random_tensors(separate)
    for name, int8 in (("float", False), ("int8", True)):
        write_firefox(tmp_path / name, tensors, int8=int8, separate=separate)
    write_firefox(tmp_path / "npz", tensors, separate=separate)
    (tmp_path / "npz" / "model.ende.intgemm.alphas.bin").unlink()
    np.savez(tmp_path / "npz" / "model.npz", **tensors, **{"special:model.yml": settings_bytes()})
    for name in ("float", "npz", "int8"):
        import_model(tmp_path / name, tmp_path / f"{name}-out", int8=False)
    import_model(tmp_path / "int8", tmp_path / "packed", int8=True)
    plain, npz, wide = (
        read_weights(tmp_path / f"{name}-out" / "model.safetensors") for name in ("float", "npz", "int8")
    )
    assert plain.keys() == npz.keys() == wide.keys()
    for name, array in plain.items():
        np.testing.assert_array_equal(array, npz[name], name)
    packed = read_stored(tmp_path / "packed" / "model.safetensors")
    numbers, multiplier = rounded(tensors)["decoder_l2_rnn_Wf"]
    both = "decoder.1.recurrence.both.weight"
    np.testing.assert_array_equal(packed[both][32:], numbers.T)
    np.testing.assert_allclose(packed[f"{both}.scale"][32:], 1 / multiplier, rtol=1e-6)
    again = read_weights(tmp_path / "packed" / "model.safetensors")
    for name, array in wide.items():  # nothing is rounded twice
        np.testing.assert_allclose(again[name], array, rtol=1e-5, atol=1e-7, err_msg=name)


def test_a_recurrence_is_its_equation() -> None:
    torch.manual_seed(0)
    ssru, lengths = SSRU(6).double(), [3, 1, 5]
    torch.nn.init.normal_(ssru.both.bias)
    x = torch.randn(sum(lengths), 6, dtype=torch.float64)
    states = ssru.over(x, Segments.of_lengths(np.array(lengths)))
    new, forget = ssru.both.weight.split(6)
    b_new, b_forget = ssru.both.bias.split(6)
    expected = []
    for part in x.split(lengths):
        c = torch.zeros(6, dtype=torch.float64)
        for one in part:
            f = 1 / (1 + (-(forget @ one + b_forget)).exp())
            c = f * c + (1 - f) * (new @ one + b_new)
            expected.append(c)
    torch.testing.assert_close(states, torch.stack(expected))


@pytest.mark.parametrize("separate", [False, True])
def test_a_shortlist_names_the_words_that_marian_lists(tmp_path: Path, separate: bool) -> None:
    write_firefox(tmp_path / "theirs", random_tensors(separate), separate=separate)
    spm = [file.read_bytes() for file in sorted((tmp_path / "theirs").glob("*.spm"))]
    from marian_files import sentencepiece

    source, target = (sentencepiece.SentencePieceProcessor(model_proto=one) for one in (spm[0], spm[-1]))
    rng = np.random.default_rng(0)
    lists = [sorted(rng.choice(target.get_piece_size(), int(rng.integers(0, 5)), replace=False).tolist())
             for _ in range(source.get_piece_size())]  # fmt: skip
    write_lex(tmp_path / "theirs", lists, 7)
    import_model(tmp_path / "theirs", tmp_path / "ours")
    subwords = Subwords.load(tmp_path / "ours" / "tokenizer.json")
    shortlist = read_shortlist(tmp_path / "ours", vocabulary_of(subwords))
    assert shortlist is not None

    def names(ids: np.ndarray) -> set[str]:
        """Of words of text: </s> and the unknown word always are."""
        return {subwords.pieces([int(one)], "target")[0] for one in ids if one > subwords.mask}

    def pieces(rows: list[int]) -> set[str]:
        return {target.id_to_piece(row).replace("▁", " ") for row in rows if row > 1}

    assert names(shortlist.frequent) == pieces(list(range(7)))
    for text in ENGLISH[:4]:
        rows = source.encode(text)
        ids = subwords.encode(text)
        for row, one in zip(rows, ids, strict=True):
            if row > 1:
                words = shortlist.words[shortlist.starts[one] : shortlist.starts[one + 1]]
                assert names(words) == pieces(lists[row])
    ours = Translator.load(tmp_path / "ours", engine="onnx")
    assert ours.translate(ENGLISH[:4]) == ours.translate(ENGLISH[:4])


def test_the_folder_says_its_languages(tmp_path: Path) -> None:
    write_firefox(tmp_path / "theirs", random_tensors())
    import_model(tmp_path / "theirs", tmp_path / "ours")
    config = read_config(tmp_path / "ours")
    assert config.languages == ("en", "de")
    assert config.sizes.architecture.recurrent_decoder
