"""Export: the same model in 8 bits, or for CTranslate2, for the systems that its architectures can hold.

Those are plain Transformers over rows: `sent2sent` and `doc2doc`. What rows are made of stays with whoever calls it:
source tokens as docflat lays them out, and as target prefix everything up to the start symbol of the current sentence.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from docflat.model.layers import Attention, FeedForward, Norm
from docflat.model.sizes import Architecture
from docflat.support.atomic import whole_folder
from docflat.support.errors import InputError
from docflat.systems.doc2doc import Doc2Doc
from docflat.systems.sent2sent import Sent2Sent
from docflat.weights.folders import ModelFolder, load_model
from docflat.weights.int8_files import pack, save_in_parts
from docflat.weights.stored import read_weights

WRITTEN = ("config.json", "tokenizer.json", "README.md", "model.bin", "model*.safetensors", "*_vocabulary.*")
POSITIONS = 2048  # as far as the table of positions goes


def export_int8(model: Path, out: Path, force: bool = False) -> None:
    """Write the same model folder with compact weights: a quarter of the size, in files of at most 15 MiB."""
    load_model(model)  # what cannot be read must not look exported
    with whole_folder(out, force, WRITTEN) as partial:
        for name in ("config.json", "tokenizer.json", "README.md"):
            if (model / name).exists():
                shutil.copyfile(model / name, partial / name)
        save_in_parts(pack(read_weights(model / "model.safetensors")), partial)


# Long: the names of another's weights, one after the other.
def export_ctranslate2(folder: ModelFolder, out: Path, quantization: str | None = "int8", force: bool = False) -> None:
    """Write a model that `ctranslate2.Translator` loads. quantization: as CTranslate2 names it; None: float32."""
    try:
        from ctranslate2.specs import TransformerSpec
    except ImportError:
        raise InputError("this needs CTranslate2: pip install 'docflat[ctranslate2]'") from None
    model = folder.model
    if not isinstance(model, Sent2Sent | Doc2Doc):
        raise InputError(f"CTranslate2 has no architecture for {folder.config.system}, only for sent2sent and doc2doc")
    sizes = model.sizes
    if sizes.architecture != Architecture():
        raise InputError("for CTranslate2 only models that were trained here are exported, not imported ones")
    spec = TransformerSpec.from_config(
        (sizes.encoder_layers, sizes.decoder_layers), sizes.heads, pre_norm=False, layernorm_embedding=True
    )
    table = array(model.embedding.weight)
    positions = position_table(model.embedding)
    for side, source, norm in (
        (spec.encoder, spec.encoder.embeddings[0], model.source_norm),
        (spec.decoder, spec.decoder.embeddings, model.target_norm),
    ):
        source.weight = table
        side.position_encodings.encodings = positions
        assert isinstance(norm, Norm), "of our own architecture"
        set_norm(side.layernorm_embedding, norm)
    encoder: Any = model.encoder
    decoder: Any = model.decoder
    for layer, one in zip(spec.encoder.layer, encoder, strict=True):
        set_self_attention(layer.self_attention, one.attention, one.attention_norm)
        set_feed_forward(layer.ffn, one.feed_forward, one.feed_forward_norm)
    for layer, one in zip(spec.decoder.layer, decoder, strict=True):
        set_self_attention(layer.self_attention, one.attention, one.attention_norm)
        set_source_attention(layer.attention, one.source_attention, one.source_norm)
        set_feed_forward(layer.ffn, one.feed_forward, one.feed_forward_norm)
    spec.decoder.projection.weight = table
    bias = np.zeros(len(table), dtype=np.float32)
    bias[model.embedding.text_size :] = -1e9  # index tokens start sentences, they are never predicted
    spec.decoder.projection.bias = bias

    tokens = folder.subwords.names()
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    vocabulary = model.vocabulary
    spec.config.unk_token = tokens[vocabulary.mask]  # bytes spell everything, so it is never needed
    spec.config.bos_token, spec.config.eos_token = tokens[vocabulary.bos], tokens[vocabulary.eos]
    spec.config.decoder_start_token = tokens[vocabulary.bos] if folder.system.sentence_level else None
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.validate()
    spec.optimize(quantization=quantization)
    with whole_folder(out, force, WRITTEN) as partial:
        spec.save(str(partial))
        folder.subwords.save(partial / "tokenizer.json")


def array(tensor: torch.Tensor) -> Any:
    return tensor.detach().float().cpu().numpy()


def position_table(embedding: Any) -> Any:
    """What our embedding adds for each position: (positions, dim)."""
    dim = embedding.weight.shape[1]
    with torch.no_grad():
        zero = torch.zeros(POSITIONS, dtype=torch.long, device=embedding.weight.device)
        places = torch.arange(POSITIONS, device=embedding.weight.device)
        return array(embedding(zero, places) - embedding.rows(zero) * dim**0.5)


def set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = array(norm.weight), array(norm.bias)


def set_linear(spec: Any, weight: torch.Tensor, bias: torch.Tensor) -> None:
    spec.weight, spec.bias = array(weight), array(bias)


def set_self_attention(spec: Any, attention: Attention, norm: nn.LayerNorm) -> None:
    set_linear(spec.linear[0], attention.qkv.weight, attention.qkv.bias)
    set_linear(spec.linear[1], attention.output.weight, attention.output.bias)
    set_norm(spec.layer_norm, norm)


def set_source_attention(spec: Any, attention: Attention, norm: nn.LayerNorm) -> None:
    dim = attention.output.weight.shape[0]
    weight, bias = attention.qkv.weight, attention.qkv.bias
    set_linear(spec.linear[0], weight[:dim], bias[:dim])
    set_linear(spec.linear[1], weight[dim:], bias[dim:])
    set_linear(spec.linear[2], attention.output.weight, attention.output.bias)
    set_norm(spec.layer_norm, norm)


def set_feed_forward(spec: Any, part: FeedForward, norm: nn.LayerNorm) -> None:
    set_linear(spec.linear_0, part.inner.weight, part.inner.bias)
    set_linear(spec.linear_1, part.outer.weight, part.outer.bias)
    set_norm(spec.layer_norm, norm)
