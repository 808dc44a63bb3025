"""The start and the end of a process that is one command: without work that nobody needs done.

For processes of our own only. A program that has docflat as a library keeps its collector and its end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NoReturn

# How often a thread looks whether the others are ready before it sleeps: a tenth of GNU's OpenMP's own number. On
# idle cores the others are ready by then; on busy ones they cannot be while this thread keeps a core from them.
SPINS = 30_000

# What shapes results have, for compilers and for tensors without numbers: a quarter of the time of `import torch`, and
# nothing that translating asks for. What does ask is known by what it imports first: compilers, and what the deferred
# module would have imported, which can only be imported in the order that it has there.
DEFERRED = "torch._meta_registrations"
ASKING = (
    "torch._decomp",
    "torch._dynamo",
    "torch._prims",
    "torch._prims_common.wrappers",
    "torch._refs",
    "torch.utils._content_store",
)


class _Asleep(ModuleType):
    """A module that runs when it is first asked for a name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system looks for some of these
            raise AttributeError(name)
        self.wake()
        return getattr(self, name)

    def wake(self) -> None:
        spec = self.__spec__
        assert spec is not None
        spec.loader = spec.loader_state
        self.__class__ = ModuleType  # type: ignore[assignment]
        assert spec.loader is not None
        spec.loader.exec_module(self)


class _Deferring(MetaPathFinder, Loader):
    """Finds one module, and puts off running it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = None
        if fullname == DEFERRED:
            spec = PathFinder.find_spec(fullname, path, target)
        elif fullname in ASKING and isinstance(asleep := sys.modules.get(DEFERRED), _Asleep):
            asleep.wake()
            loaded = sys.modules.get(fullname)
            spec = loaded.__spec__ if loaded is not None else None
        if spec is not None:  # else this version of torch has none, or it is still to be loaded as usual
            spec.loader_state, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """What waking has loaded: loaded again it would have tables of its own, that nothing is written to."""
        return sys.modules.get(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == DEFERRED:
            module.__class__ = _Asleep
        elif module.__spec__ is not None:
            module.__spec__.loader = module.__spec__.loader_state


def begin() -> None:
    """Before torch is imported."""
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, _Deferring())
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
