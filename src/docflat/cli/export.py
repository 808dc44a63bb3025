"""`docflat export`: a model in another form."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from docflat.cli.outputs import check_folder
from docflat.support.errors import InputError
from docflat.weights.shipped import model_folder


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        type=model_folder,
        required=True,
        metavar="DIR",
        help="a model folder (for ctranslate2: sent2sent or doc2doc)",
    )
    parser.add_argument(
        "--to",
        choices=("int8", "onnx", "ctranslate2", "marian-hf"),
        required=True,
        help="int8: a docflat model folder of a quarter of the size; onnx: graphs for ONNX Runtime, also from "
        "other languages; ctranslate2: for that engine; marian-hf: a folder that Hugging Face's MarianMT loads, of a "
        "model that has its architecture (imported ones have)",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="folder to write")
    kinds = ("int8", "int8_float32", "int16", "float16", "bfloat16", "float32")
    parser.add_argument("--quantization", choices=kinds, help="of the weights for ctranslate2 (default: int8) and onnx")
    parser.add_argument("--force", action="store_true", help="replace the folder if it is there")


def run(arguments: Namespace) -> None:
    check_folder(arguments.out, arguments.model)
    if arguments.to == "marian-hf":
        from docflat.weights.marian.exporting import export_huggingface

        if arguments.quantization:
            raise InputError("--quantization is for --to ctranslate2; MarianMT's weights are float32")
        return export_huggingface(arguments.model, arguments.out, arguments.force)
    if arguments.to == "onnx":
        from docflat.engines.onnx.export import export_onnx

        precisions = {None: None, "int8": "int8", "float32": "fp32"}
        if arguments.quantization not in precisions:
            raise InputError("for --to onnx the --quantization is int8 or float32 (default: as the weights are stored)")
        return export_onnx(arguments.model, arguments.out, precisions[arguments.quantization], arguments.force)
    from docflat.weights.export import export_ctranslate2, export_int8
    from docflat.weights.folders import load_model

    if arguments.to == "int8":
        if arguments.quantization:
            raise InputError("--quantization is for --to ctranslate2; --to int8 has one kind")
        return export_int8(arguments.model, arguments.out, arguments.force)
    kind = None if arguments.quantization == "float32" else arguments.quantization or "int8"
    export_ctranslate2(load_model(arguments.model), arguments.out, kind, arguments.force)
