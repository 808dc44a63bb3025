"""Translates lines of standard input with graphs that `docflat export --to onnx` made. Needs no docflat:

    pip install onnxruntime tokenizers
    docflat export --model en-de --to onnx -o graphs
    echo "The house is small." | python examples/onnx_translate.py graphs

Sentence by sentence, and the likeliest word at every step. What inputs and outputs mean: README.md of that folder.
"""

import sys

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

folder = sys.argv[1]
tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
encoder, decoder, head = (InferenceSession(f"{folder}/{name}.onnx") for name in ("encoder", "decoder", "head"))
about = encoder.get_modelmeta().custom_metadata_map
heads, end, size = int(about["heads"]), int(about["eos"]), int(about["dim"]) // int(about["heads"])
start = int(about["bos"] if about["system"] == "sent2sent" else about["text_size"])  # of a document's first sentence


def run(session: InferenceSession, **inputs) -> dict:
    """Inputs that this system's graph does not have are left out."""
    known = {one.name: inputs[one.name] for one in session.get_inputs()}
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, known), strict=True))


def translate(text: str) -> str:
    tokens = np.array([start, *tokenizer.encode(text, add_special_tokens=False).ids, end])
    places, seen = np.arange(len(tokens)), np.zeros((1, 1, 1, len(tokens)), np.float32)
    source = {"tokens": tokens, "positions": places, "padded": places[None], "back": places, "hidden": seen}
    flat = {"flat": places, "merged": len(places) + places, "flat_padded": places[None], "flat_back": places}
    state = run(encoder, **source, **flat, flat_hidden=seen) | {"memory_hidden": seen}
    room = 2 * (len(tokens) - 2) + 20 + 1  # docflat's own limit, and the start symbol
    nothing, slots = np.zeros((1, heads, 1, size), np.float32), np.arange(room)
    state |= {"context_keys": nothing, "context_values": nothing, "by_group": np.zeros(1, np.int64)}
    state |= {"context_bias": np.full((1, 1, 1, 1, 1), -1e30, np.float32), "by_row": np.zeros(1, np.int64)}
    for cache in [
        one.name for one in decoder.get_inputs() if one.name.startswith(("keys", "values", "flat_k", "flat_v"))
    ]:
        state[cache] = np.zeros((1, heads, room, size), np.float32)
    words = [start]
    while len(words) < room:
        slot, bias = np.array([[len(words) - 1]]), np.where(slots < len(words), 0, -np.inf).astype(np.float32)
        state |= {"tokens": np.array([words[-1:]]), "positions": slot, "slots": slot, "flat_slots": slot}
        state |= {"bias": bias[None, None, None], "flat_bias": bias[None, None, None], "current": np.ones((1, 1), bool)}
        made = run(decoder, **state)
        state |= {name.removeprefix("next_"): array for name, array in made.items() if name.startswith("next_")}
        best = run(head, states=made["states"], count=np.array([1]), labels=np.zeros(1, np.int64))
        if best["ends"][0] >= best["best"][0, 0] and len(words) > 1:
            break
        words.append(int(best["words"][0, 0]))
    return tokenizer.decode(words[1:]).strip()


for line in sys.stdin:
    print(translate(line.strip()) if line.strip() else "", flush=True)
