"""The command line: a table of verbs, a file a verb.

In come the words of a command; out come what it prints, the files it writes, and an exit status.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; argv None: what the process was started with."""
    from docflat.cli import dispatch

    dispatch.main(argv)
