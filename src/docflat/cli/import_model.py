"""`docflat import`: a model that others trained."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from docflat.cli.outputs import check_folder
from docflat.support.console import report
from docflat.support.errors import InputError


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="PATH|OWNER/NAME",
        help="a folder in Hugging Face's form of MarianMT, or of Marian itself (.npz or .bin, and .spm), as "
        "Firefox's models are; or the name of a model "
        "on Hugging Face's hub, such as Helsinki-NLP/opus-mt-en-fr",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="folder to write (default: among the imported models, by its name)",
    )
    parser.add_argument(
        "--languages",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="its languages, such as en fr, if its files do not say them",
    )
    parser.add_argument(
        "--precision",
        choices=("int8", "fp32"),
        default="int8",
        help="precision of the weights to write; int8 is a quarter of the size and faster (default: %(default)s)",
    )
    parser.add_argument("--force", action="store_true", help="replace the folder if it is there")


def run(arguments: Namespace) -> None:
    from docflat.support.languages import language_code
    from docflat.weights.installed import folder_for
    from docflat.weights.marian.hub import download, is_hub_name
    from docflat.weights.marian.importing import import_model

    hub = is_hub_name(arguments.model)
    out = arguments.out or folder_for(Path(arguments.model).resolve().name)
    if out.exists() and not arguments.force:
        raise InputError("it is there already; --force replaces it", out)
    languages = None
    if arguments.languages:
        source, target = map(language_code, arguments.languages)
        languages = (source, target)
    folder = download(arguments.model) if hub else Path(arguments.model)
    check_folder(out, folder)
    config = import_model(folder, out, languages, arguments.precision == "int8", arguments.force)
    if config.languages is None:
        report(f"{out}: its languages are not known; to note them, import it again with --languages")
    name = out if arguments.out else out.name
    report(f"{out}: written. docflat translate --model {name} FILE")
