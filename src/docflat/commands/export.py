"""`docflat export`: a model in another engine's form."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model", type=Path, required=True, metavar="DIR", help="a model folder (sent2sent or doc2doc)"
    )
    parser.add_argument("--to", choices=("ctranslate2",), required=True, help="the engine")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="folder to write")
    kinds = ("int8", "int8_float32", "int16", "float16", "bfloat16", "float32")
    parser.add_argument("--quantization", choices=kinds, default="int8", help="of the weights (default: int8)")
    parser.add_argument("--force", action="store_true", help="replace the folder if it is there")


def run(arguments: Namespace) -> None:
    from docflat.checkpoints import load_model
    from docflat.export import export_ctranslate2

    kind = None if arguments.quantization == "float32" else arguments.quantization
    export_ctranslate2(load_model(arguments.model), arguments.out, kind, arguments.force)
