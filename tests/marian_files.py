"""Marian models with random weights, in the files that Hugging Face's transformers and Marian itself write."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

transformers = pytest.importorskip("transformers")
sentencepiece = pytest.importorskip("sentencepiece")

ENGLISH = ["The ship left the harbour at noon.", "It was old.", "Where is the captain?", "Nobody had seen her."] * 20
GERMAN = ["Das Schiff verließ mittags den Hafen.", "Es war alt.", "Wo ist der Kapitän?", "Niemand sah sie."] * 20
TEXTS = ["The ship was old.", "Ｗhere is ½ of it ?", "  two   blanks ", "日本 captain", "She left at noon…", "x"]


def sentencepieces(texts: list[str], size: int, **settings: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=size,
        minloglevel=2,
        num_threads=1,
        hard_vocab_limit=False,
        **settings,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]


def write_huggingface(
    folder: Path,
    separate: bool = False,
    bin_file: bool = False,
    vocabulary: dict[str, int] | None = None,
    **settings: Any,
) -> Any:
    """A MarianMT folder with random weights, as transformers writes it."""
    folder.mkdir()
    source, target = sentencepieces(ENGLISH, 60), sentencepieces(GERMAN, 64)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)

    def numbers(pieces: list[str]) -> dict[str, int]:
        # The language token is an ordinary piece; one piece of text has no number, so that it is unknown.
        names = ["</s>", "<unk>", "<pad>", ">>deu<<", *dict.fromkeys(pieces[:-1])]
        return {name: number for number, name in enumerate(names)}

    if vocabulary is not None:
        vocabularies = [vocabulary] * 2
    elif separate:
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


def write_native(folder: Path, model: Any, **settings: Any) -> None:
    """The weights of a MarianMTModel as Marian names and turns them; vocabularies of SentencePiece's own numbers.

    model: with one table, as many rows as the vocabulary written here has pieces.
    """
    folder.mkdir(parents=True)
    (folder / "vocab.spm").write_bytes(native_vocabulary())
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    arrays = {"Wemb": state["model.shared.weight"], "decoder_ff_logit_out_b": state["final_logits_bias"]}
    for side in ("encoder", "decoder"):
        for layer in range(getattr(model.config, f"{side}_layers")):
            theirs, marian = f"model.{side}.layers.{layer}", f"{side}_l{layer + 1}"
            for attention, name in (("self_attn", "self"), ("encoder_attn", "context")):
                if f"{theirs}.{attention}.q_proj.weight" not in state:
                    continue
                for part, letter in (("q_proj", "q"), ("k_proj", "k"), ("v_proj", "v"), ("out_proj", "o")):
                    arrays[f"{marian}_{name}_W{letter}"] = state[f"{theirs}.{attention}.{part}.weight"].T
                    arrays[f"{marian}_{name}_b{letter}"] = state[f"{theirs}.{attention}.{part}.bias"][None]
                norm = f"{theirs}.{attention}_layer_norm"
                arrays[f"{marian}_{name}_Wo_ln_scale"] = state[f"{norm}.weight"][None]
                arrays[f"{marian}_{name}_Wo_ln_bias"] = state[f"{norm}.bias"][None]
            for number in (1, 2):
                arrays[f"{marian}_ffn_W{number}"] = state[f"{theirs}.fc{number}.weight"].T
                arrays[f"{marian}_ffn_b{number}"] = state[f"{theirs}.fc{number}.bias"][None]
            arrays[f"{marian}_ffn_ffn_ln_scale"] = state[f"{theirs}.final_layer_norm.weight"][None]
            arrays[f"{marian}_ffn_ffn_ln_bias"] = state[f"{theirs}.final_layer_norm.bias"][None]
    config = model.config
    yml = {
        "type": "transformer",
        "dim-emb": config.d_model,
        "transformer-heads": config.encoder_attention_heads,
        "transformer-dim-ffn": config.encoder_ffn_dim,
        "enc-depth": config.encoder_layers,
        "dec-depth": config.decoder_layers,
        "transformer-ffn-activation": config.activation_function,
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "tied-embeddings-all": True,
        **settings,
    }
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in yml.items())
    arrays["special:model.yml"] = np.frombuffer(text.encode() + b"\0", dtype=np.int8)
    np.savez(folder / "model.npz", **{name: np.ascontiguousarray(array) for name, array in arrays.items()})
    (folder / "decoder.yml").write_text("models:\n  - model.npz\nvocabs:\n  - vocab.spm\n  - vocab.spm\n")


def native_vocabulary() -> bytes:
    """As Marian trains it: </s> is 0 and <unk> is 1."""
    return sentencepieces(ENGLISH + GERMAN, 90, bos_id=-1, eos_id=0, unk_id=1)
