"""The start and the end of a process that is one command: without work that nobody needs done.

For processes of our own only. A program that has docflat as a library keeps its collector and its end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import NoReturn

# How often a thread looks whether the others are ready before it sleeps: a tenth of GNU's OpenMP's own number. On
# idle cores the others are ready by then; on busy ones they cannot be while this thread keeps a core from them.
SPINS = 30_000


def begin() -> None:
    """Before torch is imported."""
    # A quarter of a million objects are made that all stay. The collector would go through them again and again.
    gc.disable()
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)


def loaded() -> None:
    """After what stays has been made. From now on the collector looks after what comes, and at that only."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def end(status: int) -> NoReturn:
    """Without taking all these objects apart first. Files are closed by now: they are written whole or not at all."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)
