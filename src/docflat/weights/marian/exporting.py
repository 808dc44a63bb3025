"""A sentence model of ours as a MarianMT folder, which transformers loads: the way back from `huggingface.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from docflat.data.sentencepieces import SentencePieces
from docflat.data.subwords import SPECIALS, Subwords
from docflat.model.sizes import Architecture
from docflat.support.atomic import whole_folder
from docflat.support.errors import InputError
from docflat.support.json_files import write_json
from docflat.weights.config import ModelConfig, read_config
from docflat.weights.marian.foreign import Array
from docflat.weights.stored import read_weights

WRITTEN = ("*config.json", "*vocab.json", "source.spm", "target.spm", "model.safetensors", "README.md")


def export_huggingface(model: Path, out: Path, force: bool = False) -> None:
    """Write the model so that `MarianMTModel.from_pretrained` and `MarianTokenizer.from_pretrained` read it."""
    config = read_config(model)
    subwords = Subwords.load(model / "tokenizer.json")
    check(config, subwords, model / "config.json")
    assert isinstance(subwords, SentencePieces)
    weights = read_weights(model / "model.safetensors")
    sides = subwords.vocabularies if config.sizes.architecture.separate_embeddings else subwords.vocabularies[1:]
    numbers = [numbered(pieces) for pieces in sides]
    with whole_folder(out, force, WRITTEN) as partial:
        save_file(dict(convert(weights, config, subwords)), partial / "model.safetensors", {"format": "pt"})
        write_json(partial / "config.json", settings(config, numbers))
        write_json(partial / "tokenizer_config.json", tokenizer_settings(config))
        for name, content in zip(("vocab.json", "target_vocab.json"), numbers, strict=False):
            (partial / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        for name, sentencepiece in zip(("source.spm", "target.spm"), subwords.models, strict=True):
            (partial / name).write_bytes(sentencepiece)
        if (model / "README.md").exists():
            (partial / "README.md").write_bytes((model / "README.md").read_bytes())


def check(config: ModelConfig, subwords: Subwords, file: Path) -> None:
    """Refuses what MarianMT cannot be, by name."""
    kind = config.sizes.architecture
    problems = {
        f"system {config.system}": config.system != "sent2sent",
        "rows.source_starts": config.rows.source_starts,
        "sizes.architecture.embedding_norm": kind.embedding_norm,
        "sizes.architecture.frequencies tensor2tensor": kind.frequencies != "paper",
        "sizes.architecture.logits_bias false": not kind.logits_bias,
        "subwords that are not SentencePiece's": not isinstance(subwords, SentencePieces),
    }
    for what, there in problems.items():
        if there:
            raise InputError(f"MarianMT has no {what}; only models of its own architecture can be exported to it", file)


def numbered(pieces: list[str]) -> dict[str, int]:
    """<pad> has one number in both vocabularies: transformers has a single setting for it."""
    return {name: number for number, name in enumerate(["</s>", "<unk>", "<pad>", *pieces])}


def settings(config: ModelConfig, numbers: list[dict[str, int]]) -> dict[str, Any]:
    sizes, kind = config.sizes, config.sizes.architecture
    target = numbers[-1]
    sides = {
        f"{side}_{name}": value
        for side, layers in (("encoder", sizes.encoder_layers), ("decoder", sizes.decoder_layers))
        for name, value in (("layers", layers), ("attention_heads", sizes.heads), ("ffn_dim", sizes.feed_forward))
    }
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "d_model": sizes.dim,
        **sides,
        "activation_function": kind.activation,
        "scale_embedding": kind.scaled_embedding,
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "share_encoder_decoder_embeddings": not kind.separate_embeddings,
        "tie_word_embeddings": True,
        "vocab_size": len(numbers[0]),
        "decoder_vocab_size": len(target),
        "max_position_embeddings": config.rows.max_tokens,
        "eos_token_id": target["</s>"],
        "forced_eos_token_id": target["</s>"],
        "pad_token_id": target["<pad>"],
        "decoder_start_token_id": target["<pad>"],
        "bad_words_ids": [[target["<pad>"]]],
    }


def tokenizer_settings(config: ModelConfig) -> dict[str, Any]:
    source, target = config.languages or (None, None)
    separate = config.sizes.architecture.separate_embeddings
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": source,
        "target_lang": target,
        "separate_vocabs": separate,
    }


def convert(weights: Mapping[str, Array], config: ModelConfig, subwords: SentencePieces) -> Iterator[tuple[str, Array]]:
    """Names and tensors of MarianMT."""
    kind = config.sizes.architecture
    yield from convert_tables(weights, kind, subwords)
    for side, layers in (("encoder", config.sizes.encoder_layers), ("decoder", config.sizes.decoder_layers)):
        for layer in range(layers):
            theirs, ours = f"model.{side}.layers.{layer}", f"{side}.{layer}"
            pairs = {
                "fc1": "feed_forward.inner",
                "fc2": "feed_forward.outer",
                "final_layer_norm": "feed_forward_norm",
                "self_attn_layer_norm": "attention_norm",
                "self_attn.out_proj": "attention.output",
            }
            attentions = {"self_attn": "attention"}
            if side == "decoder":
                pairs |= {"encoder_attn_layer_norm": "source_norm", "encoder_attn.out_proj": "source_attention.output"}
                attentions["encoder_attn"] = "source_attention"
            for end in ("weight", "bias"):
                for name, block in pairs.items():
                    yield f"{theirs}.{name}.{end}", np.ascontiguousarray(weights[f"{ours}.{block}.{end}"])
                for name, block in attentions.items():
                    for part, tensor in zip("qkv", np.split(weights[f"{ours}.{block}.qkv.{end}"], 3), strict=True):
                        yield f"{theirs}.{name}.{part}_proj.{end}", np.ascontiguousarray(tensor)


def convert_tables(
    weights: Mapping[str, Array], kind: Architecture, subwords: SentencePieces
) -> Iterator[tuple[str, Array]]:
    def rows(pieces: list[str]) -> list[int]:
        first = len(SPECIALS)
        return [subwords.eos, subwords.mask, subwords.bos, *range(first, first + len(pieces))]

    source, target = (rows(pieces) for pieces in subwords.vocabularies)
    if kind.separate_embeddings:
        yield "model.encoder.embed_tokens.weight", weights["embedding.weight"][source]
        yield "model.decoder.embed_tokens.weight", weights["separate_embedding.weight"][target]
        yield "lm_head.weight", weights["separate_embedding.weight"][target]
        bias = weights["separate_embedding.bias"]
    else:
        yield "model.shared.weight", weights["embedding.weight"][target]
        bias = weights["embedding.bias"]
    yield "final_logits_bias", np.where(np.array(target) == subwords.bos, 0, bias[target])[None].astype(np.float32)
