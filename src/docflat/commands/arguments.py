"""Options that several verbs have."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

BOUNDARIES = ("auto", "empty-lines", "d-lines", "docids", "starts", "none")


def add_boundaries(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--boundaries",
        choices=BOUNDARIES,
        default="auto",
        help="how documents are marked (default: what the files show; plain text: <d> or empty lines)",
    )


def add_number(parser: ArgumentParser | _ArgumentGroup, option: str, default: int, what: str, least: int = 1) -> None:
    parser.add_argument(option, type=whole(least), default=default, metavar="N", help=f"{what} (default: {default})")


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ArgumentTypeError(f"expected a whole number of at least {least}, found {text!r}")
        return int(text)

    return parse


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
