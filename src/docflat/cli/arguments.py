"""Options that several verbs have."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from docflat.weights.shipped import ENGLISH_GERMAN, model_folder

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from docflat.translation.translator import Translator

BOUNDARIES = ("auto", "empty-lines", "d-lines", "docids", "starts", "lines", "none")


def add_boundaries(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--boundaries",
        choices=BOUNDARIES,
        default="auto",
        help="how documents are marked (default: what the files show; plain text: <d> or empty lines)",
    )


def add_test_set(parser: ArgumentParser, default: str) -> None:
    """Options of the verbs that score translations; default: metrics."""
    parser.add_argument("--reference", type=Path, required=True, metavar="FILE", help="what a translation should be")
    parser.add_argument("--source", type=Path, metavar="FILE", help="what was translated; comet needs it")
    parser.add_argument(
        "--metrics",
        type=names,
        default=names(default),
        metavar="A,B",
        help=f"of bleu, dbleu (whole documents), chrf, ter (slow), comet; for German pronouns, formality, cohesion"
        f" (default: {default})",
    )
    add_number(parser, "--bootstrap", 1000, "resamples for confidence intervals", least=0)
    parser.add_argument(
        "--tokenize",
        choices=("13a", "intl", "zh", "char", "none"),
        default="13a",
        help="sacreBLEU's tokeniser for BLEU (default: %(default)s; zh for Chinese)",
    )
    parser.add_argument(
        "--comet-model",
        default="Unbabel/wmt20-comet-da",
        metavar="NAME",
        help="file, folder or hub name of a COMET checkpoint you trust (default: %(default)s)",
    )
    add_boundaries(parser)
    parser.add_argument("--docids", type=Path, metavar="FILE", help="a docid for each line of the reference")
    parser.add_argument("--starts", type=Path, metavar="FILE", help="the lines of the reference that start documents")
    add_json(parser)


def add_model_folder(parser: ArgumentParser, what: str = "model folder") -> None:
    help = f"{what} (default: en-de, English to German, which comes with docflat)"
    parser.add_argument("--model", type=model_folder, default=ENGLISH_GERMAN, metavar="FOLDER", help=help)


def add_model(parser: ArgumentParser) -> None:
    """Options of the verbs that ask a model."""
    add_model_folder(parser)
    add_machine(parser)
    add_engine(parser)


def add_machine(parser: ArgumentParser) -> None:
    """What a model runs on, and in which precision."""
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to compute (default: a GPU if there is one)",
    )
    precision = "how to compute; int8 is several times as fast on a CPU (default: bf16 on a GPU; on a CPU as stored)"
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16", "int8"), default="auto", help=precision)
    parser.add_argument("--threads", type=whole(1), metavar="N", help="threads on the CPU (default: all cores)")


def add_engine(parser: ArgumentParser) -> None:
    engine = "onnx: runs some systems on a CPU, without torch; torch: runs all (default: onnx where it can, else torch)"
    parser.add_argument("--engine", choices=("auto", "onnx", "torch"), default="auto", help=engine)


def load_translator(arguments: Namespace) -> Translator:
    from docflat.translation.translator import Translator

    return Translator.load(
        arguments.model,
        device=arguments.device,
        precision=arguments.precision,
        engine=arguments.engine,
        threads=arguments.threads or 0,
    )


def add_number(parser: ArgumentParser | _ArgumentGroup, option: str, default: int, what: str, least: int = 1) -> None:
    parser.add_argument(option, type=whole(least), default=default, metavar="N", help=f"{what} (default: {default})")


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def whole(least: int, most: int = sys.maxsize) -> Callable[[str], int]:
    def parse(text: str) -> int:
        # Of more digits than a number of the machine has, Python would not make a number in reasonable time.
        if not text.isdecimal() or len(text) > 20 or not least <= int(text) <= most:
            upto = "" if most == sys.maxsize else f" and at most {most}"
            raise ArgumentTypeError(f"expected a whole number of at least {least}{upto}, found {text[:50]!r}")
        return int(text)

    return parse


def named_path(text: str) -> Path:
    """Where Path would take nothing for the current folder: what a script has in an empty variable."""
    if not text:
        raise ArgumentTypeError("expected the name of a file or folder, found nothing")
    return Path(text)


def part_of_name(text: str) -> str:
    if not text or Path(text).name != text or "\0" in text:
        raise ArgumentTypeError(f"expected a part of a file's name, such as de, found {text!r}")
    return text


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
