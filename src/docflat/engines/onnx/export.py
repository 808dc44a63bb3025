"""Export: the graphs as files that anybody can run with ONNX Runtime, over one file of weights.

The weights are a safetensors file; the graphs point at the numbers in it by their places.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from docflat.data.rows import Array
from docflat.data.subwords import Subwords
from docflat.engines.onnx.engine import Model
from docflat.engines.onnx.loading import read_model
from docflat.engines.onnx.protobuf import Place
from docflat.engines.onnx.weights import Weights
from docflat.support.atomic import whole_folder
from docflat.weights.config import read_config, vocabulary_of
from docflat.weights.int8_files import SCALE, is_compact

FORMAT = "2"  # of these graphs: what their inputs and outputs are called and mean
WEIGHTS = "weights.safetensors"
WRITTEN = ("*.onnx", WEIGHTS, "config.json", "tokenizer.json", "README.md")
PART = re.compile(r"(?P<whole>.*)\[(?P<start>\d+):\d+\](?P<scale>\.scale)?")  # of a matrix: some of its rows

CARD = """# {name} for ONNX Runtime

`docflat export --to onnx` made this of a model of the system {system}, in {precision}. Sizes, ids and the format's
version ({version}) are in the metadata of every graph; the weights are in `{weights}`. Operators of the domain
com.microsoft are among those used, which every build of ONNX Runtime has.

A translation: tokens by `tokenizer.json` (Hugging Face's `tokenizers`), a start symbol before each sentence and `</s>`
behind each row; `encoder`; then `decoder` for the start symbols, and for each token that follows; after each, `head`.
The start symbol is {start}. docflat's repository has an example, examples/onnx_translate.py.
"""


def export_onnx(folder: Path, out: Path, precision: str | None = None, force: bool = False) -> None:
    """precision: int8 or fp32; without, int8 if the weights are stored so."""
    config = read_config(folder)
    subwords = Subwords.load(folder / "tokenizer.json")
    vocabulary = vocabulary_of(subwords)
    precision = precision or ("int8" if is_compact(folder) else "fp32")
    model = read_model(folder, config, vocabulary, precision)
    start = (
        "<s>" if config.system == "sent2sent" else f"{vocabulary.text_size} plus the sentence's place in its document"
    )
    about = {"format": FORMAT, "system": config.system, "precision": precision, "heads": str(config.sizes.heads)}
    about |= {"dim": str(config.sizes.dim), "decoder_layers": str(config.sizes.decoder_layers)}
    about |= {"text_size": str(vocabulary.text_size), "bos": str(vocabulary.bos), "eos": str(vocabulary.eos)}
    with whole_folder(out, force, WRITTEN) as partial:
        write_graphs(model, partial, about)
        shutil.copyfile(folder / "tokenizer.json", partial / "tokenizer.json")
        shutil.copyfile(folder / "config.json", partial / "config.json")
        card = CARD.format(
            name=folder.resolve().name,
            system=config.system,
            precision=precision,
            version=FORMAT,
            weights=WEIGHTS,
            start=start,
        )
        parts = [f"\n## {graph.name}.onnx\n\n{graph.description}\n" for graph in model.graphs()]
        (partial / "README.md").write_text("".join([card, *parts]), encoding="utf-8")


def write_graphs(model: Model, folder: Path, about: dict[str, str]) -> None:
    """The graphs and the file of their weights."""
    graphs = model.graphs()
    used = {name: array for graph in graphs for name, array in graph.weights.items()}
    whole = {whole_name(name): whole_array(name, array, model.weights) for name, array in used.items()}
    save_file({name: np.ascontiguousarray(array) for name, array in whole.items()}, folder / WEIGHTS)
    starts = places_of(folder / WEIGHTS)
    places = {}
    for name, array in used.items():
        part = PART.fullmatch(name)
        row = 0 if part is None else int(part["start"]) * (array.nbytes // len(array))
        places[name] = Place(WEIGHTS, starts[whole_name(name)] + row, array.nbytes)
    for graph in graphs:
        (folder / f"{graph.name}.onnx").write_bytes(graph.serialize(places, about))


def whole_name(name: str) -> str:
    """Of the tensor that this one is, or is a part of."""
    part = PART.fullmatch(name)
    return name if part is None else part["whole"] + (part["scale"] or "")


def whole_array(name: str, array: Array, weights: Weights) -> Array:
    part = PART.fullmatch(name)
    if part is None:
        return array
    if array.ndim == 1 and not part["scale"]:
        return weights.vector(part["whole"])
    matrix = weights.matrix(part["whole"])
    if not part["scale"]:
        return matrix.numbers
    assert matrix.scale is not None, f"a part has a scale, so {part['whole']} has {SCALE}"
    return matrix.scale


def places_of(path: Path) -> dict[str, int]:
    """Where in a safetensors file the numbers of each tensor start."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    return {name: 8 + size + entry["data_offsets"][0] for name, entry in header.items() if name != "__metadata__"}
