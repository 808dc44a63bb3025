"""Models with random weights in the files of Firefox's: Marian's binary form, with a recurrence in the decoder."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from marian_files import ENGLISH, GERMAN, native_vocabulary, sentencepiece, sentencepieces

DIM, INNER = 32, 48
LAYERS = {"encoder": 2, "decoder": 2}
SETTINGS: dict[str, Any] = {
    "type": "transformer", "dim-emb": DIM, "transformer-heads": 2, "transformer-dim-ffn": INNER, "enc-depth": 2,
    "dec-depth": 2, "transformer-ffn-activation": "relu", "transformer-preprocess": "",
    "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
    "transformer-decoder-autoreg": "rnn", "dec-cell": "ssru",
    "tied-embeddings-all": True, "transformer-decoder-dim-ffn": 0, "dim-rnn": 1024,
}  # fmt: skip


def vocabularies(separate: bool) -> list[bytes]:
    if not separate:
        return [native_vocabulary()]
    return [sentencepieces(texts, 60, bos_id=-1, eos_id=0, unk_id=1) for texts in (ENGLISH, GERMAN)]


def random_tensors(separate: bool = False, seed: int = 0) -> dict[str, np.ndarray]:
    """By Marian's names; matrices as (inputs, outputs)."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 0.3) -> np.ndarray:
        return rng.normal(0, scale, shape).astype(np.float32)

    sizes = [sentencepiece.SentencePieceProcessor(model_proto=one).get_piece_size() for one in vocabularies(separate)]
    tables = ["encoder_Wemb", "decoder_Wemb"] if separate else ["Wemb"]
    tensors = {name: normal(size, DIM) for name, size in zip(tables, sizes, strict=True)}
    for name in tables:
        tensors[name][0] = 0  # </s>: fxtranslate starts a translation with it, Marian with zeros
    tensors["decoder_ff_logit_out_b"] = normal(1, sizes[-1], scale=1.0)
    tensors["decoder_ff_logit_out_b"][0, 0] = 2 + 0.4 * seed  # texts of all lengths, not only the longest

    def norm(name: str) -> None:
        tensors[f"{name}_ln_scale"], tensors[f"{name}_ln_bias"] = 1 + normal(1, DIM, scale=0.1), normal(1, DIM)

    for side in ("encoder", "decoder"):
        for layer in range(1, LAYERS[side] + 1):
            name = f"{side}_l{layer}"
            for attention in ("self", "context"):
                if (side, attention) in (("encoder", "context"), ("decoder", "self")):
                    continue
                for part in "qkvo":
                    tensors[f"{name}_{attention}_W{part}"] = normal(DIM, DIM)
                    tensors[f"{name}_{attention}_b{part}"] = normal(1, DIM)
                norm(f"{name}_{attention}_Wo")
            if side == "decoder":
                tensors |= {f"{name}_rnn_W": normal(DIM, DIM), f"{name}_rnn_Wf": normal(DIM, DIM)}
                tensors[f"{name}_rnn_bf"] = normal(1, DIM)
                norm(f"{name}_rnn_ffn")
            for number, shape in ((1, (DIM, INNER)), (2, (INNER, DIM))):
                tensors[f"{name}_ffn_W{number}"] = normal(*shape)
                tensors[f"{name}_ffn_b{number}"] = normal(1, shape[1])
            norm(f"{name}_ffn_ffn")
    return tensors


def settings_bytes(**changes: Any) -> np.ndarray:
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in {**SETTINGS, **changes}.items())
    return np.frombuffer(text.encode() + b"\0", dtype=np.int8)


def rounded(tensors: Mapping[str, np.ndarray]) -> dict[str, tuple[np.ndarray, float]]:
    """Whole numbers and multiplier of each matrix."""
    multipliers = {name: 127 / float(np.abs(one).max()) for name, one in tensors.items() if min(one.shape) > 1}
    return {
        name: (np.clip(np.rint(tensors[name] * one), -127, 127).astype(np.int8), one)
        for name, one in multipliers.items()
    }


def write_firefox(
    folder: Path, tensors: Mapping[str, np.ndarray], int8: bool = True, separate: bool = False, **changes: Any
) -> None:
    """The files of a model. A shortlist is written by `write_lex`."""
    folder.mkdir(parents=True)
    items: dict[str, tuple[int, tuple[int, ...], bytes]] = {}
    ints = rounded(tensors) if int8 else {}
    for name, array in tensors.items():
        if name not in ints:
            items[name] = (0x404, array.shape, array.astype("<f4").tobytes())
            continue
        numbers, multiplier = ints[name]
        turned = numbers if name.endswith("Wemb") else numbers.T
        items[name] = (0x4101, array.shape, turned.tobytes() + struct.pack("<f", multiplier))
        # What comes in is rounded by a number of its own; wide enough for the norms' outputs here.
        alpha = (0x404, (1, 1), struct.pack("<f", 127 / 6))
        if name == "decoder_Wemb":  # as a number in 8 bits, for reasons of its own
            alpha = (0x4101, (1, 1), struct.pack("<bf", 127, 6.0))
        if name != "encoder_Wemb":  # which is no product
            items["none_QuantMultA" if name == "Wemb" else f"{name}_QuantMultA"] = alpha
    settings = settings_bytes(**changes)
    items["special:model.yml"] = (0x101, settings.shape, settings.tobytes())
    (folder / "model.ende.intgemm.alphas.bin").write_bytes(binary(items))
    names = ("srcvocab.ende.spm", "trgvocab.ende.spm") if separate else ("vocab.ende.spm",)
    for name, vocabulary in zip(names, vocabularies(separate), strict=True):
        (folder / name).write_bytes(vocabulary)


def binary(items: Mapping[str, tuple[int, tuple[int, ...], bytes]]) -> bytes:
    """Name: type, shape and bytes."""
    blocks = [content + bytes(-len(content) % 256) for _, _, content in items.values()]
    parts = [struct.pack("<2Q", 1, len(items))]
    for (name, (kind, shape, _)), block in zip(items.items(), blocks, strict=True):
        parts.append(struct.pack("<4Q", len(name.encode()) + 1, kind, len(shape), len(block)))
    parts += [name.encode() + b"\0" for name in items]
    parts += [struct.pack(f"<{len(shape)}i", *shape) for _, shape, _ in items.values()]
    place = sum(map(len, parts)) + 8
    gap = -place % 256
    return b"".join([*parts, struct.pack("<Q", gap), bytes(gap), *blocks])


def write_lex(folder: Path, lists: list[list[int]], first: int) -> None:
    """lists: of each source row, the target rows that it can become."""
    starts = np.cumsum([0, *map(len, lists)]).astype("<u8")
    words = np.array([word for words in lists for word in words], dtype="<u4")
    head = struct.pack("<6Q", 0xF11A48D5013417F5, 0, first, 0, len(starts), len(words))
    (folder / "lex.50.50.ende.s2t.bin").write_bytes(head + starts.tobytes() + words.tobytes())
