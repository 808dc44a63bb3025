"""Imported models beside transformers' MarianMTModel and MarianTokenizer."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from docflat import Translator
from docflat.data.rows import Rows, SentenceList
from docflat.model.batch import make_batch
from docflat.weights.marian.importing import import_model

transformers = pytest.importorskip("transformers")
sentencepiece = pytest.importorskip("sentencepiece")

ENGLISH = ["The ship left the harbour at noon.", "It was old.", "Where is the captain?", "Nobody had seen her."] * 20
GERMAN = ["Das Schiff verließ mittags den Hafen.", "Es war alt.", "Wo ist der Kapitän?", "Niemand sah sie."] * 20
TEXTS = ["The ship was old.", "Ｗhere is ½ of it ?", "  two   blanks ", "日本 captain", "She left at noon…", "x"]


def sentencepieces(texts: list[str], size: int) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=size,
        minloglevel=2,
        num_threads=1,
        hard_vocab_limit=False,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]


def write_model(folder: Path, separate: bool = False, bin_file: bool = False, **settings: Any) -> Any:
    """A MarianMT folder with random weights, as transformers writes it."""
    folder.mkdir()
    source, target = sentencepieces(ENGLISH, 60), sentencepieces(GERMAN, 64)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)

    def numbers(pieces: list[str]) -> dict[str, int]:
        # The language token is an ordinary piece; one piece of text has no number, so that it is unknown.
        names = ["</s>", "<unk>", "<pad>", ">>deu<<", *dict.fromkeys(pieces[:-1])]
        return {name: number for number, name in enumerate(names)}

    if separate:
        vocabularies = [numbers(pieces_of(source)), numbers(pieces_of(target))]
        (folder / "target_vocab.json").write_text(json.dumps(vocabularies[1]))
    else:
        vocabularies = [numbers(pieces_of(source) + pieces_of(target))] * 2
    (folder / "vocab.json").write_text(json.dumps(vocabularies[0]))
    config = transformers.MarianConfig(
        vocab_size=len(vocabularies[0]),
        decoder_vocab_size=len(vocabularies[1]),
        share_encoder_decoder_embeddings=not separate,
        decoder_start_token_id=vocabularies[1]["<pad>"],
        pad_token_id=vocabularies[1]["<pad>"],
        eos_token_id=0,
        forced_eos_token_id=None,
        init_std=0.3,
        **{
            "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
            "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "scale_embedding": True,
            "activation_function": "swish", **settings,
        },
    )  # fmt: skip
    torch.manual_seed(1)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_()
        model.final_logits_bias[0, 0] = 3.0  # texts of all lengths, not only the longest
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    if bin_file:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"source_lang": "eng", "target_lang": "deu", "separate_vocabs": separate})
    )
    return model


SHAPES: list[dict[str, Any]] = [
    {},
    {"activation_function": "relu", "scale_embedding": False},
    {"separate": True},
    {"encoder_layers": 3, "decoder_layers": 1, "d_model": 32, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40},
    {"bin_file": True, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
]


@pytest.fixture(params=SHAPES, ids=str)
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any, Translator]:
    model = write_model(tmp_path / "theirs", **request.param)
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours")
    return model, tokenizer, Translator.load(tmp_path / "ours", device="cpu", precision="fp32")


def test_subwords_are_those_of_the_tokenizer(both: tuple[Any, Any, Translator]) -> None:
    _, tokenizer, ours = both
    subwords = ours.folder.subwords
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


def test_greedy_and_beam_translations_are_equal(both: tuple[Any, Any, Translator]) -> None:
    model, tokenizer, ours = both
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
    subwords, ours_model = ours.folder.subwords, ours.folder.model
    text, translation = "The ship was old.", "Das Schiff war alt."
    inputs = tokenizer(text, text_target=translation, return_tensors="pt")
    labels = inputs.pop("labels")
    start = torch.full((1, 1), model.config.pad_token_id)
    theirs = model(**inputs, decoder_input_ids=torch.cat([start, labels[:, :-1]], dim=1)).logits[0]
    source, target = SentenceList([subwords.encode(text)]), SentenceList([subwords.encode(translation, "target")])
    rows = Rows(*(np.zeros(1, dtype=np.int64) for _ in range(5)))
    layout = ours.folder.system.layout(ours.folder.config.rows, ours_model.vocabulary)
    found = ours_model.logits(make_batch(source, target, rows, layout))
    vocabulary = tokenizer.target_encoder if tokenizer.separate_vocabs else tokenizer.encoder
    texts = [name for name in sorted(vocabulary, key=vocabulary.__getitem__) if name not in ("</s>", "<unk>", "<pad>")]
    order = [vocabulary["</s>"], vocabulary["<unk>"], *(vocabulary[name] for name in texts)]
    mine = found[:, [subwords.eos, subwords.mask, *range(4, 4 + len(texts))]]
    torch.testing.assert_close(mine, theirs[:, order], atol=1e-4, rtol=1e-4)
    assert bool((found[:, [subwords.pad, subwords.bos]] < -1e8).all())
