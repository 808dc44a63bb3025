"""Imported models beside transformers' MarianMTModel and MarianTokenizer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from docflat import Translator
from docflat.data.rows import Rows, SentenceList
from docflat.decoding.alignment import Aligner, find_words
from docflat.model.batch import make_batch
from docflat.weights.config import AlignmentView, read_config
from docflat.weights.marian.exporting import export_huggingface
from docflat.weights.marian.importing import import_model
from docflat.weights.stored import read_weights
from marian_files import (
    ENGLISH,
    GERMAN,
    TEXTS,
    native_vocabulary,
    sentencepiece,
    transformers,
    write_huggingface,
    write_native,
)

SHAPES: list[dict[str, Any]] = [
    {},
    {"activation_function": "relu", "scale_embedding": False},
    {"separate": True},
    {"encoder_layers": 3, "decoder_layers": 1, "d_model": 32, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40},
    {"bin_file": True, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
]


@pytest.fixture(params=SHAPES, ids=str)
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any, Translator]:
    model = write_huggingface(tmp_path / "theirs", **request.param)
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours", int8=False)
    return model, tokenizer, Translator.load(tmp_path / "ours", device="cpu", precision="fp32", engine="torch")


def test_subwords_are_those_of_the_tokenizer(both: tuple[Any, Any, Translator]) -> None:
    _, tokenizer, ours = both
    subwords = ours.model.subwords
    for side in ("source", "target"):
        names = {
            v: k
            for k, v in (
                tokenizer.target_encoder if side == "target" and tokenizer.separate_vocabs else tokenizer.encoder
            ).items()
        }
        for text in (*TEXTS, ">>deu<< The ship.", *ENGLISH[:4], *GERMAN[:4]):
            theirs = tokenizer(text).input_ids if side == "source" else tokenizer(text_target=text).input_ids
            ids = subwords.encode(text, side)
            assert [*(subwords.pieces(ids, side)), "</s>"] == [
                names[number].replace("▁", " ").replace("<unk>", "<mask>") for number in theirs
            ]
            # Theirs decodes source ids by the target's numbers where the two have numbers of their own.
            if "<mask>" not in subwords.pieces(ids, side) and not (tokenizer.separate_vocabs and side == "source"):
                expected = tokenizer.decode(theirs, skip_special_tokens=True, use_source_tokenizer=side == "source")
                assert subwords.decode(ids, side) == expected


def test_subwords_have_places_where_text_is_normalised_or_unknown(both: tuple[Any, Any, Translator]) -> None:
    subwords = both[2].model.subwords
    for text in (*TEXTS, ">>deu<< The ship.", *ENGLISH[:4]):
        ids, places = subwords.encode(text), subwords.places(text, "source")
        assert places is not None
        assert len(places) == len(ids)
        assert places == sorted(places)
        covered = {place for start, end in places for place in range(start, end)}
        assert covered >= {place for place, sign in enumerate(text) if not sign.isspace()}
        for number, (start, end) in zip(ids, places, strict=True):
            piece = subwords.pieces([number], "source")[0].strip()
            if number != subwords.mask and start < end and text[start:end].isascii():
                assert piece == text[start:end]


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_words_of_an_imported_model_are_aligned_by_its_attention(
    both: tuple[Any, Any, Translator], tmp_path: Path, engine: str
) -> None:
    """Literally: the mean over its pieces of what the heads of transformers read, of words with unknown pieces too."""
    model, tokenizer, _ = both
    if tokenizer.separate_vocabs:
        pytest.skip("transformers looks up the target's tokens by the source's numbers")
    ours = Translator.load(tmp_path / "ours", device="cpu", precision="fp32", engine=engine)
    view = AlignmentView(0, reading=True)
    aligner = Aligner(replace(ours.model, config=replace(ours.model.config, alignment=view)))
    source, target = "Ｗhere is ½ 日本 captain", "Das Schiff war alt"
    (weights,) = aligner.weights([(source, target)])
    assert weights is not None
    inputs = tokenizer(source, text_target=target, return_tensors="pt")
    labels = inputs.pop("labels")
    start = torch.full((1, 1), model.config.pad_token_id)
    model.set_attn_implementation("eager")
    made = model(**inputs, decoder_input_ids=torch.cat([start, labels], dim=1)[:, :-1], output_attentions=True)
    read = made.cross_attentions[0][0].mean(0).detach().numpy()[1:]  # after each token was read
    sides = []
    for text, side in ((source, "source"), (target, "target")):
        places = ours.model.subwords.places(text, side)
        words = find_words(text)
        sides.append(np.array([[float(a < d and c < b) for c, d in words] for a, b in places]))
    said = sides[1]
    expected = said.T @ read[: len(said), : len(sides[0])] @ sides[0] / said.sum(0)[:, None]
    np.testing.assert_allclose(weights, expected, atol=1e-4)


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_greedy_and_beam_translations_are_equal(both: tuple[Any, Any, Translator], tmp_path: Path, engine: str) -> None:
    model, tokenizer, _ = both
    ours = Translator.load(tmp_path / "ours", device="cpu", precision="fp32", engine=engine)
    pad, unknown = model.config.pad_token_id, 1
    # By plain sums both stop where nothing can win any more; by means ours stops earlier.
    for beam in (1, 4):
        for text in ENGLISH[:4]:
            inputs = tokenizer(text, return_tensors="pt")
            theirs = model.generate(
                **inputs, num_beams=beam, max_new_tokens=2 * (inputs.input_ids.shape[1] - 1) + 21,
                forced_eos_token_id=0, do_sample=False, early_stopping="never", min_new_tokens=1,
                bad_words_ids=[[pad], [unknown]], length_penalty=0.0,
            )  # fmt: skip
            expected = tokenizer.decode(theirs[0], skip_special_tokens=True, use_source_tokenizer=False)
            assert ours.translate([text], beam=beam, length_penalty=0.0) == [expected]


def test_logits_are_equal(both: tuple[Any, Any, Translator]) -> None:
    """Of all words but <pad>, which is never written."""
    model, tokenizer, ours = both
    subwords, ours_model = ours.model.subwords, ours.model.engine.model
    text, translation = "The ship was old.", "Das Schiff war alt."
    inputs = tokenizer(text, text_target=translation, return_tensors="pt")
    labels = inputs.pop("labels")
    start = torch.full((1, 1), model.config.pad_token_id)
    theirs = model(**inputs, decoder_input_ids=torch.cat([start, labels[:, :-1]], dim=1)).logits[0]
    source, target = SentenceList([subwords.encode(text)]), SentenceList([subwords.encode(translation, "target")])
    rows = Rows(*(np.zeros(1, dtype=np.int64) for _ in range(5)))
    found = ours_model.logits(make_batch(source, target, rows, ours.model.layout))
    vocabulary = tokenizer.target_encoder if tokenizer.separate_vocabs else tokenizer.encoder
    texts = [name for name in sorted(vocabulary, key=vocabulary.__getitem__) if name not in ("</s>", "<unk>", "<pad>")]
    order = [vocabulary["</s>"], vocabulary["<unk>"], *(vocabulary[name] for name in texts)]
    mine = found[:, [subwords.eos, subwords.mask, *range(4, 4 + len(texts))]]
    torch.testing.assert_close(mine, theirs[:, order], atol=1e-4, rtol=1e-4)
    assert bool((found[:, [subwords.pad, subwords.bos]] < -1e8).all())


def test_marians_own_files_hold_the_same_model(tmp_path: Path) -> None:
    """The weights of a model that transformers can run, in Marian's file: but for its positions it is that model."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=native_vocabulary())
    vocabulary = {processor.id_to_piece(number): number for number in range(processor.get_piece_size())}
    model = write_huggingface(tmp_path / "theirs", vocabulary={**vocabulary, "<pad>": len(vocabulary)})
    with torch.no_grad():
        model.model.shared.weight[-1] = 0  # what starts a translation is zeros in Marian
    model.save_pretrained(tmp_path / "theirs")
    smaller = transformers.MarianMTModel(model.config)
    smaller.load_state_dict(model.state_dict())
    smaller.resize_token_embeddings(len(vocabulary))
    write_native(tmp_path / "native", smaller)
    import_model(tmp_path / "theirs", tmp_path / "a", int8=False)
    import_model(tmp_path / "native", tmp_path / "b", int8=False)
    a, b = (read_weights(tmp_path / name / "model.safetensors") for name in "ab")
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], name)
    frequencies = [read_config(tmp_path / name).sizes.architecture.frequencies for name in "ab"]
    assert frequencies == ["paper", "tensor2tensor"]


@pytest.mark.parametrize("settings", [{}, {"separate": True, "activation_function": "relu"}], ids=str)
def test_transformers_loads_an_exported_model(tmp_path: Path, settings: dict[str, Any]) -> None:
    model = write_huggingface(tmp_path / "theirs", **settings)
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours", int8=False)
    export_huggingface(tmp_path / "ours", tmp_path / "back")
    exported = transformers.MarianMTModel.from_pretrained(tmp_path / "back").eval()
    of_exported = transformers.MarianTokenizer.from_pretrained(tmp_path / "back")
    for text in ENGLISH[:4]:
        translations = [
            names.decode(
                one.generate(
                    **names(text, return_tensors="pt"), num_beams=1, do_sample=False, max_new_tokens=12,
                    bad_words_ids=[[one.config.pad_token_id], [1]], forced_eos_token_id=None,
                )[0],
                skip_special_tokens=True, use_source_tokenizer=False,
            )
            for one, names in ((model, tokenizer), (exported, of_exported))
        ]  # fmt: skip
        assert translations[0] == translations[1]
